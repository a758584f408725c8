"""Classes of differences between Muster and MariaDB that are not faults; docs/differences.md says who is right and why.

A class is a name, which stands in that page, and a test: of the expression's text, what differs, and the answers of Muster
and MariaDB. The first class that fits explains a difference.
"""

import re

import expressions

TIMES = r"(\bTIME'|\bti6?\b|AS TIME\b|AS TIME\(|\bTIME\()"
TIME_TEXT = r"'(-?\d+ )?-?\d+:\d+(:\d+)?(\.\d*)?'|'1 02|'-1 10'|'12'|'1'|' 7 '"
DATE_FUNCTIONS = (r"\b(YEAR|MONTH|DAYOFMONTH|QUARTER|WEEK|YEARWEEK|WEEKOFYEAR|WEEKDAY|DAYOFWEEK|DAYOFYEAR|LAST_DAY|DATEDIFF|DATE"
                  r"|TIMESTAMP|DATE_FORMAT|DATE_ADD|DATE_SUB|ADDDATE|SUBDATE)\(|EXTRACT\((YEAR|QUARTER|MONTH|WEEK|DAY)|AS DATE")
MOVED = r"\b(DATE_ADD|DATE_SUB|ADDDATE|SUBDATE)\("
COMPARISON = r" (=|<=>|<|>=|<>|IN|BETWEEN) |NULLIF\(|STRCMP\(|INTERVAL\("
BITS = r" (&|\||\^|<<|DIV) |BIT_COUNT\(|\bHEX\("


def has(pattern):
    compiled = re.compile(pattern)
    return lambda text, *_: compiled.search(text) is not None


def both(*tests):
    return lambda *arguments: all(test(*arguments) for test in tests)


def differing(*words):
    return lambda text, what, *_: what in words


def cells(muster, mariadb):
    """The values that differ, in pairs."""
    return [(a, b) for a, b in zip(muster.rows or [], mariadb.rows or []) if a != b]


def is_null_for_zero_date(text, what, muster, mariadb):
    """Muster has NULL where MariaDB has a date with a part that is zero, or what such a date gives."""
    return any(a is None and b is not None for a, b in cells(muster, mariadb))


def is_negative_zero(text, what, muster, mariadb):
    return what == "value" and all(a.lstrip("-") == b.lstrip("-") for a, b in cells(muster, mariadb) if a and b)


def is_same_without_zeros(text, what, muster, mariadb):
    """The values are the same but for zeros at the end of a fraction."""
    def bare(value):
        return re.sub(r"(\.\d*?)0+$", r"\1", value).rstrip(".") if isinstance(value, str) else value
    return what == "value" and all(bare(a) == bare(b) for a, b in cells(muster, mariadb))


def is_all_null(text, what, muster, mariadb):
    return what in ("type", "scale") and all(value is None for value in muster.rows)


def failed(number):
    return lambda text, what, muster, mariadb: any(a.error and a.error[0] == number for a in (muster, mariadb))


CLASSES = [
    ("not supported", differing("unsupported")),
    ("hexadecimal literals", has(r"\b0x[0-9A-F]+|\bx'|\bb'")),
    ("byte strings", has(r"\bvb\b")),
    ("text that is no date next to a date", failed(1525)),
    ("order of evaluation", failed(1690)),
    ("type of NULL", is_all_null),
    ("digits of text dates", is_same_without_zeros),
    ("GREATEST and LEAST", has(r"\b(GREATEST|LEAST)\(")),
    ("digits of ROUND and TRUNCATE", has(r"\b(ROUND|TRUNCATE)\(.*, ")),
    ("rounding functions of dates", has(r"\b(ROUND|TRUNCATE|CEIL|FLOOR|ABS|SIGN|MOD)\(.*(\bd\b|\bdt3?\b|\bti6?\b|DATE|TIME)")),
    ("the year 0", has(r"0000-01-01|1000101")),
    ("dates with parts that are zero", has(r"0000-00-00|2001-0[02]-00|20010200")),
    ("dates with parts that are zero", both(is_null_for_zero_date, has(DATE_FUNCTIONS + "|HOUR|MINUTE|SECOND"))),
    ("negative zero", is_negative_zero),
    ("texts beyond 64 bits", has(r"CAST\('9{21}' AS SIGNED")),
    ("negative doubles as unsigned integers", has(r"AS UNSIGNED")),
    ("numbers between dates", has(r" BETWEEN | IN ")),
    ("empty padding", has(r"\b[LR]PAD\(")),
    ("times where dates are wanted", both(has(TIME_TEXT), has(DATE_FUNCTIONS))),
    ("dates of times", both(has(TIMES), has(DATE_FUNCTIONS))),
    ("parts of a time of more than a day", has(r"EXTRACT\((HOUR|DAY)")),
    ("numbers that are no times", has(r"\b(HOUR|MINUTE|SECOND|MICROSECOND|TIME)\(|AS TIME|EXTRACT\(\w*(HOUR|MINUTE|SECOND)")),
    ("times next to other types", both(has(TIMES), has(COMPARISON))),
    ("digits of microseconds", has(r"INTERVAL v \w*MICROSECOND")),
    ("dates that are texts as numbers", both(has(MOVED), differing("value"))),
    ("dates out of range", both(has(MOVED), differing("null"))),
    ("doubles as integers", both(has(BITS), differing("value"))),
    ("fractions of a second as integers", both(has(BITS + "|AS SIGNED|AS UNSIGNED"), has(r"\bdt3\b|\bti6\b|\.\d"))),
    ("integers of both signs", differing("type")),
    ("letters that are equal", has(r"\b(INSTR|LOCATE|REPLACE)\(|LIKE")),
    ("text quotients", has(r" / ")),
]


def explain(tree, what, muster, mariadb):
    """The class that explains a difference, or None."""
    text = expressions.text(tree)
    return next((name for name, fits in CLASSES if fits(text, what, muster, mariadb)), None)
