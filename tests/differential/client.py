"""Connections of the comparisons that change rows."""

import pymysql


def connect(autocommit, **where):
    """`autocommit`: that of PyMySQL; None leaves it to the server."""
    connection = pymysql.connect(user="root", charset="utf8mb4", autocommit=autocommit, **where)
    run(connection, "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci")
    return connection


def run(connection, sql):
    """The number of affected rows and the rows of a statement."""
    with connection.cursor() as cursor:
        affected = cursor.execute(sql)
        return affected, cursor.fetchall() if cursor.description else ()
