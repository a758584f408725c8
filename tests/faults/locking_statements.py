"""The statements of locking_reads.py: for each what it must find, on which path, and at which levels MySQL promises it.

All tables have the ids 1 to 20 in every committed state. What else holds in all of them:

    a   g only grows, b only grows                         scans that ascend by g or gb meet each row
    d   g only shrinks, b only shrinks                     scans that descend by g or gb meet each row
    m   g goes up and down                                 scans by g meet each row if they lock gaps
    c   g is id % 4, b only grows                          g gives the ids
    o   nothing changes but n; aid is id                   rows to join with
    s   nobody but SKIP LOCKED reads locks odd ids         SKIP LOCKED FOR SHARE may leave out no odd id
"""

from dataclasses import dataclass
from typing import Callable, Optional

IDS = range(1, 21)
LEVELS = ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
# At READ UNCOMMITTED the tables that a statement reads without locks are read as they are, committed or not.
ABOVE_UNCOMMITTED = LEVELS[1:]
# A row may move into a range that a scan has passed, unless the scan locks gaps.
WITH_GAPS = LEVELS[2:]
SELECTS = ("FOR UPDATE", "FOR SHARE")


@dataclass
class Kind:
    """One kind of statement. `make` draws one: the SQL, and the ids that it must give (or the count of rows)."""

    group: str
    name: str
    path: str
    make: Callable
    levels: tuple = LEVELS
    # A SELECT has its locking clause added, one of these; a change has None.
    modes: tuple = SELECTS
    # The table whose rows it gives as (id, b), so that they can be compared with what a plain SELECT reads.
    compares: Optional[str] = None


def two(draw):
    return sorted(draw.sample(IDS, 2))


def listed(ids):
    return ", ".join(map(str, ids))


def span(draw):
    low = draw.randint(1, 15)
    return low, low + draw.randint(1, 5)


def with_two(text):
    def make(draw):
        ids = two(draw)
        return text.format(ids=listed(ids), x=ids[0], y=ids[1]), ids
    return make


def with_span(text):
    def make(draw):
        low, high = span(draw)
        return text.format(low=low, high=high), list(range(low, high + 1))
    return make


def with_all(text):
    return lambda draw: (text, list(IDS))


def with_first(text, table_ids):
    """The statement has a limit, and gives the first so many of the ids."""
    def make(draw):
        limit = draw.randint(1, 6)
        return text.format(limit=limit), list(table_ids[:limit])
    return make


def with_count(text):
    """The statement has a limit, and gives so many rows; which ones depends on the moment."""
    def make(draw):
        limit = draw.randint(1, 6)
        return text.format(limit=limit), limit
    return make


def with_group(text):
    def make(draw):
        g = draw.randint(0, 3)
        return text.format(g=g), [i for i in IDS if i % 4 == g]
    return make


def with_row_or_group(text):
    def make(draw):
        g, x = draw.randint(0, 3), draw.choice(IDS)
        return text.format(g=g, x=x), [i for i in IDS if i % 4 == g or i == x]
    return make


def counted(make):
    """A change: the number of rows is what can be seen."""
    def counting(draw):
        sql, ids = make(draw)
        return sql, ids if isinstance(ids, int) else len(ids)
    return counting


def points():
    group = "points"
    yield Kind(group, "IN list", "PRIMARY", with_two("SELECT id, b FROM a WHERE id IN ({ids})"), compares="a")
    yield Kind(group, "OR of keys", "PRIMARY", with_two("SELECT id, b FROM a WHERE id = {x} OR id = {y}"), compares="a")
    yield Kind(group, "IN list, descending", "PRIMARY",
               with_two("SELECT id, b FROM a WHERE id IN ({ids}) ORDER BY id DESC"), compares="a")
    yield Kind(group, "IN list, aggregate", "PRIMARY",
               with_two("SELECT MIN(id) FROM a WHERE id IN ({ids}) GROUP BY id"))
    yield Kind(group, "one key", "PRIMARY",
               lambda draw: (lambda x: (f"SELECT id, b FROM a WHERE id = {x}", [x]))(draw.choice(IDS)), compares="a")


def ranges():
    group = "ranges"
    yield Kind(group, "range", "PRIMARY",
               with_span("SELECT id, b FROM a FORCE INDEX (PRIMARY) WHERE id BETWEEN {low} AND {high}"), compares="a")
    yield Kind(group, "range, other condition", "PRIMARY",
               with_span("SELECT id, b FROM a FORCE INDEX (PRIMARY) WHERE id BETWEEN {low} AND {high} AND b >= 0"))
    yield Kind(group, "first rows", "PRIMARY", with_first("SELECT id, b FROM a ORDER BY id LIMIT {limit}", IDS))
    yield Kind(group, "last rows", "PRIMARY",
               with_first("SELECT id, b FROM a ORDER BY id DESC LIMIT {limit}", IDS[::-1]))
    yield Kind(group, "full scan", "none", with_all("SELECT id, b FROM a IGNORE INDEX (PRIMARY, g, gb) WHERE b >= 0"),
               compares="a")
    yield Kind(group, "full scan, sorted", "none", with_all("SELECT id, b FROM a IGNORE INDEX (g, gb) ORDER BY b"))
    for index in ("g", "gb"):
        yield Kind(group, "range", index, with_all(f"SELECT id, b FROM a FORCE INDEX ({index}) WHERE g >= 0"), compares="a")
        yield Kind(group, "covered range", index, with_all(f"SELECT id, g FROM a FORCE INDEX ({index}) WHERE g >= 0"))
        yield Kind(group, "first rows", index,
                   with_count(f"SELECT id, b FROM a FORCE INDEX ({index}) WHERE g >= 0 ORDER BY g LIMIT {{limit}}"))
        yield Kind("descending", "range, descending", index,
                   with_all(f"SELECT id, b FROM d FORCE INDEX ({index}) WHERE g <= 2000000 ORDER BY g DESC"), compares="d")
        yield Kind("descending", "last rows", index,
                   with_count(f"SELECT id, b FROM d FORCE INDEX ({index}) WHERE g <= 2000000 ORDER BY g DESC LIMIT {{limit}}"))
        yield Kind("both ways", "range", index, with_all(f"SELECT id, b FROM m FORCE INDEX ({index}) WHERE g >= 0"),
                   levels=WITH_GAPS, compares="m")
        yield Kind("both ways", "range, descending", index,
                   with_all(f"SELECT id, b FROM m FORCE INDEX ({index}) WHERE g >= 0 ORDER BY g DESC"),
                   levels=WITH_GAPS, compares="m")
        yield Kind("groups", "group", index, with_group(f"SELECT id, b FROM c FORCE INDEX ({index}) WHERE g = {{g}}"),
                   compares="c")
        yield Kind("groups", "covered group", index, with_group(f"SELECT id FROM c FORCE INDEX ({index}) WHERE g = {{g}}"))
    yield Kind("both ways", "full scan", "none", with_all("SELECT id, b FROM m IGNORE INDEX (g, gb) WHERE b >= 0"),
               levels=WITH_GAPS, compares="m")
    yield Kind("groups", "group and range", "gb",
               with_group("SELECT id, b FROM c FORCE INDEX (gb) WHERE g = {g} AND b >= 0"), compares="c")
    yield Kind("groups", "group, full scan", "none",
               with_group("SELECT id, b FROM c IGNORE INDEX (PRIMARY, g, gb) WHERE g = {g}"), compares="c")
    yield Kind("groups", "key or group", "merge",
               with_row_or_group("SELECT id, b FROM c FORCE INDEX (PRIMARY, g) WHERE id = {x} OR g = {g}"), compares="c")


def joins():
    group = "joins"
    on = "ON a.id = o.aid"
    yield Kind(group, "lookup join", "PRIMARY",
               with_two(f"SELECT a.id, a.b FROM o STRAIGHT_JOIN a FORCE INDEX (PRIMARY) {on} WHERE o.id IN ({{ids}})"),
               compares="a")
    yield Kind(group, "lookup join of all", "PRIMARY",
               with_all(f"SELECT a.id, a.b FROM o STRAIGHT_JOIN a FORCE INDEX (PRIMARY) {on}"), compares="a")
    yield Kind(group, "lookup join", "g",
               with_group("SELECT c.id, c.b FROM o STRAIGHT_JOIN c FORCE INDEX (g) ON c.g = o.id - 1 WHERE o.id = {g} + 1"),
               compares="c")
    yield Kind(group, "hash join", "none",
               with_all(f"SELECT a.id, a.b FROM o STRAIGHT_JOIN a IGNORE INDEX (PRIMARY, g, gb) {on}"), compares="a")
    yield Kind(group, "hash join, other side", "none",
               with_all("SELECT a.id, a.b FROM a IGNORE INDEX (PRIMARY, g, gb) STRAIGHT_JOIN o IGNORE INDEX (aid) "
                        "ON a.id = o.aid"), compares="a")
    yield Kind(group, "left join", "PRIMARY",
               with_two(f"SELECT a.id, a.b FROM o LEFT JOIN a {on} WHERE o.id IN ({{ids}})"))
    yield Kind(group, "join with itself", "PRIMARY",
               with_two("SELECT x.id, x.b FROM a x JOIN a y ON y.id = x.id WHERE x.id IN ({ids})"))
    exists = "SELECT o.id FROM o WHERE o.id IN ({{ids}}) AND EXISTS (SELECT 1 FROM a WHERE a.id = o.aid{lock})"
    is_in = "SELECT o.id FROM o WHERE o.id IN ({{ids}}) AND o.aid IN (SELECT a.id FROM a WHERE a.b >= 0{lock})"
    lacks = "SELECT o.id FROM o WHERE NOT EXISTS (SELECT 1 FROM a WHERE a.id = o.aid{lock})"
    for lock, levels, note in (("", ABOVE_UNCOMMITTED, ""), (" FOR SHARE", LEVELS, " that locks")):
        yield Kind(group, f"EXISTS{note}", "subquery", with_two(exists.format(lock=lock)), levels=levels)
        yield Kind(group, f"IN{note}", "subquery", with_two(is_in.format(lock=lock)), levels=levels)
        yield Kind(group, f"NOT EXISTS{note}", "subquery", lambda draw, sql=lacks.format(lock=lock): (sql, []),
                   levels=levels)
    yield Kind(group, "derived table", "PRIMARY",
               with_two("SELECT q.id, q.b FROM (SELECT id, b FROM a WHERE id IN ({ids}) FOR UPDATE) q"))


def changes():
    group = "changes"

    def change(name, path, make, levels=LEVELS):
        return Kind(group, name, path, counted(make), levels, (None,))

    yield change("UPDATE of an IN list", "PRIMARY", with_two("UPDATE a SET b = b + 1 WHERE id IN ({ids})"))
    yield change("UPDATE of a range", "PRIMARY", with_span("UPDATE a SET b = b + 1 WHERE id BETWEEN {low} AND {high}"))
    yield change("UPDATE of all", "none", with_all("UPDATE a IGNORE INDEX (g, gb) SET b = b + 1 WHERE b >= 0"))
    yield change("UPDATE of all", "g", with_all("UPDATE a FORCE INDEX (g) SET b = b + 1 WHERE g >= 0"))
    yield change("UPDATE with a limit", "PRIMARY", with_count("UPDATE a SET b = b + 1 WHERE id > 10 ORDER BY id LIMIT {limit}"))
    yield change("UPDATE with a limit, descending", "PRIMARY", with_count("UPDATE a SET b = b + 1 ORDER BY id DESC LIMIT {limit}"))
    yield change("UPDATE of a join, joined table", "PRIMARY",
                 with_two("UPDATE o JOIN a ON a.id = o.aid SET a.b = a.b + 1 WHERE o.id IN ({ids})"))
    yield change("UPDATE of a join, first table", "PRIMARY",
                 with_two("UPDATE o JOIN a ON a.id = o.aid SET o.n = o.n + 1 WHERE o.id IN ({ids})"))
    yield change("UPDATE with EXISTS", "subquery",
                 with_two("UPDATE o SET n = n + 1 WHERE id IN ({ids}) AND EXISTS (SELECT 1 FROM a WHERE a.id = o.aid)"),
                 ABOVE_UNCOMMITTED)
    yield change("UPDATE with IN", "subquery",
                 with_two("UPDATE o SET n = n + 1 WHERE aid IN (SELECT id FROM a WHERE id IN ({ids}))"), ABOVE_UNCOMMITTED)
    yield change("DELETE of an IN list", "PRIMARY", with_two("DELETE FROM a WHERE id IN ({ids})"))
    yield change("DELETE of a range", "PRIMARY", with_span("DELETE FROM a WHERE id BETWEEN {low} AND {high}"))
    yield change("DELETE of all", "gb", with_all("DELETE a FROM a FORCE INDEX (gb) WHERE g >= 0"))
    yield change("DELETE of a join, joined table", "PRIMARY",
                 with_two("DELETE a FROM o JOIN a ON a.id = o.aid WHERE o.id IN ({ids})"))
    yield change("DELETE of a join, first table", "PRIMARY",
                 with_two("DELETE o FROM o JOIN a ON a.id = o.aid WHERE o.id IN ({ids})"))
    yield change("DELETE with IN", "subquery",
                 with_two("DELETE FROM o WHERE aid IN (SELECT id FROM a WHERE id IN ({ids}))"), ABOVE_UNCOMMITTED)
    yield change("INSERT .. SELECT", "PRIMARY", with_two("INSERT INTO x (v) SELECT b FROM a WHERE id IN ({ids})"),
                 ABOVE_UNCOMMITTED)
    yield change("INSERT .. SELECT of all", "none", with_all("INSERT INTO x (v) SELECT b FROM a WHERE b >= 0"), ABOVE_UNCOMMITTED)
    yield change("INSERT .. SELECT FOR SHARE", "PRIMARY",
                 with_two("INSERT INTO x (v) SELECT b FROM a WHERE id IN ({ids}) FOR SHARE"))


def skip_locked():
    group, odd = "skip locked", [i for i in IDS if i % 2]
    mode = ("FOR SHARE SKIP LOCKED",)
    for name, path, sql in (
        ("full scan", "none", "SELECT id, b FROM s IGNORE INDEX (PRIMARY, g, gb) WHERE b >= 0"),
        ("range", "PRIMARY", "SELECT id, b FROM s FORCE INDEX (PRIMARY) WHERE id BETWEEN 1 AND 20"),
        ("IN list", "PRIMARY", f"SELECT id, b FROM s WHERE id IN ({listed(IDS)})"),
        ("descending", "PRIMARY", "SELECT id, b FROM s ORDER BY id DESC"),
        ("range", "g", "SELECT id, b FROM s FORCE INDEX (g) WHERE g >= 0"),
        ("covered range", "gb", "SELECT id, b FROM s FORCE INDEX (gb) WHERE g >= 0"),
    ):
        yield Kind(group, name, path, lambda draw, sql=sql: (sql, odd), modes=mode)


ALL = [*points(), *ranges(), *joins(), *changes(), *skip_locked()]
