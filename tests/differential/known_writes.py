"""Classes of differences between Muster and MariaDB in statements that change rows, which are not faults of Muster."""

# Each class: the reason, and a test of the statement and of both answers.
CLASSES = [
    ("LAST_INSERT_ID() is undefined after an error (MySQL's manual, Information Functions)",
     lambda sql, ours, theirs: ours and ours.error and ours.error == theirs.error and ours._replace(insert_id=0)
     == theirs._replace(insert_id=0)),
    ("Muster has no zero dates", lambda sql, ours, theirs: "'0000-00-00'" in sql),
    ("a comparison with a text that is no date fails in MySQL 8", lambda sql, ours, theirs: ours and ours.error == 1525),
]


def explain(sql, ours, theirs):
    """The reason of a difference, or None. `ours` and `theirs`: the answers, None if only rows differ."""
    return next((reason for reason, explains in CLASSES if explains(sql, ours, theirs)), None)
