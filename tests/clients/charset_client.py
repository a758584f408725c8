"""Character sets over PyMySQL: python charset_client.py PORT"""

import sys

import pymysql

port = int(sys.argv[1])


def connect(charset):
    return pymysql.connect(host="127.0.0.1", port=port, user="root", password="", charset=charset)


def one(connection, sql, *args):
    with connection.cursor() as cursor:
        cursor.execute(sql, args or None)
        return cursor.fetchone()


for charset, text in [("utf8mb4", "é漢😀"), ("utf8", "é漢"), ("latin1", "é€ÿ"), ("ascii", "plain")]:
    connection = connect(charset)
    name = "utf8mb3" if charset == "utf8" else charset
    assert one(connection, "select @@character_set_client, @@character_set_results") == (name, name)
    # Text, a name of a column, and bytes that are no text, both ways.
    assert one(connection, "select %s, char_length(%s)", text, text) == (text, len(text))
    with connection.cursor() as cursor:
        cursor.execute(f"select 1 as `{text}`")
        assert cursor.description[0][0] == text
    assert one(connection, "select %s, hex(%s)", b"\xff\x00'\\\xe9", b"\xff\x00'\\\xe9") == (b"\xff\x00'\\\xe9", "FF00275CE9")
    # What the client cannot read.
    shown = {"utf8mb4": "é漢😀", "utf8": "é漢?", "latin1": "é??", "ascii": "???"}[charset]
    assert one(connection, "select _utf8mb4 x'C3A9E6BCA2F09F9880'") == (shown,), charset
    connection.close()

connection = connect("latin1")
assert one(connection, "select length('é'), hex('é'), 'É' = 'é'") == (1, "E9", 1)
with connection.cursor() as cursor:
    cursor.execute("set names utf8mb4")
    cursor.execute("set character_set_results = latin1")
    cursor.execute("select _utf8mb4 x'C3A9'")
    assert cursor.fetchone() == ("é",)
    cursor.execute("set character_set_results = null")
    cursor.execute("select convert('ab' using latin1), 'ab'")
    assert [f.charsetnr for f in cursor._result.fields] == [8, 255]
    try:
        cursor.execute("set names klingon")
    except pymysql.Error as e:
        assert e.args[0] == 1115, e
    else:
        raise AssertionError("an unknown character set was taken")
connection.close()
