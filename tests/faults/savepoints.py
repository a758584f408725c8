#!/usr/bin/env python3
"""Savepoints without BEGIN, with autocommit off and on, and after statements that end a transaction.

    savepoints.py --muster PATH | --address ADDRESS

Each case begins with an empty table t (id INT PRIMARY KEY, v INT), rows (100, 0) and (101, 0) in it, autocommit on, no
transaction. It is a list of statements; one with a number before it must fail with that error. Then the session sees the
first set of ids, and after a ROLLBACK another session sees the second one. The expectations are MySQL 8.0.33's: run it there with
--address to check them.
"""

import contextlib

import pymysql

from findings import Findings, arguments
from servers import Client, Muster

OLD = {100, 101}
NO_SUCH_SAVEPOINT, DUPLICATE = 1305, 1062
# Statements; ids that the session sees then; ids that are committed.
CASES = [
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; ROLLBACK TO a", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; ROLLBACK", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; COMMIT", {1} | OLD, {1} | OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; SET autocommit=1", {1} | OLD, {1} | OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; BEGIN; ROLLBACK", {1} | OLD, {1} | OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; SAVEPOINT b; INSERT 2; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; SAVEPOINT b; INSERT 2; ROLLBACK TO b; COMMIT", {1} | OLD, {1} | OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; SAVEPOINT b; INSERT 2; ROLLBACK TO a; 1305 ROLLBACK TO b", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; SAVEPOINT b; INSERT 1; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; SAVEPOINT a; INSERT 2; ROLLBACK TO a; COMMIT", {1} | OLD, {1} | OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; ROLLBACK TO a; INSERT 2; ROLLBACK TO a; INSERT 3; COMMIT", {3} | OLD, {3} | OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; RELEASE SAVEPOINT a; 1305 ROLLBACK TO a; COMMIT", {1} | OLD, {1} | OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; COMMIT; 1305 ROLLBACK TO a", {1} | OLD, {1} | OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; ROLLBACK; 1305 ROLLBACK TO a", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; COMMIT; 1305 ROLLBACK TO a", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; 1062 INSERT 100; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; 1062 INSERT 1; COMMIT", {1} | OLD, {1} | OLD),
    ("SET autocommit=0; SAVEPOINT Aé; INSERT 1; ROLLBACK TO aÉ; COMMIT", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; DELETE FROM t; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; DELETE FROM t WHERE id = 100; INSERT 100; INSERT 1; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; UPDATE t SET id = id + 10; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; REPLACE INTO t VALUES (5, 5); ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT INTO t SELECT id + 5, v FROM t; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET autocommit=0; SELECT COUNT(*) FROM t; SAVEPOINT a; INSERT 1; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET autocommit=0; SELECT 1; SAVEPOINT a; INSERT 1; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET autocommit=0; SELECT * FROM t FOR UPDATE; SAVEPOINT a; INSERT 1; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET autocommit=0; DO 1; SAVEPOINT a; INSERT 1; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET autocommit=0; INSERT 1; SAVEPOINT a; INSERT 2; ROLLBACK TO a; COMMIT", {1} | OLD, {1} | OLD),
    ("SET autocommit=0; INSERT 1; COMMIT; SAVEPOINT a; INSERT 2; ROLLBACK TO a; COMMIT", {1} | OLD, {1} | OLD),
    ("SET autocommit=0; INSERT 1; ROLLBACK; SAVEPOINT a; INSERT 2; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET autocommit=0; INSERT 1; COMMIT AND CHAIN; SAVEPOINT a; INSERT 2; ROLLBACK TO a; COMMIT", {1} | OLD, {1} | OLD),
    ("SET autocommit=0; INSERT 1; ROLLBACK AND CHAIN; SAVEPOINT a; INSERT 2; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; CREATE TABLE made (id INT); 1305 ROLLBACK TO a; DROP TABLE made", OLD, OLD),
    ("SET autocommit=0; SAVEPOINT a; INSERT 1; TRUNCATE TABLE t; 1305 ROLLBACK TO a", set(), set()),
    ("SET autocommit=0; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SAVEPOINT a; INSERT 1; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET autocommit=0; SAVEPOINT a; INSERT 1; ROLLBACK TO a", OLD, OLD),
    ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SET autocommit=0; SAVEPOINT a; INSERT 1; ROLLBACK TO a", OLD, OLD),
    ("SET completion_type=CHAIN; BEGIN; INSERT 1; COMMIT; SAVEPOINT a; INSERT 2; ROLLBACK TO a; INSERT 3; ROLLBACK",
     {1} | OLD, {1} | OLD),
    ("PREPARE p FROM 'INSERT INTO t VALUES (1, 1)'; SET autocommit=0; SAVEPOINT a; EXECUTE p; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("BEGIN; SAVEPOINT a; INSERT 1; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("BEGIN; SAVEPOINT a; INSERT 1; ROLLBACK TO a; INSERT 2; COMMIT", {2} | OLD, {2} | OLD),
    ("START TRANSACTION WITH CONSISTENT SNAPSHOT; SAVEPOINT a; INSERT 1; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("START TRANSACTION READ WRITE; SAVEPOINT a; INSERT 1; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("BEGIN; COMMIT AND CHAIN; SAVEPOINT a; INSERT 1; ROLLBACK TO a; COMMIT", OLD, OLD),
    ("SAVEPOINT a; INSERT 1; 1305 ROLLBACK TO a", {1} | OLD, {1} | OLD),
    ("SAVEPOINT a; 1305 RELEASE SAVEPOINT a", OLD, OLD),
    ("SAVEPOINT a; SET autocommit=0; INSERT 1; 1305 ROLLBACK TO a", {1} | OLD, OLD),
    ("1305 ROLLBACK TO a", OLD, OLD),
]


def run_case(address, text):
    """The ids that the session sees, those that are committed, and what was not as expected."""
    session, other = Client(address, "savepoints"), Client(address, "savepoints")
    other.rows("DELETE FROM t")
    other.rows("INSERT INTO t VALUES (100, 0), (101, 0)")
    for part in text.split("; "):
        first, _, rest = part.partition(" ")
        error, sql = (int(first), rest) if first.isdigit() else (None, part)
        words = sql.split()
        if words[0] == "INSERT" and words[1].isdigit():
            sql = f"INSERT INTO t VALUES ({words[1]}, 1)"
        try:
            session.rows(sql)
            got = None
        except pymysql.MySQLError as e:
            got = e.args[0]
        if got != error:
            session.close()
            return f"{sql}: error {got}, not {error}"
    seen = {x for (x,) in session.rows("SELECT id FROM t")}
    session.rows("ROLLBACK")
    committed = {x for (x,) in other.rows("SELECT id FROM t")}
    session.close()
    other.close()
    return seen, committed


def sees_what_came_after(address):
    """A savepoint takes no view: what another session commits behind it is seen."""
    session, other = Client(address, "savepoints"), Client(address, "savepoints")
    other.rows("DELETE FROM t")
    session.rows("SET autocommit=0")
    session.rows("SAVEPOINT a")
    other.rows("INSERT INTO t VALUES (7, 7)")
    rows = session.rows("SELECT id FROM t")
    session.close()
    other.close()
    return rows == [(7,)]


def main():
    options = arguments(__doc__, takes_address=True).parse_args()
    findings, right = Findings(), 0
    with contextlib.ExitStack() as stack:
        address = options.address
        if options.muster:
            address = stack.enter_context(Muster(options.muster, "--durability", "relaxed")).address
        client = Client(address)
        for sql in ("DROP DATABASE IF EXISTS savepoints", "CREATE DATABASE savepoints",
                    "CREATE TABLE savepoints.t (id INT PRIMARY KEY, v INT NOT NULL)"):
            client.rows(sql)
        for text, *expected in CASES:
            got = run_case(address, text)
            if got == tuple(expected):
                right += 1
            else:
                findings.check(text, False, got if isinstance(got, str) else f"sees {got[0]}, committed {got[1]}, not {expected}")
        findings.check("a savepoint takes no view", sees_what_came_after(address))
        client.rows("DROP DATABASE savepoints")
        client.close()
    print(f"    {right} of {len(CASES)} cases passed")
    findings.end()


if __name__ == "__main__":
    main()
