"""Random statements that change rows, over a few tables with all kinds of keys."""

TABLES = [
    """CREATE TABLE auto_id (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL DEFAULT 7, v VARCHAR(5), u INT, UNIQUE KEY ku (u),
       KEY kn (n)) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci""",
    """CREATE TABLE pairs (a INT NOT NULL, b VARCHAR(8) NOT NULL, x DECIMAL(5,2), d DATE, t TINYINT UNSIGNED NOT NULL DEFAULT 3,
       PRIMARY KEY (a, b), KEY kx (x)) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci""",
    """CREATE TABLE names (name VARCHAR(12) NOT NULL PRIMARY KEY, size SMALLINT, s BIGINT UNSIGNED, UNIQUE KEY k (size, s))
       DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci""",
    "CREATE TABLE heap (i INT, f DOUBLE, dt DATETIME, KEY ki (i))",
]
# The columns of each table, with the kind of their values.
COLUMNS = {
    "auto_id": {"id": "key", "n": "int", "v": "text", "u": "key"},
    "pairs": {"a": "key", "b": "text", "x": "number", "d": "date", "t": "int"},
    "names": {"name": "text", "size": "int", "s": "int"},
    "heap": {"i": "int", "f": "number", "dt": "date"},
}
NAMES = list(COLUMNS)
# An order in which LIMIT takes the same rows on both servers.
ORDER = {"auto_id": "id", "pairs": "a, b", "names": "name", "heap": "i, f, dt"}
VALUES = {
    "key": "0 1 2 3 4 5 6 7 8 9 10 11 12".split() + ["NULL"],
    "int": "0 1 2 3 5 7 100 255 256 -1 -129 32767 32768 70000 99999999999 NULL '12' '12x' 'x' 1.5 2.5".split(),
    "number": "0 1 -1 1.25 1.005 99.995 999.99 999.995 1000 -1000 1e3 1e300 NULL '1.5' '2.5z' 0.5".split(),
    "text": ["''", "'a'", "'A'", "'b'", "'ab'", "'abcde'", "'abcdef'", "'é'", "'e'", "'a '", "NULL", "1", "2.50", "'ABCDEFGHIJKLMN'"],
    "date": ["'2001-01-31'", "'2001-02-30'", "'2001-01-31 10:11:12'", "20010131", "'0000-00-00'", "'x'", "NULL", "'2020-12-31'"],
}
MODES = ["STRICT_TRANS_TABLES,ONLY_FULL_GROUP_BY,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO",
         "STRICT_TRANS_TABLES", "", "NO_AUTO_VALUE_ON_ZERO,STRICT_TRANS_TABLES"]


def value(draw, kind):
    if draw.random() < 0.75:
        return draw.choice(VALUES[kind][:8])
    return draw.choice(VALUES[kind])


def new_value(draw, table, column):
    """A value, DEFAULT, or an expression over the table's columns."""
    kind = COLUMNS[table][column]
    chance = draw.random()
    if chance < 0.08:
        return "DEFAULT"
    if chance < 0.16 and kind in ("key", "int", "number"):
        return f"{draw.choice([c for c, k in COLUMNS[table].items() if k in ('key', 'int', 'number')])} + {draw.randint(-2, 3)}"
    return value(draw, kind)


def rows(draw, table, columns):
    count = draw.choice([1, 1, 1, 2, 3])
    row = lambda: ", ".join("DEFAULT" if draw.random() < 0.06 else value(draw, COLUMNS[table][c]) for c in columns)
    return ", ".join(f"({row()})" for _ in range(count))


def some_columns(draw, table):
    names = list(COLUMNS[table])
    return names if draw.random() < 0.6 else draw.sample(names, draw.randint(1, len(names)))


def assignments(draw, table):
    columns = draw.sample(list(COLUMNS[table]), draw.choice([1, 1, 2]))
    return ", ".join(f"{column} = {new_value(draw, table, column)}" for column in columns)


def condition(draw, table):
    column = draw.choice(list(COLUMNS[table]))
    plain = [v for v in VALUES[COLUMNS[table][column]][:8] if v not in ("NULL", "DEFAULT")]
    return draw.choice([
        f"{column} = {draw.choice(plain)}",
        f"{column} > {draw.choice(plain)}",
        f"{column} IN ({draw.choice(plain)}, {draw.choice(plain)})",
        f"{column} IS NULL",
        f"{column} BETWEEN {draw.choice(plain)} AND {draw.choice(plain)}",
        f"{column} IS NOT NULL",
    ])


def tail(draw, table):
    text = f" WHERE {condition(draw, table)}" if draw.random() < 0.85 else ""
    if draw.random() < 0.3:
        text += f" ORDER BY {ORDER[table]}{draw.choice(['', ' DESC']) if ',' not in ORDER[table] else ''} LIMIT {draw.randint(0, 4)}"
    return text


def insert(draw, table):
    ignore = draw.choice(["", "", "", " IGNORE"])
    columns = some_columns(draw, table)
    if draw.random() < 0.12:
        sets = ", ".join(f"{c} = {value(draw, COLUMNS[table][c])}" for c in columns)
        return f"INSERT{ignore} INTO {table} SET {sets}"
    text = f"INSERT{ignore} INTO {table} ({', '.join(columns)}) VALUES {rows(draw, table, columns)}"
    if draw.random() < 0.3:
        column = draw.choice(list(COLUMNS[table]))
        given = draw.choice(columns)
        new = draw.choice([f"VALUES({given})", f"{column} + 1", value(draw, COLUMNS[table][column])])
        text += f" ON DUPLICATE KEY UPDATE {column} = {new}"
    return text


def insert_select(draw, table):
    other = draw.choice(NAMES)
    columns = [c for c in COLUMNS[table] if draw.random() < 0.8] or [list(COLUMNS[table])[0]]
    if table == "auto_id" and "id" not in columns:
        columns.insert(0, "id")
    source = lambda c: draw.choice([x for x, k in COLUMNS[other].items()] + [value(draw, COLUMNS[table][c])])
    picked = ", ".join(source(c) for c in columns)
    verb = draw.choice(["INSERT", "INSERT IGNORE", "REPLACE"])
    return f"{verb} INTO {table} ({', '.join(columns)}) SELECT {picked} FROM {other} ORDER BY {ORDER[other]} LIMIT 4"


def replace(draw, table):
    columns = some_columns(draw, table)
    return f"REPLACE INTO {table} ({', '.join(columns)}) VALUES {rows(draw, table, columns)}"


def update(draw, table):
    ignore = draw.choice(["", "", "", " IGNORE"])
    return f"UPDATE{ignore} {table} SET {assignments(draw, table)}{tail(draw, table)}"


def delete(draw, table):
    return f"DELETE FROM {table}{tail(draw, table)}"


JOINS = ["auto_id JOIN pairs ON auto_id.n = pairs.a", "pairs LEFT JOIN auto_id ON pairs.a = auto_id.id",
         "auto_id JOIN heap ON auto_id.id = heap.i", "names JOIN pairs ON names.name = pairs.b"]


def joined(draw, _):
    join = draw.choice(JOINS)
    tables = [word for word in join.split() if word in COLUMNS]
    target = draw.choice(tables)
    column = draw.choice(list(COLUMNS[target]))
    where = f" WHERE {target}.{condition(draw, target)}"
    if draw.random() < 0.4:
        return f"DELETE {draw.choice([target, ', '.join(tables)])} FROM {join}{where}"
    return f"UPDATE {join} SET {target}.{column} = {value(draw, COLUMNS[target][column])}{where}"


def subquery(draw, table):
    other = draw.choice([name for name in NAMES if name != table])
    key = draw.choice(list(COLUMNS[table]))
    inner = draw.choice(list(COLUMNS[other]))
    where = f"{key} IN (SELECT {inner} FROM {other})"
    if draw.random() < 0.5:
        return f"DELETE FROM {table} WHERE {where}"
    return f"UPDATE {table} SET {assignments(draw, table)} WHERE {where}"


def transaction(draw, _):
    name = draw.choice("st")
    return draw.choice(["BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK", f"SAVEPOINT {name}", f"SAVEPOINT {name}",
                        f"ROLLBACK TO SAVEPOINT {name}", f"RELEASE SAVEPOINT {name}", "COMMIT AND CHAIN", "ROLLBACK AND CHAIN",
                        "SET autocommit = 0", "SET autocommit = 1", "START TRANSACTION READ ONLY"])


def mode(draw, _):
    return f"SET sql_mode = '{draw.choice(MODES)}'"


KINDS = [(insert, 10), (insert_select, 2), (replace, 3), (update, 7), (delete, 3), (joined, 2), (subquery, 1), (transaction, 6),
         (mode, 1)]


def statement(draw, kinds):
    """The kind of a statement, which is one of `kinds`, and the statement."""
    among = [(kind, weight) for kind, weight in KINDS if kind.__name__ in kinds]
    kind = draw.choices([kind for kind, _ in among], [weight for _, weight in among])[0]
    return kind.__name__, kind(draw, draw.choice(NAMES))
