#!/usr/bin/env python3
"""Compares foreign keys between a Muster server and a MySQL server, one random statement after the other.

    foreign_keys.py MUSTER_PORT MYSQL_SOCKET [--seed N] [--seconds N] [--examples N]

Each round makes tables with random keys (composite ones, of a table to itself, in circles, over several levels, all actions), then
changes rows and definitions. After each statement: error with its message, affected rows, warnings; at the end of a round all
rows, SHOW CREATE TABLE, and what information_schema tells of keys. Exits with 1 if anything differs.
"""

import argparse
import collections
import random
import re
import sys
import time

import pymysql
from client import connect, run

DATABASE = "muster_keys"
TABLES = ["a", "b", "c", "d"]
ACTIONS = ["", "", " RESTRICT", " NO ACTION", " CASCADE", " CASCADE", " CASCADE", " SET NULL", " SET NULL"]


def normal(message):
    """Names of temporary tables, which stand in messages of ALTER TABLE."""
    return re.sub(r"`#sql[^`]*`", "`#sql`", str(message))


def answer(connection, sql):
    try:
        affected, rows = run(connection, sql)
    except pymysql.MySQLError as failure:
        message = normal(failure.args[1])
        if sql.startswith("ALTER") and failure.args[0] == 1452:
            # MySQL names its temporary table, Muster the one that it is to be.
            message = re.sub("`muster_keys`.`[^`]*`", "..", message)
        # The clause in which an unknown column is looked up first is no matter of keys.
        return (failure.args[0], message if failure.args[0] != 1054 else "")
    warnings = run(connection, "SHOW WARNINGS")[1]
    return (affected, sorted(rows, key=repr), tuple((level, code, normal(text)) for level, code, text in warnings))


class Draw:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0

    def one(self, items):
        return self.random.choice(items)

    def chance(self, share):
        return self.random.random() < share

    def name(self):
        self.names += 1
        return f"f{self.names}"

    def key(self, own, others):
        parent = self.one(others)
        pairs = [("x", "id"), ("y", "id"), ("x", "x"), ("y", "y"), ("x, y", "x, y"), ("y", "x"), ("s", "s"), ("id", "id"), ("x, y", "y, x"),
                 ("z", "id"), ("x", "z"), ("t", "s")]
        columns, referenced = self.random.choices(pairs, [8, 6, 3, 3, 4, 2, 3, 2, 2, 1, 1, 1])[0]
        constraint = f"CONSTRAINT {self.name()} " if self.chance(0.6) else ""
        index = f" {self.name()}" if self.chance(0.1) else ""
        on_delete, on_update = self.one(ACTIONS), self.one(ACTIONS)
        rules = (f" ON DELETE{on_delete}" if on_delete else "") + (f" ON UPDATE{on_update}" if on_update else "")
        if rules.count("ON") == 2 and self.chance(0.3):
            rules = " ON UPDATE" + on_update + " ON DELETE" + on_delete
        return f"{constraint}FOREIGN KEY{index} ({columns}) REFERENCES {parent} ({referenced}){rules}"

    def table(self, name, others):
        clauses = ["id INT" + self.one([" PRIMARY KEY", " PRIMARY KEY", " PRIMARY KEY", " UNIQUE", " NOT NULL UNIQUE"]), "x INT", "y INT",
                   "s VARCHAR(5)", "z BIGINT", "t VARCHAR(3)"]
        if self.chance(0.15):
            clauses[1] = "x INT NOT NULL"
        for _ in range(self.random.randrange(3)):
            columns = self.one(["x", "y", "x, y", "y, x", "s", "x, y, s", "y, s"])
            clauses.append(f"{self.one(['KEY', 'KEY', 'UNIQUE KEY'])} ({columns})")
        candidates = others + ([name] if self.chance(0.4) else [])
        for _ in range(self.one([0, 1, 1, 1, 2, 2, 3])):
            if candidates:
                clauses.insert(self.random.randrange(6, len(clauses) + 1), self.key(name, candidates))
        return f"CREATE TABLE {name} ({', '.join(clauses)})"

    def value(self, column):
        if column in ("s", "t"):
            return self.one(["NULL", "'a'", "'A'", "'b'", "'bc'", "'long'", "'b '"])
        return self.one(["NULL", "1", "1", "2", "2", "3", "4", "5"]) if column != "id" else str(self.random.randrange(1, 7))

    def condition(self):
        column = self.one(["id", "id", "x", "y", "s"])
        return self.one(["", f" WHERE {column} = {self.value(column)}", f" WHERE {column} = {self.value(column)}",
                         f" WHERE id IN ({self.value('id')}, {self.value('id')})"])

    def change(self):
        table = self.one(TABLES)
        ignore = " IGNORE" if self.chance(0.15) else ""
        kind = self.random.choices(["insert", "select", "replace", "duplicate", "update", "delete", "delete_join"], [10, 1, 2, 2, 7, 5, 1])[0]
        columns = ["id", "x", "y", "s"]
        if kind in ("insert", "replace", "duplicate"):
            rows = [", ".join(self.value(column) for column in columns) for _ in range(self.one([1, 1, 1, 2, 3]))]
            verb = "REPLACE" if kind == "replace" else f"INSERT{ignore}"
            end = ""
            if kind == "duplicate":
                column = self.one(columns)
                end = f" ON DUPLICATE KEY UPDATE {column} = {self.one([self.value(column), f'VALUES({column})'])}"
            return f"{verb} INTO {table} (id, x, y, s) VALUES {', '.join(f'({row})' for row in rows)}{end}"
        if kind == "select":
            return f"INSERT{ignore} INTO {table} (id, x, y, s) SELECT id, y, x, s FROM {self.one(TABLES)} ORDER BY id"
        if kind == "update":
            sets = [f"{column} = {self.value(column)}" for column in self.random.sample(columns, self.one([1, 1, 2]))]
            if self.chance(0.1):
                sets = ["id = id + 1"]
            return f"UPDATE{ignore} {table} SET {', '.join(sets)}{self.condition()}{' ORDER BY id' if self.chance(0.3) else ''}"
        if kind == "delete_join":
            return f"DELETE {table} FROM {table} JOIN {self.one(TABLES)} AS j ON {table}.x = j.id"
        return f"DELETE{ignore} FROM {table}{self.condition()}"

    def definition(self):
        table = self.one(TABLES)
        return self.one([
            lambda: f"ALTER TABLE {table} ADD {self.key(table, TABLES)}",
            lambda: f"ALTER TABLE {table} ADD {self.key(table, TABLES)}",
            lambda: f"ALTER TABLE {table} DROP FOREIGN KEY {self.one([f'{table}_ibfk_1', f'{table}_ibfk_2', f'f{self.random.randrange(self.names + 1)}'])}",
            lambda: f"ALTER TABLE {table} DROP INDEX {self.one(['x', 'y', 's', 'id', f'f{self.random.randrange(self.names + 1)}'])}",
            lambda: f"ALTER TABLE {table} ADD {self.one(['KEY', 'UNIQUE KEY'])} {self.name()} ({self.one(['x', 'y', 'x, y', 'y, x', 's'])})",
            lambda: f"ALTER TABLE {table} DROP COLUMN {self.one(['x', 'y', 's', 'z', 't'])}",
            lambda: f"ALTER TABLE {table} MODIFY {self.one(['x BIGINT', 'y INT NOT NULL', 's VARCHAR(9)', 'x INT', 's CHAR(5)', 'z INT'])}",
            lambda: f"ALTER TABLE {table} RENAME COLUMN {self.one(['x TO xx', 'xx TO x', 'id TO ident', 'ident TO id', 'y TO yy', 'yy TO y'])}",
            lambda: f"RENAME TABLE {self.one([f'{table} TO e', f'e TO {table}'])}",
            lambda: f"TRUNCATE TABLE {table}",
            lambda: f"DROP TABLE {self.one([table, f'{table}, {self.one(TABLES)}', 'e'])}",
            lambda: f"SET foreign_key_checks = {self.one(['0', '1', '1'])}",
            lambda: self.table(table, TABLES),
            lambda: f"ALTER TABLE {table} DROP PRIMARY KEY",
            lambda: f"CREATE TABLE e LIKE {table}",
        ])()


def observed(connection):
    """All that a client can see of the tables."""
    seen = {}
    for table in TABLES + ["e"]:
        seen[table] = answer(connection, f"SELECT * FROM {table}")[:2]
        seen[f"SHOW CREATE TABLE {table}"] = re.sub(" AUTO_INCREMENT=[0-9]*", "", str(answer(connection, f"SHOW CREATE TABLE {table}")[:2]))
    for view, order in [("KEY_COLUMN_USAGE", "CONSTRAINT"), ("REFERENTIAL_CONSTRAINTS", "CONSTRAINT"), ("TABLE_CONSTRAINTS", "CONSTRAINT")]:
        seen[view] = answer(connection, f"SELECT * FROM information_schema.{view} WHERE {order}_SCHEMA = '{DATABASE}'")[:2]
    return seen


def difference(servers, sql):
    ours, theirs = [answer(server, sql) for server in servers]
    return None if ours == theirs else f"Muster {ours}\n      MySQL  {theirs}"


def round_of(draw, servers, share_of_definitions):
    """The statements of a round up to a difference, and the difference."""
    done = []
    for sql in [f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}"]:
        for server in servers:
            run(server, "SET foreign_key_checks = 0")
            run(server, sql)
            run(server, "SET foreign_key_checks = 1")
    for at, table in enumerate(TABLES):
        done.append(draw.table(table, TABLES[:at]))
        found = difference(servers, done[-1])
        if found:
            return done, found
    for _ in range(60):
        done.append(draw.definition() if draw.chance(share_of_definitions) else draw.change())
        found = difference(servers, done[-1])
        if found:
            return done, found
        seen = [observed(server) for server in servers] if draw.chance(0.3) else [{}, {}]
        for what, ours in seen[0].items():
            if ours != seen[1][what]:
                return done, f"{what}\n      Muster {ours}\n      MySQL  {seen[1][what]}"
    return done, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("socket")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--examples", type=int, default=3, help="cases shown of each kind")
    parser.add_argument("--definitions", type=float, default=0.2, help="share of statements that change definitions")
    options = parser.parse_args()
    servers = [connect(True, host="127.0.0.1", port=options.port), connect(True, unix_socket=options.socket)]
    begun, rounds, statements = time.monotonic(), 0, 0
    kinds = collections.Counter()
    while time.monotonic() < begun + options.seconds:
        draw = Draw(options.seed + rounds)
        done, found = round_of(draw, servers, options.definitions)
        rounds, statements = rounds + 1, statements + len(done)
        if found:
            kind = re.sub(r"\b[a-e](_ibfk_\d+)?\b|\bf\d+\b|\d+", "_", found)[:100]
            kinds[kind] += 1
            if kinds[kind] <= options.examples and len(kinds) < 20:
                print(f"seed {options.seed + rounds - 1}:")
                print("".join(f"  {sql};\n" for sql in done) + f"   -> {found}\n")
    print(f"{rounds} rounds, {statements} statements, {sum(kinds.values())} differences in {len(kinds)} kinds")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
