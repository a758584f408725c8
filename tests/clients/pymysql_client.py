"""PyMySQL: python pymysql_client.py PORT USER PASSWORD TLS(0|1) [load FILE]"""

import ssl
import sys

import pymysql

import expect

port, user, password, tls = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4] == "1"
context = None
if tls:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
connection = pymysql.connect(host="127.0.0.1", port=port, user=user, password=password, database="clients",
                             ssl=context, ssl_disabled=not tls, local_infile=True)
with connection.cursor() as cursor:
    if len(sys.argv) > 5:
        cursor.execute(f"load data local infile '{sys.argv[6]}' into table every_type")
        connection.commit()
    cursor.execute("select * from every_type order by id")
    expect.check(cursor.fetchall())
    cursor.execute("show status like 'Ssl_cipher'")
connection.ping()
connection.close()
