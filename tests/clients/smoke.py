"""A short talk with a server that has DBT-3 at scale 0.01 loaded: python smoke.py PORT."""

import sys

import pymysql

connection = pymysql.connect(host="127.0.0.1", port=int(sys.argv[1]), user="root", database="dbt3")
with connection.cursor() as cursor:
    cursor.execute("select count(*), sum(l_quantity) from lineitem")
    rows = cursor.fetchall()
    assert rows[0][0] == 60175, rows
    cursor.execute("select n_name from nation where n_nationkey = %s", (7,))
    assert cursor.fetchone() == ("GERMANY",)
    try:
        cursor.execute("select no_such_column from nation")
        raise SystemExit("an unknown column was accepted")
    except pymysql.err.OperationalError as e:
        assert e.args[0] == 1054, e
    cursor.execute("show tables")
    assert len(cursor.fetchall()) == 8
connection.close()
print("1 passed, 0 failed")
