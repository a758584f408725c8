#!/usr/bin/env python3
"""Locking reads beside sessions that delete rows and insert them again, and that move their entries.

    locking_reads.py ADDRESS [--seconds S] [--groups G,..] [--levels L,..] [--seed N] [--verbose]

ADDRESS is the port of a server on 127.0.0.1, or the path of its socket: Muster or MySQL 8.0. The database `locking_reads`
is made anew. Half of eight sessions change rows, half read them with locks. Every committed state has all rows, so a
statement that gives less has missed a row; one that gives a row twice has one too many. The rows that a statement has
locked must be those that a plain SELECT sees then. For each kind of statement and each isolation level the program prints
how many runs have gone wrong, and of how many. It ends with 1 if any has. The statements are in locking_statements.py.
"""

import argparse
import collections
import random
import sys
import threading
import time

import pymysql

from locking_statements import ALL, IDS, LEVELS, WITH_GAPS
from servers import TAKEN_BACK, Address, Client

DATABASE = "locking_reads"
SESSIONS = 8
LOCK_NOT_AVAILABLE, NOT_SUPPORTED = 3572, 1235
COLUMNS = "(id INT PRIMARY KEY, g INT NOT NULL, b INT NOT NULL, KEY g (g), KEY gb (g, b))"
# For each group of statements the tables that are changed beside them: by how much g moves there, and which ids. Where g
# shrinks, b does so, too: both are in the index gb.
CHANGED = {
    "points": [("a", (0, 1, 2), IDS)],
    "ranges": [("a", (0, 1, 2), IDS)],
    "descending": [("d", (0, -1, -2), IDS)],
    "both ways": [("m", (-3, -2, -1, 0, 1, 2, 3), IDS)],
    "groups": [("c", (0,), IDS)],
    "joins": [("a", (0, 1, 2), IDS), ("c", (0,), IDS)],
    "changes": [("a", (0, 1, 2), IDS)],
    "skip locked": [("s", (0, 1, 2), IDS[1::2])],
}
GROUPS = [*CHANGED, "counters", "jobs"]
# The least g of each table when a run begins.
FIRST_G = {"a": 0, "d": 1_000_000, "m": 0, "c": 0, "s": 0}
SETUP = [f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}",
         *(f"CREATE TABLE {table} {COLUMNS}" for table in FIRST_G),
         "CREATE TABLE o (id INT PRIMARY KEY, aid INT NOT NULL, n INT NOT NULL, KEY aid (aid))",
         "CREATE TABLE x (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL)",
         "CREATE TABLE k (id INT PRIMARY KEY, g INT NOT NULL, n INT NOT NULL, KEY g (g))",
         "CREATE TABLE j (id INT PRIMARY KEY, state INT NOT NULL, KEY state (state))"]


class Tally:
    """What went wrong, and how many runs there were, by kind of statement and level."""

    def __init__(self):
        self.lock = threading.Lock()
        self.runs, self.wrong, self.not_supported = collections.Counter(), collections.Counter(), set()
        self.taken_back = collections.Counter()
        self.examples = collections.defaultdict(list)

    def add(self, key, problem, runs=1, wrong=1):
        with self.lock:
            self.runs[key] += runs
            if problem:
                self.wrong[key] += wrong
                self.examples[key].append(problem)

    def print(self, verbose):
        order = [(kind.group, kind.name, kind.path) for kind in ALL]
        names = sorted({key[:3] for key in self.runs},
                       key=lambda name: (GROUPS.index(name[0]), order.index(name) if name in order else -1))
        print(f"{'':66}" + "".join(f"{level.lower():>19}" for level in LEVELS))
        for name in names:
            keys = [(*name, level) for level in LEVELS]
            cells = [f"{self.wrong[key]}/{self.runs[key]}" if self.runs[key] else "-" for key in keys]
            group, statement, path = name
            print(f"{group + ': ' + statement:53} {path:12}" + "".join(f"{cell:>19}" for cell in cells))
            for key in keys:
                for example in self.examples[key][:3 if verbose else 1]:
                    print(f"        {key[3].lower()}: {example}")
        def total(counter, level):
            return sum(n for key, n in counter.items() if key[3] == level)

        cells = [f"{total(self.wrong, level)}/{total(self.runs, level)}" for level in LEVELS]
        print(f"{'all':66}" + "".join(f"{cell:>19}" for cell in cells))
        cells = [f"{self.taken_back[level]}" for level in LEVELS]
        print(f"{'deadlocks and long waits, tried again':66}" + "".join(f"{cell:>19}" for cell in cells))
        for name in sorted(self.not_supported):
            print(f"not supported by this server, and left out: {name}")
        return sum(self.wrong.values())


class Session:
    """A connection at a level, with numbers that look random."""

    def __init__(self, run, seed):
        self.run, self.level, self.tally, self.draw = run, run.level, run.tally, random.Random(seed)
        self.client = Client(run.address, DATABASE)
        self.client.rows(f"SET SESSION TRANSACTION ISOLATION LEVEL {self.level}")
        self.client.rows("SET SESSION innodb_lock_wait_timeout = 5")

    def work(self, step):
        while time.monotonic() < self.run.until:
            try:
                step()
            except pymysql.MySQLError as error:
                if error.args[0] not in (*TAKEN_BACK, LOCK_NOT_AVAILABLE):
                    self.run.failed.append(repr(error))
                    return
                self.tally.taken_back[self.level] += error.args[0] in TAKEN_BACK
                self.client.rows("ROLLBACK")
        self.client.close()


class Writer(Session):
    """Changes rows so that every committed state has all ids."""

    def step(self):
        table, moves, ids = self.draw.choice(CHANGED[self.run.group])
        x, move = self.draw.choice(ids), self.draw.choice(moves)
        # Rows of s may be locked by key only, so that odd ids are not.
        ways = [self.recreate, self.recreate, self.recreate, self.touch, self.replace]
        ways += [] if table == "s" else [self.move, self.move] if any(moves) else []
        ways += [] if table == "s" else [self.away_and_back]
        self.step_of_b = -1 if table == "d" else 1
        self.draw.choice(ways)(table, x, move)

    def current(self, table, x):
        rows = self.client.rows(f"SELECT g, b FROM {table} WHERE id = {x} FOR UPDATE")
        key = (self.run.group, "the writer's own read", "PRIMARY", self.level)
        self.tally.add(key, None if len(rows) == 1 else f"{table}: SELECT .. WHERE id = {x} FOR UPDATE: {len(rows)} rows")
        return rows[0] if rows else None

    def end(self):
        self.client.rows("ROLLBACK" if self.draw.random() < 0.15 else "COMMIT")

    def recreate(self, table, x, move):
        self.client.rows("BEGIN")
        if row := self.current(table, x):
            self.client.rows(f"DELETE FROM {table} WHERE id = {x}")
            self.client.rows(f"INSERT INTO {table} VALUES ({x}, {max(0, row[0] + move)}, {row[1] + self.step_of_b})")
        self.end()

    def replace(self, table, x, move):
        self.client.rows("BEGIN")
        if row := self.current(table, x):
            self.client.rows(f"REPLACE INTO {table} VALUES ({x}, {max(0, row[0] + move)}, {row[1] + self.step_of_b})")
        self.end()

    def move(self, table, x, move):
        g = self.client.rows(f"SELECT g FROM {table} WHERE id = {x}")
        if g:
            self.client.rows("BEGIN")
            self.client.rows(f"UPDATE {table} SET g = {max(0, g[0][0] + move)} WHERE g = {g[0][0]} ORDER BY id LIMIT 3")
            self.end()

    def touch(self, table, x, _):
        self.client.rows(f"UPDATE {table} SET b = b + {self.step_of_b} WHERE id = {x}")

    def away_and_back(self, table, x, _):
        self.client.rows("BEGIN")
        self.client.rows(f"UPDATE {table} SET id = id + 1000 WHERE id = {x}")
        self.client.rows(f"UPDATE {table} SET id = id - 1000 WHERE id = {x} + 1000")
        self.end()


class Reader(Session):
    """Runs the statements of the group, and looks at what they find."""

    def step(self):
        kinds = [kind for kind in ALL if kind.group == self.run.group and self.level in kind.levels]
        kind = self.draw.choice([kind for kind in kinds if kind.name not in self.tally.not_supported])
        try:
            self.run_kind(kind)
        except pymysql.NotSupportedError as error:
            if error.args[0] != NOT_SUPPORTED:
                raise
            self.tally.not_supported.add(kind.name)
            self.client.rows("ROLLBACK")

    def run_kind(self, kind):
        sql, expected = kind.make(self.draw)
        key = (kind.group, kind.name, kind.path, self.level)
        if kind.modes == (None,):
            self.change(key, sql, expected)
        else:
            self.read(kind, key, f"{sql} {self.mode(kind)}", expected)

    def mode(self, kind):
        modes = list(kind.modes)
        if "FOR UPDATE" in modes:
            modes += [*modes, "FOR UPDATE NOWAIT"] + ([""] if self.level == "SERIALIZABLE" else [])
        return "" if "derived" in kind.name else self.draw.choice(modes)

    def change(self, key, sql, expected):
        self.client.rows("BEGIN")
        count = self.client.count(sql)
        self.tally.add(key, None if count == expected else f"{sql}: {count} rows, not {expected}")
        self.client.rows("COMMIT" if sql.startswith("UPDATE") and self.draw.random() < 0.3 else "ROLLBACK")

    def read(self, kind, key, sql, expected):
        alone, view_first = self.draw.random() < 0.3, self.draw.random() < 0.2
        if not alone:
            self.client.rows("BEGIN")
        if view_first:
            self.client.rows("SELECT COUNT(*) FROM o")
        rows = self.client.rows(sql)
        problem = wrong_rows(rows, expected, kind.group == "skip locked")
        # FOR SHARE may lock an entry of a covering index without its row: what is not committed may differ then.
        comparable = not alone and (self.level != LEVELS[0] or "FOR UPDATE" in sql)
        if view_first and self.level in WITH_GAPS:
            comparable = False
        if not problem and kind.compares and comparable:
            problem = self.differs_from_plain_read(kind, rows)
        if not alone:
            self.client.rows("COMMIT")
        self.tally.add(key, problem and f"{sql}: {problem}")

    def differs_from_plain_read(self, kind, rows):
        """What is locked is the newest committed version: a view that is taken now sees the same."""
        if not rows:
            return None
        ids = ", ".join(str(row[0]) for row in rows)
        seen = self.client.rows(f"SELECT id, b FROM {kind.compares} WHERE id IN ({ids})")
        return None if sorted(seen) == sorted(rows) else f"gave {sorted(rows)}, a plain SELECT {sorted(seen)}"


def wrong_rows(rows, expected, may_give_more):
    """What is wrong with the rows of a statement; None if nothing is."""
    ids = [row[0] for row in rows]
    if isinstance(expected, int):
        return None if len(ids) == len(set(ids)) == expected else f"{len(ids)} rows {ids}, not {expected}"
    missing = sorted(set(expected) - set(ids))
    if missing:
        return f"without {missing}"
    if len(ids) > len(set(ids)) or not (may_give_more or set(ids) == set(expected)):
        return f"{sorted(ids, key=str)}, not {expected}"
    return None


class Counter(Session):
    """Reads counters with locks and writes them back, one higher: none of that may be lost."""

    def __init__(self, run, seed):
        super().__init__(run, seed)
        self.added = 0

    def step(self):
        by_group, recreate = self.draw.random() < 0.4, self.draw.random() < 0.4
        g = self.draw.randint(0, 1)
        ids = [i for i in range(1, 6) if i % 2 == g] if by_group else sorted(self.draw.sample(range(1, 6), 2))
        path = "g" if by_group else "PRIMARY"
        condition = f"FORCE INDEX (g) WHERE g = {g}" if by_group else f"WHERE id IN ({ids[0]}, {ids[1]})"
        sql = f"SELECT id, n FROM k {condition} FOR UPDATE"
        self.client.rows("BEGIN")
        rows = self.client.rows(sql)
        key = ("counters", "read of counters", path, self.level)
        problem = wrong_rows(rows, ids, False)
        self.tally.add(key, problem and f"{sql}: {problem}")
        for x, n in rows:
            if recreate:
                self.client.rows(f"DELETE FROM k WHERE id = {x}")
                self.client.rows(f"INSERT INTO k VALUES ({x}, {x % 2}, {n + 1})")
            else:
                self.client.rows(f"UPDATE k SET n = {n + 1} WHERE id = {x}")
        self.client.rows("COMMIT")
        self.added += len(rows)


class Worker(Session):
    """Takes jobs off a queue with SKIP LOCKED: each is taken once, and none is left."""

    def __init__(self, run, seed):
        super().__init__(run, seed)
        self.taken = []

    def step(self):
        index = self.draw.choice(("PRIMARY", "state"))
        self.client.rows("BEGIN")
        rows = self.client.rows(f"SELECT id FROM j FORCE INDEX ({index}) WHERE state = 0 ORDER BY id LIMIT 1 "
                                "FOR UPDATE SKIP LOCKED")
        for (x,) in rows:
            self.client.rows(f"UPDATE j SET state = 1 WHERE id = {x}")
        self.client.rows("COMMIT")
        self.taken += [x for (x,) in rows]
        if not rows and self.client.value("SELECT COUNT(*) FROM j WHERE state = 0") == 0:
            self.client.rows("COMMIT")
            self.run.until = 0


class Run:
    """One group of statements at one level."""

    def __init__(self, address, group, level, seconds, seed, tally):
        self.address, self.group, self.level, self.tally = address, group, level, tally
        self.failed = []
        client = Client(address, DATABASE)
        for sql in self.setup():
            client.rows(sql)
        classes = {"counters": [Counter] * SESSIONS, "jobs": [Worker] * SESSIONS}
        classes = classes.get(group, [Writer, Reader] * (SESSIONS // 2))
        sessions = [class_(self, f"{seed} {number}") for number, class_ in enumerate(classes)]
        threads = [threading.Thread(target=s.work, args=(s.step,), daemon=True) for s in sessions]
        self.until = time.monotonic() + seconds
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(seconds + 60)
            if thread.is_alive():
                self.failed.append("a session did not come back within a minute")
        self.check(client, sessions)
        client.close()
        for problem in sorted(set(self.failed)):
            tally.add((group, "errors and the end state", "", level), problem)

    def setup(self):
        """The statements that put the rows into the tables of the group."""
        rows = {table: [(x, first + x % (4 if table == "c" else 5), 0) for x in IDS] for table, first in FIRST_G.items()}
        rows["o"] = [(x, x, 0) for x in IDS]
        rows["k"] = [(x, x % 2, 0) for x in range(1, 6)]
        rows["j"] = [(x, 0) for x in range(300)]
        tables = {"counters": "k", "jobs": "j"}.get(self.group) or ["o", *(table for table, _, _ in CHANGED[self.group])]
        for table in tables:
            yield f"DELETE FROM {table}"
            yield f"INSERT INTO {table} VALUES {', '.join(map(str, rows[table]))}"

    def check(self, client, sessions):
        """Looks at the tables once all sessions have ended."""
        if self.group == "counters":
            added = sum(session.added for session in sessions)
            lost = added - int(client.value("SELECT SUM(n) FROM k"))
            self.tally.add(("counters", "increments", "", self.level), lost and f"{lost} of {added} lost", added, abs(lost))
        elif self.group == "jobs":
            taken = sorted(x for session in sessions for x in session.taken)
            done = client.value("SELECT COUNT(*) FROM j WHERE state = 1")
            wrong = len(taken) - len(set(taken)) + abs(done - len(taken))
            self.tally.add(("jobs", "jobs taken", "PRIMARY, state", self.level),
                           wrong and f"{len(taken)} taken, {len(set(taken))} different, {done} done", len(taken), wrong)
        else:
            for table, _, _ in CHANGED[self.group]:
                for index in ("PRIMARY", "g", "gb"):
                    rows = client.rows(f"SELECT id FROM {table} FORCE INDEX ({index}) WHERE g >= 0 AND id > 0")
                    if problem := wrong_rows(rows, list(IDS), False):
                        self.failed.append(f"{table} by {index} at the end: {problem}")
        tables = {"counters": "k", "jobs": "j"}.get(self.group, "a, d, m, c, s, o")
        for row in client.rows(f"CHECK TABLE {tables}"):
            if row[3] != "OK":
                self.failed.append(f"CHECK TABLE: {row}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--seconds", type=float, default=1, help="of each group of statements at each level (default 1)")
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--levels", default=",".join(LEVELS))
    parser.add_argument("--seed", default="1")
    parser.add_argument("--verbose", action="store_true", help="print more of what went wrong")
    options = parser.parse_args()
    tally, client = Tally(), Client(Address(options.address))
    for sql in SETUP:
        client.rows(sql)
    for group in options.groups.split(","):
        for level in options.levels.split(","):
            if group != "both ways" or level in WITH_GAPS:
                Run(Address(options.address), group, level, options.seconds, options.seed, tally)
    wrong = tally.print(options.verbose)
    print(f"{sum(tally.runs.values())} statements, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
