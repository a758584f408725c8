"""Proofs that an operand is not needed: whatever stands in its place, the value of the expression is the same.

A difference in warnings, or an error that only one server has, is explained if it goes once such operands are replaced. Each row of
the table is looked at by itself: an operand that one row does not need may be needed by another one. Muster computes an operand for
all rows of a batch if one of them needs it; so there is also no fault if both servers agree on each single row.
"""

import itertools

ROWS = [1, 2, 3, 4, 5]
# Values in place of an operand, by the kind of its column in a result.
OTHERS = {
    "longlong": ["0", "1", "-5", "20010131"], "newdecimal": ["0.5", "2.5", "20010131.5"], "double": ["0e0", "1e0", "2.5e0"],
    "var_string": ["'1'", "''", "'2001-01-31'", "'zz'"], "date": ["DATE'2001-01-31'", "DATE'2000-02-29'"],
    "datetime": ["TIMESTAMP'2001-01-31 10:20:30'", "TIMESTAMP'2000-02-29 00:00:00'"],
    "time": ["TIME'10:11:12'", "TIME'00:00:00'"], "year": ["2001", "0"],
}
OF_ANY_KIND = ["1", "'1'", "DATE'2001-01-31'"]
# Operands that are replaced one after the other before the search ends.
REPLACED_MAX = 3


def parts(tree):
    """The parts of a tree below its root, the largest first, each with a function that puts another tree in its place."""

    def below(tree, put):
        template, children = tree
        for i, child in enumerate(children):
            def put_child(other, i=i, put=put, template=template, children=children):
                return put((template, children[:i] + (other,) + children[i + 1:]))
            yield child, put_child
            yield from below(child, put_child)

    yield from below(tree, lambda other: other)


def same_number(a, b):
    try:
        return float(a) == float(b)
    except (TypeError, ValueError):
        return False


def same_values(a, b):
    """The same values, whatever their types are: those follow the operands that were replaced."""
    if a.error or b.error or len(a.rows) != len(b.rows):
        return False
    return all(x == y or x is not None and y is not None and same_number(x, y) for x, y in zip(a.rows, b.rows))


def agree(muster, mysql):
    """Both servers say the same of an expression, but for types."""
    if muster.error or mysql.error:
        return False
    return same_values(muster, mysql) and {w[:2] for w in muster.warnings} == {w[:2] for w in mysql.warnings}


class Proof:
    """Asks both servers about one expression. `ask(tree, row)` gives the answers of Muster and MySQL, for all rows without one."""

    def __init__(self, tree, ask, rows):
        self.tree, self.ask, self.rows = tree, ask, rows

    def holds(self):
        return all(self.holds_for(self.tree, row, REPLACED_MAX) for row in self.rows)

    def holds_for(self, tree, row, depth):
        answers = self.ask(tree, row)
        if agree(*answers):
            return True
        if depth == 0 or all(answer.error for answer in answers):
            return False
        # The server that has a value says which operands that needs.
        server = 0 if answers[1].error else 1
        for part, put in parts(tree):
            harmless = self.replacement(part, put, row, server, answers[server])
            if harmless and self.holds_for(harmless, row, depth - 1):
                return True
        return False

    def replacement(self, part, put, row, server, answer):
        """A tree with another operand in place of one that is not needed, of the same kind if there is one; None if it is needed."""
        if part[0] == "NULL":
            return None
        alone = self.ask(part, row)[server]
        kind = None if alone.error else alone.kind.split()[0]
        is_nullable = alone.error or "NOT_NULL" not in alone.metadata[1]
        others = OTHERS.get(kind, OF_ANY_KIND) + (["NULL"] if is_nullable else [])
        candidates = [put((other, ())) for other in others if other != part[0]]
        is_needed = any(not same_values(self.ask(candidate, row)[server], answer) for candidate in candidates)
        if is_needed:
            return None
        return next(itertools.chain((tree for tree in candidates if agree(*self.ask(tree, row))), candidates))
