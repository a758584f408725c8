"""Classes of differences between Muster and MySQL 8.0 that are not faults; docs/differences.md says why.

A class is a name, which stands in that page, and a test: of the expression, what differs, and the answers of Muster and MySQL.
The first class that fits explains a difference.
"""

import re

import expressions
import operands

# Warnings of a value that is converted or computed: an operand that is not computed has none.
OF_OPERANDS = {"1259", "1264", "1292", "1301", "1365", "1366", "1411", "1441", "1525", "1583", "3020", "4095", "4096"}
ERRORS_OF_OPERANDS = {1210, 1411, 1525, 1690, 3685, 3854, 3995}
MEMBERS = ("e", "s")
TEXTS_OF_MOMENTS = ("CASE ", "COALESCE(", "IFNULL(", "IF(", "ADDTIME(", "SUBTIME(")
MOMENT_COLUMNS = ("d", "dt", "dt3", "ts", "dn", "ti", "ti6")
NUMBER_COLUMNS = ("tiny", "small", "i", "big", "ubig", "n", "n0", "f", "x", "un", "nn", "y", "bi")
NUMBER_OPERATORS = ("({} AND {})", "({} OR {})", "(NOT {})", "(! {})", "({} + {})", "({} - {})", "({} * {})", "({} / {})")


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


def negative_zeros(tree, what, muster, mysql):
    """A zero that has a sign in MySQL only."""
    is_zero = re.compile(r"-(0(\.0+)?|00:00:00(\.0+)?)").fullmatch
    differing_rows = [(a, b) for a, b in zip(muster.rows, mysql.rows) if a != b] if what == "value" else []
    return bool(differing_rows) and all(isinstance(b, str) and is_zero(b) and b[1:] == a for a, b in differing_rows)


def weights_of_members(tree, what, muster, mysql):
    return what == "value" and tree[0].startswith("WEIGHT_STRING(") and tree[1][0][0] in MEMBERS


def is_number(tree):
    return expressions.kind_of(tree) in ("integer", "decimal", "double") or tree[0] in NUMBER_COLUMNS or tree[0] in NUMBER_OPERATORS


def mixed_bounds(tree, what, muster, mysql):
    """A date or time between a number and what is none."""
    template, children = tree
    if template != "({} BETWEEN {} AND {})" or children[0][0] not in MOMENT_COLUMNS:
        return any(mixed_bounds(child, what, muster, mysql) for child in children)
    return what in ("value", "null") and any(map(is_number, children[1:]))


def types_of_null(tree, what, muster, mysql):
    """The type of what is NULL in all rows."""
    return what in ("type", "scale") and not any(row is not None for answer in (muster, mysql) for row in answer.rows)


def moments_of_choices(tree, what, muster, mysql):
    """The date or time of a value that is a text of other values, which MySQL asks for its own."""
    template, children = tree
    letters = "".join(expressions.FUNCTIONS.get(template.split("(")[0], [""])[0])
    is_of_moment = bool(set(letters) & set("dm")) or template.startswith(("DATE_", "TIMESTAMP", "EXTRACT(", "TIME_FORMAT(", "STR_TO_DATE("))
    is_made = any(child[0].startswith(TEXTS_OF_MOMENTS) for child in children)
    if is_of_moment and is_made:
        return what in ("value", "null", "scale")
    return any(moments_of_choices(child, what, muster, mysql) for child in children)


def choices_of_years(tree, what, muster, mysql):
    return what == "type" and mysql.kind.startswith("year") and muster.kind.startswith("short")


def constant_of_nullif(tree, what, muster, mysql):
    """NULLIF of a constant next to a column, which MySQL makes a value of the column."""
    if tree[0] != "NULLIF({}, {})":
        return any(constant_of_nullif(child, what, muster, mysql) for child in tree[1])
    first, second = tree[1]
    return what in ("value", "type", "scale") and not expressions.uses_columns(first) and expressions.uses_columns(second)


def impossible_seconds(tree, what, muster, mysql):
    """Moments as integers of a second that there is not."""
    return what == "value" and any(isinstance(row, str) and re.fullmatch(r"\d{8,12}60", row) for row in mysql.rows)


def invalid_bytes(tree, what, muster, mysql):
    """Bytes that are no UTF-8 where a text is made of them."""
    return has_leaf(tree, "x'FF'") and what in ("null", "value", "error", "warnings", "type")


def extremes_of_dates(tree, what, muster, mysql):
    """GREATEST and LEAST of a date and what is no date: MySQL compares that with what it has left of it."""
    is_extreme = tree[0].startswith(("GREATEST(", "LEAST(")) or any(extremes_of_dates(child, what, muster, mysql) for child in tree[1])
    return is_extreme and what in ("value", "null", "type", "scale") and any("Incorrect" in w[2] for w in mysql.warnings)


def distinct_sums(tree, what, muster, mysql):
    """SUM(DISTINCT) of hexadecimal literals and of fractions of seconds, which are doubles in MySQL."""
    return what == "value" and tree[0].startswith("SUM(DISTINCT")


def regular_expression_errors(tree, what, muster, mysql):
    """Which of several faults in the arguments is told."""
    return what == "error" and "REGEXP_" in expressions.text(tree) and mysql.error and mysql.error[0] in (1210, 3685, 3995)


def constant_lengths(tree, what, muster, mysql):
    """Types that follow from the value of a computed constant."""
    return what == "type" and tree[0].startswith(("REPEAT(", "SPACE(", "LPAD(", "RPAD(", "STR_TO_DATE("))


CLASSES = [
    ("not supported", differing("unsupported")),
    ("negative zero", negative_zeros),
    ("weights of ENUM and SET", weights_of_members),
    ("numbers as bounds beside a date or time", mixed_bounds),
    ("types of nothing but NULL", types_of_null),
    ("moments of values that are texts", moments_of_choices),
    ("types of choices between years", choices_of_years),
    ("NULLIF of a constant next to a column", constant_of_nullif),
    ("moments as integers where fractions are cut", impossible_seconds),
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
    named = next((name for name, fits in CLASSES if fits(tree, what, muster, mysql)), None)
    return named or (PROVED if unneeded_operands(tree, what, muster, mysql, ask) else None)
