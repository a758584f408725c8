#!/usr/bin/env python3
"""Runs files of crates/engine/tests/slt on a MySQL 8.0 server and lists the records that it answers otherwise.

    slt.py MYSQL_SOCKET [name of a file without .slt ...]

A record is left out if it says `skipif mysql`, or shows what Muster alone has: EXPLAIN and `optimizer_switch`. The databases and
users that a file makes go when it ends, and global variables become what they were. Exits with 1 if a record
disagrees. Files without a directory are in that of `secure_file_priv`, as Muster has it; the server must have been
started with an empty one.
"""

import argparse
import os
import pathlib
import re
import sys

import pymysql

DIRECTORY = pathlib.Path(__file__).parents[2] / "crates" / "engine" / "tests" / "slt"
MUSTERS_OWN = re.compile(r"^\s*explain\b|optimizer_switch|^\s*(desc|describe)\s+(select|update|delete|insert)", re.I)
CLIENT_CHARSET = re.compile(r"\bset\b.*\b(names|charset|character\s+set|character_set_client)\b", re.I | re.S)
BARE_FILE = re.compile(r"\b(outfile|dumpfile|(?<!local )infile)\s+'([^'/]*)'", re.I)
CODECS = {"utf8mb4": "utf8", "utf8mb3": "utf8", "latin1": "cp1252", "ascii": "ascii", "binary": "utf8", "latin2": "iso8859-2",
          "koi8r": "koi8-r", "cp1251": "cp1251", "sjis": "shift-jis", "cp932": "cp932", "gbk": "gbk", "big5": "big5", "ujis": "euc-jp"}


class Record:
    """A statement or a query with what is expected of it."""

    def __init__(self, file, line, connection, kind, sql, expected):
        self.file, self.line, self.connection, self.kind = file, line, connection, kind
        self.sql, self.expected = sql, expected


def records(path):
    """The records of a file that are run on MySQL."""
    lines, at, connection, skip = path.read_text(encoding="utf-8").split("\n"), 0, "default", False
    was_left_out = False
    while at < len(lines):
        words = lines[at].split()
        at += 1
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "connection":
            connection = words[1]
        elif words[0] in ("skipif", "onlyif"):
            skip = (words[1] == "mysql") == (words[0] == "skipif")
        elif words[0] in ("statement", "query"):
            start, sql, expected = at, [], None
            while at < len(lines) and lines[at].strip() and lines[at] != "----":
                sql.append(lines[at])
                at += 1
            if at < len(lines) and lines[at] == "----":
                at += 1
                expected = []
                while at < len(lines) and lines[at].strip():
                    expected.append(lines[at])
                    at += 1
            text = "\n".join(sql)
            # The warnings of a statement that is left out go with it.
            is_left_out = skip or MUSTERS_OWN.search(text) or was_left_out and text.lower().startswith("show warnings")
            if not is_left_out:
                yield Record(path.stem, start + 1, connection, words, text, expected)
            was_left_out = bool(is_left_out)
            connection, skip = "default", False


def shown(value, codec):
    """A value of a result as the files have it."""
    if value is None:
        return "NULL"
    text = value.decode(codec, "replace") if isinstance(value, bytes) else str(value)
    return text.replace("\n", "\\n") or "(empty)"


def normal(line):
    return " ".join(line.split())


class Client:
    """One connection of a file."""

    def __init__(self, socket):
        self.connection = pymysql.connect(unix_socket=socket, user="root", charset="utf8mb4", conv={}, autocommit=None,
                                          local_infile=True)
        self.codec, self.files, self.is_codec_old = "utf8", "", False
        self.files = self.run("SELECT @@secure_file_priv")[2][0]
        self.run("SET NAMES utf8mb4")

    def run(self, sql):
        """Error with number and text, number of changed rows, rows."""
        # Asking for it would take the warnings away that SHOW WARNINGS asks for.
        if self.is_codec_old and not sql.lower().startswith("show warnings"):
            self.codec, self.is_codec_old = self.client_codec(), False
        sql = BARE_FILE.sub(lambda name: f"{name[1]} '{self.files}{name[2]}'", sql)
        with self.connection.cursor() as cursor:
            try:
                changed = cursor.execute(sql.encode(self.codec, "replace"))
            except pymysql.MySQLError as error:
                return (*error.args, getattr(error, "sqlstate", None) or ""), 0, None
            result = cursor._result
            rows = cursor.fetchall() if cursor.description else None
            charsets = [field.charsetnr for field in result.fields] if rows is not None else []
        if CLIENT_CHARSET.search(sql):
            self.is_codec_old = True
        if rows is None:
            return None, changed, None
        return None, changed, [" ".join(shown(value, "utf8") for value, _ in zip(row, charsets)) for row in rows]

    def client_codec(self):
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT @@character_set_client")
            return CODECS.get(cursor.fetchone()[0], "utf8")

    def close(self):
        self.connection.close()


def disagreement(record, answer):
    """What MySQL answers, if it is not what the record says."""
    error, changed, rows = answer
    if record.kind[1:2] == ["error"]:
        if error is None:
            return f"no error; rows {rows}, changed {changed}"
        text = f"ERROR {error[0]} ({error[2]}): {error[1]}"
        wanted = " ".join(record.kind[2:])
        try:
            return None if re.search(wanted, text) else text
        except re.error:
            return None if wanted in text else text
    if error is not None:
        return f"ERROR {error[0]}: {error[1]}"
    if record.kind[0] == "statement":
        if record.kind[1:2] == ["count"] and int(record.kind[2]) != changed:
            return f"changed {changed}"
        return None
    if record.expected is None or rows is None:
        return None if rows is not None else "no rows"
    wanted, got = [normal(line) for line in record.expected], [normal(line) for line in rows]
    if "rowsort" in record.kind:
        wanted, got = sorted(wanted), sorted(got)
    return None if wanted == got else "\n".join(got)


class Server:
    """What files leave behind is taken back."""

    def __init__(self, socket):
        self.socket, self.root = socket, Client(socket)
        self.files = pathlib.Path(self.root.files)
        self.kept_files = set(self.files.glob("*"))
        self.databases, self.users, self.globals = self.names("SHOW DATABASES"), self.user_names(), self.variables()

    def names(self, sql):
        return set(self.root.run(sql)[2])

    def user_names(self):
        return self.names("SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user")

    def variables(self):
        with self.root.connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL VARIABLES")
            return dict(cursor.fetchall())

    def clean(self):
        for file in set(self.files.glob("*")) - self.kept_files:
            file.unlink()
        for name in self.names("SHOW DATABASES") - self.databases:
            if self.root.run(f"DROP DATABASE `{name}`")[0] is not None:
                self.remove_results(name)
                self.root.run(f"DROP DATABASE `{name}`")
        for name in self.user_names() - self.users:
            self.root.run(f"DROP USER {name}")
        for name, value in self.variables().items():
            if value != self.globals.get(name):
                old = self.globals[name]
                self.root.run(f"SET GLOBAL {name} = {old if re.fullmatch(r'-?[0-9.]+', old) else repr(old)}")

    def remove_results(self, database):
        """Removes what INTO OUTFILE has left in the directory of a database, which keeps the database from going."""
        directory = pathlib.Path(self.root.run("SELECT @@datadir")[2][0]) / database
        for file in directory.glob("*"):
            if file.suffix not in (".ibd", ".sdi"):
                file.unlink()

    def run_file(self, path):
        """The records that disagree, with MySQL's answers, and the number of all."""
        clients, found, count = {}, [], 0
        for record in records(path):
            count += 1
            if record.connection not in clients:
                clients[record.connection] = Client(self.socket)
            try:
                answer = clients[record.connection].run(record.sql)
            except Exception as failure:  # A broken connection ends the file.
                found.append((record, f"no answer: {failure!r}"))
                break
            got = disagreement(record, answer)
            if got is not None:
                found.append((record, got))
        for client in clients.values():
            client.close()
        self.clean()
        return found, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("socket")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.chdir(DIRECTORY / "data")
    server = Server(options.socket)
    total, disagree = 0, 0
    for path in sorted(DIRECTORY.glob("*.slt")):
        if options.names and path.stem not in options.names:
            continue
        found, count = server.run_file(path)
        total, disagree = total + count, disagree + len(found)
        for record, got in found:
            expected = "\n".join(record.expected or [])
            print(f"== {record.file}.slt:{record.line} {' '.join(record.kind)}\n{record.sql}\n-- expected\n{expected}\n-- MySQL\n{got}")
    print(f"{total} records, {disagree} disagree")
    sys.exit(1 if disagree else 0)


if __name__ == "__main__":
    main()
