#!/usr/bin/env python3
"""Runs the cases of crates/engine/tests/transactions on a server, as a check of what they expect.

    transactions.py [--write] SOCKET|PORT [file...]

Exits with 1 if an answer is not the expected one. With --write the files take the answers of the server, which is then a MySQL 8.0.
The format of the files is in their README.
"""

import pathlib
import queue
import struct
import sys
import threading
import time

import pymysql
from pymysql.constants import COMMAND, SERVER_STATUS

FOLDER = pathlib.Path(__file__).parents[2] / "crates/engine/tests/transactions"
WAIT_SECONDS, END_SECONDS = 0.3, 10
# MySQL looks at the transactions for INNODB_TRX only every tenth of a second.
TRX_SECONDS = 0.15
COM_CHANGE_USER, COM_RESET_CONNECTION = 0x11, 0x1F
STATUS = [
    (SERVER_STATUS.SERVER_STATUS_AUTOCOMMIT, "autocommit"),
    (SERVER_STATUS.SERVER_STATUS_IN_TRANS, "in transaction"),
    (0x2000, "read only"),
]


def connect(address, **options):
    place = {"host": "127.0.0.1", "port": int(address)} if address.isdigit() else {"unix_socket": address}
    return pymysql.connect(user="root", conv={}, charset="utf8mb4", **place, **options)


class Session:
    """A connection with a thread of its own."""

    def __init__(self, address):
        self.connection = connect(address, database="d", autocommit=None)
        self.statements, self.answers = queue.Queue(), queue.Queue()
        threading.Thread(target=self.work, daemon=True).start()

    def command(self, name):
        """A command of the protocol."""
        if name == "COM_QUIT":
            self.connection.close()
        elif name == "COM_RESET_CONNECTION":
            self.connection._execute_command(COM_RESET_CONNECTION, b"")
            self.connection._read_ok_packet()
        else:
            arguments = b"root\0" + b"\0" + b"d\0" + struct.pack("<H", 255) + b"mysql_native_password\0" + b"\0"
            self.connection._execute_command(COM_CHANGE_USER, arguments)
            packet = self.connection._read_packet()
            if packet.is_auth_switch_request():
                # An account without a password takes an empty answer.
                self.connection.write_packet(b"")
                packet = self.connection._read_packet()
            while packet.is_extra_auth_data():
                packet = self.connection._read_packet()

    def status(self):
        if not self.connection.open:
            return "gone"
        try:
            self.connection._execute_command(COMMAND.COM_PING, b"")
            ok = self.connection._read_ok_packet()
        except pymysql.MySQLError:
            return "gone"
        return ", ".join(name for bit, name in STATUS if ok.server_status & bit) or "nothing"

    def work(self):
        while (statement := self.statements.get()) is not None:
            rows = ()
            try:
                if "INNODB_TRX" in statement:
                    time.sleep(TRX_SECONDS)
                if statement.startswith("COM_"):
                    self.command(statement)
                else:
                    with self.connection.cursor() as cursor:
                        cursor.execute(statement)
                        rows = cursor.fetchall() if cursor.description else ()
                answer = [" ".join("NULL" if cell is None else str(cell) for cell in row) for row in rows]
            except pymysql.MySQLError as error:
                answer = [f"error {error.args[0]}"]
            if statement.startswith(("EXPLAIN", "ANALYZE", "CHECK")) and not answer[0].startswith("error"):
                answer = []
            self.answers.put((answer, self.status()))

    def answer(self, seconds):
        try:
            return self.answers.get(timeout=seconds)
        except queue.Empty:
            return ["waits"], None

    def run(self, statement, may_wait=False):
        self.statements.put(statement)
        return self.answer(WAIT_SECONDS if may_wait else END_SECONDS)

    def close(self):
        self.statements.put(None)
        if self.connection.open:
            self.connection.close()


def run_case(address, setup, steps):
    """The lines of each step's answer: the rows, and the session's status if it is another one than before."""
    connection = connect(address, autocommit=True)
    with connection.cursor() as cursor:
        for statement in ["SET GLOBAL autocommit = 1", "DROP DATABASE IF EXISTS d", "DROP DATABASE IF EXISTS e",
                          "DROP USER IF EXISTS someone", "CREATE DATABASE d", "USE d", *setup]:
            cursor.execute(statement)
    sessions, known = {}, {}
    try:
        for name, statement, expected in steps:
            if name not in sessions:
                sessions[name], known[name] = Session(address), "autocommit"
            if statement is None:
                lines, status = sessions[name].answer(END_SECONDS)
            else:
                lines, status = sessions[name].run(statement, expected == ["waits"])
            if status not in (None, known[name]):
                lines, known[name] = [*lines, f"is: {status}"], status
            yield lines
    finally:
        for session in sessions.values():
            session.close()
        connection.close()


def parse(lines):
    """Statements that make the tables, cases (name, steps), for each step: the line, the session, the statement, the answer."""
    setup, cases = [], []
    for number, line in enumerate(lines):
        if not line.strip() or line.startswith("#") or line == "setup":
            continue
        if line.startswith("case "):
            cases.append((line[5:], []))
        elif not cases:
            setup.append(line)
        elif line.startswith("    "):
            cases[-1][1][-1][3].append(line.strip())
        else:
            session, _, statement = line.partition(": ") if ": " in line else (line.split()[0], "", None)
            cases[-1][1].append((number, session, statement, []))
    return setup, cases


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    writes = "--write" in sys.argv
    address, *names = arguments
    paths = [FOLDER / name for name in names] or sorted(FOLDER.glob("*.txt"))
    run = failed = 0
    for path in paths:
        lines = path.read_text().splitlines()
        setup, cases = parse(lines)
        answers = {}
        for name, steps in cases:
            run += 1
            plain = [(session, statement, expected) for _, session, statement, expected in steps]
            for (number, session, statement, expected), got in zip(steps, run_case(address, setup, plain)):
                answers[number] = got
                if got != expected and not writes:
                    failed += 1
                    print(f"{path.name}:{number + 1}: {name}: {session}: {statement or 'goes on'}: {got}, expected {expected}")
        if writes:
            kept = [(number, line) for number, line in enumerate(lines) if not line.startswith("    ")]
            written = [[line, *(f"    {row}" for row in answers.get(number, []))] for number, line in kept]
            path.write_text("".join(f"{line}\n" for group in written for line in group))
    print(f"{run} cases, {failed} answers are others than expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
