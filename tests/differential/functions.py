#!/usr/bin/env python3
"""Compares random expressions between a Muster server and a MySQL 8.0 server: values, errors, warnings, types and scales.

    functions.py MUSTER_PORT MYSQL_SOCKET [--seed N] [--seconds N] [--count N] [--list] [--metadata] [--default-mode]
                 [--save FILE] [--replay FILE]

Expressions that differ are made as small as they still differ, and shown in groups of what differs, where, and of which types.

Exits with 1 if there is a difference that no class of `known.py` explains. Every class stands in docs/differences.md.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import pathlib
import random
import sys
import tempfile
import time

import expressions
import known
import pymysql
from pymysql.constants import FIELD_TYPE, FLAG

BINARY_CHARSET = 63
TYPES = {code: name.lower() for name, code in vars(FIELD_TYPE).items() if isinstance(code, int)}
INTEGERS = {FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.LONGLONG}
STRINGS = {FIELD_TYPE.STRING, FIELD_TYPE.VAR_STRING, FIELD_TYPE.VARCHAR, FIELD_TYPE.TINY_BLOB, FIELD_TYPE.BLOB, FIELD_TYPE.MEDIUM_BLOB,
           FIELD_TYPE.LONG_BLOB}
APPROXIMATE = {"float", "double"}
# A mode is the session's for some hundred expressions at a time.
MODES = ["DEFAULT"] * 4 + ["''", "'STRICT_ALL_TABLES'", "'ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE'",
                           "'PIPES_AS_CONCAT,HIGH_NOT_PRECEDENCE'", "'NO_UNSIGNED_SUBTRACTION,PAD_CHAR_TO_FULL_LENGTH'", "'TIME_TRUNCATE_FRACTIONAL'"]
EXPRESSIONS_OF_A_MODE = 300
# What NOW() and times without a day are made of.
TIMESTAMP = 1234567890.123456

# `kind` and `scale` describe the column as a client sees it, `metadata` has what else it sees; `rows` is None and `error` is set
# for a statement that failed. `warnings` has level, number and message of each.
Answer = collections.namedtuple("Answer", "error kind scale metadata rows warnings")


def connect(**where):
    connection = pymysql.connect(user="root", charset="utf8mb4", conv={}, use_unicode=False, autocommit=True, local_infile=True, **where)
    with connection.cursor() as cursor:
        cursor.execute("SET NAMES utf8mb4")
        cursor.execute(f"SET time_zone = '+00:00', timestamp = {TIMESTAMP}")
        cursor.execute("DROP DATABASE IF EXISTS differential")
        cursor.execute("CREATE DATABASE differential")
        cursor.execute("USE differential")
    return connection


def metadata_of(field):
    """Length, flags and character set of a column of a result."""
    flags = sorted(name for name, bit in vars(FLAG).items() if isinstance(bit, int) and field.flags & bit)
    return field.length, tuple(flags), field.charsetnr


def decoded(cell):
    """A cell as text; MySQL sends some texts that are no UTF-8."""
    return cell if cell is None else cell.decode("utf-8", "backslashreplace")


def ask(connection, statement):
    with connection.cursor() as cursor:
        try:
            cursor.execute(statement)
        except pymysql.err.MySQLError as error:
            return Answer(error.args, None, None, None, None, None)
        field = cursor._result.fields[-1]
        is_bytes = field.charsetnr == BINARY_CHARSET and field.type_code in STRINGS
        rows = [row[-1] if is_bytes else decoded(row[-1]) for row in cursor.fetchall()]
        n_warnings = cursor._result.warning_count
        cursor._result = None
        cursor.execute("SHOW WARNINGS")
        warnings = [tuple(map(decoded, row)) for row in cursor.fetchall()] if n_warnings else []
        kind = TYPES[field.type_code]
        if field.type_code in INTEGERS:
            kind += " unsigned" if field.flags & FLAG.UNSIGNED else ""
        elif field.charsetnr == BINARY_CHARSET and field.flags & FLAG.BINARY and "string" in kind:
            kind += " binary"
        return Answer(None, kind, field.scale, metadata_of(field), rows, warnings)


def create(connection):
    """The table that columns of expressions are of."""
    columns = ", ".join(f"{name} {ty}" for name, ty in expressions.COLUMNS.items())
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file, connection.cursor() as cursor:
        file.write(expressions.ROWS + "\n")
        file.flush()
        cursor.execute(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})")
        cursor.execute(f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE t CHARACTER SET utf8mb4 FIELDS TERMINATED BY '|'")


def statement(tree, row=None):
    """The query of an expression; `row`: the only row of the table that it is computed for."""
    written = expressions.text(tree)
    if not expressions.uses_columns(tree):
        return f"SELECT {written}"
    return f"SELECT {written} FROM t" if expressions.has_aggregate(tree) else f"SELECT id, {written} FROM t {f'WHERE id = {row}' if row else 'ORDER BY id'}"


def same_value(a, b, kind):
    if a == b:
        return True
    if a is None or b is None or kind not in APPROXIMATE:
        return False
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-14)
    except ValueError:
        return False


def difference(muster, mysql, metadata=False):
    """What differs: a word, or None."""
    if muster.error or mysql.error:
        if muster.error and muster.error[0] == 1235:
            return "unsupported"
        return None if muster.error and mysql.error and muster.error[0] == mysql.error[0] else "error"
    if len(muster.rows) != len(mysql.rows):
        return "rows"
    pairs = list(zip(muster.rows, mysql.rows))
    if any((a is None) != (b is None) for a, b in pairs):
        return "null"
    kind = muster.kind if muster.kind == mysql.kind else None
    if not all(same_value(a, b, kind) for a, b in pairs):
        return "value"
    if muster.kind != mysql.kind:
        return "type"
    if muster.scale != mysql.scale:
        return "scale"
    # How often each is told depends on how often a constant is computed.
    if {w[:2] for w in muster.warnings} != {w[:2] for w in mysql.warnings}:
        return "warnings"
    return "metadata" if metadata and muster.metadata != mysql.metadata else None


def shown(answer):
    if answer.error:
        return str(answer.error)
    rows = [row if row is None or len(row) <= 60 else row[:60] + type(row)(b".." if isinstance(row, bytes) else "..") for row in answer.rows]
    return f"{answer.kind}({answer.scale}) {answer.metadata} {rows} {' '.join(f'{w[1]}: {w[2]}' for w in answer.warnings[:2])}"


class Comparison:
    def __init__(self, muster, mysql, metadata):
        self.muster, self.mysql, self.metadata = muster, mysql, metadata
        self.second_thread = concurrent.futures.ThreadPoolExecutor(1)

    def set_mode(self, mode):
        for server in (self.muster, self.mysql):
            with server.cursor() as cursor:
                cursor.execute(f"SET sql_mode = {mode}")

    def of(self, tree):
        """What differs, the class that explains it, and both answers."""
        answers = self.ask(tree)
        what = difference(*answers, self.metadata)
        return what, known.explain(tree, what, *answers, self.ask) if what else None, answers

    def ask(self, tree, row=None):
        """The answers of Muster and MySQL."""
        sql = statement(tree, row)
        other = self.second_thread.submit(ask, self.mysql, sql)
        return ask(self.muster, sql), other.result()

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


def group(tree, what, muster, mysql):
    """What unexplained differences have in common that probably have one cause."""
    name = tree[0].split("(")[0] or tree[0]
    if what in ("error", "unsupported"):
        return what, name, str(muster.error and muster.error[0]), str(mysql.error and mysql.error[0])
    if what == "warnings":
        numbers = [{w[1] for w in answer.warnings} for answer in (muster, mysql)]
        return what, name, f"only Muster {sorted(numbers[0] - numbers[1])}", f"only MySQL {sorted(numbers[1] - numbers[0])}"
    if what in ("type", "scale"):
        return what, name, f"{muster.kind}({muster.scale})", f"{mysql.kind}({mysql.scale})"
    return what, name, " ".join(expressions.kind_of(child) for child in tree[1]), ""


class Findings:
    """Unexplained differences by group, with the mode they were found in."""

    EXAMPLES_SHOWN = 3

    def __init__(self):
        self.groups = collections.defaultdict(list)

    def add(self, tree, mode, what, answers):
        self.groups[group(tree, what, *answers)].append((tree, mode, answers))

    def __len__(self):
        return sum(map(len, self.groups.values()))

    def show(self):
        for (what, name, *details), found in sorted(self.groups.items(), key=lambda entry: -len(entry[1])):
            print(f"DIFFERENT {what} of {name}, {len(found)} times: {'; '.join(filter(None, details))}")
            examples = {expressions.text(tree): (mode, answers) for tree, mode, answers in reversed(found)}
            for written in sorted(examples, key=len)[: self.EXAMPLES_SHOWN]:
                mode, answers = examples[written]
                print(f"    {written}    -- {mode}")
                for server, answer in zip(("Muster", "MySQL "), answers):
                    print(f"        {server} {shown(answer)}")

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            for found in self.groups.values():
                for tree, mode, _ in found:
                    file.write(json.dumps([mode, tree]) + "\n")


def saved(path):
    """Modes and trees that [`Findings.save`] has written."""

    def tuples(tree):
        return tree[0], tuple(map(tuples, tree[1]))

    with open(path, encoding="utf-8") as file:
        for mode, tree in map(json.loads, file):
            yield mode, tuples(tree)


def generated(options):
    """Modes and random trees, without end."""
    generator = expressions.Generator(random.Random(options.seed))
    while True:
        mode = "DEFAULT" if options.default_mode else generator.random.choice(MODES)
        for _ in range(EXPRESSIONS_OF_A_MODE):
            yield mode, generator.call(depth=1)


def check_documented():
    """Every class of differences stands in the documentation."""
    page = pathlib.Path(__file__).parents[2] / "docs" / "differences.md"
    documented = {line.split("|")[1].strip() for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")}
    missing = sorted(({name for name, _ in known.CLASSES} | {known.PROVED}) - documented)
    if missing:
        sys.exit(f"docs/differences.md lacks {missing}")


def main():
    check_documented()
    parser = argparse.ArgumentParser()
    parser.add_argument("muster_port", type=int)
    parser.add_argument("mysql_socket")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--list", action="store_true", help="print every expression that differs, explained or not")
    parser.add_argument("--metadata", action="store_true", help="compare lengths, flags and character sets of columns, too")
    parser.add_argument("--default-mode", action="store_true", help="leave sql_mode as it is")
    parser.add_argument("--save", metavar="FILE", help="write the expressions that differ, made small, to a file")
    parser.add_argument("--replay", metavar="FILE", help="ask the expressions of a file that --save has written")
    options = parser.parse_args()
    mysql = connect(unix_socket=options.mysql_socket)
    muster = connect(host="127.0.0.1", port=options.muster_port)
    for server in (muster, mysql):
        create(server)
    comparison = Comparison(muster, mysql, options.metadata)
    classes, unexplained = collections.Counter(), Findings()
    end, asked, mode_set = time.monotonic() + options.seconds, 0, None
    for mode, tree in saved(options.replay) if options.replay else generated(options):
        if asked >= options.count or time.monotonic() >= end:
            break
        if mode != mode_set:
            mode_set = mode
            comparison.set_mode(mode)
        asked += 1
        what, reason, answers = comparison.of(tree)
        if options.list and what:
            print(f"{reason or 'UNEXPLAINED'}: {what}: {expressions.text(tree)}", *map(shown, answers), sep="\n    ")
        if reason:
            classes[reason] += 1
        elif what:
            small = comparison.shrunk(tree)
            what, _, answers = comparison.of(small)
            unexplained.add(small, mode, what or "first time only", answers)
    unexplained.show()
    if options.save:
        unexplained.save(options.save)
    for reason, count in classes.most_common():
        print(f"explained {count:6} {reason}")
    passed = asked - sum(classes.values()) - len(unexplained)
    print(f"{asked} expressions, {passed} the same, {sum(classes.values())} explained, "
          f"{len(unexplained)} different (seed {options.seed})")
    sys.exit(1 if len(unexplained) else 0)


if __name__ == "__main__":
    main()
