#!/usr/bin/env python3
"""Runs the cases of crates/engine/tests/isolation on a server, as a check of what they expect.

    isolation.py SOCKET [file...]

Exits with 1 if an answer is not the expected one. The format of the files is in their README.
"""

import pathlib
import queue
import sys
import threading

import pymysql

FOLDER = pathlib.Path(__file__).parents[2] / "crates/engine/tests/isolation"
WAIT_SECONDS, END_SECONDS = 0.15, 10
DATABASE = "muster_isolation"


def parse(path):
    """The statements that make the tables, and the cases: name, levels, steps (session, statement, expected lines)."""
    setup, cases, lines = [], [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("    "):
            lines.append(line.strip())
        elif line == "setup":
            lines = setup
        elif line.startswith("case "):
            cases.append((line[5:], [], []))
        elif line.startswith("at "):
            cases[-1][1].extend(level.strip() for level in line[3:].split(","))
        else:
            lines = []
            session, _, statement = line.partition(": ") if ": " in line else (line.split()[0], "", None)
            cases[-1][2].append((number, session, statement, lines))
    return setup, cases


class Session:
    """A connection with a thread of its own."""

    def __init__(self, socket, level):
        self.connection = pymysql.connect(unix_socket=socket, user="root", database=DATABASE, conv={},
                                          charset="utf8mb4", autocommit=None)
        self.statements, self.answers = queue.Queue(), queue.Queue()
        threading.Thread(target=self.work, daemon=True).start()
        self.run(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        self.run("BEGIN")

    def work(self):
        while (statement := self.statements.get()) is not None:
            try:
                with self.connection.cursor() as cursor:
                    cursor.execute(statement)
                    rows = cursor.fetchall() if cursor.description else ()
                self.answers.put([" ".join("NULL" if cell is None else str(cell) for cell in row) for row in rows])
            except pymysql.MySQLError as error:
                self.answers.put([f"error {error.args[0]}"])

    def answer(self, seconds):
        try:
            return self.answers.get(timeout=seconds)
        except queue.Empty:
            return ["waits"]

    def run(self, statement, may_wait=False):
        self.statements.put(statement)
        return self.answer(WAIT_SECONDS if may_wait else END_SECONDS)

    def close(self):
        self.statements.put(None)
        self.connection.close()


def run_case(socket, level, setup, steps):
    """The first step whose answer is not the expected one; None if there is none."""
    connection = pymysql.connect(unix_socket=socket, user="root", autocommit=True)
    with connection.cursor() as cursor:
        for statement in [f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", *setup]:
            cursor.execute(statement)
    sessions = {}
    try:
        for number, name, statement, expected in steps:
            if name not in sessions:
                sessions[name] = Session(socket, level)
            if statement is None:
                answer = sessions[name].answer(END_SECONDS)
            else:
                answer = sessions[name].run(statement, expected == ["waits"])
            if answer != expected:
                return f"line {number}: {name}: {statement or 'goes on'}: {answer}, expected {expected}"
    finally:
        for session in sessions.values():
            session.close()
        connection.close()


def main():
    socket, *names = sys.argv[1:]
    paths = [FOLDER / name for name in names] or sorted(FOLDER.glob("*.txt"))
    run = failed = 0
    for path in paths:
        setup, cases = parse(path)
        for name, levels, steps in cases:
            for level in levels:
                run += 1
                if problem := run_case(socket, level, setup, steps):
                    failed += 1
                    print(f"{path.name}: {name} at {level}: {problem}")
    print(f"{run} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
