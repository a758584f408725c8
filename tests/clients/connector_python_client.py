"""mysql-connector-python, with server-side prepared statements: PORT USER PASSWORD TLS(0|1)"""

import sys

import mysql.connector

import expect

port, user, password, tls = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4] == "1"
connection = mysql.connector.connect(host="127.0.0.1", port=port, user=user, password=password, database="clients",
                                     ssl_disabled=not tls, use_pure=True)
cursor = connection.cursor(prepared=True)
cursor.execute("select * from every_type where id >= ? order by id", (1,))
# This connector drops the sign of a TIME in binary rows; it is read as text below.
TIME = 18
rows = [tuple(-c if i == TIME and c else c for i, c in enumerate(row)) for row in cursor.fetchall()]
expect.check(rows)
cursor.execute("select id from every_type where v = ? and d < ?", ("VARCHAR E", 0))
assert cursor.fetchall() == [(1,)]
cursor.close()
connection.cmd_reset_connection()
connection.cmd_change_user(user, password, "clients")
cursor = connection.cursor()
cursor.execute("select database(), 1 + 1")
assert cursor.fetchall() == [("clients", 2)]
cursor.execute("select ti from every_type where id = 1")
assert cursor.fetchall() == [(expect.FULL[TIME],)]
connection.close()
