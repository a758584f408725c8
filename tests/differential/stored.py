#!/usr/bin/env python3
"""Compares what a Muster and a MySQL 8.0 server store of random expressions in columns of every type.

    stored.py MUSTER_PORT MYSQL_SOCKET [--seed N] [--seconds N] [--count N] [--alter]

With `--alter` a column of each type gets every type instead. Otherwise each statement is an INSERT or UPDATE of one column, with IGNORE or
without; error, warnings (levels and numbers) and the rows of the column are
compared, then it is rolled back. Exits with 1 if there is a difference.
"""

import argparse
import random
import sys
import time

import expressions
import functions
import pymysql

COLUMNS = expressions.COLUMNS | {
    "nn": "INT NOT NULL DEFAULT 3", "cn": "VARCHAR(20) NOT NULL DEFAULT 'q'", "dn": "DATE NOT NULL DEFAULT '2001-02-03'",
    "utiny": "TINYINT UNSIGNED", "med": "MEDIUMINT", "long_n": "DECIMAL(65,30)", "small_n": "DECIMAL(5,4)", "ux": "DOUBLE UNSIGNED",
    "f72": "FLOAT(7,2)", "x83": "DOUBLE(8,3)", "bn": "BINARY(5)", "bl": "BLOB", "tb": "TINYBLOB", "lat": "VARCHAR(5) CHARACTER SET latin1",
    "asc8": "CHAR(8) CHARACTER SET ascii", "b64": "BIT(64)", "b1": "BIT(1)", "ti3": "TIME(3)", "dt6": "DATETIME(6)", "tsn": "TIMESTAMP NULL",
    "en": "ENUM('','1','é') NOT NULL DEFAULT '1'", "yn": "YEAR NOT NULL DEFAULT 2001", "tin": "TIME NOT NULL DEFAULT '01:02:03'",
}
FORMS = ["INSERT INTO w (id, {c}) VALUES (1, {{}})", "INSERT IGNORE INTO w (id, {c}) VALUES (1, {{}})",
         "INSERT INTO w (id, {c}) SELECT id, {{}} FROM t ORDER BY id", "INSERT IGNORE INTO w (id, {c}) SELECT id, {{}} FROM t ORDER BY id",
         "UPDATE u SET {c} = {{}}", "UPDATE IGNORE u SET {c} = {{}}", "UPDATE u JOIN t USING (id) SET u.{c} = {{}}"]
MODES = ["DEFAULT"] * 4 + ["''"] * 4 + ["'STRICT_TRANS_TABLES'", "'STRICT_ALL_TABLES,NO_ZERO_DATE'", "'ALLOW_INVALID_DATES'",
                                        "'TIME_TRUNCATE_FRACTIONAL'", "'PAD_CHAR_TO_FULL_LENGTH'"]
STATEMENTS_OF_A_MODE = 200


def create(connection):
    functions.create(connection)
    columns = ", ".join(f"{name} {ty}" for name, ty in COLUMNS.items())
    with connection.cursor() as cursor:
        for name in "wu":
            cursor.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, {columns})")
        shared = ", ".join(expressions.COLUMNS)
        cursor.execute(f"INSERT INTO u (id, {shared}) SELECT id, {shared} FROM t")
        cursor.execute("SET autocommit = 0")


def column_of(tree):
    return tree[0].split("SET ")[1].split(" =")[0].removeprefix("u.") if tree[0].startswith("UPDATE") else tree[0].split("id, ")[1].split(")")[0]


def ask(connection, sql, table, column):
    """The error, or the warnings and the stored rows; nothing stays changed."""
    with connection.cursor() as cursor:
        try:
            cursor.execute(sql)
        except pymysql.err.MySQLError as error:
            connection.rollback()
            return functions.Answer(error.args, "", 0, None, None, None)
        cursor.execute("SHOW WARNINGS")
        warnings = [tuple(map(functions.decoded, row)) for row in cursor.fetchall()]
        cursor.execute(f"SELECT {column} FROM {table} ORDER BY id")
        rows = [functions.decoded(row[0]) for row in cursor.fetchall()]
    connection.rollback()
    return functions.Answer(None, COLUMNS[column].split("(")[0].lower(), 0, None, rows, warnings)


def altered(connection, column, ty):
    """The error, or the warnings and the rows, of a column of the table that gets another type."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS altered")
        cursor.execute(f"CREATE TABLE altered AS SELECT id, {column} c FROM t")
        try:
            cursor.execute(f"ALTER TABLE altered MODIFY c {ty}")
        except pymysql.err.MySQLError as error:
            return functions.Answer(error.args, "", 0, None, None, None)
        cursor.execute("SHOW WARNINGS")
        warnings = [tuple(map(functions.decoded, row)) for row in cursor.fetchall()]
        cursor.execute("SELECT c FROM altered ORDER BY id")
        return functions.Answer(None, ty, 0, None, [functions.decoded(row[0]) for row in cursor.fetchall()], warnings)


def alter(options, servers):
    """Gives each column each type, in an order that the seed decides. Returns how many differ."""
    draw = random.Random(options.seed)
    pairs = [(column, ty) for column in expressions.COLUMNS for ty in COLUMNS.values() if "NOT NULL" not in ty]
    draw.shuffle(pairs)
    end, asked, different = time.monotonic() + options.seconds, 0, 0
    for mode in ("DEFAULT", "''"):
        for server in servers:
            with server.cursor() as cursor:
                cursor.execute(f"SET sql_mode = {mode}")
        for column, ty in pairs[:options.count // 2]:
            if time.monotonic() >= end:
                break
            asked += 1
            muster, mysql = (altered(server, column, ty) for server in servers)
            what = functions.difference(muster, mysql)
            if what:
                different += 1
                print(f"DIFFERENT {what} of {expressions.COLUMNS[column]} as {ty}    -- {mode}")
                print("    Muster", functions.shown(muster), "\n    MySQL ", functions.shown(mysql))
    print(f"{asked} changes, {different} different (seed {options.seed})")
    return different


class Comparison(functions.Comparison):
    def of(self, tree):
        answers = self.ask(tree)
        return functions.difference(*answers), None, answers

    def ask(self, tree, row=None):
        column, table = column_of(tree), "u" if tree[0].startswith("UPDATE") else "w"
        sql = expressions.text(tree)
        other = self.second_thread.submit(ask, self.mysql, sql, table, column)
        return ask(self.muster, sql, table, column), other.result()

    def shrunk(self, tree, attempts=60):
        """The smallest value that is still stored in another way."""
        form, (value,) = tree
        found = True
        while found and attempts > 0:
            found = False
            for smaller in expressions.smaller(value):
                attempts -= 1
                if self.of((form, (smaller,)))[0]:
                    value, found = smaller, True
                    break
        return form, (value,)


def generated(seed):
    generator = expressions.Generator(random.Random(seed))
    pick = generator.random.choice
    while True:
        mode = pick(MODES)
        for _ in range(STATEMENTS_OF_A_MODE):
            form = pick(FORMS)
            value = generator.call(0) if generator.random.random() < 0.4 else generator.leaf(None)
            is_of_rows = expressions.uses_columns(value)
            if expressions.has_aggregate(value) or is_of_rows and "VALUES" in form:
                continue
            if "USING" in form:
                value = qualified(value)
            yield mode, (form.format(c=pick(list(COLUMNS))), (value,))


def qualified(tree):
    template, children = tree
    if not children:
        return (f"t.{template}" if template in expressions.COLUMNS else template, ())
    return template, tuple(map(qualified, children))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("muster_port", type=int)
    parser.add_argument("mysql_socket")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--alter", action="store_true", help="give columns other types")
    options = parser.parse_args()
    mysql = functions.connect(unix_socket=options.mysql_socket)
    muster = functions.connect(host="127.0.0.1", port=options.muster_port)
    for server in (muster, mysql):
        create(server)
    if options.alter:
        sys.exit(1 if alter(options, (muster, mysql)) else 0)
    comparison, different = Comparison(muster, mysql, False), functions.Findings()
    end, asked, mode_set = time.monotonic() + options.seconds, 0, None
    for mode, tree in generated(options.seed):
        if asked >= options.count or time.monotonic() >= end:
            break
        if mode != mode_set:
            mode_set = mode
            comparison.set_mode(mode)
        asked += 1
        what, _, answers = comparison.of(tree)
        if what:
            small = comparison.shrunk(tree)
            what, _, answers = comparison.of(small)
            different.add(small, mode, what or "first time only", answers)
    different.show()
    print(f"{asked} statements, {len(different)} different (seed {options.seed})")
    sys.exit(1 if len(different) else 0)


if __name__ == "__main__":
    main()
