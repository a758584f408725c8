"""Starts and ends Muster servers, and connects to Muster or to MySQL.

Each server has a directory of its own and listens on a free port of 127.0.0.1. The output of all its lives is in the
file `log` beside the data directory.
"""

import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pymysql

START_SECONDS = 120
# Errors after which a client begins its transaction again: the lock wait was too long, or a deadlock.
TAKEN_BACK = (1205, 1213)


class Address:
    """Where a server listens: a path of a Unix socket, or a port of 127.0.0.1."""

    def __init__(self, text):
        self.options = {"host": "127.0.0.1", "port": int(text)} if str(text).isdigit() else {"unix_socket": str(text)}

    def connect(self, database=None, autocommit=True, **options):
        return pymysql.connect(user="root", database=database, autocommit=autocommit, charset="utf8mb4",
                               local_infile=True, **self.options, **options)


class Client:
    """A connection that runs statements."""

    def __init__(self, address, database=None, **options):
        self.connection = address.connect(database, **options)

    def rows(self, sql):
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall()) if cursor.description else []

    def value(self, sql):
        return self.rows(sql)[0][0]

    def count(self, sql):
        """Runs a statement that changes rows, and returns how many it has changed."""
        with self.connection.cursor() as cursor:
            return cursor.execute(sql)

    def close(self):
        try:
            self.connection.close()
        except pymysql.MySQLError:
            pass


class Muster:
    """A server on a data directory that is removed with it."""

    def __init__(self, binary, *options):
        self.binary, self.options = binary, options
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-faults-"))
        self.data = self.folder / "data"
        self.process = None
        self.start()

    def start(self):
        """Starts the server on what is in the directory, and returns the seconds until it listens."""
        log = self.folder / "log"
        begin, before = time.monotonic(), log.stat().st_size if log.exists() else 0
        command = [self.binary, "serve", "--dir", self.data, "--listen", "127.0.0.1:0", *self.options]
        with open(log, "ab") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        while time.monotonic() - begin < START_SECONDS:
            said = log.read_bytes()[before:].decode(errors="replace")
            if found := re.search(r"muster: listening on 127\.0\.0\.1:(\d+)", said):
                self.address = Address(found.group(1))
                return time.monotonic() - begin
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended when it was started: {said}")
            time.sleep(0.01)
        raise RuntimeError(f"the server was not ready after {START_SECONDS} seconds: {said}")

    def client(self, database=None, **options):
        return Client(self.address, database, **options)

    def kill(self):
        """Ends the process as a crash does: nothing more is written."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()

    def rss_mib(self):
        """The memory of the process that is not shared with files, now and at most, in MiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        of = {name: int(kib) / 1024 for name, kib in re.findall(r"^(\w+):\s+(\d+) kB$", status, re.M)}
        return of["RssAnon"], of["VmHWM"]

    def files(self):
        """All files of the data directory with their sizes in bytes, by path within it."""
        found = {}
        for path in sorted(self.data.rglob("*")):
            if path.is_file():
                found[str(path.relative_to(self.data))] = path.stat().st_size
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
