#!/usr/bin/env python3
"""Compares random expressions over JSON between a Muster server and a MySQL 8.0 server: values and errors.

    json_expressions.py MUSTER_PORT MYSQL_SOCKET [--seed N] [--count N]

Exits with 1 if an expression has another value or another error. Not called json.py, which is a module of Python.
"""

import argparse
import random
import sys

import pymysql

NAMES = ["a", "b", "cc", "a b", "é", ""]
SCALARS = ["null", "true", "false", "0", "1", "-1", "1.0", "1.5", "-0.0", "1e3", "12345678901", "18446744073709551615", "99999999999999999999",
           '"a"', '"A"', '""', '"1"', '"a\\"b"', '"x\\ny"', '"é"']
DAMAGED = ["", "[", "{", '{"a"', "[1,]", "nul", "01", '"a', "{1:2}", "[1 2]", "1 1", '"\\q"']
LEGS = [".a", ".b", ".cc", '."a b"', "[0]", "[1]", "[last]", "[last-1]", "[9]", ".*", "[*]", "[0 to 1]", "[1 to last]", "**.a", "**[0]"]
SINGLE_LEGS = LEGS[:9]
DAMAGED_PATHS = ["", "a", "$.", "$[", "$[x]", "$**", "$.a.", "$[2 to 1]", "$ .a", "$.1"]
VALUES = ["NULL", "1", "1.50", "1e0", "'a'", "'[1]'", "TRUE", "DATE'2020-01-02'", "TIMESTAMP'2020-01-02 03:04:05.6'", "TIME'-01:02:03'", "x'6162'"]
RETURNING = ["SIGNED", "UNSIGNED", "DECIMAL(20,3)", "DOUBLE", "CHAR(3)", "CHAR", "BINARY(4)", "JSON", "DATE", "DATETIME(3)", "TIME"]
COLUMN_TYPES = ["INT", "INT UNSIGNED", "TINYINT", "BIGINT", "DECIMAL(6,2)", "FLOAT", "DOUBLE", "YEAR", "DATE", "DATETIME(2)", "TIME", "CHAR(3)",
                "VARCHAR(5)", "TEXT", "VARBINARY(4)", "JSON", "ENUM('a','b')", "SET('a','b')"]
WHERE_ROWS_ARE = ["$", "$[*]", "$.a", "$.a[*]", "$[*].b", "$[0]", "$.b[*]", "$.*", "$**.a", "$[1 to 2]"]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def document(self, depth=0):
        kind = self.random.random()
        if depth > 3 or kind < 0.35:
            return self.random.choice(SCALARS)
        parts = [self.document(depth + 1) for _ in range(self.random.randint(0, 3))]
        if kind < 0.65:
            return "[" + ",".join(parts) + "]"
        members = [f'"{self.random.choice(NAMES)}":{part}' for part in parts]
        return "{" + ", ".join(members) + "}"

    def text(self):
        document = self.random.choice(DAMAGED) if self.random.random() < 0.03 else self.document()
        return "'" + document.replace("\\", "\\\\").replace("'", "''") + "'"

    def json(self):
        kind = self.random.random()
        if kind < 0.05:
            return "NULL"
        if kind < 0.45:
            return self.text()
        if kind < 0.75:
            return f"CAST({self.text()} AS JSON)"
        if kind < 0.85:
            return f"JSON_EXTRACT({self.text()}, {self.path()})"
        values = ", ".join(self.value() for _ in range(self.random.randint(0, 3)))
        return f"JSON_ARRAY({values})"

    def path(self, single=False):
        if self.random.random() < 0.04:
            return "'" + self.random.choice(DAMAGED_PATHS) + "'"
        legs = SINGLE_LEGS if single and self.random.random() < 0.95 else LEGS
        return "'$" + "".join(self.random.choice(legs) for _ in range(self.random.randint(0, 3))) + "'"

    def value(self):
        return self.random.choice(VALUES) if self.random.random() < 0.6 else f"CAST({self.text()} AS JSON)"

    def places(self, values=True):
        several = range(self.random.randint(1, 2))
        return "".join(f", {self.path(True)}" + (f", {self.value()}" if values else "") for _ in several)

    def instead(self, default):
        """What JSON_VALUE and JSON_TABLE have ON EMPTY and ON ERROR."""
        text = ""
        for event in ("EMPTY", "ERROR"):
            if self.random.random() < 0.3:
                text += f" {self.random.choice(['NULL', 'ERROR', 'DEFAULT ' + default])} ON {event}"
        return text

    def columns(self, number, depth=0):
        """The columns of a JSON_TABLE, named from a number on, and the number behind them."""
        columns = []
        for _ in range(self.random.randint(1, 3)):
            kind, name = self.random.random(), f"c{number}"
            number += 1
            if kind < 0.15:
                columns.append(f"{name} FOR ORDINALITY")
            elif kind < 0.25:
                columns.append(f"{name} INT EXISTS PATH {self.path()}")
            elif kind < 0.45 and depth < 2:
                nested, number = self.columns(number, depth + 1)
                columns.append(f"NESTED PATH '{self.random.choice(WHERE_ROWS_ARE)}' COLUMNS ({nested})")
            else:
                columns.append(f"{name} {self.random.choice(COLUMN_TYPES)} PATH {self.path()}{self.instead(repr('1'))}")
        return ", ".join(columns), number

    def table(self, document):
        return f"JSON_TABLE({document}, '{self.random.choice(WHERE_ROWS_ARE)}' COLUMNS ({self.columns(0)[0]}))"

    def expression(self):
        choice = self.random.choice
        return choice([
            lambda: f"JSON_VALUE({self.json()}, {self.path()} RETURNING {choice(RETURNING)}{self.instead(choice(['NULL', '1', repr('1')]))})",
            lambda: f"JSON_VALUE({self.json()}, {self.path(True)}{self.instead(repr('x'))})",
            lambda: f"* FROM {self.table(self.json())} t",
            lambda: f"* FROM (SELECT 1 n, CAST({self.text()} AS JSON) j UNION ALL SELECT 2, {self.text()}) d "
                    f"{choice(['JOIN', 'LEFT JOIN'])} {self.table('d.j')} t ON {choice(['TRUE', 'd.n = 1', 't.c0 IS NOT NULL'])}",
            lambda: f"CAST({self.json()} AS JSON)",
            lambda: f"JSON_EXTRACT({self.json()}, {self.path()})",
            lambda: f"JSON_EXTRACT({self.json()}, {self.path()}, {self.path()})",
            lambda: f"JSON_UNQUOTE(JSON_EXTRACT({self.json()}, {self.path(True)}))",
            lambda: f"{choice(['JSON_SET', 'JSON_INSERT', 'JSON_REPLACE', 'JSON_ARRAY_APPEND'])}({self.json()}{self.places()})",
            lambda: f"JSON_ARRAY_INSERT({self.json()}, {self.path(True)[:-1]}[{self.random.randint(0, 2)}]', {self.value()})",
            lambda: f"JSON_REMOVE({self.json()}{self.places(False)})",
            lambda: f"{choice(['JSON_MERGE_PATCH', 'JSON_MERGE_PRESERVE'])}({self.json()}, {self.json()}, {self.json()})",
            lambda: f"JSON_CONTAINS({self.json()}, {self.json()})",
            lambda: f"JSON_CONTAINS({self.json()}, {self.json()}, {self.path(True)})",
            lambda: f"JSON_OVERLAPS({self.json()}, {self.json()})",
            lambda: f"JSON_CONTAINS_PATH({self.json()}, {choice(['one', 'all', 'x', None]).__repr__().replace('None', 'NULL')}, "
                    f"{self.path()}, {self.path()})",
            lambda: f"JSON_SEARCH({self.json()}, {choice(['one', 'all']).__repr__()}, {choice(['a', '%', 'A', '1', '_']).__repr__()})",
            lambda: f"JSON_SEARCH({self.json()}, 'all', '%', NULL, {self.path()})",
            lambda: f"{choice(['JSON_TYPE', 'JSON_DEPTH', 'JSON_LENGTH', 'JSON_VALID', 'JSON_KEYS', 'JSON_PRETTY', 'JSON_STORAGE_SIZE'])}"
                    f"({self.json()})",
            lambda: f"{choice(['JSON_LENGTH', 'JSON_KEYS'])}({self.json()}, {self.path(True)})",
            lambda: f"CAST({self.text()} AS JSON) {choice(['=', '<', '<=>', '>=', '<>'])} CAST({self.text()} AS JSON)",
            lambda: f"CAST({self.text()} AS JSON) {choice(['=', '<', '<=>', '>='])} {choice(VALUES)}",
            lambda: f"JSON_OBJECT('a', {self.value()}, 'b', {self.value()})",
            lambda: f"CAST(CAST({self.text()} AS JSON) AS {choice(['SIGNED', 'UNSIGNED', 'DECIMAL(20,3)', 'DOUBLE', 'CHAR', 'DATE'])})",
        ])()


def connect(**where):
    connection = pymysql.connect(user="root", charset="utf8mb4", conv={}, use_unicode=False, autocommit=True, **where)
    connection.cursor().execute("SET time_zone = '+00:00'")
    return connection


def answer(cursor, statement):
    try:
        cursor.execute(statement)
        rows = cursor.fetchall()
        # The rows of a UNION come in any order.
        return tuple(sorted(rows, key=repr)) if "UNION ALL" in statement else rows
    except pymysql.MySQLError as error:
        return error.args


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("socket")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20_000)
    options = parser.parse_args()
    muster = connect(host="127.0.0.1", port=options.port).cursor()
    mysql = connect(unix_socket=options.socket).cursor()
    maker = Maker(options.seed)
    different = errors = 0
    for _ in range(options.count):
        statement = f"SELECT {maker.expression()}"
        own, other = answer(muster, statement), answer(mysql, statement)
        errors += bool(other) and isinstance(other[0], int)
        if own != other:
            different += 1
            print(f"{statement}\n  muster {own}\n  mysql  {other}")
    print(f"{options.count} expressions, {errors} of them errors, {different} different")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
