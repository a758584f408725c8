"""Classes of differences between Muster and MySQL 8.0 that are not faults; docs/differences.md says why.

A class is a name, which stands in that page, and a test: of the expression, what differs, the answers of Muster and MySQL, and how
both are asked about a part of it (`operands.Proof` says of what kind that is). The first class that fits explains a difference.
"""

import re

import expressions
import operands

# Warnings of a value that is converted or computed: an operand that is not computed has none.
OF_OPERANDS = {"1259", "1264", "1292", "1301", "1365", "1366", "1411", "1441", "1525", "1583", "3020", "4095", "4096"}
ERRORS_OF_OPERANDS = {1210, 1411, 1525, 1690, 3685, 3854, 3995}
CHOICES = ("CASE ", "COALESCE(", "IFNULL(", "IF(", "NULLIF(", "GREATEST(", "LEAST(")
TEXTS_OF_MOMENTS = ("CASE ", "COALESCE(", "IFNULL(", "IF(")
TIMES = ("ti", "ti6")
MOMENT_COLUMNS = ("d", "dt", "dt3", "ts", "dn") + TIMES
NUMBER_KINDS = ("tiny", "short", "int24", "long", "longlong", "newdecimal", "float", "double", "year")


def differing(*words):
    return lambda tree, what, *_: what in words


def has_leaf(tree, wanted):
    template, children = tree
    return any(has_leaf(child, wanted) for child in children) if children else template == wanted


def numbers(answer):
    return {warning[1] for warning in answer.warnings}


def unneeded_operands(tree, what, muster, mysql, ask):
    """Warnings, or an error, of operands that the value does not depend on, which is proved."""
    if what == "warnings" and not numbers(muster) ^ numbers(mysql) <= OF_OPERANDS:
        return False
    if what == "error" and {answer.error[0] for answer in (muster, mysql) if answer.error} - ERRORS_OF_OPERANDS:
        return False
    if what not in ("warnings", "error") or ask is None:
        return False
    is_of_rows = expressions.uses_columns(tree) and not expressions.has_aggregate(tree)
    return operands.Proof(tree, ask, operands.ROWS if is_of_rows else [None]).holds()


def negative_zeros(tree, what, muster, mysql, *_):
    """A zero that has a sign in MySQL only."""
    is_zero = re.compile(r"-(0(\.0+)?|00:00:00(\.0+)?)").fullmatch
    differing_rows = [(a, b) for a, b in zip(muster.rows, mysql.rows) if a != b] if what == "value" else []
    return bool(differing_rows) and all(isinstance(b, str) and is_zero(b) and b[1:] == a for a, b in differing_rows)


def kind_of(tree, ask):
    """The kind of a part's column in MySQL; an empty text if it has none alone."""
    answer = ask(tree, None)[1]
    return "" if answer.error else answer.kind.split()[0]


def whole_kind_of(tree, ask):
    """The same with the words behind it: `binary`, `unsigned`."""
    answer = ask(tree, None)[1]
    return "" if answer.error else answer.kind


def is_constant(tree):
    return not expressions.uses_columns(tree)


def below(tree, fits):
    """Returns true if a part of the tree, or all of it, fits."""
    return fits(tree) or any(below(child, fits) for child in tree[1])


def mixed_bounds(tree, what, muster, mysql, ask):
    """A date or time between a number and a constant that is none, or is the only constant: MySQL takes the form in which it keeps the
    moment for the constant."""

    def fits(part):
        template, children = part
        if template != "({} BETWEEN {} AND {})" or children[0][0] not in MOMENT_COLUMNS:
            return False
        numbers = sum(kind_of(bound, ask) in NUMBER_KINDS for bound in children[1:])
        constants = sum(map(is_constant, children[1:]))
        return (numbers, constants) in ((1, 2), (1, 1), (2, 1))

    return what in ("value", "null") and below(tree, fits)


def bounds_beside_time(tree, what, muster, mysql, ask):
    """A TIME column between texts, one of which is no time: MySQL reads that one as an integer."""

    def fits(part):
        return part[0] == "({} BETWEEN {} AND {})" and part[1][0][0] in TIMES and any(map(is_constant, part[1][1:]))

    told = ("incorrect INTEGER value", "Incorrect time value")
    reads_integers = any(words in warning[2] for warning in mysql.warnings or [] for words in told)
    return what in ("value", "null") and reads_integers and below(tree, fits)


def lists_beside_moments(tree, what, muster, mysql, ask):
    """A column of dates or times in a list of constants of two kinds, of which MySQL finds none that it finds alone."""

    def fits(part):
        template, children = part
        if template != "({} IN ({}, {}))" or children[0][0] not in MOMENT_COLUMNS:
            return False
        first, *members = children
        if not all(map(is_constant, members)) or kind_of(members[0], ask) == kind_of(members[1], ask):
            return False
        alone = [ask(("({} = {})", (first, member)), None)[1].rows for member in members]
        expected = ["1" if "1" in row else next((cell for cell in row if cell is None), "0") for row in zip(*alone)]
        ours, theirs = ask(part, None)
        return ours.rows == expected != theirs.rows and set(theirs.rows) <= {"0", None}

    return what in ("value", "null") and below(tree, fits)


def types_of_null(tree, what, muster, mysql, ask):
    """The type of what is NULL in all rows, because a constant in it is."""

    def fits(part):
        if not is_constant(part) or expressions.has_aggregate(part):
            return False
        answer = ask(part, None)[1]
        return not answer.error and answer.rows == [None]

    is_null = not any(row is not None for answer in (muster, mysql) for row in answer.rows or [])
    return what in ("type", "scale") and is_null and below(tree, fits)


def moments_of_choices(tree, what, muster, mysql, ask):
    """The date or time of a value that is a text of other values, which MySQL asks for its own."""

    def is_made(part):
        is_text = part[0].startswith(TEXTS_OF_MOMENTS) and kind_of(part, ask) in ("string", "var_string")
        times = (child for child in part[1] if kind_of(child, ask) in ("time", "date", "datetime", "timestamp"))
        return is_text and any(times)

    def fits(part):
        template, children = part
        letters = "".join(expressions.FUNCTIONS.get(template.split("(")[0], [""])[0])
        of_moments = ("DATE_", "TIMESTAMP", "EXTRACT(", "TIME_FORMAT(", "STR_TO_DATE(")
        is_of_moment = bool(set(letters) & set("dm")) or template.startswith(of_moments)
        return is_of_moment and any(map(is_made, children))

    return what in ("value", "null", "scale") and below(tree, fits)


def choices_of_years(tree, what, muster, mysql, ask):
    is_choice = tree[0].startswith(CHOICES) and (has_leaf(tree, "y") or below(tree, lambda part: part[0] == "CAST({} AS YEAR)"))
    # `char` is the name of TINYINT, too.
    return (what == "type" and is_choice and mysql.kind.startswith(("year", "char", "tiny"))
            and muster.kind.startswith(("short", "int24", "long")))


def constant_of_nullif(tree, what, muster, mysql, ask):
    """NULLIF of a constant next to a column, which MySQL makes a value of the column."""

    def fits(part):
        if part[0] != "NULLIF({}, {})":
            return False
        first, second = part[1]
        is_beside_column = is_constant(first) and second[0] in expressions.COLUMNS
        return is_beside_column and whole_kind_of(part, ask) != whole_kind_of(first, ask)

    return what in ("value", "type", "scale") and below(tree, fits)


def strcmp_of_times(tree, what, muster, mysql, *_):
    """STRCMP of a TIME column and a constant, of which MySQL takes the form in which it keeps times."""

    def fits(part):
        return part[0] == "STRCMP({}, {})" and any(child[0] in TIMES for child in part[1]) and any(map(is_constant, part[1]))

    return what == "value" and below(tree, fits)


def moved_into_year_zero(tree, what, muster, mysql, ask):
    """A moment that an interval has moved into the year 0, as the argument of another function."""
    moves = ("DATE_ADD(", "DATE_SUB(", "TIMESTAMPADD(", "ADDDATE(", "SUBDATE(")

    def is_moved(part):
        return part[0].startswith(moves) and any((row or "").startswith("0000-00-00 ") for row in ask(part, None)[1].rows or [])

    return what in ("value", "null", "warnings") and any(below(child, is_moved) for child in tree[1])


def bits_of_another_type(tree, what, muster, mysql, *_):
    """A BIT column that a function gives, whose bytes MySQL sends as a decimal, or whose digits as a BIT."""

    def is_same(a, b):
        digits, bits = (a, b) if a and a.isdecimal() else (b, a)
        return a == b or None not in (a, b) and digits.isdecimal() and int(digits) == int.from_bytes(bits.encode(), "big")

    gives_bits = tree[0].startswith(("CASE ", "COALESCE(", "IFNULL(", "IF(", "ANY_VALUE(")) and ("bi", ()) in tree[1]
    return what == "value" and gives_bits and all(map(is_same, muster.rows, mysql.rows))


def invalid_bytes(tree, what, muster, mysql, *_):
    """Bytes that are no UTF-8 where a text is made of them."""
    return has_leaf(tree, "x'FF'") and what in ("null", "value", "error", "warnings", "type")


def extremes_of_dates(tree, what, muster, mysql, *_):
    """GREATEST and LEAST of a date and what is no date: MySQL compares that with what it has left of it."""
    is_extreme = tree[0].startswith(("GREATEST(", "LEAST(")) or any(extremes_of_dates(child, what, muster, mysql) for child in tree[1])
    return is_extreme and what in ("value", "null", "type", "scale") and any("Incorrect" in w[2] for w in mysql.warnings)


def distinct_sums(tree, what, muster, mysql, *_):
    """SUM(DISTINCT) of hexadecimal literals and of fractions of seconds, which are doubles in MySQL."""
    return what == "value" and below(tree, lambda part: part[0].startswith("SUM(DISTINCT"))


def regular_expression_errors(tree, what, muster, mysql, *_):
    """Which of several faults in the arguments is told."""
    return what == "error" and "REGEXP_" in expressions.text(tree) and mysql.error and mysql.error[0] in (1210, 3685, 3995)


def constant_lengths(tree, what, muster, mysql, *_):
    """Types that follow from the value of a computed constant."""
    return what == "type" and tree[0].startswith(("REPEAT(", "SPACE(", "LPAD(", "RPAD(", "STR_TO_DATE("))


CLASSES = [
    ("not supported", differing("unsupported")),
    ("negative zero", negative_zeros),
    ("numbers as bounds beside a date or time", mixed_bounds),
    ("bounds beside a TIME column, one of which is no time", bounds_beside_time),
    ("lists beside a date or time column with NULL or a constant that it would not store", lists_beside_moments),
    ("types of nothing but NULL", types_of_null),
    ("moments of values that are texts", moments_of_choices),
    ("types of choices between years", choices_of_years),
    ("NULLIF of a constant next to a column", constant_of_nullif),
    ("values of BIT columns as another type", bits_of_another_type),
    ("STRCMP of a TIME column and a constant", strcmp_of_times),
    ("moments moved into the year 0", moved_into_year_zero),
    ("faults of several arguments of regular expressions", regular_expression_errors),
    ("types of computed constants", constant_lengths),
    ("bytes without a character", invalid_bytes),
    ("dates in GREATEST and LEAST", extremes_of_dates),
    ("distinct numbers of other values", distinct_sums),
]


# The last class, whose test asks the servers.
PROVED = "operands that are not needed"


def explain(tree, what, muster, mysql, ask=None):
    """The class that explains a difference, or None. `ask`: as `operands.Proof` has it."""
    named = next((name for name, fits in CLASSES if fits(tree, what, muster, mysql, ask)), None)
    return named or (PROVED if unneeded_operands(tree, what, muster, mysql, ask) else None)
