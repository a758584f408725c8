"""Classes of differences between Muster and MariaDB in statements that change rows, which are not faults of Muster."""

# Each class: the reason, and a test of the statement and of the difference.
CLASSES = []


def explain(sql, text):
    """The reason of a difference, or None."""
    return next((reason for reason, explains in CLASSES if explains(sql, text)), None)
