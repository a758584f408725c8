#!/usr/bin/env python3
"""A circle of waits through a lock of a row and locks of a table's name is found in less than a second.

    metadata_deadlock.py --muster PATH | --address ADDRESS

Session 1 has read table a; session 2 has changed a row of table c. A change of a's definition waits for session 1. Session 2 reads
a, and waits behind the change of the definition. Session 1 changes the row of c, and waits for session 2: the circle. One of the two
must be told of a deadlock (1213), not the definition, which came before their waits; and all three must go on. MySQL 8.0.33 knows of
no circle through both kinds of locks: there the row is waited for until innodb_lock_wait_timeout (1205).
"""

import contextlib
import time

import pymysql

from findings import Findings, arguments
from index_waits import Waiting
from servers import Client, Muster

FOUND_SECONDS_MAX, GIVE_UP_SECONDS = 1, 8
DEADLOCK, NO_SUCH_TABLE = 1213, 1146
DEFINITIONS = ["CREATE INDEX made ON a (v)", "TRUNCATE TABLE a", "RENAME TABLE a TO b", "DROP TABLE a",
               "ALTER TABLE a ADD INDEX made (v)", "LOCK TABLES a WRITE"]


def circle(findings, address, definition, first):
    client = Client(address)
    for sql in ("DROP DATABASE IF EXISTS waits", "CREATE DATABASE waits", "USE waits",
                "CREATE TABLE a (id INT PRIMARY KEY, v INT NOT NULL)", "CREATE TABLE c (id INT PRIMARY KEY, v INT NOT NULL)",
                "INSERT INTO a VALUES (1, 1), (2, 2)", "INSERT INTO c VALUES (1, 1), (2, 2)"):
        client.rows(sql)
    sessions = [Client(address, "waits") for _ in range(3)]
    for session in sessions:
        session.rows("SET SESSION innodb_lock_wait_timeout = 3")
        session.rows("SET SESSION lock_wait_timeout = 10")
    one, two, definer = sessions
    for session, sql in ((one, "BEGIN"), (one, "SELECT * FROM a"), (two, "BEGIN"), (two, "UPDATE c SET v = 5 WHERE id = 1")):
        session.rows(sql)
    defining = Waiting(definer, definition)
    time.sleep(0.3)
    waits = [(two, "SELECT * FROM a"), (one, "UPDATE c SET v = 6 WHERE id = 1")]
    begun = [Waiting(*waits[first])]
    time.sleep(0.3)
    begin = time.monotonic()
    begun.append(Waiting(*waits[1 - first]))
    while not any(waiting.ended for waiting in begun) and time.monotonic() - begin < GIVE_UP_SECONDS:
        time.sleep(0.005)
    found = time.monotonic() - begin
    let_go(begun, defining)
    errors = [waiting.error if waiting.ended else "waits" for waiting in begun]
    # A table that is gone by then is the right answer, too.
    passed = errors.count(DEADLOCK) == 1 and set(errors) <= {None, DEADLOCK, NO_SUCH_TABLE}
    passed = passed and found < FOUND_SECONDS_MAX and defining.outcome() == "done"
    findings.check(f"{definition}, {('session 2', 'session 1')[first]} waits first", passed,
                   f"{found:.2f} s; sessions {[error or 'done' for error in errors]}; definition: {defining.outcome()}")
    for session in sessions:
        session.close()


def let_go(begun, defining):
    """Whoever has been told, or has what it waited for, ends its transaction, until all have ended."""
    open_ones, until = [*begun, defining], time.monotonic() + GIVE_UP_SECONDS
    while open_ones and time.monotonic() < until:
        for waiting in [waiting for waiting in open_ones if waiting.ended]:
            open_ones.remove(waiting)
            with contextlib.suppress(pymysql.MySQLError, OSError):
                waiting.client.rows("UNLOCK TABLES" if waiting is defining else "ROLLBACK")
        time.sleep(0.005)


def main():
    options = arguments(__doc__, takes_address=True).parse_args()
    findings = Findings()
    with contextlib.ExitStack() as stack:
        address = options.address
        if options.muster:
            address = stack.enter_context(Muster(options.muster, "--durability", "relaxed")).address
        for definition in DEFINITIONS:
            for first in (0, 1):
                circle(findings, address, definition, first)
    findings.end()


if __name__ == "__main__":
    main()
