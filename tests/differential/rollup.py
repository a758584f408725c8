#!/usr/bin/env python3
"""Compares GROUP BY .. WITH ROLLUP between a Muster server and a MySQL server, one random query after the other.

    rollup.py MUSTER_PORT MYSQL_SOCKET [--seed N] [--seconds N] [--count N] [--examples N]

Keys that are columns of all types, expressions, constants, the same or nested in each other; aggregates, GROUPING(), HAVING, DISTINCT,
ORDER BY, LIMIT, window functions, joins; in views, derived tables, subqueries, unions, CREATE TABLE .. SELECT, with and without
ONLY_FULL_GROUP_BY; INTERSECT ALL and EXCEPT ALL over them. Error, rows, their order where the query has no window function, the kinds of
values, the types of CREATE TABLE .. SELECT and warnings are compared. Exits with 1 if anything differs.
"""

import argparse
import collections
import random
import sys
import time

import pymysql
from client import connect, run

DATABASE = "muster_rollup"
COLUMNS = {
    "id": "INT PRIMARY KEY",
    "i": "INT",
    "n": "INT NOT NULL",
    "u": "BIGINT UNSIGNED",
    "d": "DECIMAL(8,2)",
    "f": "DOUBLE",
    "s": "VARCHAR(8)",
    "c": "CHAR(3) COLLATE utf8mb4_bin",
    "x": "VARBINARY(4)",
    "dt": "DATE",
    "ts": "DATETIME",
    "tm": "TIME",
    "y": "YEAR",
    "e": "ENUM('z','y','x')",
}
NUMBERS = ["i", "n", "u", "d"]
# Types that a client is told, by what its values are.
FAMILIES = {code: name for name, codes in {"integer": (1, 2, 3, 8, 9, 13, 16), "double": (4, 5), "decimal": (0, 246),
                                           "text": (6, 249, 250, 251, 252, 253, 254)}.items() for code in codes}


class Draw:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, items):
        return self.random.choice(items)

    def chance(self, share):
        return self.random.random() < share

    def value(self, column):
        if column not in ("id", "n") and self.chance(0.2):
            return "NULL"
        return self.one({
            "i": ["0", "1", "2", "3", "-1"], "n": ["0", "1", "2", "7"], "u": ["0", "1", "18446744073709551615"],
            "d": ["0", "1.50", "2", "-3.25"], "f": ["0", "0.5", "1e10"], "s": ["'a'", "'A'", "'b'", "''", "'ä'"],
            "c": ["'a'", "'A'", "'b'"], "x": ["'a'", "X'00'", "''"], "dt": ["'2020-01-01'", "'2021-05-06'"],
            "ts": ["'2020-01-01 00:00:00'", "'2020-01-01 10:11:12'"], "tm": ["'10:00:00'", "'-01:00:00'"], "y": ["2020", "1999"],
            "e": ["'z'", "'x'"],
        }[column])

    def key(self):
        column = self.one([name for name in COLUMNS if name != "id"])
        return self.one([
            column, column, column, column, f"{self.one(NUMBERS)} + 1", f"{self.one(NUMBERS)} % 2", f"{self.one(NUMBERS)} > 1", "YEAR(dt)",
            "UPPER(s)", "CONCAT(s, c)", "i IS NULL", "IF(i > 1, s, c)", "COALESCE(i, n)", "DATE(ts)", "i = n", "id % 3", "s = 'a'",
        ])

    def aggregate(self):
        number = self.one(NUMBERS + ["f", "id"])
        column = self.one(list(COLUMNS))
        return self.one([
            "COUNT(*)", "COUNT(*)", f"COUNT({column})", f"COUNT(DISTINCT {column})", f"SUM({number})", f"AVG({number})", f"MIN({column})",
            f"MAX({column})", "GROUP_CONCAT(id ORDER BY id)", f"BIT_OR({number})", "SUM(DISTINCT n)", "COUNT(*) + 1", "SUM(n) / COUNT(*)",
            "IF(COUNT(*) > 1, MIN(s), 'one')",
        ])

    def grouping(self, keys):
        return f"GROUPING({', '.join(self.one(keys) for _ in range(self.one([1, 1, 1, 2, 3])))})"

    def over(self, keys):
        """An expression over the groups."""
        key = self.one(keys)
        # A subquery with a key that is an expression can end MySQL 8.0.33.
        inner = f"(SELECT {key})" if key in COLUMNS else key
        return self.one([
            key, key, key, self.aggregate(), self.aggregate(), self.grouping(keys), f"{key} IS NULL", f"COALESCE({key}, 'all')",
            f"IF({self.grouping(keys)}, 'all', {key})", inner, "1", f"CONCAT({key}, '.')", f"{self.aggregate()} = {self.grouping(keys)}",
        ])

    def having(self, keys):
        key = self.one(keys)
        return self.one([
            f"{self.grouping(keys)} = {self.one('01')}", "COUNT(*) > 1", f"{key} IS NOT NULL", f"{key} IS NULL", f"SUM(n) > {self.one('125')}",
            f"{self.grouping(keys)} = 1 OR COUNT(*) = 1", "k0 IS NOT NULL", "k1 = 1", f"NOT {self.grouping(keys)}",
        ])

    def query(self, is_whole=True):
        keys = [self.key() for _ in range(self.one([1, 1, 2, 2, 3]))]
        if self.chance(0.05):
            keys.append(self.one(["1 + 0", "'x'", "NULL"]))
        # The same key twice can end MySQL 8.0.33.
        keys = list(dict.fromkeys(keys))
        names = keys + [f"{self.over(keys)}" for _ in range(self.one([0, 1, 1, 2]))] if self.chance(0.7) else [self.over(keys) for _ in range(self.one([1, 2, 3]))]
        has_window = self.chance(0.1)
        if has_window:
            names.append(self.one([
                "ROW_NUMBER() OVER ()", f"RANK() OVER (ORDER BY {self.aggregate()})", f"SUM(COUNT(*)) OVER (PARTITION BY {self.grouping(keys)})",
                f"COUNT(*) OVER (ORDER BY {self.one(keys)})",
            ]))
        source = self.one(["t", "t", "t", "t", "(SELECT * FROM t WHERE id > 2) t", "v", "t JOIN (SELECT 1 AS one UNION ALL SELECT 2) j"])
        text = f"SELECT {'DISTINCT ' if self.chance(0.1) else ''}" + ", ".join(f"{name} AS k{at}" for at, name in enumerate(names)) + f" FROM {source}"
        if self.chance(0.3):
            text += f" WHERE {self.one(['n > 0', 'i IS NOT NULL', 'i = 1', 'id < 6', 'id = 1', '1 = 0'])}"
        text += f" GROUP BY {', '.join(keys)} WITH ROLLUP"
        if self.chance(0.25):
            text += f" HAVING {self.having(keys)}"
        if is_whole and self.chance(0.3):
            orders = [self.one([key, f"{key} DESC", self.grouping(keys), "k0", "k0 DESC", "1", "COUNT(*)"]) for key in keys]
            text += f" ORDER BY {', '.join(orders)}"
        elif is_whole and self.chance(0.1):
            text += f" LIMIT {self.one(['0', '2', '5', '1, 3'])}"
        return text, has_window

    def statement(self):
        kind = self.one(["whole"] * 6 + ["derived", "view", "table", "scalar", "union", "intersect", "in"])
        if kind == "whole":
            return kind, *self.query()
        query, _ = self.query(False)
        return kind, {
            "derived": f"SELECT * FROM ({query}) q WHERE {self.one(['k0 IS NULL', 'k0 IS NOT NULL', 'k0 = 1', '1 = 1'])}",
            "view": query,
            "table": query,
            "scalar": f"SELECT id, (SELECT COUNT(k0) FROM ({query}) q) FROM t",
            "union": f"({query}) UNION {self.one(['ALL', 'DISTINCT'])} ({query})",
            "intersect": f"({query}) {self.one(['INTERSECT ALL', 'EXCEPT ALL', 'INTERSECT', 'EXCEPT'])} ({query})",
            "in": f"SELECT id FROM t WHERE n IN (SELECT k0 FROM ({query}) q)",
        }[kind], True


def answer(connection, kind, sql, sorts):
    """The error, or rows, types and warnings."""
    try:
        if kind == "view":
            run(connection, "DROP VIEW IF EXISTS made_view")
            run(connection, f"CREATE VIEW made_view AS {sql}")
            sql = "SELECT * FROM made_view"
        if kind == "table":
            run(connection, "DROP TABLE IF EXISTS made")
            run(connection, f"CREATE TABLE made AS {sql}")
            sql = "SELECT * FROM made"
        with connection.cursor() as cursor:
            cursor.execute(sql)
            rows = cursor.fetchall()
            types = [FAMILIES.get(field[1], field[1]) for field in cursor.description]
        warnings = sorted({code for _, code, _ in run(connection, "SHOW WARNINGS")[1]})
        if kind == "table":
            types = run(connection, "SHOW CREATE TABLE made")[1][0][1].split(" ENGINE")[0]
    except pymysql.MySQLError as failure:
        return failure.args
    rows = [tuple(compared(value) for value in row) for row in rows]
    return (sorted(rows, key=repr) if sorts else rows), types, warnings


def compared(value):
    """Of texts that are equal under their collation any may be shown."""
    if isinstance(value, str):
        return value.lower().replace("ä", "a")
    return f"{value:.9g}" if isinstance(value, float) else value


def part(got, wanted):
    """The part of the answers that differs."""
    if len(got) == 2 or len(wanted) == 2:
        return f"{got[0] if len(got) == 2 else 'rows'} for {wanted[0] if len(wanted) == 2 else 'rows'}"
    if sorted(got[0], key=repr) != sorted(wanted[0], key=repr):
        return "rows"
    return "order" if got[0] != wanted[0] else "types" if got[1] != wanted[1] else "warnings"


def fill(draw, connections):
    rows = [f"({i}, {', '.join(draw.value(column) for column in COLUMNS if column != 'id')})" for i in range(1, draw.one([1, 4, 9, 16]) + 1)]
    mode = draw.one(["", "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES", "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES"])
    for connection in connections:
        run(connection, "TRUNCATE t")
        run(connection, f"INSERT INTO t VALUES {', '.join(rows)}")
        run(connection, f"SET sql_mode = '{mode}'")
    return f"t: {', '.join(rows)} mode {mode}"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("port", type=int)
    arguments.add_argument("socket")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--count", type=int, default=0)
    arguments.add_argument("--examples", type=int, default=20)
    given = arguments.parse_args()
    both = (connect(True, host="127.0.0.1", port=given.port), connect(True, unix_socket=given.socket))
    for connection in both:
        run(connection, f"DROP DATABASE IF EXISTS {DATABASE}")
        run(connection, f"CREATE DATABASE {DATABASE}")
        run(connection, f"USE {DATABASE}")
        run(connection, f"CREATE TABLE t ({', '.join(f'{name} {ty}' for name, ty in COLUMNS.items())})")
        run(connection, "CREATE VIEW v AS SELECT * FROM t WHERE n < 5")
    draw, until, asked, differ = Draw(given.seed), time.monotonic() + given.seconds, 0, collections.Counter()
    errors = collections.Counter()
    while time.monotonic() < until and (not given.count or asked < given.count):
        state = fill(draw, both)
        for _ in range(30):
            kind, sql, sorts = draw.statement()
            got, wanted = (answer(connection, kind, sql, sorts) for connection in both)
            asked += 1
            if len(wanted) == 2:
                errors[wanted[0]] += 1
            if got != wanted and not (len(got) == len(wanted) == 2 and got[0] == wanted[0]):
                named = part(got, wanted)
                differ[named] += 1
                if differ[named] <= 4 and sum(differ.values()) <= given.examples:
                    print(f"\n{named}, {kind}: {sql}\n  {state[:300]}\n  Muster {str(got)[:600]}\n  MySQL  {str(wanted)[:600]}")
    total = sum(differ.values())
    print(f"{asked} queries, {total} differ {dict(differ)}; errors {dict(errors)}")
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
