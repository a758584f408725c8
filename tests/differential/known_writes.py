"""Classes of differences between Muster and MariaDB in statements that change rows, which are not faults of Muster, or not yet mended
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
    ("LAST_INSERT_ID() is undefined after an error (MySQL's manual, Information Functions)",
     lambda sql, ours, theirs, text: ours and ours.error and ours.error == theirs.error and same_but("insert_id", ours, theirs)),
    ("Muster has no zero dates", lambda sql, ours, theirs, text: "0000-00-00" in sql or "0000-00-00" in text.partition("MariaDB")[2]),
    ("a comparison with a text that is no date fails in MySQL 8", lambda sql, ours, theirs, text: ours and ours.error == 1525),
    ("no notes of what was rounded or cut",
     lambda *case: only_warnings(*case) and case[1] == without_notes(case[2])),
    ("warnings of dates that are none have another number",
     lambda *case: only_warnings(*case) and without(case[1], *DATE_FAULTS) == without(case[2], *DATE_FAULTS)
     and 1292 in numbers(case[1]) and len(case[1].warnings) == len(case[2].warnings)),
    ("how often a text is taken for a number depends on the plan",
     lambda *case: only_warnings(*case) and without(case[1], 1292) == without(case[2], 1292)
     and ("JOIN" in case[0] or "IN (SELECT" in case[0])),
    ("a text that is no number in a join or a subquery is a warning",
     lambda sql, ours, theirs, text: ours and ours.error in (0, 1062) and theirs.error == 1292 and ("JOIN" in sql or "IN (SELECT" in sql)),
    ("UPDATE IGNORE tells of the rows that it leaves out",
     lambda *case: only_warnings(*case) and case[0].startswith("UPDATE IGNORE") and without(case[1], 1062) == without(case[2], 1062)),
    ("a default that is missing is missed in the rows that are changed",
     lambda sql, ours, theirs, text: ours and theirs.error == MISSING_DEFAULT and ("DEFAULT" in sql or "SELECT" in sql)),
    ("a default that is missing is missed in each row",
     lambda *case: only_warnings(*case) and without(case[1], MISSING_DEFAULT, *DATE_FAULTS)
     == without(case[2], MISSING_DEFAULT, *DATE_FAULTS) and MISSING_DEFAULT in numbers(case[2])),
    ("ON DUPLICATE KEY UPDATE gives no value to a new row",
     lambda sql, ours, theirs, text: ours and ours.error == MISSING_DEFAULT and "ON DUPLICATE KEY UPDATE" in sql),
    ("a decimal with text behind it is none", lambda sql, ours, theirs, text: errors(ours, theirs, 1366, 1265)
     or same_but("warnings", ours, theirs) and 1366 in numbers(ours) and without(ours, 1366) == without(theirs, 1265)),
    ("Muster has no zero dates: one is an error before what comes in later columns",
     lambda sql, ours, theirs, text: ours and ours.error == 1292 and theirs.error != 1292 and "SELECT" in sql),
    ("a text that is no double is cut", lambda sql, ours, theirs, text: errors(ours, theirs, 1265, 1366)),
    ("numbers of rows that were refused are used up",
     lambda sql, ours, theirs, text: same_but("insert_id", ours, theirs) and ours.insert_id > theirs.insert_id),
]


def explain(sql, ours, theirs, text):
    """The reason of a difference, or None. `ours` and `theirs`: the answers, None if only rows differ; `text`: what is shown of it."""
    for theirs in (theirs, without_notes(theirs)):
        for reason, explains in CLASSES:
            if explains(sql, ours, theirs, text):
                return reason
    return None
