"""Classes of differences between Muster and MySQL in statements that change rows, which are not faults of Muster, or not yet mended
ones. Each stands in docs/differences.md."""

import re

BAD_VALUE = 1292


def same_but(fields, ours, theirs):
    """Both answers are the same in all but these fields."""
    changes = dict.fromkeys(fields)
    return ours and ours._replace(**changes) == theirs._replace(**changes)


def counted(answer):
    """The warnings without those of values that are no numbers or dates."""
    return [warning for warning in answer.warnings if warning[1] != BAD_VALUE]


def text_in_subquery(sql, ours, theirs, text):
    """Texts that are compared with numbers: which rows are looked at depends on the plan."""
    return " IN (SELECT " in sql and ours and (BAD_VALUE in (ours.error, theirs.error) or BAD_VALUE in
                                               {number for answer in (ours, theirs) for _, number in answer.warnings})


def order_of_rows(sql, ours, theirs, text):
    return sql.startswith("UPDATE IGNORE") and "ORDER BY" not in sql and not ours


def constant_that_is_no_date(sql, ours, theirs, text):
    """A constant beside a column of dates in a condition that no row, or each row, is compared with."""
    if not ours or not re.search(r"\b(d|dt) (BETWEEN|IN \()", sql):
        return False
    is_error = {ours.error, theirs.error} == {0, BAD_VALUE}
    is_warning = same_but(["warnings"], ours, theirs) and counted(ours) == counted(theirs)
    return is_error or is_warning


def zero_date_between_tables(sql, ours, theirs, text):
    """A zero date that MySQL keeps in a temporary table while it inserts rows of a query."""
    reads = re.search(r"^(INSERT|REPLACE)\b.*\bSELECT\b", sql) and "dt" in sql
    return reads and ours and (theirs.error == BAD_VALUE != ours.error or same_but(["warnings"], ours, theirs) and
                               counted(ours) == counted(theirs))


def text_as_long_as_the_new_one(sql, ours, theirs, text):
    """A text of the row that is there, taken for a number, where the new row has a text of as many bytes in its column."""
    if not ours or not re.search(r"ON DUPLICATE KEY UPDATE (v|name|b) = \1 \+ 1$", sql):
        return False
    warns_alone = same_but(["warnings"], ours, theirs) and counted(ours) == list(theirs.warnings)
    return ours.error == BAD_VALUE != theirs.error or warns_alone


# Each class: the reason, and a test of the statement, of both answers and of what is shown of the difference.
CLASSES = [
    ("texts taken for numbers in joins and subqueries", text_in_subquery),
    ("order in which IGNORE meets rows", order_of_rows),
    ("constants that are no dates", constant_that_is_no_date),
    ("warnings of zero dates between tables", zero_date_between_tables),
    ("texts as numbers beside a new text of the same length", text_as_long_as_the_new_one),
]


def explain(sql, ours, theirs, text):
    """The reason of a difference, or None. `ours` and `theirs`: the answers, None if only rows differ; `text`: what is shown of it."""
    return next((reason for reason, explains in CLASSES if explains(sql, ours, theirs, text)), None)
