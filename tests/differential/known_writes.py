"""Classes of differences between Muster and MySQL in statements that change rows, which are not faults of Muster, or not yet mended
ones. Each stands in docs/differences.md."""

DATE_FAULTS = {1264, 1265, 1292}
MISSING_DEFAULT = 1364


def numbers(answer):
    return [number for _, number in answer.warnings]


def same_but(field, ours, theirs):
    """Both answers are the same in all but one field."""
    return ours and ours._replace(**{field: None}) == theirs._replace(**{field: None})


def without(answer, *left_out):
    return [number for number in numbers(answer) if number not in left_out]


def only_warnings(sql, ours, theirs, text):
    return same_but("warnings", ours, theirs)


def without_notes(answer):
    return answer and answer._replace(warnings=tuple(w for w in answer.warnings if w[0] != "Note"))


def errors(ours, theirs, our_number, their_number):
    return ours and (ours.error, theirs.error) == (our_number, their_number)


# Each class: the reason, and a test of the statement, of both answers and of what is shown of the difference.
CLASSES = [
]


def explain(sql, ours, theirs, text):
    """The reason of a difference, or None. `ours` and `theirs`: the answers, None if only rows differ; `text`: what is shown of it."""
    for theirs in (theirs, without_notes(theirs)):
        for reason, explains in CLASSES:
            if explains(sql, ours, theirs, text):
                return reason
    return None
