#!/usr/bin/env python3
"""The bytes that a change of a definition writes to the log do not grow with the number of tables.

    definitions_in_log.py --muster PATH [--tables N]

1,000 tables are made; then each tenth gets an index, is renamed, and is dropped. For each kind of statement the log bytes per
statement with all the tables may be at most 1.5 times those with the first hundred, so that all bytes together are linear.
After a crash all tables are there.
"""

import pymysql

from findings import Findings, arguments, seconds_of
from servers import Muster

GROWTH_MAX, FIRST = 1.5, 100


def log_position(client):
    return int(client.rows("SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_current_lsn'")[0][1])


def bytes_of(client, statements):
    """The log bytes of a statement on average."""
    begin = log_position(client)
    for sql in statements:
        client.rows(sql)
    return (log_position(client) - begin) / len(statements)


def compare(findings, name, few, many, note=""):
    findings.check(name, many <= GROWTH_MAX * few, f"{few:,.0f} bytes each with few tables, {many:,.0f} with many{note}")


def main():
    parser = arguments(__doc__)
    parser.add_argument("--tables", type=int, default=1000)
    options = parser.parse_args()
    tables = options.tables
    findings = Findings()
    with Muster(options.muster, "--durability", "relaxed") as server:
        client = server.client()
        client.rows("CREATE DATABASE d")
        client.rows("USE d")

        def create(numbers):
            columns = "(id INT PRIMARY KEY, v INT NOT NULL, s VARCHAR(50), KEY kv (v))"
            return bytes_of(client, [f"CREATE TABLE t{i} {columns}" for i in numbers])

        def others(numbers):
            return [bytes_of(client, [sql.format(i=i) for i in numbers]) for sql in (
                "CREATE INDEX ks ON t{i} (s)", "RENAME TABLE t{i} TO u{i}", "TRUNCATE TABLE u{i}", "DROP TABLE u{i}")]

        few = [create(range(FIRST)), *others(range(0, FIRST, 10))]
        begin = log_position(client)
        seconds = seconds_of(lambda: create(range(FIRST, tables - FIRST)))
        create_many = create(range(tables - FIRST, tables))
        total = log_position(client) - begin
        many = [create_many, *others(range(5, tables, 50))]
        names = ("CREATE TABLE", "CREATE INDEX", "RENAME TABLE", "TRUNCATE TABLE", "DROP TABLE")
        for name, of_few, of_many in zip(names, few, many):
            note = f"; {total / 2**20:.1f} MiB for {tables - FIRST} tables, {seconds:.1f} s" if name == "CREATE TABLE" else ""
            compare(findings, name, of_few, of_many, note)
        wanted = {row[0] for row in client.rows("SHOW TABLES")}
        server.kill()
        server.start()
        try:
            found = {row[0] for row in server.client("d").rows("SHOW TABLES")}
        except pymysql.MySQLError as error:
            found = {repr(error)}
        findings.check("all tables are there after a crash", found == wanted, f"{len(found)} of {len(wanted)}")
    findings.end()


if __name__ == "__main__":
    main()
