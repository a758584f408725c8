#!/usr/bin/env python3
"""The memory of the process while one statement changes or deletes three million rows.

    statement_memory.py --muster PATH [--rows N] [--all]

The buffer pool has 64 MiB and statements have 64 MiB together. While the rows are changed and deleted, the process may have
at most (64 + 64) x 1.15 MiB and a base. The base is what the process has had at most when it was started on an empty directory
and has answered a first query, and 32 MiB: the log buffer of 16 MiB, and what the allocator keeps. Most memory resident at a
time (VmHWM) counts. It is looked at while a statement runs: the program ends as soon as it is too much.
"""

import tempfile
import threading
import time

import pymysql

from findings import Findings, arguments, seconds_of
from servers import Muster

POOL_MIB, LIMIT_MIB, BESIDE_MIB = 64, 64, 32


def within(findings, server, client, sql, most):
    """Runs a statement, and returns whether it was done without too much memory."""
    begin, errors = time.monotonic(), []

    def work():
        try:
            client.rows(sql)
        except (pymysql.MySQLError, OSError) as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive() and server.rss_mib()[1] <= most:
        thread.join(0.2)
    now, highest = server.rss_mib()
    done = "not done yet" if thread.is_alive() else f"{errors[0]!r}" if errors else "done"
    findings.check(sql, highest <= most and not errors,
                   f"{highest:.0f} MiB at most, {now:.0f} MiB now, {done} after {time.monotonic() - begin:.1f} s")
    return highest <= most and not errors


def main():
    parser = arguments(__doc__)
    parser.add_argument("--all", action="store_true", help="also an update of an indexed column, and a rollback")
    parser.add_argument("--rows", type=int, default=3_000_000)
    options = parser.parse_args()
    findings = Findings()
    with Muster(options.muster, "--buffer-pool-size", f"{POOL_MIB}M", "--memory-limit", f"{LIMIT_MIB}M",
                "--durability", "relaxed") as server:
        client = server.client()
        client.rows("SELECT COUNT(*) FROM information_schema.tables")
        base = server.rss_mib()[1] + BESIDE_MIB
        most = (POOL_MIB + LIMIT_MIB) * 1.15 + base
        for sql in ("CREATE DATABASE d", "USE d",
                    "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, s VARCHAR(30) NOT NULL, KEY ka (a))"):
            client.rows(sql)
        with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
            file.writelines(f"{i}\t{i * 7919 % 1000003}\t{i % 100}\ttext {i % 1000}\n" for i in range(options.rows))
            file.flush()
            load = f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE t"
            print(f"    {options.rows:,} rows loaded in {seconds_of(lambda: client.rows(load)):.1f} s")
        print(f"    base {base:.0f} MiB, at most {most:.0f} MiB allowed")
        statements = ["UPDATE t SET b = b + 1", "DELETE FROM t WHERE b >= 0"]
        if options.all:
            statements[1:1] = ["UPDATE t SET a = a + 1", "BEGIN", "UPDATE t SET b = b + 1", "ROLLBACK"]
        if all(within(findings, server, client, sql, most) for sql in statements):
            count = client.value("SELECT COUNT(*) FROM t")
            findings.check("no row is left", count == 0, f"{count} rows")
        server.kill()
    findings.end()


if __name__ == "__main__":
    main()
