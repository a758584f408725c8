#!/usr/bin/env python3
"""Compares random expressions between a Muster server and a MariaDB server: values, NULL, types and scales.

    functions.py MUSTER_PORT MARIADB_SOCKET [--seed N] [--seconds N] [--count N] [--list]

Exits with 1 if there is a difference that no class of `known.py` explains. Every class stands in docs/differences.md.
"""

import argparse
import collections
import math
import pathlib
import random
import sys
import tempfile
import time

import expressions
import known
import pymysql
from pymysql.constants import FIELD_TYPE as F

INTEGER = {F.TINY, F.SHORT, F.INT24, F.LONG, F.LONGLONG, F.YEAR}
EXACT = {F.DECIMAL, F.NEWDECIMAL}
APPROXIMATE = {F.FLOAT, F.DOUBLE}
BINARY_CHARSET = 63

# `kind` and `scale` describe the column as a client sees it; `rows` is None and `error` is set for a statement that failed.
Answer = collections.namedtuple("Answer", "error kind scale rows")


def connect(**where):
    connection = pymysql.connect(user="root", charset="utf8mb4", conv={}, autocommit=True, local_infile=True, **where)
    with connection.cursor() as cursor:
        cursor.execute("SET NAMES utf8mb4 COLLATE utf8mb4_general_ci")
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute("DROP DATABASE IF EXISTS differential")
        cursor.execute("CREATE DATABASE differential CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
        cursor.execute("USE differential")
    return connection


def kind_of(column):
    """Type class and scale of a column of a result."""
    _, code, _, _, _, scale, _ = column
    if code in INTEGER:
        return "integer", 0
    if code in EXACT:
        return "decimal", scale
    if code in APPROXIMATE:
        return "double", 0
    names = {F.DATE: "date", F.NEWDATE: "date", F.DATETIME: "datetime", F.TIMESTAMP: "datetime", F.TIME: "time", F.NULL: "null"}
    if code in names:
        return names[code], scale if names[code] in ("datetime", "time") else 0
    return "text", 0


def ask(connection, statement):
    with connection.cursor() as cursor:
        try:
            cursor.execute(statement)
        except pymysql.err.MySQLError as error:
            return Answer(error.args, None, None, None)
        kind, scale = kind_of(cursor.description[-1])
        rows = [row[-1] for row in cursor.fetchall()]
        return Answer(None, kind, scale, rows)


def create(connection):
    """The table that columns of expressions are of."""
    columns = ", ".join(f"{name} {ty}" for name, ty in expressions.COLUMNS.items())
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file, connection.cursor() as cursor:
        file.write(expressions.ROWS + "\n")
        file.flush()
        cursor.execute(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})")
        cursor.execute(f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE t CHARACTER SET utf8mb4 FIELDS TERMINATED BY '|'")


def statement(tree):
    written = expressions.text(tree)
    return f"SELECT id, {written} FROM t ORDER BY id" if expressions.uses_columns(tree) else f"SELECT {written}"


def same_value(a, b, kind):
    if a == b:
        return True
    if a is None or b is None or kind != "double":
        return False
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-13)
    except ValueError:
        return False


def difference(muster, mariadb):
    """What differs: a word, or None. A statement that both refuse is the same; the numbers of errors differ too often."""
    if muster.error or mariadb.error:
        if muster.error and muster.error[0] == 1235:
            return "unsupported"
        return None if muster.error and mariadb.error else "error"
    if len(muster.rows) != len(mariadb.rows):
        return "rows"
    pairs = list(zip(muster.rows, mariadb.rows))
    if any((a is None) != (b is None) for a, b in pairs):
        return "null"
    kind = muster.kind if muster.kind == mariadb.kind else None
    if not all(same_value(a, b, kind) for a, b in pairs):
        return "value"
    if muster.kind != mariadb.kind:
        # The type of a bare NULL is nobody's business.
        return None if all(a is None for a in muster.rows) else "type"
    return "scale" if muster.scale != mariadb.scale else None


def shown(answer):
    if answer.error:
        return str(answer.error)
    rows = [row if row is None or len(row) <= 60 else row[:60] + type(row)(b".." if isinstance(row, bytes) else "..") for row in answer.rows]
    return f"{answer.kind}({answer.scale}) {rows}"


class Comparison:
    def __init__(self, muster, mariadb):
        self.muster, self.mariadb = muster, mariadb

    def of(self, tree):
        """What differs, the class that explains it, and both answers."""
        sql = statement(tree)
        answers = ask(self.muster, sql), ask(self.mariadb, sql)
        what = difference(*answers)
        return what, known.explain(tree, what, *answers) if what else None, answers

    def shrunk(self, tree, attempts=60):
        """The smallest tree found that still has a difference that nothing explains."""
        found = True
        while found and attempts > 0:
            found = False
            for smaller in expressions.smaller(tree):
                attempts -= 1
                what, reason, _ = self.of(smaller)
                if what and not reason:
                    tree, found = smaller, True
                    break
                if attempts <= 0:
                    break
        return tree


def check_documented():
    """Every class of differences stands in the documentation."""
    page = pathlib.Path(__file__).parents[2] / "docs" / "differences.md"
    documented = {line.split("|")[1].strip() for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")}
    missing = sorted({name for name, _ in known.CLASSES} - documented)
    if missing:
        sys.exit(f"docs/differences.md lacks {missing}")


def main():
    check_documented()
    parser = argparse.ArgumentParser()
    parser.add_argument("muster_port", type=int)
    parser.add_argument("mariadb_socket")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--list", action="store_true", help="print every expression that differs, explained or not")
    options = parser.parse_args()
    mariadb = connect(unix_socket=options.mariadb_socket)
    with mariadb.cursor() as cursor:
        # As MySQL: functions of dates take a month or a day of zero in every mode, and fractions of a second are rounded.
        cursor.execute("SET sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,TIME_ROUND_FRACTIONAL'")
        cursor.execute("SELECT @@max_allowed_packet")
        longest = int(cursor.fetchone()[0])
    with connect(host="127.0.0.1", port=options.muster_port).cursor() as cursor:
        cursor.execute(f"SET GLOBAL max_allowed_packet = {longest}")
    muster = connect(host="127.0.0.1", port=options.muster_port)
    for server in (muster, mariadb):
        create(server)
    comparison = Comparison(muster, mariadb)
    generator = expressions.Generator(random.Random(options.seed))
    classes, unexplained = collections.Counter(), {}
    end, asked = time.monotonic() + options.seconds, 0
    while asked < options.count and time.monotonic() < end:
        asked += 1
        tree = generator.call(depth=1)
        what, reason, answers = comparison.of(tree)
        if options.list and what:
            print(f"{reason or 'UNEXPLAINED'}: {what}: {expressions.text(tree)}", *map(shown, answers), sep="\n    ")
        if reason:
            classes[reason] += 1
        elif what:
            small = comparison.shrunk(tree)
            what, _, answers = comparison.of(small)
            unexplained.setdefault((what, small[0].split("(")[0] or small[0]), []).append((small, answers))
    for (what, name), found in sorted(unexplained.items()):
        print(f"DIFFERENT {what}, {len(found)} times, as in: {expressions.text(found[0][0])}")
        for server, answer in zip(("Muster ", "MariaDB"), found[0][1]):
            print(f"    {server} {shown(answer)}")
    for reason, count in classes.most_common():
        print(f"explained {count:6} {reason}")
    passed = asked - sum(classes.values()) - sum(len(found) for found in unexplained.values())
    print(f"{asked} expressions, {passed} the same, {sum(classes.values())} explained, "
          f"{sum(len(found) for found in unexplained.values())} different (seed {options.seed})")
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
