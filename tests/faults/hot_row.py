#!/usr/bin/env python3
"""Rolls back a transaction that has changed one row 100,000 times, and reads the row with a view from before it.

    hot_row.py --muster PATH [--updates N]

The rollback must take less than 5 seconds: on a table with a primary key only, with two secondary indexes of which one has the
changed column, while an old view is open, and after a crash, where it is counted until the row can be locked. A reader whose view is
older than all the changes must read the row in less than 50 ms, by every index, while they are open and once as many are
committed. `--updates` makes the transaction shorter; the limits stay. A rollback is given up after 20 seconds.
"""

import pymysql

from findings import Findings, arguments, seconds_of
from servers import Muster

ROLLBACK_SECONDS_MAX, READ_SECONDS_MAX, GIVE_UP_SECONDS = 5, 0.05, 20
ROWS_OF_A_STATEMENT = 1000
TABLES = {
    "no secondary index": "(id INT PRIMARY KEY, n INT NOT NULL, s VARCHAR(40) NOT NULL)",
    "two secondary indexes": "(id INT PRIMARY KEY, n INT NOT NULL, s VARCHAR(40) NOT NULL, KEY kn (n), KEY ks (s))",
}


def set_up(server, columns):
    client = server.client()
    for sql in ("DROP DATABASE IF EXISTS d", "CREATE DATABASE d", "USE d", f"CREATE TABLE h {columns}",
                "INSERT INTO h VALUES (1, 0, 'one'), (2, 0, 'two'), (3, 0, 'three')"):
        client.rows(sql)
    return client


def change(client, updates):
    """Changes row 2 so many times within a transaction that stays open. Each row of an INSERT makes a version."""
    client.rows("BEGIN")
    for first in range(0, updates, ROWS_OF_A_STATEMENT):
        rows = ", ".join(["(2, 0, '')"] * min(ROWS_OF_A_STATEMENT, updates - first))
        client.rows(f"INSERT INTO h VALUES {rows} ON DUPLICATE KEY UPDATE n = n + 1")


def old_reader(findings, reader, when, has_indexes):
    paths = ("PRIMARY", "kn", "ks") if has_indexes else ("PRIMARY",)
    conditions = {"PRIMARY": "id = 2", "kn": "n >= 0 AND id = 2", "ks": "s = 'two'"}
    for path in paths:
        found = []
        sql = f"SELECT id, n, s FROM h FORCE INDEX ({path}) WHERE {conditions[path]}"
        seconds = min(seconds_of(lambda: found.append(reader.rows(sql))) for _ in range(3))
        right = all(rows == [(2, 0, "two")] for rows in found)
        findings.check(f"old view reads the row by {path}, {when}", right and seconds < READ_SECONDS_MAX,
                       f"{seconds * 1000:.1f} ms" + ("" if right else f", {found[0]}"))


def roll_back(findings, client, name):
    try:
        seconds = seconds_of(lambda: client.rows("ROLLBACK"))
    except pymysql.MySQLError:
        findings.check(name, False, f"not done after {GIVE_UP_SECONDS} s")
        return False
    rows = client.rows("SELECT id, n FROM h WHERE id = 2")
    findings.check(name, rows == [(2, 0)] and seconds < ROLLBACK_SECONDS_MAX, f"{seconds:.2f} s")
    return True


def rolls_back(findings, muster, updates, kind, columns):
    """A rollback alone, and one beside an old view."""
    with Muster(muster, "--durability", "relaxed") as server:
        try:
            set_up(server, columns)
            client = server.client("d", read_timeout=GIVE_UP_SECONDS)
            print(f"    {kind}: {updates:,} changes in {seconds_of(lambda: change(client, updates)):.1f} s")
            if roll_back(findings, client, f"rollback, {kind}"):
                reader = server.client("d")
                reader.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT")
                change(client, updates)
                old_reader(findings, reader, f"changes open, {kind}", "kn" in columns)
                roll_back(findings, client, f"rollback beside an old view, {kind}")
        except pymysql.MySQLError as error:
            findings.check(f"rollback, {kind}", False, repr(error))
        finally:
            server.kill()


def committed(findings, muster, updates, kind, columns):
    with Muster(muster, "--durability", "relaxed") as server:
        client = set_up(server, columns)
        reader = server.client("d", read_timeout=GIVE_UP_SECONDS)
        reader.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        change(client, updates)
        client.rows("COMMIT")
        try:
            old_reader(findings, reader, f"changes committed, {kind}", "kn" in columns)
        except pymysql.MySQLError as error:
            findings.check(f"old view reads the row, {kind}", False, repr(error))
        finally:
            server.kill()


def after_crash(findings, muster, updates, kind, columns):
    with Muster(muster) as server:
        client = set_up(server, columns)
        change(client, updates)
        other = server.client("d")
        # A commit that waits for the disk takes what the open transaction has written with it.
        other.rows("INSERT INTO h VALUES (9, 0, 'nine')")
        server.kill()
        begun = server.start()
        client = server.client("d", read_timeout=GIVE_UP_SECONDS)
        client.rows(f"SET SESSION innodb_lock_wait_timeout = {2 * GIVE_UP_SECONDS}")
        rows = []
        try:
            seconds = seconds_of(lambda: rows.extend(client.rows("SELECT id, n, s FROM h WHERE id = 2 FOR UPDATE")))
            findings.check(f"rollback after a crash, {kind}", rows == [(2, 0, "two")] and seconds < ROLLBACK_SECONDS_MAX,
                           f"{seconds:.2f} s, started in {begun:.2f} s, row {rows}")
            bad = [row for row in client.rows("CHECK TABLE h") if row[3] != "OK"]
            findings.check(f"CHECK TABLE after it, {kind}", not bad, f"{bad[0]}" if bad else "")
        except pymysql.MySQLError:
            findings.check(f"rollback after a crash, {kind}", False, f"not done after {GIVE_UP_SECONDS} s")
        finally:
            server.kill()


def main():
    parser = arguments(__doc__)
    parser.add_argument("--updates", type=int, default=100_000)
    options = parser.parse_args()
    findings = Findings()
    for kind, columns in TABLES.items():
        for scenario in (rolls_back, committed, after_crash):
            scenario(findings, options.muster, options.updates, kind, columns)
    findings.end()


if __name__ == "__main__":
    main()
