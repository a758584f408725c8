"""Classes of differences between Muster and MariaDB that are not faults; docs/differences.md says who is right and why.

A class is a name, which stands in that page, and a test: of the expression, what differs, and the answers of Muster and MariaDB.
The first class that fits explains a difference. A class says which arguments of which functions it is about: `node` looks at one
call and the kinds of its arguments (`kinds.py`), `has` at the text of the whole expression.
"""

import re

import expressions
import kinds

TIMES = r"(\bTIME'|\bti6?\b|AS TIME\b|AS TIME\(|\bTIME\()"
TIME_TEXT = r"'(-?\d+ )?-?\d+:\d+(:\d+)?(\.\d*)?'|'1 02|'-1 10'|'12'|'1'|' 7 '"
DATE_FUNCTIONS = (r"\b(YEAR|MONTH|DAYOFMONTH|QUARTER|WEEK|YEARWEEK|WEEKOFYEAR|WEEKDAY|DAYOFWEEK|DAYOFYEAR|LAST_DAY|DATEDIFF|DATE"
                  r"|TIMESTAMP|DATE_FORMAT|DATE_ADD|DATE_SUB|ADDDATE|SUBDATE)\(|EXTRACT\((YEAR|QUARTER|MONTH|WEEK|DAY)|AS DATE")
MOVED = r"\b(DATE_ADD|DATE_SUB|ADDDATE|SUBDATE)\("
COMPARISON = r" (=|<=>|<|>=|<>|IN|BETWEEN) |NULLIF\(|STRCMP\(|INTERVAL\("
TEXT_FUNCTIONS = r"^(" + "|".join(kinds.TEXT_FUNCTIONS) + r")\("
NUMERIC = (r"^\(\{\} (\+|-|\*|/|DIV|%|&|\||\^|<<|AND|OR|XOR) |^(" + "|".join(kinds.NUMBER_FUNCTIONS) + r")\(|AS (SIGNED|UNSIGNED|DECIMAL|DOUBLE|DATE|TIME)"
           r"|INTERVAL \{\}|EXTRACT|^(" + "|".join(kinds.DATE_PART_FUNCTIONS) + r")\(")
COMPARING = r" (=|<=>|<|>=|<>|IN|BETWEEN|LIKE) |^(NULLIF|STRCMP|GREATEST|LEAST)\("
BITS = r" (&|\||\^|<<|DIV) |BIT_COUNT\(|\bHEX\("


def has(pattern):
    compiled = re.compile(pattern)
    return lambda tree, *_: compiled.search(expressions.text(tree)) is not None


def node(template, fits):
    """Some call whose template has this in it has arguments whose kinds fit."""
    compiled = re.compile(template)

    def found(tree, *_):
        return any(compiled.search(form) and fits([kinds.kind(child) for child in children]) for form, children in kinds.calls(tree))
    return found


def mixed(argument_kinds):
    """Numbers, texts and temporal values stand next to each other; NULL is of any kind."""
    return len(set(argument_kinds) - {"null", "any"}) > 1 or "any" in argument_kinds


def number_and_temporal(argument_kinds):
    return bool({"temporal", "any"} & set(argument_kinds)) and bool({"number", "any"} & set(argument_kinds))


def bytes_and_other(argument_kinds):
    return "bytes" in argument_kinds


def text_and_temporal(argument_kinds):
    return bool({"temporal", "any"} & set(argument_kinds)) and bool({"text", "any"} & set(argument_kinds))


def temporal_and_null(argument_kinds):
    return "null" in argument_kinds and "temporal" in argument_kinds


def extreme_as_number(tree, *_):
    """GREATEST or LEAST of texts is used as a number."""
    wanted = re.compile(NUMERIC)
    return any(wanted.search(form) and any(child[0].startswith(("GREATEST(", "LEAST(")) and kinds.kind(child) == "text" for child in children)
               for form, children in kinds.calls(tree))


def is_bytes_or_text(tree, what, muster, mariadb):
    """The values are the same but for one being a byte string and the other a text, and zeros at the end of a fraction."""
    def plain(value):
        value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        return bare(value)
    return what == "value" and all(plain(a) == plain(b) for a, b in cells(muster, mariadb))


def bare(value):
    return re.sub(r"(\.\d*?)0+$", r"\1", value).rstrip(".") if isinstance(value, str) else value


def both(*tests):
    return lambda *arguments: all(test(*arguments) for test in tests)


def differing(*words):
    return lambda tree, what, *_: what in words


def cells(muster, mariadb):
    """The values that differ, in pairs."""
    return [(a, b) for a, b in zip(muster.rows or [], mariadb.rows or []) if a != b]


def is_null_for_zero_date(tree, what, muster, mariadb):
    """Muster has NULL where MariaDB has a date with a part that is zero, or what such a date gives."""
    return any(a is None and b is not None for a, b in cells(muster, mariadb))


def is_negative_zero(tree, what, muster, mariadb):
    return what == "value" and all(a.lstrip("-") == b.lstrip("-") for a, b in cells(muster, mariadb) if a and b)


def is_same_without_zeros(tree, what, muster, mariadb):
    """The values are the same but for zeros at the end of a fraction."""
    return what == "value" and all(bare(a) == bare(b) for a, b in cells(muster, mariadb))


def is_all_null(tree, what, muster, mariadb):
    return what in ("type", "scale") and all(value is None for value in muster.rows)


def failed(number):
    return lambda tree, what, muster, mariadb: any(a.error and a.error[0] == number for a in (muster, mariadb))


CLASSES = [
    ("not supported", differing("unsupported")),
    ("byte strings", both(is_bytes_or_text, kinds.has_bytes)),
    ("byte strings that are no UTF-8", both(has(r"x'FF'"), differing("error", "null", "value"))),
    ("byte strings", both(node(TEXT_FUNCTIONS, bytes_and_other), differing("value", "null"))),
    ("hexadecimal literals", node(NUMERIC, bytes_and_other)),
    ("hexadecimal literals", node(COMPARING, bytes_and_other)),
    ("text that is no date next to a date", failed(1525)),
    ("order of evaluation", failed(1690)),
    ("type of NULL", is_all_null),
    ("digits of text dates", is_same_without_zeros),
    ("GREATEST and LEAST", node(r"^(GREATEST|LEAST)\(", mixed)),
    ("GREATEST and LEAST", extreme_as_number),
    ("digits of ROUND and TRUNCATE", has(r"\b(ROUND|TRUNCATE)\(.*, ")),
    ("rounding functions of dates", has(r"\b(ROUND|TRUNCATE|CEIL|FLOOR|ABS|SIGN|MOD)\(.*(\bd\b|\bdt3?\b|\bti6?\b|DATE|TIME)")),
    ("the year 0", has(r"0000-01-01|1000101")),
    ("dates with parts that are zero", has(r"0000-00-00|2001-0[02]-00|20010200")),
    ("dates with parts that are zero", both(is_null_for_zero_date, has(DATE_FUNCTIONS + "|HOUR|MINUTE|SECOND"))),
    ("dates with parts that are zero", both(has(r"\bv\b"), node(COMPARING, text_and_temporal), differing("value"))),
    ("weeks of dates with parts that are zero", both(has(r"DATE_FORMAT\(.*%U"), differing("value"))),
    ("text that is no date next to a date", node(r" (BETWEEN|IN) ", text_and_temporal)),
    ("NULL and what is no date", node(r" <=> ", temporal_and_null)),
    ("digits and a point as a date", both(node("^(" + "|".join(kinds.DATE_PART_FUNCTIONS) + r")\(", lambda k: "text" in k), differing("null"))),
    ("fractions that round up a date", both(has(r"20001231235959\.9999999|59\.9"), has(DATE_FUNCTIONS))),
    ("negative zero", is_negative_zero),
    ("texts beyond 64 bits", has(r"'9{21}'")),
    ("negative doubles as unsigned integers", has(r"AS UNSIGNED")),
    ("numbers next to dates", node(r" (BETWEEN|IN|=|<=>|<|>=|<>) ", number_and_temporal)),
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
    ("fractions of a second as integers", both(has(BITS + r"|AS SIGNED|AS UNSIGNED|\b(WEEK|YEARWEEK)\(.*, "), has(r"\bdt3\b|\bti6\b|\.\d"))),
    ("integers of both signs", differing("type")),
    ("letters that are equal", has(r"\b(INSTR|LOCATE|REPLACE)\(|LIKE")),
    ("text quotients", has(r" / ")),
    ("digits of small doubles as texts", both(node("^(" + "|".join(kinds.TEXT_FUNCTIONS) + r")\(", lambda k: "number" in k), differing("value"), has(r"POW|EXP|e-5"))),
]


def explain(tree, what, muster, mariadb):
    """The class that explains a difference, or None."""
    return next((name for name, fits in CLASSES if fits(tree, what, muster, mariadb)), None)
