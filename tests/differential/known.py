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
BITS = "bi"


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


def bytes_of_bits(tree, what, muster, mysql):
    return what in ("value", "type", "scale") and has_leaf(tree, BITS) and ("binary" in mysql.kind or "blob" in mysql.kind)


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
    return what == "error" and re.match(r"REGEXP_", tree[0]) and mysql.error and mysql.error[0] in (1210, 3685, 3995)


def constant_lengths(tree, what, muster, mysql):
    """Types that follow from the value of a computed constant."""
    return what == "type" and tree[0].startswith(("REPEAT(", "SPACE(", "LPAD(", "RPAD(", "STR_TO_DATE("))


CLASSES = [
    ("not supported", differing("unsupported")),
    ("bytes of a BIT", bytes_of_bits),
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
