#!/usr/bin/env python3
"""Random GRANT, REVOKE and SET ROLE on a Muster and on a MySQL 8.0 server, and what each user may do then.

    grants.py MUSTER_PORT MYSQL_SOCKET [--seed N] [--rounds N] [--only-errors]

Each round changes rights at random, by root and by the users themselves, and asks both servers as each user for a list of
statements. The error number and the message, or the rows, have to be equal, with clients' hosts left out. Exits with 1 if something
differs. All databases and accounts have names that begin with `roles_`, and go at the end.
"""

import argparse
import random
import re
import sys

import pymysql

USERS = ["roles_u", "roles_v", "roles_w"]
ROLES = ["roles_p", "roles_q"]
TABLES = {"t": ["a", "b", "c"], "u": ["a", "x"], "v": ["a", "b"], "vi": ["a", "b"]}
TABLE_PRIVILEGES = ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "INDEX", "CREATE VIEW", "SHOW VIEW",
                    "REFERENCES", "TRIGGER"]
DATABASE_PRIVILEGES = TABLE_PRIVILEGES + ["LOCK TABLES", "EVENT", "EXECUTE", "CREATE ROUTINE"]
GLOBAL_PRIVILEGES = DATABASE_PRIVILEGES + ["PROCESS", "RELOAD", "CREATE USER", "CREATE ROLE", "DROP ROLE", "SHOW DATABASES"]
DYNAMIC = ["BACKUP_ADMIN", "ROLE_ADMIN", "CONNECTION_ADMIN", "FLUSH_STATUS"]
COLUMN_PRIVILEGES = ["SELECT", "INSERT", "UPDATE"]
DATABASES = ["roles_d", "roles\\_d", "roles%", "roles_e", "`roles__`"]

SETUP = [
    "CREATE DATABASE roles_d", "CREATE DATABASE roles_e",
    "CREATE TABLE roles_d.t (a INT PRIMARY KEY, b INT, c INT)", "CREATE TABLE roles_d.u (a INT PRIMARY KEY, x INT)",
    "INSERT INTO roles_d.t VALUES (1, 2, 3), (2, 3, 4)", "INSERT INTO roles_d.u VALUES (1, 5)",
    "CREATE USER roles_u IDENTIFIED WITH mysql_native_password BY ''",
    "CREATE USER roles_v IDENTIFIED WITH mysql_native_password BY ''",
    "CREATE USER roles_w IDENTIFIED WITH mysql_native_password BY ''",
    "CREATE ROLE roles_p, roles_q",
    "CREATE DEFINER = roles_v SQL SECURITY DEFINER VIEW roles_d.v AS SELECT a, b FROM roles_d.t",
    "CREATE SQL SECURITY INVOKER VIEW roles_d.vi AS SELECT a, b FROM roles_d.t",
]
TEARDOWN = ["DROP DATABASE IF EXISTS roles_d", "DROP DATABASE IF EXISTS roles_e",
            "DROP USER IF EXISTS roles_u, roles_v, roles_w, roles_p, roles_q"]

PROBES = [
    "SELECT * FROM roles_d.t", "SELECT a FROM roles_d.t", "SELECT b FROM roles_d.t WHERE c > 0", "SELECT 1 FROM roles_d.t",
    "SELECT COUNT(*) FROM roles_d.u", "SELECT t.a FROM roles_d.t JOIN roles_d.u ON t.a = u.a", "SELECT x FROM roles_d.u",
    "SELECT a FROM roles_d.t ORDER BY b", "SELECT a FROM roles_d.t WHERE a IN (SELECT a FROM roles_d.u)",
    "SELECT zz FROM roles_d.t", "SELECT * FROM roles_d.v", "SELECT a FROM roles_d.v", "SELECT b FROM roles_d.vi",
    "SELECT * FROM roles_d.vi", "SELECT a, (SELECT MAX(x) FROM roles_d.u) FROM roles_d.t", "SELECT * FROM roles_d.nothing",
    "WITH q AS (SELECT a FROM roles_d.t) SELECT * FROM q", "SELECT a FROM roles_d.t GROUP BY a HAVING MAX(c) > 1",
    "INSERT INTO roles_d.t VALUES (1, 1, 1)", "INSERT INTO roles_d.t (a, b) VALUES (1, 1)",
    "INSERT INTO roles_d.t (a) VALUES (1) ON DUPLICATE KEY UPDATE b = 2",
    "INSERT INTO roles_d.t (a) VALUES (1) ON DUPLICATE KEY UPDATE b = c - 1",
    "INSERT INTO roles_d.t (a) SELECT a FROM roles_d.u", "REPLACE INTO roles_d.u VALUES (1, 5)",
    "UPDATE roles_d.t SET b = 2 WHERE a = 1", "UPDATE roles_d.t SET b = b", "UPDATE roles_d.t SET c = 3 WHERE a = -1",
    "UPDATE roles_d.v SET b = 2 WHERE a = 1", "UPDATE roles_d.t, roles_d.u SET t.b = u.x WHERE t.a = -1",
    "UPDATE roles_d.u SET x = 5", "DELETE FROM roles_d.t WHERE a = -1", "DELETE FROM roles_d.v WHERE a = -1",
    "DELETE roles_d.u FROM roles_d.u JOIN roles_d.t ON u.a = t.a WHERE u.a = -1",
    "SHOW COLUMNS FROM roles_d.t", "SHOW COLUMNS FROM roles_d.v", "SHOW TABLES FROM roles_d", "SHOW GRANTS",
    "USE roles_d", "USE roles_e", "SELECT CURRENT_ROLE()",
    "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'roles%' ORDER BY 1",
    "SELECT table_name, column_name, privileges FROM information_schema.columns WHERE table_schema = 'roles_d' ORDER BY 1, 2",
    "SELECT privilege_type, is_grantable FROM information_schema.user_privileges WHERE grantee LIKE '''roles%' ORDER BY 1",
    "SELECT table_schema, privilege_type FROM information_schema.schema_privileges WHERE grantee LIKE '''roles%' ORDER BY 1, 2",
    "SELECT table_name, privilege_type FROM information_schema.table_privileges WHERE grantee LIKE '''roles%' ORDER BY 1, 2",
    "SELECT table_name, column_name, privilege_type FROM information_schema.column_privileges WHERE grantee LIKE '''roles%' "
    "ORDER BY 1, 2, 3",
    "SELECT role_name, is_default FROM information_schema.enabled_roles ORDER BY 1",
    "SELECT user, role_name, is_grantable FROM information_schema.applicable_roles ORDER BY 1, 2, 3",
    "FLUSH STATUS", "CREATE TABLE roles_e.n (a INT)", "DROP TABLE roles_e.n", "DROP TABLE IF EXISTS roles_e.n",
    "ALTER TABLE roles_d.t COMMENT 'x'", "CREATE INDEX i ON roles_d.nothing (a)",
    "CREATE VIEW roles_d.w AS SELECT a FROM roles_d.t", "DROP VIEW roles_d.w", "DROP VIEW IF EXISTS roles_d.w",
    "TRUNCATE TABLE roles_e.nothing", "RENAME TABLE roles_e.nothing TO roles_e.other",
    "SHOW CREATE VIEW roles_d.v", "CREATE USER roles_u", "CREATE ROLE roles_p", "SHOW GRANTS FOR roles_p",
    "SELECT user FROM mysql.user WHERE user = 'roles_p'", "LOCK TABLES roles_d.t READ", "UNLOCK TABLES",
]


def normal(text):
    return re.sub(r"'@'[^']*'", "'@''", str(text))


class Server:
    def __init__(self, **where):
        self.where, self.sessions = where, {}

    def session(self, user):
        if user not in self.sessions:
            self.sessions[user] = pymysql.connect(user=user, password="", autocommit=True, **self.where)
        return self.sessions[user]

    def ask(self, user, sql):
        """The rows, or the error."""
        try:
            with self.session(user).cursor() as cursor:
                cursor.execute(sql)
                rows = cursor.fetchall() if cursor.description else ()
                if sql.startswith("SHOW COLUMNS"):
                    rows = [row[:3] for row in rows]
                if sql.startswith("SHOW CREATE"):
                    rows = len(rows)
                return ("ok", normal(rows))
        except pymysql.err.Error as error:
            return ("error", error.args[0], normal(error.args[1]))

    def renew(self, user):
        """Logs in again: MySQL's sessions keep their rights on everything, and on the database that they use."""
        if user in self.sessions:
            self.sessions.pop(user).close()

    def close(self):
        for session in self.sessions.values():
            session.close()
        self.sessions.clear()


class Changes:
    def __init__(self, rng):
        self.rng = rng

    def some(self, choices, most=3):
        return ", ".join(self.rng.sample(choices, self.rng.randint(1, most)))

    def object_with_privileges(self):
        rng = self.rng
        kind = rng.random()
        if kind < 0.35:
            table = rng.choice(list(TABLES))
            items = []
            for privilege in rng.sample(COLUMN_PRIVILEGES, rng.randint(1, 2)):
                items.append(f"{privilege} ({self.some(TABLES[table], 2)})")
            return ", ".join(items), f"roles_d.{table}"
        if kind < 0.65:
            privileges = rng.choice([self.some(TABLE_PRIVILEGES), self.some(COLUMN_PRIVILEGES, 2), "ALL"])
            return privileges, f"roles_d.{rng.choice(list(TABLES))}"
        if kind < 0.85:
            return rng.choice([self.some(DATABASE_PRIVILEGES), "ALL"]), f"{quoted(rng.choice(DATABASES))}.*"
        if kind < 0.93:
            return self.some(GLOBAL_PRIVILEGES), "*.*"
        return self.some(DYNAMIC, 2), "*.*"

    def change(self):
        """Who does what."""
        rng = self.rng
        kind, account = rng.random(), rng.choice(USERS + ROLES)
        by = rng.choice(["root"] * 5 + USERS)
        if kind < 0.4:
            privileges, what = self.object_with_privileges()
            option = " WITH GRANT OPTION" if rng.random() < 0.15 else ""
            return by, f"GRANT {privileges} ON {what} TO {account}{option}"
        if kind < 0.7:
            privileges, what = self.object_with_privileges()
            return by, f"REVOKE {privileges} ON {what} FROM {account}"
        if kind < 0.74:
            return "root", f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {account}"
        if kind < 0.82:
            option = " WITH ADMIN OPTION" if rng.random() < 0.2 else ""
            return by, f"GRANT {rng.choice(ROLES)} TO {account}{option}"
        if kind < 0.86:
            return by, f"REVOKE {rng.choice(ROLES)} FROM {account}"
        if kind < 0.9:
            roles = rng.choice(["ALL", "NONE"] + ROLES)
            return by, f"SET DEFAULT ROLE {roles} TO {rng.choice(USERS)}"
        roles = rng.choice(["ALL", "NONE", "DEFAULT", f"ALL EXCEPT {ROLES[0]}"] + ROLES)
        return rng.choice(USERS), f"SET ROLE {roles}"


def quoted(database):
    return database if database.startswith("`") else f"`{database}`"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("port", type=int)
    arguments.add_argument("socket")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--rounds", type=int, default=50)
    arguments.add_argument("--changes", type=int, default=6)
    options = arguments.parse_args()
    muster, mysql = Server(host="127.0.0.1", port=options.port), Server(unix_socket=options.socket)
    changes = Changes(random.Random(options.seed))
    asked, differences, known, active = 0, 0, set(), {}

    def compare(user, sql, history):
        nonlocal asked, differences
        asked += 1
        theirs, ours = mysql.ask(user, sql), muster.ask(user, sql)
        if theirs != ours:
            differences += 1
            shape = (sql.split(" ON ")[0], theirs[:2], ours[:2])
            if shape not in known:
                known.add(shape)
                print(f"--- {user}: {sql}\n    mysql:  {theirs}\n    muster: {ours}\n    after:  {history[-8:]}")
        return theirs

    def log_in_again(user, history):
        for server in (mysql, muster):
            server.renew(user)
        if user in active:
            compare(user, active[user], history)

    for server in (mysql, muster):
        for sql in TEARDOWN + SETUP:
            answer = server.ask("root", sql)
            if answer[0] != "ok":
                sys.exit(f"{sql}: {answer}")
    try:
        for _ in range(options.rounds):
            history = []
            for sql in ("REVOKE ALL PRIVILEGES, GRANT OPTION FROM roles_u, roles_v, roles_w, roles_p, roles_q",
                        "REVOKE IF EXISTS roles_p, roles_q FROM roles_u, roles_v, roles_w, roles_p, roles_q"):
                compare("root", sql, history)
            active.clear()
            for _ in range(options.changes):
                user, sql = changes.change()
                if user in USERS:
                    log_in_again(user, history)
                answer = compare(user, sql, history)
                if answer[0] == "ok":
                    history.append(f"{user}: {sql}")
                    if sql.startswith("SET ROLE"):
                        active[user] = sql
            for user in USERS:
                log_in_again(user, history)
                compare("root", f"SHOW GRANTS FOR {user}", history)
                for sql in PROBES:
                    compare(user, sql, history)
    finally:
        for server in (mysql, muster):
            for sql in TEARDOWN:
                server.ask("root", sql)
            server.close()
    print(f"{asked} statements, {differences} differences")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
