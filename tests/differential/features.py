#!/usr/bin/env python3
"""Probes forms of queries one by one on Muster and on a MySQL 8.0 server and counts those with equal answers.

    features.py MYSQL_SOCKET MUSTER_PORT [--only WORD] [--quiet]

A feature is a list of statements. Column names, rows (sorted unless the statement has ORDER BY), errors with their messages, and warnings of
each statement are compared. Exits with 1 if an answer differs.
"""

import argparse
import re
import sys

import pymysql

from feature_statements import FEATURES, SETUP

DATABASE = "queries_features"
SKIP_WARNINGS = re.compile(r"^\s*(drop|use|show)\b", re.I)


def is_ordered(statement):
    """Whether there is an ORDER BY outside of all parentheses."""
    while "(" in statement and (shorter := re.sub(r"\([^()]*\)", "", statement)) != statement:
        statement = shorter
    return re.search(r"order\s+by", statement, re.I)


class Server:
    """One connection, in a database of its own."""

    def __init__(self, **where):
        self.where = where
        self.connect()

    def connect(self):
        self.connection = pymysql.connect(user="root", charset="utf8mb4", conv={}, autocommit=True, **self.where)
        self.ask("SET NAMES utf8mb4")
        self.ask(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
        self.ask(f"USE {DATABASE}")

    def prepare(self):
        self.ask(f"DROP DATABASE IF EXISTS {DATABASE}")
        self.ask(f"CREATE DATABASE {DATABASE}")
        self.ask(f"USE {DATABASE}")
        for statement in SETUP:
            answer = self.ask(statement)
            if answer[0] is not None:
                sys.exit(f"{self.where}: {statement}: {answer[0]}")

    def ask(self, statement):
        """Error, column names, rows, warnings."""
        try:
            with self.connection.cursor() as cursor:
                changed = cursor.execute(statement)
                names = [field[0] for field in cursor.description or ()]
                rows = [tuple(row) for row in cursor.fetchall()] if cursor.description else changed
        except pymysql.MySQLError as error:
            return error.args, None, None, None
        if isinstance(rows, list) and not is_ordered(statement):
            rows.sort(key=repr)
        return None, names, rows, [] if SKIP_WARNINGS.search(statement) else self.warnings()

    def warnings(self):
        with self.connection.cursor() as cursor:
            cursor.execute("SHOW WARNINGS")
            return list(cursor.fetchall())

    def run(self, statements):
        """The answers to statements, up to a lost connection."""
        answers = []
        for statement in statements:
            try:
                answers.append(self.ask(statement))
            except Exception as failure:
                answers.append((("lost", repr(failure)), None, None, None))
            if answers[-1][0] is not None and answers[-1][0][0] in (2006, 2013, "lost", 0):
                self.connect()
        return answers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("socket")
    parser.add_argument("port", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    mysql, muster = Server(unix_socket=options.socket), Server(host="127.0.0.1", port=options.port)
    mysql.prepare()
    muster.prepare()
    equal = total = 0
    for group, features in FEATURES.items():
        found = 0
        features = [feature for feature in features if options.only in group or options.only in " ".join(feature)]
        for feature in features:
            expected, got = mysql.run(feature), muster.run(feature)
            differing = [trio for trio in zip(feature, expected, got) if trio[1] != trio[2]]
            found += not differing
            if differing and not options.quiet:
                statement, wanted, answer = differing[0]
                print(f"== {group}: {statement}\n   MySQL  {wanted}\n   Muster {answer}")
        if features:
            print(f"-- {group}: {found} of {len(features)}")
        equal, total = equal + found, total + len(features)
    print(f"{equal} of {total} features answer as MySQL does")
    mysql.ask(f"DROP DATABASE {DATABASE}")
    sys.exit(0 if equal == total else 1)


if __name__ == "__main__":
    main()
