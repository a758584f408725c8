#!/usr/bin/env python3
"""Compares EXPLAIN of Muster with that of MySQL 8.0, over equal tables: the traditional table and the first JSON format.

    explain.py MUSTER_PORT MYSQL_SOCKET [--show] [--list]

Where both servers choose the same access paths, every column and every member is equal but for costs and estimates; what is not
is a fault, or of a class of known_explain.py. Where they choose other paths, only the shape of the JSON is checked. Exits with 1 if
something differs.
"""

import argparse
import collections
import json
import sys

import pymysql

import explain_shapes
import known_explain
from explain_statements import DATABASE, TABLES, rows, statements

COLUMNS = ["id", "select_type", "table", "partitions", "type", "possible_keys", "key", "key_len", "ref", "rows", "filtered", "Extra"]
ESTIMATES = {"rows", "filtered"}


class Server:
    """One server with the tables of the comparison."""

    def __init__(self, **at):
        self.connection = pymysql.connect(user="root", autocommit=True, **at)

    def rows(self, sql):
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def fill(self):
        self.rows(f"DROP DATABASE IF EXISTS {DATABASE}")
        self.rows(f"CREATE DATABASE {DATABASE}")
        self.rows(f"USE {DATABASE}")
        for sql in TABLES:
            self.rows(sql)
        for table, values in rows():
            for at in range(0, len(values), 1000):
                part = values[at:at + 1000]
                marks = "(" + ",".join(["%s"] * len(part[0])) + ")"
                with self.connection.cursor() as cursor:
                    flat = [value for row in part for value in row]
                    cursor.execute(f"INSERT INTO {table} VALUES " + ",".join([marks] * len(part)), flat)
            self.rows(f"ANALYZE TABLE {table}")

    def table(self, sql):
        """The lines of the traditional table, or an error's number."""
        try:
            return [dict(zip(COLUMNS, row)) for row in self.rows("EXPLAIN " + sql)]
        except pymysql.MySQLError as error:
            return error.args[0]

    def metadata(self):
        with self.connection.cursor() as cursor:
            cursor.execute("EXPLAIN SELECT 1")
            return [(field.name, field.type_code, field.length, field.scale, field.charsetnr, field.flags) for field in cursor._result.fields]

    def json(self, sql):
        try:
            return json.loads(self.rows("EXPLAIN FORMAT=JSON " + sql)[0][0])
        except pymysql.MySQLError as error:
            return error.args[0]


def trace_faults(server, sql):
    """What is wrong with the optimizer trace of a statement."""
    server.rows("SET optimizer_trace = 'enabled=on'")
    try:
        server.rows("EXPLAIN " + sql)
        traced = server.rows("SELECT TRACE, MISSING_BYTES_BEYOND_MAX_MEM_SIZE FROM information_schema.OPTIMIZER_TRACE")
    except pymysql.MySQLError:
        return
    finally:
        server.rows("SET optimizer_trace = 'enabled=off'")
    for text, missing in traced:
        try:
            steps = json.loads(text)["steps"] if not missing else []
        except ValueError as error:
            yield f"the trace is no JSON: {error}"
            continue
        names = [name for step in steps for name in step]
        if not missing and (names[0], names[-1]) != ("join_preparation", "join_execution"):
            yield f"the trace has {names}"
        for step in steps:
            for inner in step.get("join_optimization", {}).get("steps", []):
                unknown = set(inner) - explain_shapes.TRACE_STEPS
                if unknown:
                    yield f"the trace has {unknown}"


def paths(lines):
    """What is read through what, in order."""
    if not isinstance(lines, list):
        return None
    return [(line["table"], line["type"], line["key"], message(line)) for line in lines]


def message(line):
    return line["Extra"] if line["table"] is None else None


def table_differences(ours, theirs):
    """The columns that differ, for lines with the same access paths."""
    for mine, his in zip(ours, theirs):
        for column in COLUMNS:
            if column in ESTIMATES:
                if (mine[column] is None) != (his[column] is None):
                    yield column, mine, his
            elif column == "Extra":
                if known_explain.extra(mine) != known_explain.extra(his):
                    yield column, mine, his
            elif mine[column] != his[column]:
                yield column, mine, his


def main():
    options = argparse.ArgumentParser()
    options.add_argument("port", type=int)
    options.add_argument("socket")
    options.add_argument("--show", action="store_true", help="show both answers where the paths differ")
    options.add_argument("--only", default="", help="only statements with this text")
    options = options.parse_args()
    ours, theirs = Server(host="127.0.0.1", port=options.port), Server(unix_socket=options.socket)
    for server in (ours, theirs):
        server.fill()
    counts, faults, kinds = collections.Counter(), [], collections.Counter()
    if ours.metadata() != theirs.metadata():
        for mine, his in zip(ours.metadata(), theirs.metadata()):
            if mine != his:
                faults.append(("metadata", f"{mine} {his}"))
    for sql in statements():
        if options.only not in sql:
            continue
        counts["statements"] += 1
        mine, his = ours.table(sql), theirs.table(sql)
        documents = ours.json(sql), theirs.json(sql)
        for name, document in zip(("Muster", "MySQL"), documents):
            for what in explain_shapes.faults(document):
                faults.append((sql, f"JSON of {name}: {what}"))
        faults.extend((sql, what) for what in trace_faults(ours, sql))
        if paths(mine) != paths(his):
            counts["other paths"] += 1
            if options.show:
                print(sql)
                for line in (mine if isinstance(mine, list) else [{"error": mine}]):
                    print("   ", list(line.values()))
                for line in (his if isinstance(his, list) else [{"error": his}]):
                    print("  M ", list(line.values()))
            continue
        counts["same paths"] += 1
        found = []
        if isinstance(mine, list):
            for column, one, other in table_differences(mine, his):
                kind = known_explain.of_table(sql, column, one, other)
                found.append((f"{column}: {one[column]!r}, MySQL {other[column]!r}", kind))
            if isinstance(documents[0], dict) and isinstance(documents[1], dict):
                for place, one, other in explain_shapes.differences(documents[0], documents[1]):
                    kind = known_explain.of_json(sql, place, one, other)
                    found.append((f"{place}: {json.dumps(one)[:200]}, MySQL {json.dumps(other)[:200]}", kind))
        for text, kind in found:
            if kind is None:
                faults.append((sql, text))
            else:
                kinds[kind] += 1
        counts["equal" if not found else "known" if all(kind for _, kind in found) else "different"] += 1
    for sql, text in faults:
        print(f"{sql}\n    {text}")
    print(", ".join(f"{name} {count}" for name, count in counts.items()))
    for kind, count in kinds.most_common():
        print(f"known: {kind}: {count}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
