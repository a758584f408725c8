#!/usr/bin/env python3
"""Transactions and changes of definitions, cut off by SIGKILL; at once after the restart a change of definition of each table.

    crash_ddl.py --muster PATH [--lives N] [--rows N] [--seed N]

Each of four clients has a table of its own and keeps a ledger of it: its name, its rows, its indexes. It runs transactions,
CREATE INDEX, DROP INDEX, LOAD DATA LOCAL, TRUNCATE, RENAME, and ALTER TABLE that copies its rows. What the server has acknowledged must be there after the crash, what
had not been committed must not; a COMMIT or a definition that was under way may be done or not. Immediately after the restart
the transactions that the crash has cut off are being rolled back. In that moment each table meets CREATE INDEX, LOAD DATA,
TRUNCATE, RENAME or LOCK TABLES. Then each table must equal its ledger by every index, CHECK TABLE must find nothing, and the
directory must have one file for each index and no other. The program ends with 1 if anything is not so.
"""

import argparse
import collections
import copy
import random
import re
import sys
import tempfile
import threading
import time

import pymysql

from servers import TAKEN_BACK, Muster

TABLES = 4
# After a restart a definition may wait for a rollback, but not longer than this.
DDL_SECONDS_MAX = 60
LOST_CONNECTION = (0, 2006, 2013, 2014)


class Ledger:
    """What a table is: its name, its rows by id, its indexes with their columns."""

    def __init__(self, name):
        self.name, self.rows, self.indexes = name, {}, {}

    def with_rows(self, rows):
        after = copy.copy(self)
        after.rows = rows
        return after

    def with_indexes(self, indexes):
        after = copy.copy(self)
        after.indexes = indexes
        return after

    def with_name(self, name):
        after = copy.copy(self)
        after.name = name
        return after


class TableClient:
    """A client with its table. `possible` has the states that the table may have: two while something is under way."""

    def __init__(self, run, number):
        self.run, self.number = run, number
        self.draw = random.Random(f"{run.seed} {number}")
        self.possible = [Ledger(f"t{number}")]
        self.next_id, self.next_name = 0, 0
        self.client = None
        self.open_changes = False

    def fresh(self, prefix):
        self.next_name += 1
        return f"{prefix}{self.number}_{self.next_name}"

    def new_rows(self, count):
        rows = {}
        for _ in range(count):
            self.next_id += 1
            rows[self.next_id] = (self.draw.randint(-1000, 1000), f"text {self.draw.randint(0, 5000)}")
        return rows

    # What a client does while the server lives.

    def work(self):
        self.client = self.run.server.client("d")
        ways = [self.transaction] * 6 + [self.delete_all, self.update_all, self.create_index] * 2
        ways += [self.drop_index, self.load, self.load, self.truncate, self.rename, self.alter, self.alter]
        while not self.run.killed:
            way = self.draw.choice(ways)
            try:
                way()
                self.run.done[way.__name__] += 1
            except (pymysql.MySQLError, OSError) as error:
                number = error.args[0] if error.args else 0
                if isinstance(error, OSError) or number in LOST_CONNECTION:
                    if not self.run.wait_for_kill():
                        self.run.problem(f"{way.__name__}: the server is gone: {error!r}")
                    return
                if number not in TAKEN_BACK:
                    self.run.problem(f"{way.__name__} of {self.possible[0].name}: {error!r}")
                self.possible = self.possible[:1]
                self.client.rows("ROLLBACK")
                self.open_changes = False

    def definition(self, sql, *after):
        """Runs a statement that is a transaction of its own; the table has one of the states `after` when it is done."""
        before = self.possible
        self.possible = [*before, *after]
        self.client.rows(sql)
        self.possible = list(after)

    def transaction(self):
        before = self.possible[0]
        rows, saved = dict(before.rows), None
        self.client.rows("BEGIN")
        for _ in range(self.draw.randint(1, 6)):
            self.open_changes = True
            some = self.draw.choice(list(rows)) if rows else 0
            what = self.draw.randint(0, 5)
            if what == 0:
                self.insert(before.name, rows, self.new_rows(self.draw.choice((1, 3, 200))))
            elif what == 1:
                self.client.rows(f"UPDATE {before.name} SET v = v + 7, s = CONCAT(s, '!') WHERE id = {some}")
                if some in rows:
                    rows[some] = (rows[some][0] + 7, rows[some][1] + "!")
            elif what == 2:
                self.client.rows(f"DELETE FROM {before.name} WHERE id BETWEEN {some} AND {some + 20}")
                rows = {i: row for i, row in rows.items() if not some <= i <= some + 20}
            elif what == 3:
                self.client.rows(f"UPDATE {before.name} SET v = v + 1 WHERE v BETWEEN 0 AND 30")
                rows = {i: (v + 1 if 0 <= v <= 30 else v, s) for i, (v, s) in rows.items()}
            elif what == 4:
                self.client.rows("SAVEPOINT s")
                saved = dict(rows)
            elif saved is not None:
                self.client.rows("ROLLBACK TO SAVEPOINT s")
                rows = dict(saved)
        self.end(before.with_rows(rows), 0.8)

    def insert(self, name, rows, new):
        self.client.rows(f"INSERT INTO {name} VALUES {', '.join(str((i, *row)) for i, row in new.items())}")
        rows.update(new)

    def end(self, after, share_of_commits):
        before = self.possible[0]
        if self.draw.random() < share_of_commits:
            self.possible = [before, after]
            self.client.rows("COMMIT")
            self.possible = [after]
        else:
            self.client.rows("ROLLBACK")
        self.open_changes = False

    def delete_all(self):
        before = self.possible[0]
        self.client.rows("BEGIN")
        self.open_changes = True
        self.client.rows(f"DELETE FROM {before.name}")
        # Long enough for the server to be killed meanwhile, now and then.
        self.run.killing.wait(self.draw.uniform(0, 0.6))
        self.end(before.with_rows({}), 0.1)

    def update_all(self):
        before = self.possible[0]
        self.client.rows("BEGIN")
        self.open_changes = True
        self.client.rows(f"UPDATE {before.name} SET v = v - 1")
        self.run.killing.wait(self.draw.uniform(0, 0.3))
        self.end(before.with_rows({i: (v - 1, s) for i, (v, s) in before.rows.items()}), 0.5)

    # Statements that change definitions: each works on all states that the table may have.

    def create_index(self):
        index, columns = self.fresh("k"), self.draw.choice((("v",), ("s", "v")))
        name = self.possible[0].name
        after = [state.with_indexes({**state.indexes, index: columns}) for state in self.possible]
        self.definition(f"CREATE INDEX {index} ON {name} ({', '.join(columns)})", *after)

    def drop_index(self):
        indexes = self.possible[0].indexes
        for index in indexes:
            if all(index in state.indexes for state in self.possible) and (len(indexes) > 2 or self.draw.random() < 0.3):
                after = [state.with_indexes({k: c for k, c in state.indexes.items() if k != index}) for state in self.possible]
                return self.definition(f"DROP INDEX {index} ON {self.possible[0].name}", *after)
        return None

    def load(self):
        count = self.draw.choice((1, 50, self.run.rows // 4))
        if max(len(state.rows) for state in self.possible) > self.run.rows:
            return self.truncate()
        new = self.new_rows(count)
        with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
            file.writelines(f"{i}\t{v}\t{s}\n" for i, (v, s) in new.items())
            file.flush()
            sql = f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE {self.possible[0].name}"
            self.definition(sql, *(state.with_rows({**state.rows, **new}) for state in self.possible))

    def truncate(self):
        self.definition(f"TRUNCATE TABLE {self.possible[0].name}", *(state.with_rows({}) for state in self.possible))

    def rename(self):
        name = self.fresh("t")
        self.definition(f"RENAME TABLE {self.possible[0].name} TO {name}", *(state.with_name(name) for state in self.possible))

    def alter(self):
        """The rows are copied: with another type, a name, and an index that comes and is built with them."""
        name, index = self.fresh("t"), self.fresh("k")
        after = [state.with_name(name).with_indexes({**state.indexes, index: ("v", "s")}) for state in self.possible]
        ty, length = self.draw.choice(("INT", "BIGINT", "DECIMAL(20)")), self.draw.randint(60, 70)
        self.definition(f"ALTER TABLE {self.possible[0].name} MODIFY v {ty} NOT NULL, MODIFY s VARCHAR({length}) NOT NULL, "
                        f"ADD KEY {index} (v, s), RENAME TO {name}, ALGORITHM = COPY", *after)

    def lock_table(self):
        name = self.possible[0].name
        self.client.rows(f"LOCK TABLES {name} WRITE")
        count = self.client.value(f"SELECT COUNT(*) FROM {name}")
        self.client.rows("UNLOCK TABLES")
        lengths = sorted({len(state.rows) for state in self.possible})
        if count not in lengths:
            self.run.problem(f"LOCK TABLES: {name} has {count} rows, not {lengths}")

    # What happens after a restart.

    def after_restart(self):
        self.client = self.run.server.client("d", read_timeout=DDL_SECONDS_MAX)
        names = {row[0] for row in self.client.rows("SHOW TABLES")}
        self.possible = [state for state in self.possible if state.name in names] or self.possible[:1]
        way = self.draw.choice((self.create_index, self.create_index, self.load, self.load, self.truncate, self.rename,
                                self.lock_table, self.drop_index, self.alter))
        begin = time.monotonic()
        try:
            way()
        except (pymysql.MySQLError, OSError) as error:
            self.run.problem(f"{way.__name__} of {self.possible[0].name} after a restart: {error!r}")
        self.run.after_restart[way.__name__].append(time.monotonic() - begin)
        self.verify()

    def verify(self):
        """The table equals one of the states that it may have, by every index."""
        name = self.possible[0].name
        indexes = collections.defaultdict(list)
        for row in self.client.rows(f"SHOW INDEX FROM {name}"):
            indexes[row[2]].append(row[4])
        del indexes["PRIMARY"]
        indexes = {index: tuple(columns) for index, columns in indexes.items()}
        found = {i: (v, s) for i, v, s in self.client.rows(f"SELECT id, v, s FROM {name} FORCE INDEX (PRIMARY)")}
        fits = [state for state in self.possible if state.indexes == indexes and state.rows == found]
        if not fits:
            wanted = "; or ".join(difference(state, found, indexes) for state in self.possible)
            self.run.problem(f"{name} is not as its ledger: {wanted}")
            fits = [self.possible[0].with_rows(found).with_indexes(indexes)]
        self.possible = fits[:1]
        for index, columns in indexes.items():
            first, place = columns[0], ("v", "s").index(columns[0])
            least = "-2000000000" if first == "v" else "''"
            sql = f"SELECT id, {first} FROM {name} FORCE INDEX ({index}) WHERE {first} >= {least}"
            if sorted(self.client.rows(sql)) != sorted((i, row[place]) for i, row in found.items()):
                self.run.problem(f"{name} by {index} is not as by the primary key")
        for row in self.client.rows(f"CHECK TABLE {name}"):
            if row[3] != "OK":
                self.run.problem(f"CHECK TABLE: {row}")


def difference(state, found, indexes):
    """In words how a table differs from a state of its ledger."""
    lacks, more = [len(a.keys() - b.keys()) for a, b in ((state.rows, found), (found, state.rows))]
    other = sum(found.get(i, row) != row for i, row in state.rows.items())
    text = f"{len(state.rows)} rows wanted, {lacks} missing, {more} too many, {other} different"
    return text if state.indexes == indexes else f"{text}; indexes {indexes}, wanted {state.indexes}"


class Run:
    """A server with its clients, through several lives."""

    def __init__(self, options):
        self.seed, self.rows = options.seed, options.rows
        self.draw = random.Random(options.seed)
        self.problems, self.done, self.after_restart = [], collections.Counter(), collections.defaultdict(list)
        self.killed, self.killing = False, threading.Event()
        self.server = Muster(options.muster, "--buffer-pool-size", "64M", "--innodb-redo-log-capacity", "32M")
        client = self.server.client()
        client.rows("CREATE DATABASE d")
        self.clients = [TableClient(self, number) for number in range(TABLES)]
        for table in self.clients:
            client.rows(f"CREATE TABLE d.t{table.number} (id INT PRIMARY KEY, v INT NOT NULL, s VARCHAR(60) NOT NULL)")

    def problem(self, text):
        print(f"    WRONG: {text}", flush=True)
        self.problems.append(text)

    def wait_for_kill(self):
        return self.killing.wait(1)

    def together(self, work):
        threads = [threading.Thread(target=work, args=(client,), daemon=True) for client in self.clients]
        for thread in threads:
            thread.start()
        return threads

    def live(self):
        """The clients work until the server is killed at a random moment; then it is started again and looked at."""
        self.killed = False
        self.killing.clear()
        threads = self.together(TableClient.work)
        time.sleep(self.draw.uniform(0.2, 2))
        self.killed = True
        self.server.kill()
        self.killing.set()
        for thread in threads:
            thread.join(30)
        losers = sum(client.open_changes for client in self.clients)
        in_doubt = sum(len(client.possible) > 1 for client in self.clients)
        for client in self.clients:
            client.open_changes = False
        seconds = self.server.start()
        for thread in self.together(TableClient.after_restart):
            thread.join(2 * DDL_SECONDS_MAX)
            if thread.is_alive():
                self.problem(f"a definition after the restart has not ended within {2 * DDL_SECONDS_MAX} seconds")
        self.check_files()
        return f"{losers} transactions cut off, {in_doubt} in doubt, started in {seconds:.2f} s"

    def check_files(self):
        """One tree for each index, and nothing else that has a number; files that go may do so a moment later."""
        client = self.server.client()
        wanted = client.value("SELECT COUNT(DISTINCT table_name, index_name) FROM information_schema.statistics "
                              "WHERE table_schema = 'd'")
        until = time.monotonic() + 5
        while (problem := stray_files(self.server.files(), wanted)) and time.monotonic() < until:
            time.sleep(0.1)
        if problem:
            self.problem(problem)
        client.close()


def stray_files(files, trees_wanted):
    """What is in the directory that no catalog names, or None."""
    trees = {name[:8] for name in files if re.fullmatch(r"\d{8}\.mus", name)}
    others = [name for name in files if name.endswith(".new") or name.startswith("tmp/")]
    others += [name for name in files if re.fullmatch(r"\d{8}\.(stats|counter)", name) and name[:8] not in trees]
    if len(trees) != trees_wanted:
        return f"{len(trees)} files of trees for {trees_wanted} indexes"
    return f"stray files: {others}" if others else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--muster", required=True, help="the path of the binary")
    parser.add_argument("--lives", type=int, default=8)
    parser.add_argument("--rows", type=int, default=20000, help="about the most rows of a table")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    run = Run(options)
    with run.server:
        for life in range(options.lives):
            print(f"life {life + 1}: {run.live()}", flush=True)
            if run.problems:
                break
        run.server.stop()
        run.server.start()
        for client in run.clients:
            client.client = run.server.client("d")
            client.verify()
        run.check_files()
    print("done:", ", ".join(f"{name} {count}" for name, count in sorted(run.done.items())))
    print("after restarts, seconds at most:",
          ", ".join(f"{name} {max(seconds):.2f}" for name, seconds in sorted(run.after_restart.items())))
    print(f"{len(run.problems)} problems")
    return 1 if run.problems else 0


if __name__ == "__main__":
    sys.exit(main())
