#!/usr/bin/env python3
"""The time to plan conditions with 20,000 parts.

    planning_time.py --muster PATH | --address ADDRESS [--parts N]

EXPLAIN of `(a = 1 AND b < 1) OR (a = 2 AND b < 2) OR ..` must take less than 200 ms, from sending the text to the last row of the
answer; the least time of five counts. Its relatives have as much time for each byte of their text, and no less than 200 ms. The
limits are those of an optimized build.
"""

import contextlib

from findings import Findings, arguments, seconds_of
from servers import Client, Muster

SECONDS_MAX = 0.2
# The bytes of 20,000 parts of the first condition.
BYTES = 557_813
CONDITIONS = {
    "(a = i AND b < i) OR ..": lambda i: f"(a = {i} AND b < {i})",
    "(a = i AND b = i) OR ..": lambda i: f"(a = {i} AND b = {i})",
    "(b < i AND a = i) OR ..": lambda i: f"(b < {i} AND a = {i})",
    "(a = i AND b < i AND c <> i) OR ..": lambda i: f"(a = {i} AND b < {i} AND c <> {i})",
    "a = i OR ..": lambda i: f"a = {i}",
}


def main():
    parser = arguments(__doc__, takes_address=True)
    parser.add_argument("--parts", type=int, default=20_000)
    options = parser.parse_args()
    findings = Findings()
    with contextlib.ExitStack() as stack:
        address = options.address
        if options.muster:
            address = stack.enter_context(Muster(options.muster, "--durability", "relaxed")).address
        client = Client(address, read_timeout=60)
        for sql in ("DROP DATABASE IF EXISTS planning", "CREATE DATABASE planning", "USE planning",
                    "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, KEY kab (a, b), KEY kb (b))"):
            client.rows(sql)
        rows = ", ".join(f"({i}, {i % 700}, {i % 50}, {i % 9})" for i in range(5000))
        client.rows(f"INSERT INTO t VALUES {rows}")
        client.rows("ANALYZE TABLE t")
        for name, part in CONDITIONS.items():
            sql = f"EXPLAIN SELECT COUNT(*) FROM t WHERE {' OR '.join(part(i) for i in range(options.parts))}"
            times = [seconds_of(lambda: client.rows(sql))]
            while len(times) < 5 and sum(times) < 5:
                times.append(seconds_of(lambda: client.rows(sql)))
            most = SECONDS_MAX * max(1, len(sql) / BYTES)
            findings.check(name, min(times) < most, f"{min(times) * 1000:.0f} ms, at most {most * 1000:.0f} ms, {len(sql):,} bytes")
        client.rows("DROP DATABASE planning")
        client.close()
    findings.end()


if __name__ == "__main__":
    main()
