#!/usr/bin/env python3
"""CREATE INDEX beside a transaction that has used the table, and changes of definitions that are killed or wait too long.

    index_waits.py --muster PATH | --address ADDRESS

A transaction that has read or changed a table goes on with it while CREATE INDEX waits. One of the two may be told of a deadlock
(1213), but never CREATE INDEX, since the other one's wait began later: when the transaction has ended, the index is built, and reads by
it give all rows. A change of a definition that is killed, that has waited for too long, or that finds a duplicate fails with its error and
leaves no file behind: the trees of the directory are counted. With --address the same is asked of a server that runs, such as MySQL,
without a look at its files.
"""

import collections
import contextlib
import random
import re
import threading
import time

import pymysql

from findings import Findings, arguments
from servers import Client, Muster

ROWS, BIG_ROWS = 1000, 200_000
DEADLOCK, TIMEOUT, DUPLICATE, KILLED = 1213, 1205, 1062, 1317
WAIT_SECONDS_MAX, INDEXES = 20, 20
# What holds the table while a definition waits.
HOLDERS = {"none": [], "reads": ["BEGIN", "SELECT COUNT(*) FROM t"],
           "writes": ["BEGIN", "UPDATE t SET w = w + 1 WHERE id = 3"]}
# What the transaction does before CREATE INDEX comes, and while that waits.
SCENARIOS = [
    ("SELECT, then SELECT", ["SELECT * FROM t WHERE id = 1"], ["SELECT * FROM t WHERE id = 2"]),
    ("SELECT, then UPDATE", ["SELECT * FROM t WHERE id = 1"], ["UPDATE t SET v = v + 1 WHERE id = 2"]),
    ("SELECT, then INSERT", ["SELECT COUNT(*) FROM t"], ["INSERT INTO t VALUES (-1, 5, 5)"]),
    ("SELECT, then DELETE", ["SELECT COUNT(*) FROM t"], ["DELETE FROM t WHERE id = 9"]),
    ("SELECT, then FOR UPDATE", ["SELECT COUNT(*) FROM t"], ["SELECT * FROM t WHERE id < 5 FOR UPDATE"]),
    ("UPDATE, then UPDATE", ["UPDATE t SET v = v + 1 WHERE id = 1"], ["UPDATE t SET v = v + 1 WHERE id = 2"]),
    ("UPDATE, then SELECT", ["UPDATE t SET v = v + 1 WHERE id = 1"], ["SELECT * FROM t WHERE id = 2"]),
    ("UPDATE, then nothing", ["UPDATE t SET v = v + 1 WHERE id = 1"], []),
    ("SELECT of another table, then UPDATE", ["SELECT COUNT(*) FROM other"], ["UPDATE t SET v = v + 1 WHERE id = 2"]),
    ("FOR UPDATE, then UPDATE of all", ["SELECT * FROM t FOR UPDATE"], ["UPDATE t SET v = v + 1"]),
]


class Waiting(threading.Thread):
    """A statement that may wait, in a session of its own or in one that is given."""

    def __init__(self, client, sql):
        super().__init__(daemon=True)
        self.client, self.sql, self.error, self.ended = client, sql, None, False
        self.start()

    def run(self):
        try:
            self.client.rows(self.sql)
        except (pymysql.MySQLError, OSError) as error:
            self.error = error.args[0] if error.args else -1
        self.ended = True

    def end(self):
        self.join(WAIT_SECONDS_MAX)
        return self.ended

    def outcome(self):
        return (self.error or "done") if self.ended else "waits"


class Place:
    """A server with its tables."""

    def __init__(self, address, server):
        self.address, self.server = address, server
        client = Client(address)
        for sql in ("DROP DATABASE IF EXISTS waits", "CREATE DATABASE waits", "USE waits",
                    "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, w INT NOT NULL, KEY kw (w))",
                    "CREATE TABLE other (id INT PRIMARY KEY)",
                    "CREATE TABLE big (id INT PRIMARY KEY, v INT NOT NULL, w INT NOT NULL)"):
            client.rows(sql)
        for first in range(0, BIG_ROWS, 20000):
            client.rows(f"INSERT INTO big VALUES {', '.join(f'({i}, {i * 7919 % 100003}, 1)' for i in range(first, first + 20000))}")
        client.rows(f"INSERT INTO t SELECT * FROM big WHERE id < {ROWS}")
        self.client = Client(address, "waits")

    def trees(self):
        """The files of trees in the directory, and those that have no business there. MySQL's are not looked at."""
        files = self.server.files() if self.server else {}
        return {name for name in files if re.fullmatch(r"\d{8}\.mus", name) or name.endswith(".new") or name.startswith("tmp/")}

    def trees_become(self, wanted):
        until = time.monotonic() + 5
        while (found := self.trees()) != wanted and time.monotonic() < until:
            time.sleep(0.05)
        return found == wanted, f"{len(found)} trees, {len(wanted)} before" if found != wanted else ""


def index_is_built(findings, place, name, before, during):
    """The transaction begins, then CREATE INDEX comes."""
    transaction = Client(place.address, "waits")
    for sql in ["BEGIN", *before]:
        transaction.rows(sql)
    trees, building = place.trees(), Waiting(Client(place.address, "waits"), "CREATE INDEX made ON t (v)")
    time.sleep(0.3)
    look_at_index(findings, place, name, "t", trees, building, transaction, during)


def index_is_built_first(findings, place, name, before, during):
    """CREATE INDEX of a big table comes first, the transaction begins while it builds."""
    trees, building = place.trees(), Waiting(Client(place.address, "waits"), "CREATE INDEX made ON big (v)")
    time.sleep(0.03)
    transaction = Client(place.address, "waits")
    statements = [sql.replace(" t ", " big ") for sql in ["BEGIN", *before]]
    for sql in statements:
        Waiting(transaction, sql).end()
    time.sleep(0.5)
    during = [sql.replace(" t ", " big ") for sql in during]
    look_at_index(findings, place, f"{name}, of a big table", "big", trees, building, transaction, during)


def look_at_index(findings, place, name, table, trees, building, transaction, during):
    met, waiting = None, None
    for sql in during:
        waiting = Waiting(transaction, sql)
        waiting.end()
        met = waiting.outcome()
    if met != "waits":
        transaction.rows("COMMIT" if met in (None, "done") else "ROLLBACK")
    built = building.end() and building.error is None
    right = met in (None, "done", DEADLOCK)
    if built:
        by_index = place.client.value(f"SELECT COUNT(*) FROM {table} FORCE INDEX (made) WHERE v > -100")
        right = right and by_index == place.client.value(f"SELECT COUNT(*) FROM {table} FORCE INDEX (PRIMARY)")
        place.client.rows(f"DROP INDEX made ON {table}")
    transaction.close()
    clean, files = place.trees_become(trees)
    findings.check(f"index is built, {name}", built and right and clean,
                   f"the transaction: {met or 'done'}; CREATE INDEX: {building.outcome()} {files}")


def many_transactions(findings, place):
    """Indexes are made beside four sessions whose transactions read and then change the table."""
    trees, stop, met = place.trees(), threading.Event(), collections.Counter()

    def work(number):
        client, draw = Client(place.address, "waits"), random.Random(number)
        while not stop.is_set():
            try:
                for sql in ("BEGIN", f"SELECT * FROM t WHERE id = {draw.randint(0, 999)}",
                            f"UPDATE t SET v = v + 1 WHERE id = {draw.randint(0, 999)}", "COMMIT"):
                    client.rows(sql)
                met["committed"] += 1
            except pymysql.MySQLError as error:
                met[error.args[0]] += 1
                client.rows("ROLLBACK")
        client.close()

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(4)]
    for thread in threads:
        thread.start()
    errors = collections.Counter()
    for number in range(INDEXES):
        building = Waiting(Client(place.address, "waits"), f"CREATE INDEX many{number} ON t (v)")
        building.end()
        errors[building.outcome()] += 1
        if building.outcome() == "done":
            place.client.rows(f"DROP INDEX many{number} ON t")
    stop.set()
    for thread in threads:
        thread.join(WAIT_SECONDS_MAX)
    clean, files = place.trees_become(trees)
    findings.check(f"{INDEXES} indexes beside transactions", errors["done"] == INDEXES and clean and met.keys() <= {"committed", DEADLOCK},
                   f"CREATE INDEX: {dict(errors)}; transactions: {dict(met)} {files}")


def fails_and_leaves_nothing(findings, place, name, sql, ends, wanted, holder=HOLDERS["none"]):
    """A statement that must fail with one of the errors: `ends` makes it do so."""
    trees, holding = place.trees(), Client(place.address, "waits")
    for statement in holder:
        holding.rows(statement)
    client = Client(place.address, "waits")
    number = client.value("SELECT CONNECTION_ID()")
    if ends == "timeout":
        client.rows("SET SESSION lock_wait_timeout = 1")
    statement = Waiting(client, sql)
    if ends in ("KILL QUERY", "KILL"):
        if holder:
            time.sleep(0.3)
        else:
            runs = f"SELECT COUNT(*) FROM information_schema.processlist WHERE id = {number} AND info IS NOT NULL"
            while not statement.ended and place.client.value(runs) == 0:
                time.sleep(0.001)
        place.client.rows(f"{ends} {number}")
    ended = statement.end()
    holding.rows("ROLLBACK")
    holding.close()
    clean, files = place.trees_become(trees)
    findings.check(name, ended and statement.error in wanted and clean, f"{statement.outcome()} {files}")


def failures(findings, place):
    definitions = ["CREATE INDEX made ON t (v)", "ALTER TABLE t ADD INDEX made (v), ADD INDEX made2 (w)", "DROP INDEX kw ON t",
                   "TRUNCATE TABLE t", "DROP TABLE t", "RENAME TABLE t TO u"]
    for number, sql in enumerate(definitions):
        # The first ones build before they wait for those that read; for those that write they wait at once.
        for holder in ("reads", "writes") if number < 2 else ("reads",):
            name = f"{sql}, another one {holder}"
            fails_and_leaves_nothing(findings, place, f"timed out: {name}", sql, "timeout", (TIMEOUT,), HOLDERS[holder])
            fails_and_leaves_nothing(findings, place, f"killed: {name}", sql, "KILL QUERY", (KILLED,), HOLDERS[holder])
    # The connection is gone: the client sees whatever its library says then.
    fails_and_leaves_nothing(findings, place, "connection killed: CREATE INDEX", definitions[0], "KILL",
                             (KILLED, 2006, 2013, 0, -1), HOLDERS["reads"])
    fails_and_leaves_nothing(findings, place, "duplicates: CREATE UNIQUE INDEX", "CREATE UNIQUE INDEX made ON t (w)",
                             "", (DUPLICATE,))
    # An index of 200,000 rows is there before KILL is.
    for rows in (BIG_ROWS, 2 * BIG_ROWS, 4 * BIG_ROWS):
        place.client.rows(f"INSERT INTO big SELECT id + {rows}, v, w FROM big WHERE id >= 0")
    for sql in ("CREATE INDEX made ON big (v, w)", "ALTER TABLE big ADD INDEX made (v, w), ADD INDEX made2 (w, v)"):
        fails_and_leaves_nothing(findings, place, f"killed while it builds: {sql}", sql, "KILL QUERY", (KILLED,))
    bad = [row for row in place.client.rows("CHECK TABLE t, big") if row[3] != "OK"]
    findings.check("CHECK TABLE at the end", not bad, f"{bad[0]}" if bad else "")


def main():
    options = arguments(__doc__, takes_address=True).parse_args()
    findings = Findings()
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Muster(options.muster, "--durability", "relaxed")) if options.muster else None
        place = Place(options.address or server.address, server)
        for scenario in SCENARIOS:
            index_is_built(findings, place, *scenario)
        for scenario in SCENARIOS[:8]:
            index_is_built_first(findings, place, *scenario)
        many_transactions(findings, place)
        failures(findings, place)
        place.client.rows("DROP DATABASE waits")
        if server:
            server.stop()
            server.start()
            findings.check("no tree is left after DROP DATABASE and a restart", not place.trees(), ", ".join(place.trees()))
    findings.end()


if __name__ == "__main__":
    main()
