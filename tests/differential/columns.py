#!/usr/bin/env python3
"""Writes what a MySQL 8.0 server tells clients about result columns, as crates/server/tests/data/result_columns.tsv has it.

    columns.py MYSQL_SOCKET [--muster PORT] < statements

Each line of the input is a statement, or a line of the file, of which MySQL is asked again. With --muster only those lines are
written that a Muster server answers otherwise, with both answers.
"""

import argparse
import pathlib
import re
import sys

import pymysql
from pymysql.constants import FIELD_TYPE

TYPES = {code: name.lower() for name, code in vars(FIELD_TYPE).items() if isinstance(code, int) and name not in ("CHAR", "INTERVAL")}
TEST = pathlib.Path(__file__).parents[2] / "crates" / "server" / "tests" / "result_columns.rs"


def table():
    """The table that the statements read."""
    text = re.search(r'const TABLE: &str = "(.*?)";', TEST.read_text(encoding="utf-8"), re.S).group(1)
    return re.sub(r"\\\n\s*", "", text)


def connect(**where):
    connection = pymysql.connect(user="root", charset="utf8mb4", conv={}, autocommit=None, **where)
    with connection.cursor() as cursor:
        for sql in ["SET NAMES utf8mb4", "DROP DATABASE IF EXISTS meta", "CREATE DATABASE meta", "USE meta", table(),
                    "INSERT INTO t (id, nn, cn, dn) VALUES (1, 2, 'a', '2001-01-31')"]:
            cursor.execute(sql)
    return connection


def last_column(connection, sql):
    """The definition of the last column of a statement's result, or its error."""
    with connection.cursor() as cursor:
        try:
            cursor.execute(sql)
        except pymysql.MySQLError as error:
            return str(error.args[1])
        field = cursor._result.fields[-1]
        return "\t".join(str(part) for part in (TYPES[field.type_code], field.length, field.scale, field.flags, field.charsetnr,
                                                 field.table_name, field.org_table, field.org_name))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("socket")
    parser.add_argument("--muster", type=int)
    options = parser.parse_args()
    mysql = connect(unix_socket=options.socket)
    muster = connect(host="127.0.0.1", port=options.muster) if options.muster else None
    different = 0
    for line in sys.stdin:
        parts = line.rstrip("\n").split("\t")
        sql = parts[1] if len(parts) > 1 else parts[0]
        want = last_column(mysql, sql)
        if muster is None:
            print(f"\t{sql}\t{want}")
            continue
        got = last_column(muster, sql)
        if got != want:
            different += 1
            print(f"{sql}\n  MySQL  {want}\n  Muster {got}")
    if muster:
        print(f"{different} columns differ")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
