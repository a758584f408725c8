#!/usr/bin/env python3
"""Compares random queries with subqueries in every place between Muster and a MySQL 8.0 server.

    subqueries.py MYSQL_SOCKET MUSTER_PORT [--seed N] [--seconds N]

Aggregate functions of outer queries, aliases of the select list in subqueries, rows compared with subqueries that pick one, nested joins, lateral
derived tables, and subqueries in the conditions of outer joins. MySQL runs without semi-joins, which give wrong rows in the ON clause of
an outer join, and rows are not compared with subqueries above an outer join, which MySQL then takes for an inner one. Where MySQL answers
with error 1140 the queries are not compared: a derived table of one row determines its columns in Muster.
"""

import argparse
import random
import sys
import time

import pymysql

DATABASE = "queries_random"
TABLES = {"r1": ["id", "a", "b"], "r2": ["a", "b", "d"], "r3": ["b", "d"]}
COMPARISONS = ["=", "<>", "<", ">", "<=", ">=", "<=>"]
ORDERED = ["=", "<>", "<", ">", "<=", ">="]
NOT_GROUPED = 1140
MYSQL_SWITCHES = "SET optimizer_switch = 'semijoin=off,materialization=off,subquery_to_derived=off'"


def setup_statements():
    rows = random.Random(5)

    def values(count, width):
        one = lambda: rows.choice(["NULL", "0", "1", "2", "3", "4"])
        return ["(" + ", ".join(one() for _ in range(width)) + ")" for _ in range(count)]

    keyed = [f"({number}, {row[1:]}" for number, row in enumerate(values(12, 2))]
    return [
        "CREATE TABLE r1 (id INT PRIMARY KEY, a INT, b INT, KEY (a))",
        "CREATE TABLE r2 (a INT, b INT, d INT, KEY (b))",
        "CREATE TABLE r3 (b INT, d INT)",
        "INSERT INTO r1 VALUES " + ", ".join(keyed),
        "INSERT INTO r2 VALUES " + ", ".join(values(10, 3)),
        "INSERT INTO r3 VALUES " + ", ".join(values(6, 2)),
    ]


class Server:
    def __init__(self, **where):
        self.connection = pymysql.connect(user="root", charset="utf8mb4", conv={}, autocommit=True, **where)
        for statement in [f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}"]:
            self.ask(statement)
        for statement in setup_statements():
            self.ask(statement)

    def ask(self, statement):
        """The sorted rows, or the number of the error."""
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(statement)
                return sorted(map(repr, cursor.fetchall()))
        except pymysql.MySQLError as error:
            return error.args[0]


class Generator:
    """Makes queries. A scope is a list of (alias, column); `scopes` are those of a query and the queries around it, innermost last."""

    def __init__(self, seed):
        self.random, self.aliases, self.has_outer_joins = random.Random(seed), 0, False

    def chance(self, share):
        return self.random.random() < share

    def alias(self):
        self.aliases += 1
        return f"t{self.aliases}"

    def column(self, scopes):
        level = len(scopes) - 1
        while level > 0 and (self.chance(0.3) or not scopes[level]):
            level -= 1
        return ".".join(self.random.choice(scopes[level])) if scopes[level] else str(self.random.randint(0, 4))

    def value(self, scopes, depth):
        share = self.random.random()
        if share < 0.6 or depth <= 0 and share >= 0.75:
            return self.column(scopes)
        if share < 0.75:
            return str(self.random.randint(0, 4))
        if share < 0.9:
            return f"({self.value(scopes, depth - 1)} {self.random.choice('+-*')} {self.value(scopes, depth - 1)})"
        return self.scalar(scopes, depth - 1)

    def scalar(self, scopes, depth):
        tables, own = self.base()
        inner = scopes + [own]
        if self.chance(0.5):
            function = self.random.choice(["MAX", "MIN", "SUM", "COUNT"])
            return f"(SELECT {function}({self.value(inner, 0)}) FROM {tables}{self.where(inner, depth)})"
        return f"(SELECT {'.'.join(own[0])} FROM {tables}{self.where(inner, depth)}{self.first_row(own)})"

    def first_row(self, own):
        return f" ORDER BY {', '.join('.'.join(name) for name in own)} LIMIT 1"

    def where(self, scopes, depth):
        return f" WHERE {self.condition(scopes, depth)}" if self.chance(0.8) else ""

    def condition(self, scopes, depth):
        share = self.random.random()
        if depth <= 0 or share < 0.45:
            return f"{self.value(scopes, 0)} {self.random.choice(COMPARISONS)} {self.value(scopes, depth - 1)}"
        if share < 0.55:
            word = self.random.choice(["AND", "OR"])
            return f"({self.condition(scopes, depth - 1)} {word} {self.condition(scopes, depth - 1)})"
        if share < 0.63:
            return f"NOT ({self.condition(scopes, depth - 1)})"
        tables, own = self.base()
        inner = scopes + [own]
        rest = f"FROM {tables}{self.where(inner, depth - 1)}"
        if share < 0.72:
            return f"{self.random.choice(['', 'NOT '])}EXISTS (SELECT 1 {rest})"
        if share < 0.84:
            return f"{self.value(scopes, 0)} {self.random.choice(['IN', 'NOT IN'])} (SELECT {self.column([own])} {rest})"
        if share < 0.92 or self.has_outer_joins:
            quantifier = self.random.choice(["ANY", "ALL", "SOME"])
            return f"{self.value(scopes, 0)} {self.random.choice(ORDERED)} {quantifier} (SELECT {self.column([own])} {rest})"
        row = f"({self.value(scopes, 0)}, {self.value(scopes, 0)}) {self.random.choice(ORDERED)}"
        return f"{row} (SELECT {self.column([own])}, {self.column([own])} {rest}{self.first_row(own)})"

    def base(self):
        table, alias = self.random.choice(list(TABLES)), self.alias()
        return f"{table} {alias}", [(alias, column) for column in TABLES[table]]

    def tables(self, joins):
        text, scope = self.base()
        for _ in range(joins):
            if self.chance(0.3):
                text, scope = self.lateral(text, scope)
            elif self.has_outer_joins and self.chance(0.35):
                (first, one), (second, two) = self.base(), self.base()
                inside = self.random.choice([f"({first}, {second})", f"({first} JOIN {second} ON {self.condition([one + two], 0)})"])
                scope = scope + one + two
                text = f"{text} LEFT JOIN {inside} ON {self.condition([scope], 1)}"
            else:
                other, own = self.base()
                scope = scope + own
                word = self.random.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN"]) if self.has_outer_joins else "JOIN"
                text = f"{text} {word} {other} ON {self.condition([scope], 2)}"
        return text, scope

    def lateral(self, text, scope):
        alias = self.alias()
        tables, own = self.base()
        inner = [scope, own]
        first = f"{self.value(inner, 0)} + {'.'.join(own[-1])}"
        query = f"SELECT {first} AS x, {'.'.join(own[0])} AS y FROM {tables}{self.where(inner, 1)}"
        if self.chance(0.3):
            query = f"SELECT COUNT(*) AS x, MAX({'.'.join(own[0])}) AS y FROM {tables}{self.where(inner, 1)}"
        elif self.chance(0.3):
            query += self.first_row(own)
        scope = scope + [(alias, "x"), (alias, "y")]
        word = self.random.choice(["LEFT JOIN", "JOIN"]) if self.has_outer_joins else "JOIN"
        return f"{text} {word} LATERAL ({query}) {alias} ON {self.condition([scope], 1)}", scope

    def grouped(self):
        """A query whose aggregate functions stand in subqueries."""
        tables, scope = self.tables(self.random.randint(0, 1))
        groups = list(dict.fromkeys(self.column([scope]) for _ in range(self.random.randint(1, 2))))
        items = list(groups)
        for _ in range(2):
            call = f"{self.random.choice(['SUM', 'MAX', 'MIN', 'COUNT'])}({self.column([scope])})"
            other, own = self.base()
            name = ".".join(own[0])
            condition = f"{name} {self.random.choice(COMPARISONS)} {call}"
            items.append(self.random.choice([
                f"(SELECT {call})",
                f"(SELECT {call} + COUNT({name}) FROM {other} WHERE {condition})",
                f"(SELECT MAX({name}) FROM {other} WHERE {condition})",
            ]))
        having = ""
        if self.chance(0.4):
            other, own = self.base()
            having = f" HAVING EXISTS (SELECT 1 FROM {other} WHERE {'.'.join(own[0])} <= SUM({self.column([scope])}))"
        return f"SELECT {', '.join(items)} FROM {tables}{self.where([scope], 1)} GROUP BY {', '.join(groups)}{having}"

    def query(self):
        self.aliases, self.has_outer_joins = 0, self.chance(0.6)
        share = self.random.random()
        if share < 0.3:
            return self.grouped()
        tables, scope = self.tables(self.random.randint(0, 2))
        items = [self.value([scope], 1) for _ in range(2)]
        if share < 0.4:
            other, own = self.base()
            items = [f"{items[0]} AS x", "(SELECT x + 1) AS y", f"(SELECT MAX({'.'.join(own[0])}) FROM {other} WHERE {'.'.join(own[1])} <= x)"]
        return f"SELECT {', '.join(items)} FROM {tables}{self.where([scope], 2)}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("socket")
    parser.add_argument("port", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    mysql, muster = Server(unix_socket=options.socket), Server(host="127.0.0.1", port=options.port)
    mysql.ask(MYSQL_SWITCHES)
    generator, end = Generator(options.seed), time.monotonic() + options.seconds
    count = differ = 0
    while time.monotonic() < end:
        query = generator.query()
        expected, got = mysql.ask(query), muster.ask(query)
        count += 1
        if expected != got and expected != NOT_GROUPED:
            differ += 1
            print(f"{query}\n   MySQL  {str(expected)[:200]}\n   Muster {str(got)[:200]}")
    print(f"{count} queries, {differ} differ")
    mysql.ask(f"DROP DATABASE {DATABASE}")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
