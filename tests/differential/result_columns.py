#!/usr/bin/env python3
"""Compares what clients are told of result columns, for some 2,000 statements, between a Muster server and a MySQL 8.0 server.

    result_columns.py MUSTER_PORT MYSQL_SOCKET [--only WORD] [--seed N --count N]

With --seed the statements are random ones instead: functions and operators over columns and constants of all types, two at a time.
Columns of every type in every place that a column can come from (tables, views, derived tables, common table expressions, UNION,
groups, windows, outer joins, subqueries), SHOW and information_schema, as text and as prepared statements. Compared are names,
tables, types, lengths, decimals, flags and character sets of all columns. Differences that docs/differences.md explains are
counted apart; exits with 1 if there is another.
"""

import argparse
import collections
import random
import re
import sys

import pymysql
from pymysql.constants import FIELD_TYPE
from pymysql.protocol import FieldDescriptorPacket

TYPES = {code: name.lower() for name, code in vars(FIELD_TYPE).items() if isinstance(code, int) and name not in ("CHAR", "INTERVAL")}
COM_STMT_PREPARE, COM_STMT_CLOSE = 0x16, 0x19
# What MySQL says of a column that has gone through a temporary table.
GROUP_FLAG = 0x8000
KEY_FLAGS = 0x0002 | 0x0004 | 0x0008 | 0x0200 | 0x1000 | 0x4000
BINARY_FLAG = 0x0080

COLUMNS = {
    "id": "INT AUTO_INCREMENT PRIMARY KEY", "tiny": "TINYINT", "tinyu": "TINYINT UNSIGNED NOT NULL", "bool": "BOOL", "small": "SMALLINT NOT NULL DEFAULT 3",
    "smallu": "SMALLINT UNSIGNED", "medium": "MEDIUMINT", "mediumu": "MEDIUMINT UNSIGNED NOT NULL", "i": "INT", "iu": "INT UNSIGNED",
    "nn": "INT NOT NULL", "zero": "INT(5) ZEROFILL", "big": "BIGINT", "bigu": "BIGINT UNSIGNED NOT NULL", "n": "DECIMAL(10,2)",
    "n0": "DECIMAL(18,0) NOT NULL", "nu": "DECIMAL(8,3) UNSIGNED", "n65": "DECIMAL(65,30)", "f": "FLOAT", "fn": "FLOAT NOT NULL", "f72": "FLOAT(7,2)",
    "x": "DOUBLE", "x102": "DOUBLE(10,2)", "xu": "DOUBLE UNSIGNED NOT NULL", "d": "DATE", "dn": "DATE NOT NULL", "dt": "DATETIME", "dt3": "DATETIME(3) NOT NULL",
    "ts": "TIMESTAMP(2) NULL", "tsn": "TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP", "ti": "TIME", "ti6": "TIME(6) NOT NULL",
    "y": "YEAR", "yn": "YEAR NOT NULL", "bi": "BIT(10)", "b1": "BIT(1) NOT NULL", "c": "CHAR(10)", "cn": "CHAR(3) NOT NULL", "cb": "CHAR(6) COLLATE utf8mb4_bin",
    "v": "VARCHAR(40)", "vn": "VARCHAR(20) NOT NULL", "vl": "VARCHAR(30) CHARACTER SET latin1", "v1000": "VARCHAR(1000)", "tt": "TINYTEXT", "tx": "TEXT",
    "mt": "MEDIUMTEXT", "lt": "LONGTEXT", "txn": "TEXT NOT NULL", "bn": "BINARY(5)", "vb": "VARBINARY(20)", "vbn": "VARBINARY(7) NOT NULL", "tb": "TINYBLOB",
    "bl": "BLOB", "mb": "MEDIUMBLOB", "lb": "LONGBLOB", "e": "ENUM('b','a','7')", "en": "ENUM('xx','y') NOT NULL", "s": "SET('x','y','z')",
    "sn": "SET('abc','de') NOT NULL", "ku": "INT NOT NULL", "km": "INT", "kv": "VARCHAR(30)",
}
KEYS = "UNIQUE KEY (ku), KEY (km), KEY (kv), KEY (d, km)"

# `{}`: a column of the table.
PLACES = [
    "SELECT {} FROM t", "SELECT {} AS a FROM t AS b", "SELECT {0}, {0} FROM t", "SELECT {} FROM v", "SELECT {} FROM v AS w", "SELECT {} FROM stored_view",
    "SELECT {} FROM (SELECT * FROM t) x", "SELECT {} FROM (SELECT * FROM t LIMIT 1) x", "SELECT x.z FROM (SELECT {} AS z FROM t LIMIT 1) x",
    "WITH q AS (SELECT {} FROM t) SELECT * FROM q", "WITH q (z) AS (SELECT {} FROM t LIMIT 1) SELECT * FROM q",
    "SELECT {0} FROM t UNION ALL SELECT {0} FROM t", "SELECT {} FROM t UNION ALL SELECT NULL", "SELECT NULL UNION ALL SELECT {} FROM t",
    "SELECT {} FROM t UNION ALL SELECT 'a'", "SELECT {} FROM t UNION ALL SELECT 1", "SELECT z FROM (SELECT {} AS z FROM t UNION ALL SELECT 1.5) x",
    "SELECT u.{} FROM t LEFT JOIN t u ON t.id = u.nn", "SELECT (SELECT {} FROM t LIMIT 1)", "SELECT MAX({}) FROM t", "SELECT COUNT({}), COUNT(DISTINCT {}) FROM t",
    "SELECT MIN({}) OVER () FROM t", "SELECT LAG({}) OVER (ORDER BY id) FROM t", "SELECT FIRST_VALUE({}) OVER (ORDER BY id) AS a FROM t",
    "SELECT COALESCE({}, {}) FROM t", "SELECT IF(nn, {}, NULL) FROM t", "SELECT CASE WHEN nn THEN {} ELSE {} END FROM t", "SELECT {} IS NULL FROM t",
    "SELECT CONCAT({}) FROM t", "SELECT {} = {} FROM t", "SELECT ANY_VALUE({}) FROM t", "SELECT {} FROM t WHERE id = 1", "SELECT NULLIF({}, 1) FROM t",
    "SELECT GROUP_CONCAT({}) FROM t", "SELECT {} + 0 FROM t", "SELECT -{} FROM t",
]
OTHERS = """
SHOW DATABASES|SHOW TABLES|SHOW FULL TABLES|SHOW COLUMNS FROM t|SHOW FULL COLUMNS FROM t|SHOW KEYS FROM t|SHOW CREATE TABLE t|SHOW CREATE VIEW v|
SHOW CREATE DATABASE columns_of_results|SHOW TABLE STATUS|SHOW VARIABLES|SHOW VARIABLES LIKE 'sql_mode'|SHOW GLOBAL STATUS|SHOW STATUS LIKE 'Threads%'|SHOW WARNINGS|SHOW ERRORS|
SHOW COUNT(*) WARNINGS|SHOW COUNT(*) ERRORS|SHOW ENGINES|SHOW CHARACTER SET|SHOW COLLATION|SHOW PROCESSLIST|SHOW FULL PROCESSLIST|SHOW GRANTS|SHOW PRIVILEGES|SHOW PLUGINS|
SHOW OPEN TABLES|SHOW TRIGGERS|SHOW EVENTS|SHOW PROCEDURE STATUS|SHOW FUNCTION STATUS|SHOW CREATE USER|DESC t|DESCRIBE t nn|EXPLAIN t|CHECK TABLE t|ANALYZE TABLE t|OPTIMIZE TABLE t|
CHECKSUM TABLE t|SHOW ENGINE INNODB STATUS|SHOW PROFILES|SELECT ?|SELECT ? + 1|SELECT CONCAT(?, 'a')|SELECT nn FROM t WHERE nn = ?|SELECT COALESCE(?, nn) FROM t|SELECT i + ? FROM t
"""

# Random statements: what stands for `{a}` and `{b}` is a column, a constant or a function of a column.
PAIRS = [
    "SELECT COALESCE({a}, {b}) FROM t", "SELECT IFNULL({a}, {b}) FROM t", "SELECT IF(nn, {a}, {b}) FROM t", "SELECT NULLIF({a}, {b}) FROM t",
    "SELECT CASE nn WHEN 1 THEN {a} WHEN 2 THEN {b} END FROM t", "SELECT {a} FROM t UNION ALL SELECT {b} FROM t", "SELECT GREATEST({a}, {b}) FROM t",
    "SELECT {a} + {b} FROM t", "SELECT {a} - {b} FROM t", "SELECT {a} * {b} FROM t", "SELECT {a} / {b} FROM t", "SELECT {a} % {b} FROM t", "SELECT {a} DIV {b} FROM t",
    "SELECT {a} = {b} FROM t", "SELECT CONCAT({a}, {b}) FROM t", "SELECT LAG({a}, 1, {b}) OVER (ORDER BY id) FROM t", "SELECT MAX({a}), SUM({b}) FROM t",
    "SELECT z FROM (SELECT COALESCE({a}, {b}) AS z FROM t LIMIT 1) x", "SELECT z FROM (SELECT {a} AS z FROM t UNION SELECT {b} FROM t) x",
    "SELECT (SELECT {a} FROM t LIMIT 1), AVG({b}) FROM t", "SELECT GROUP_CONCAT({a}, {b}) FROM t", "SELECT LEFT({a}, 2), LENGTH({b}) FROM t",
]
OPERANDS = ["{}", "{}", "{}", "{}", "{}", "ABS({})", "-{}", "UPPER({})", "CAST({} AS CHAR)", "{} + 1", "ROUND({})", "({} IS NULL)", "COALESCE({}, NULL)"]
CONSTANTS = ["1", "-1", "NULL", "'a'", "''", "1.5", "2e0", "12345678901", "DATE'2001-01-31'", "x'41'", "TRUE", "0.25"]


def random_statements(seed, count):
    draw = random.Random(seed)
    operand = lambda: draw.choice(CONSTANTS) if draw.random() < 0.15 else draw.choice(OPERANDS).format(draw.choice(list(COLUMNS)))
    for _ in range(count):
        yield draw.choice(PAIRS).format(a=operand(), b=operand()), False


class Server:
    """A connection that knows the definitions of the columns of a statement."""

    def __init__(self, **where):
        self.connection = pymysql.connect(user="root", charset="utf8mb4", conv={}, autocommit=None, **where)
        columns = ", ".join(f"{name} {ty}" for name, ty in COLUMNS.items())
        for sql in ["SET NAMES utf8mb4", "DROP DATABASE IF EXISTS columns_of_results", "CREATE DATABASE columns_of_results", "USE columns_of_results",
                    f"CREATE TABLE t ({columns}, {KEYS})", "CREATE VIEW v AS SELECT * FROM t", "CREATE VIEW stored_view AS SELECT * FROM t LIMIT 1"]:
            self.run(sql)

    def run(self, sql):
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor._result.fields if cursor.description else []

    def prepared(self, sql):
        """The columns that the answer to PREPARE announces."""
        connection = self.connection
        connection._execute_command(COM_STMT_PREPARE, sql)
        data = connection._read_packet().get_all_data()
        statement, columns, parameters = data[1:5], int.from_bytes(data[5:7], "little"), int.from_bytes(data[7:9], "little")
        fields = []
        for count in (parameters, columns):
            fields = [connection._read_packet(FieldDescriptorPacket) for _ in range(count)]
            if count:
                connection._read_packet()
        connection._execute_command(COM_STMT_CLOSE, statement)
        return fields

    def definitions(self, sql, is_prepared):
        try:
            fields = self.prepared(sql) if is_prepared else self.run(sql)
        except pymysql.MySQLError as error:
            return f"error {error.args[0]}"
        return [Definition(f.name, f.table_name, f.org_table, f.org_name, f.db, TYPES[f.type_code], f.length, f.scale, f.flags, f.charsetnr) for f in fields]


Definition = collections.namedtuple("Definition", "name table org_table org_name database type length decimals flags charset")


def statements():
    """Each with True for a prepared statement."""
    for place in PLACES:
        for column in COLUMNS:
            yield place.format(column, column), False
    # What PREPARE tells of a UNION is not what its rows have then.
    for place in PLACES[::4]:
        for column in COLUMNS if " UNION " not in place else []:
            yield place.format(column, column), True
    for sql in OTHERS.replace("\n", "").split("|"):
        if "?" not in sql:
            yield sql, False
        yield sql, True


# Statements, and what may differ of their columns; the class stands in docs/differences.md.
PATTERNS = [
    (r"PREPARE (SHOW|DESC|EXPLAIN)|PREPARE .*\?", None, "columns of statements that are prepared"),
    (r"\b(bi|b1|y|yn)\b", {"type", "length", "decimals", "flags", "charset"}, "columns of BIT and YEAR in functions"),
    (r"(dn|dt3|tsn) FROM t UNION", {"flags"}, "NOT NULL dates in a UNION"),
    (r"SHOW CREATE|SHOW ENGINE|(CHECK|ANALYZE|OPTIMIZE|CHECKSUM) TABLE", {"length", "type"}, "lengths that follow from rows"),
    (r"f72|zero|n65|tsn \+ 0", {"length"}, "lengths of texts that are made of other values"),
]


def class_of(statement, muster, mysql):
    """The class of docs/differences.md that explains a difference, or None."""
    is_show = statement.startswith(("PREPARE SHOW", "PREPARE DESC", "PREPARE EXPLAIN"))
    if statement.endswith("SHOW PRIVILEGES"):
        return "comments of privileges"
    if isinstance(muster, str) or isinstance(mysql, str) or len(muster) != len(mysql):
        return PATTERNS[0][2] if is_show and mysql == [] or mysql == "error 1295" and muster == [] else None
    reasons = set()
    for ours, theirs in zip(muster, mysql):
        if ours == theirs:
            continue
        different = {name for name, a, b in zip(Definition._fields, ours, theirs) if a != b}
        fits = [name for pattern, may, name in PATTERNS if re.search(pattern, statement) and (may is None or different <= may)]
        if theirs.flags & GROUP_FLAG and different == {"flags"} and not (ours.flags ^ theirs.flags) & ~(GROUP_FLAG | KEY_FLAGS | BINARY_FLAG):
            reasons.add("flags of columns in a temporary table")
        else:
            reasons.add(fits[0] if fits and "name" not in different else None)
    return reasons.pop() if len(reasons) == 1 else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("muster_port", type=int)
    parser.add_argument("mysql_socket")
    parser.add_argument("--only", default="", help="statements with this text only")
    parser.add_argument("--seed", type=int, help="random statements instead")
    parser.add_argument("--count", type=int, default=2000, help="the number of random statements")
    options = parser.parse_args()
    muster, mysql = Server(host="127.0.0.1", port=options.muster_port), Server(unix_socket=options.mysql_socket)
    asked, explained, different = 0, collections.Counter(), 0
    for sql, is_prepared in statements() if options.seed is None else random_statements(options.seed, options.count):
        if options.only not in sql:
            continue
        asked += 1
        ours, theirs = muster.definitions(sql, is_prepared), mysql.definitions(sql, is_prepared)
        if ours == theirs:
            continue
        reason = class_of(f"{'PREPARE ' if is_prepared else ''}{sql}", ours, theirs)
        if reason:
            explained[reason] += 1
            continue
        different += 1
        print(f"{'PREPARE ' if is_prepared else ''}{sql}")
        if isinstance(ours, str) or isinstance(theirs, str) or len(ours) != len(theirs):
            print(f"    MySQL  {theirs}\n    Muster {ours}")
            continue
        for a, b in zip(ours, theirs):
            if a != b:
                print("    " + "; ".join(f"{name}: MySQL {y!r}, Muster {x!r}" for name, x, y in zip(Definition._fields, a, b) if x != y))
    for reason, count in explained.items():
        print(f"explained {count:6} {reason}")
    print(f"{asked} statements, {sum(explained.values())} explained, {different} different")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
