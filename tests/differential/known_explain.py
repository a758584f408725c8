"""The classes of differences of EXPLAIN that are not faults. Each stands with its reason in docs/differences.md."""

import re

# How rows are fetched or joined, which is Muster's own choice: MySQL has the same operators, and others are its defaults.
STRATEGIES = re.compile(
    r"Using MRR|Using join buffer \(.*?\)(?:; (?:Key-ordered )?(?:Rowid-ordered )?scan)?|Using merge join|Using late row fetch|Using fallback \(.*?\)|Using shared rows #\d+")
STRATEGY_MEMBERS = ("using_MRR", "using_join_buffer", "using_merge_join", "using_late_row_fetch", "fallback", "shared_rows")
WORDS = re.compile(r"`[^`]+`(?:\.`[^`]+`)*|'[^']*'|\d+")


def extra(line):
    """The words of Extra without strategies, as a list."""
    text = STRATEGIES.sub("", line["Extra"] or "")
    return [word for word in text.split("; ") if word.strip("; ")]


def of_table(sql, column, mine, his):
    """The class of a difference of the traditional table; None for a fault."""
    if column == "Extra" and his[column] == "Deleting all rows":
        return "all rows of a table are deleted at once"
    if column == "Extra" and set(extra(his)) - set(extra(mine)) == {"Not exists"} and "LEFT JOIN" in sql:
        return "an outer join is not left at the first match"
    if column == "Extra" and "totals" in sql and set(extra(mine)) - set(extra(his)) == {"Using where"}:
        return "conditions on the groups of a view"
    if column == "Extra" and "DISTINCT" in sql and " OVER " in sql:
        return "DISTINCT above windows"
    if column == "Extra" and "kind = '" in sql and set(extra(his)) - set(extra(mine)) == {"Using index condition"}:
        return "an ENUM is compared with a text"
    if column == "key_len" and mine["type"] == his["type"] == "range" and int(mine[column]) < int(his[column]):
        return "parts of a key behind a range"
    return None


def words(text):
    """What a condition is about, whatever the order."""
    return sorted(set(WORDS.findall(text.replace(".000000'", "'")))) if isinstance(text, str) else None


def of_json(sql, place, mine, his):
    """The class of a difference of the JSON; None for a fault."""
    member = place.rpartition(".")[2]
    if member == "using_join_buffer" or member in STRATEGY_MEMBERS and his is None:
        return "strategies"
    if place.endswith(("_operation.cost_info", "duplicates_removal.cost_info")):
        return "the cost of a sort"
    if member in ("attached_condition", "index_condition"):
        if mine and his and words(mine) == words(his):
            return "the wording of conditions"
        if mine is None and member == "index_condition" and "kind = '" in sql:
            return "an ENUM is compared with a text"
        if mine and his and "select" in mine and "select" in his:
            return "subqueries in conditions"
    if member.startswith("used_columns") and isinstance(mine, list) and isinstance(his, list) and set(mine) < set(his):
        return "columns of the primary key that MySQL names, too"
    if member == "key_length" and mine and his and int(mine) < int(his):
        return "parts of a key behind a range"
    if member == "not_exists" and "LEFT JOIN" in sql and mine is None:
        return "an outer join is not left at the first match"
    if member == "attached_condition" and "totals" in sql and mine and his is None:
        return "conditions on the groups of a view"
    if "DISTINCT" in sql and " OVER " in sql and member in ("using_filesort", "using_temporary_table"):
        return "DISTINCT above windows"
    if his == "Deleting all rows":
        return "all rows of a table are deleted at once"
    if place.endswith(" order"):
        rest = [[name for name in names if name not in STRATEGY_MEMBERS] for names in (mine, his)]
        return "strategies" if rest[0] == rest[1] else None
    return None
