#!/usr/bin/env python3
"""Compares window functions between a Muster server and a MySQL server, one random query after the other.

    windows.py MUSTER_PORT MYSQL_SOCKET [--seed N] [--seconds N] [--count N] [--examples N]

Each round fills a table with random rows (NULLs, ties, the ends of the types), and asks for random functions over random windows:
partitions, orders, frames of ROWS and RANGE, named windows, windows over groups, in derived tables and sort keys. Functions that depend
on the order of peers get an order without ties. Error, rows and warnings are compared. Exits with 1 if anything differs.
"""

import argparse
import collections
import random
import sys
import time

import pymysql
from client import connect, run

DATABASE = "muster_windows"
COLUMNS = {
    "id": "INT PRIMARY KEY",
    "i": "INT",
    "b": "BIGINT",
    "u": "BIGINT UNSIGNED",
    "t": "TINYINT",
    "d": "DECIMAL(12,3)",
    "w": "DECIMAL(60,10)",
    "f": "DOUBLE",
    "s": "VARCHAR(20)",
    "c": "CHAR(4) COLLATE utf8mb4_bin",
    "x": "VARBINARY(8)",
    "dt": "DATE",
    "ts": "DATETIME(3)",
    "tm": "TIME",
    "y": "YEAR",
    "e": "ENUM('z','y','x')",
}
NUMBERS = ["i", "b", "u", "t", "d", "w", "f", "id"]
EXACT = ["i", "b", "u", "t", "d", "w", "id"]
MOMENTS = ["dt", "ts", "tm"]
RANKS = ["ROW_NUMBER()", "RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()"]
UNITS = ["DAY", "HOUR", "MONTH", "MINUTE", "SECOND", "WEEK", "YEAR"]


class Draw:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, items):
        return self.random.choice(items)

    def chance(self, share):
        return self.random.random() < share

    def value(self, column):
        r = self.random
        if column != "id" and self.chance(0.2):
            return "NULL"
        choices = {
            "i": lambda: r.choice([r.randint(-3, 9), 2147483647, -2147483648]),
            "b": lambda: r.choice([r.randint(-3, 9), 9223372036854775807, -9223372036854775808]),
            "u": lambda: r.choice([r.randint(0, 9), 18446744073709551615, 0]),
            "t": lambda: r.randint(-2, 4),
            "d": lambda: f"{r.randint(-40, 40) / 8:.3f}",
            "w": lambda: r.choice([f"{r.randint(-9, 9)}.5", "9" * 49, "-" + "9" * 50 + ".25"]),
            "f": lambda: r.choice([r.randint(-8, 8) / 4, 1e15, -0.0]),
            "s": lambda: repr(r.choice(["a", "A", "b", "B ", "ä", "", "abc", "zz"])),
            "c": lambda: repr(r.choice(["a", "A", "b", "", "ab"])),
            "x": lambda: r.choice(["x'61'", "x'41'", "x'ff00'", "''"]),
            "dt": lambda: repr(r.choice(["2020-01-31", "2020-02-01", "2020-02-29", "2019-12-31", "9999-12-31", "1000-01-01"])),
            "ts": lambda: repr(r.choice(["2020-01-31 10:00:00.5", "2020-01-31 11:00:00", "2020-02-01 00:00:00", "9999-12-31 23:59:59"])),
            "tm": lambda: repr(r.choice(["10:00:00", "11:30:00", "12:00:01", "100:00:00", "300:59:59"])),
            "y": lambda: r.choice([2000, 2001, 2010, 1901, 2155]),
            "e": lambda: repr(r.choice(["x", "y", "z"])),
        }
        return str(choices[column]())

    def rows(self):
        rows = []
        for number in range(self.one([0, 1, 5, 12, 40])):
            values = [str(number)] + [self.value(c) for c in COLUMNS if c != "id"]
            rows.append(f"({', '.join(values)})")
        return rows

    def columns(self, most):
        return self.random.sample(list(COLUMNS), self.random.randint(1, most))

    def direction(self):
        return self.one(["", "", " DESC"])

    def order(self, total):
        keys = [c + self.direction() for c in self.columns(2)] if self.chance(0.8) else []
        if total:
            keys.append("id" + self.direction())
        return keys

    def bounds(self, value, reach):
        """A pair of bounds; `value`: makes one that is a value."""
        before = ["UNBOUNDED PRECEDING", f"{value()} PRECEDING", "CURRENT ROW"]
        after = ["CURRENT ROW", f"{value()} FOLLOWING", "UNBOUNDED FOLLOWING"]
        if self.chance(0.2):
            return self.one(before)
        start, end = self.one(before + after[1:2]), self.one(after + before[1:2])
        return f"BETWEEN {start} AND {end}"

    def rows_frame(self):
        return "ROWS " + self.bounds(lambda: self.one(["0", "1", "2", "5", "100"]), 3)

    def range_frame(self):
        """A frame of RANGE with the key that it is over."""
        if self.chance(0.3):
            return self.order(False), "RANGE " + self.one(
                ["UNBOUNDED PRECEDING", "CURRENT ROW", "BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                 "BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"])
        if self.chance(0.6):
            key = self.one(NUMBERS + ["y", "i + 1", "d * 2"])
            return [key + self.direction()], "RANGE " + self.bounds(lambda: self.one(["0", "1", "2", "1.5", "10", "1e3"]), 3)
        key = self.one(MOMENTS)
        # MySQL reads a TIME that is moved by days as a date.
        units = UNITS if key != "tm" else ["HOUR", "MINUTE", "SECOND"]
        interval = lambda: f"INTERVAL {self.one(['1', '2', '30', '0'])} {self.one(units)}"
        return [key + self.direction()], "RANGE " + self.bounds(interval, 3)

    def aggregate(self, exact):
        kind = self.random.random()
        column = self.one(list(COLUMNS))
        number = self.one(EXACT if exact else NUMBERS)
        if kind < 0.2:
            return self.one(["COUNT(*)", f"COUNT({column})"])
        if kind < 0.5:
            return f"{self.one(['SUM', 'AVG'])}({number})"
        if kind < 0.8:
            # Any of several equal texts may be the largest.
            column = self.one([c for c in COLUMNS if c not in ("s",)])
            return f"{self.one(['MIN', 'MAX'])}({column})"
        if kind < 0.9 and not exact:
            return f"{self.one(['STD', 'VAR_SAMP', 'STDDEV_SAMP', 'VARIANCE'])}({self.one(['t', 'd', 'id'])})"
        return f"{self.one(['BIT_AND', 'BIT_OR', 'BIT_XOR'])}({self.one(['t', 'id', 'u'])})"

    def function(self, total):
        column = self.one(list(COLUMNS))
        kind = self.random.random()
        if not total:
            return self.aggregate(True) if kind < 0.7 else self.one(RANKS[1:])
        if kind < 0.2:
            return self.one(RANKS + ["NTILE(3)", "NTILE(1)", "NTILE(100)"])
        if kind < 0.4:
            rest = self.one(["", ", 0", ", 1", ", 2", f", 1, {column}", ", 3, NULL", f", 1, {self.value(column) if column != 'id' else 7}"])
            return f"{self.one(['LAG', 'LEAD'])}({column}{rest})"
        if kind < 0.6:
            return self.one([f"FIRST_VALUE({column})", f"LAST_VALUE({column})", f"NTH_VALUE({column}, {self.one('123')})"])
        return self.aggregate(False)

    def window(self):
        """A window, and whether its order has no ties."""
        parts = []
        if self.chance(0.6):
            parts.append("PARTITION BY " + ", ".join(self.columns(2)))
        if self.chance(0.35):
            keys, frame = self.range_frame()
            if keys:
                parts.append("ORDER BY " + ", ".join(keys))
            return " ".join(parts + [frame]), False
        total = self.chance(0.7)
        keys = self.order(total)
        if keys:
            parts.append("ORDER BY " + ", ".join(keys))
        if total and self.chance(0.6):
            parts.append(self.rows_frame())
        return " ".join(parts), total

    def call(self, named):
        if named and self.chance(0.3):
            name, total = self.one(named)
            return f"{self.function(total)} OVER {name}"
        window, total = self.window()
        return f"{self.function(total)} OVER ({window})"

    def query(self):
        named = []
        clause = ""
        if self.chance(0.3):
            windows = [self.window() for _ in range(self.one([1, 2]))]
            named = [(f"w{i}", total) for i, (_, total) in enumerate(windows)]
            clause = " WINDOW " + ", ".join(f"w{i} AS ({text})" for i, (text, _) in enumerate(windows))
        kind = self.random.random()
        calls = [self.call(named) for _ in range(self.one([1, 1, 2, 3]))]
        items = ", ".join(f"{call} AS r{i}" for i, call in enumerate(calls))
        where = self.one(["", "", " WHERE id > 3", " WHERE i IS NOT NULL", " WHERE t < 2"])
        if kind < 0.7:
            return f"SELECT id, {items} FROM t{where}{clause} ORDER BY id"
        if kind < 0.8:
            return f"SELECT * FROM (SELECT id, t, {items} FROM t{where}{clause}) q WHERE {self.one(['id > 2', 't = 1', 'r0 IS NOT NULL'])} ORDER BY id"
        if kind < 0.9:
            key = self.one(["t", "y", "e", "i"])
            functions = ["RANK() OVER (ORDER BY SUM(d))", "SUM(SUM(d)) OVER ()", f"SUM(COUNT(*)) OVER (ORDER BY {key})",
                         f"LAG(MAX(id)) OVER (ORDER BY {key})", f"ROW_NUMBER() OVER (ORDER BY {key} DESC)",
                         f"AVG(MIN(i)) OVER (ORDER BY {key} ROWS 1 PRECEDING)"]
            chosen = self.random.sample(functions, 2)
            return f"SELECT {key}, COUNT(*), {', '.join(chosen)} FROM t{where} GROUP BY {key} ORDER BY {key}"
        number = "ROW_NUMBER() OVER (PARTITION BY t ORDER BY id)"
        return self.one([
            f"SELECT id FROM t{where} ORDER BY {number} DESC, id",
            f"SELECT DISTINCT {number} r FROM t{where} ORDER BY r",
            f"SELECT {number} + id r, id FROM t{where} ORDER BY id LIMIT 5",
            f"SELECT id, {number} r FROM t UNION ALL SELECT t, COUNT(*) OVER (PARTITION BY t) FROM t ORDER BY 1, 2",
            f"SELECT id, (SELECT SUM(q.r) FROM (SELECT RANK() OVER (ORDER BY t.t) r FROM t) q) z FROM t a ORDER BY id",
            f"SELECT a.id, b.r FROM t a LEFT JOIN (SELECT id, {number} r FROM t) b ON b.r = a.id ORDER BY 1, 2",
        ])


def shown(value):
    return f"{value:.9g}" if isinstance(value, float) else value


def answer(connection, sql):
    try:
        _, rows = run(connection, sql)
    except pymysql.MySQLError as failure:
        code = failure.args[0]
        return code if code != 1064 else (code,)
    warnings = run(connection, "SHOW WARNINGS")[1]
    # MySQL warns of bounds beyond a type's end, one by one as it reads.
    codes = sorted({code for _, code, _ in warnings} - {1441})
    return [tuple(map(shown, row)) for row in rows], codes


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("port", type=int)
    arguments.add_argument("socket")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--count", type=int, default=0)
    arguments.add_argument("--examples", type=int, default=20)
    given = arguments.parse_args()
    muster = connect(True, host="127.0.0.1", port=given.port)
    mysql = connect(True, unix_socket=given.socket)
    both = (muster, mysql)
    for connection in both:
        run(connection, f"DROP DATABASE IF EXISTS {DATABASE}")
        run(connection, f"CREATE DATABASE {DATABASE}")
        run(connection, f"USE {DATABASE}")
        run(connection, f"CREATE TABLE t ({', '.join(f'{c} {ty}' for c, ty in COLUMNS.items())}, KEY (i), KEY (t, d))")
    draw, until, asked, differ = Draw(given.seed), time.monotonic() + given.seconds, 0, collections.Counter()
    errors = collections.Counter()
    while time.monotonic() < until and (not given.count or asked < given.count):
        rows = draw.rows()
        for connection in both:
            run(connection, "TRUNCATE t")
            if rows:
                run(connection, f"INSERT INTO t VALUES {', '.join(rows)}")
        for _ in range(40):
            sql = draw.query()
            got, wanted = answer(muster, sql), answer(mysql, sql)
            asked += 1
            if isinstance(wanted, int):
                errors[wanted] += 1
            if wanted == 1690 and not isinstance(got, int) and "RANGE" in sql:
                # MySQL refuses bounds beyond the type of the key.
                continue
            if got != wanted:
                differ["rows" if isinstance(wanted, tuple) and isinstance(got, tuple) else f"{got if isinstance(got, int) else 'rows'} for {wanted if isinstance(wanted, int) else 'rows'}"] += 1
                if sum(differ.values()) <= given.examples:
                    print(f"\n{sql}\n  rows: {rows if len(rows) < 6 else len(rows)}")
                    if isinstance(got, tuple) and isinstance(wanted, tuple) and len(got) > 1 and len(wanted) > 1:
                        print(f"  warnings: {got[1]} {wanted[1]}")
                        pairs = [(g, w) for g, w in zip(got[0], wanted[0]) if g != w]
                        print(f"  {len(got[0])} rows for {len(wanted[0])}; " + "; ".join(f"{g} for {w}" for g, w in pairs[:3]))
                    else:
                        print(f"  Muster {str(got)[:300]}\n  MySQL  {str(wanted)[:300]}")
    total = sum(differ.values())
    print(f"{asked} queries, {total} differ {dict(differ)}; errors {dict(errors)}")
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
