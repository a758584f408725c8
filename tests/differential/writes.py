#!/usr/bin/env python3
"""Compares random INSERT, REPLACE, UPDATE and DELETE between a Muster server and a MySQL server.

    writes.py MUSTER_PORT MYSQL_SOCKET [--seed N] [--seconds N] [--count N] [--examples N] [--list]

After each statement: error number, affected rows, warnings (levels and numbers), LAST_INSERT_ID() or ROW_COUNT(), and all rows of all
tables. Exits with 1 if there is a difference that no class of `known_writes.py` explains. When the
servers differ, both get the same tables again.
"""

import argparse
import collections
import random
import sys
import time

import client
import known_writes
import pymysql
import statements
from client import run

BATCH = 8
DATABASE = "muster_writes"

Answer = collections.namedtuple("Answer", "error affected warnings insert_id row_count")


def connect(**where):
    connection = client.connect(None, **where)
    run(connection, "SET time_zone = '+00:00'")
    return connection


def answer(connection, sql):
    """What a client learns of a statement that changes rows, with ROW_COUNT()."""
    error, affected = 0, -1
    try:
        affected, _ = run(connection, sql)
    except pymysql.MySQLError as failure:
        error = failure.args[0]
    row_count = run(connection, "SELECT ROW_COUNT()")[1][0][0] if not error else -1
    insert_id = run(connection, "SELECT LAST_INSERT_ID()")[1][0][0]
    return Answer(error, affected, (), insert_id, row_count)


def answer_with_warnings(connection, sql):
    """The same with the warnings, which other statements clear."""
    error, affected = 0, -1
    try:
        affected, _ = run(connection, sql)
    except pymysql.MySQLError as failure:
        error = failure.args[0]
    # After an error the list may have others of the same statement.
    warnings = () if error else tuple((level, code) for level, code, _ in run(connection, "SHOW WARNINGS")[1])
    insert_id = run(connection, "SELECT LAST_INSERT_ID()")[1][0][0]
    return Answer(error, affected, warnings, insert_id, 0)


def reset(connection):
    """The same empty tables again, in a session without a transaction."""
    for sql in ["ROLLBACK", f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}"]:
        run(connection, sql)
    for sql in statements.TABLES:
        run(connection, sql)


def contents(connection):
    found = {}
    for table in statements.NAMES:
        _, rows = run(connection, f"SELECT * FROM {table}")
        found[table] = sorted(rows, key=repr)
    return found


def difference(servers, sql, asks_count):
    """The answers of both servers if they differ, or None."""
    ask = answer if asks_count else answer_with_warnings
    answers = [ask(server, sql) for server in servers]
    return None if answers[0] == answers[1] else answers


def first_difference_of_rows(before, after):
    for table, rows in before.items():
        if rows != after[table]:
            ours = [row for row in rows if row not in after[table]]
            theirs = [row for row in after[table] if row not in rows]
            return f"{table}: Muster {ours[:3]}, MySQL {theirs[:3]}"
    return None


def shrunk(before, sql, text, servers, start_again):
    """The statements that a difference needs before it, and what differs after these."""

    def differs(statements_before):
        start_again()
        for other in statements_before:
            difference(servers, other, False)
            # A query opens a transaction, too.
            list(map(contents, servers))
        before_it = first_difference_of_rows(*map(contents, servers))
        answers = difference(servers, sql, False) or difference_of_counts(servers)
        if before_it:
            return None
        return f"Muster {tuple(answers[0])}, MySQL {tuple(answers[1])}" if answers else first_difference_of_rows(
            *map(contents, servers))

    if not differs(before):
        return before, text + " (not again)"
    size = (len(before) + 1) // 2
    while size:
        at = 0
        while at < len(before):
            fewer = before[:at] + before[at + size:]
            found = differs(fewer)
            if found:
                before, text = fewer, found
            else:
                at += size
        size = size // 2
    return before, text


def difference_of_counts(servers):
    answers = [run(server, "SELECT ROW_COUNT()")[1] for server in servers]
    return None if answers[0] == answers[1] else answers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("socket")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--count", type=int, default=1 << 40)
    parser.add_argument("--kinds", help="kinds of statements, such as insert,update; else all")
    parser.add_argument("--examples", type=int, default=1, help="shortest cases shown of each kind")
    parser.add_argument("--shrink", action="store_true", help="leave out the statements before a case that it does not need")
    parser.add_argument("--list", action="store_true", help="show what known classes explain, too")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    kinds = options.kinds.split(",") if options.kinds else [kind.__name__ for kind, _ in statements.KINDS]
    servers = []

    def start_again():
        """New sessions, for LAST_INSERT_ID() belongs to a session, and the same empty tables."""
        for server in servers:
            server.close()
        servers[:] = [connect(host="127.0.0.1", port=options.port), connect(unix_socket=options.socket)]
        for server in servers:
            reset(server)

    start_again()
    ran, unknown, known = 0, collections.OrderedDict(), collections.Counter()
    end, recent = time.monotonic() + options.seconds, []

    def note(kind, sql, text, ours=None, theirs=None):
        reason = known_writes.explain(sql, ours, theirs, text)
        if reason:
            known[reason] += 1
        if not reason or options.list:
            unknown.setdefault(kind, []).append((list(recent), sql, text))
        start_again()
        recent.clear()

    while time.monotonic() < end and ran < options.count:
        for _ in range(BATCH):
            kind, sql = statements.statement(draw, kinds)
            ran += 1
            different = difference(servers, sql, draw.random() < 0.3)
            if different:
                fields = [name for name, *values in zip(Answer._fields, *different) if values[0] != values[1]]
                errors = f"errors {different[0].error} and {different[1].error}" if "error" in fields else ", ".join(fields)
                note(f"{kind}: {errors}", sql, f"Muster {tuple(different[0])}, MySQL {tuple(different[1])}", *different)
                break
            rows = first_difference_of_rows(*map(contents, servers))
            if rows:
                note(f"{kind}: rows", sql, rows)
                break
            recent.append(sql)
    for kind, cases in unknown.items():
        print(f"== {kind} ({len(cases)} times)")
        for before, sql, text in sorted(cases, key=lambda case: len(case[1]))[:options.examples]:
            if options.shrink:
                before, text = shrunk(before, sql, text, servers, start_again)
            else:
                before = before[-6:]
            print("".join(f"   after: {other}\n" for other in before) + f"   {sql}\n   {text}")
    print(f"{ran} statements, {sum(map(len, unknown.values()))} differences, known: {dict(known)}")
    return 1 if unknown and not options.list else 0


if __name__ == "__main__":
    sys.exit(main())
