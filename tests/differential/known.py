"""Classes of differences between Muster and MySQL 8.0 that are not faults; docs/differences.md says why.

A class is a name, which stands in that page, and a test: of the expression, what differs, and the answers of Muster and MySQL.
The first class that fits explains a difference.
"""

import re

# Warnings of a value that is converted or computed: an operand that is not computed has none.
OF_OPERANDS = {"1264", "1292", "1365", "1366", "1411", "1441", "4095", "4096"}
# What can be decided without all operands.
DECIDED_EARLY = (" OR ", " AND ", " XOR ", " IN (", " BETWEEN ", "CASE WHEN", "IF(", "IFNULL(", "NULLIF(", "COALESCE(", "ELT(", "INTERVAL(",
                 "FIELD(", "GREATEST(", "LEAST(", "STRCMP(", "LIKE", "REGEXP")
# A choice whose value is a decimal.
CHOICES = ("CASE WHEN", "IF(", "IFNULL(", "COALESCE(", "GREATEST(", "LEAST(", "NULLIF(", "ANY_VALUE(", "MIN(", "MAX(")
BITS = "bi"


def differing(*words):
    return lambda tree, what, *_: what in words


def written(tree):
    template, children = tree
    return template.format(*(written(child) for child in children)) if children else template


def has_leaf(tree, wanted):
    template, children = tree
    return any(has_leaf(child, wanted) for child in children) if children else template == wanted


def numbers(answer):
    return {warning[1] for warning in answer.warnings}


def unneeded_operands(tree, what, muster, mysql):
    """Warnings of operands that the value does not depend on."""
    if what != "warnings" or not numbers(muster) ^ numbers(mysql) <= OF_OPERANDS:
        return False
    is_early = any(word in written(tree) for word in DECIDED_EARLY)
    # A function that is NULL for one of its arguments need not ask for the others.
    return is_early or all(row is None for row in muster.rows) and numbers(mysql) <= numbers(muster)


def scale_of_choices(tree, what, muster, mysql):
    """Decimals that MySQL shows with the digits of the chosen value."""
    if what != "value" or mysql.kind != "newdecimal" or muster.kind != mysql.kind:
        return False
    if not any(word in written(tree) for word in CHOICES):
        return False
    pairs = [(a, b) for a, b in zip(muster.rows, mysql.rows) if a != b]
    return all(a is not None and b is not None and float(a) == float(b) for a, b in pairs)


def unneeded_errors(tree, what, muster, mysql):
    """An error of an operand that MySQL does not ask for."""
    if what != "error" or not muster.error or mysql.error or muster.error[0] not in (1411, 1210, 3854):
        return False
    return all(row is None for row in mysql.rows) or any(word in written(tree) for word in DECIDED_EARLY)


def weeks_before_year_0(tree, what, muster, mysql):
    return what == "value" and any("4294967295" in str(row) for row in mysql.rows) and any("-001" in str(row) for row in muster.rows)


def bytes_of_bits(tree, what, muster, mysql):
    return what in ("value", "type", "scale") and has_leaf(tree, BITS) and ("binary" in mysql.kind or "blob" in mysql.kind)


def regular_expression_errors(tree, what, muster, mysql):
    """Which of several faults in the arguments is told."""
    return what == "error" and re.match(r"REGEXP_", tree[0]) and mysql.error and mysql.error[0] in (1210, 3685, 3995)


def constant_lengths(tree, what, muster, mysql):
    """Types that follow from the value of a computed constant."""
    return what == "type" and tree[0].startswith(("REPEAT(", "SPACE(", "LPAD(", "RPAD(", "STR_TO_DATE("))


CLASSES = [
    ("not supported", differing("unsupported")),
    ("operands that are not needed", unneeded_operands),
    ("operands that are not needed", unneeded_errors),
    ("scale of choices", scale_of_choices),
    ("years of weeks before the year 0", weeks_before_year_0),
    ("bytes of a BIT", bytes_of_bits),
    ("faults of several arguments of regular expressions", regular_expression_errors),
    ("types of computed constants", constant_lengths),
]


def explain(tree, what, muster, mysql):
    """The class that explains a difference, or None."""
    return next((name for name, fits in CLASSES if fits(tree, what, muster, mysql)), None)
