"""Classes of differences between Muster and MySQL 8.0 that are not faults; docs/differences.md says why.

A class is a name, which stands in that page, and a test: of the expression, what differs, and the answers of Muster and MySQL.
The first class that fits explains a difference.
"""


def differing(*words):
    return lambda tree, what, *_: what in words


CLASSES = [
    ("not supported", differing("unsupported")),
]


def explain(tree, what, muster, mysql):
    """The class that explains a difference, or None."""
    return next((name for name, fits in CLASSES if fits(tree, what, muster, mysql)), None)
