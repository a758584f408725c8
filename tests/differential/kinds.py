"""What kind of value an expression has, as far as its text says: number, text, temporal, bytes, null, or any of several."""

import expressions

TEMPORAL_COLUMNS = {"d", "dt", "dt3", "ti", "ti6"}
TEXT_COLUMNS = {"c", "v", "tx"}
TEXT_FUNCTIONS = ["CONCAT", "CONCAT_WS", "UPPER", "LOWER", "REVERSE", "LEFT", "RIGHT", "SUBSTRING", "LPAD", "RPAD", "REPLACE", "REPEAT",
                  "SPACE", "TRIM", "LTRIM", "RTRIM", "HEX", "LOCATE", "INSTR", "STRCMP", "CHAR_LENGTH", "LENGTH", "BIT_LENGTH", "ASCII"]
# Those of TEXT_FUNCTIONS whose value is a number.
NUMBERS_OF_TEXTS = {"LOCATE", "INSTR", "STRCMP", "CHAR_LENGTH", "LENGTH", "BIT_LENGTH", "ASCII"}
NUMBER_FUNCTIONS = ["ABS", "SIGN", "CEIL", "FLOOR", "ROUND", "TRUNCATE", "SQRT", "POW", "EXP", "LN", "LOG", "LOG2", "LOG10", "SIN", "COS",
                    "TAN", "MOD", "BIT_COUNT", "INTERVAL"]
DATE_PART_FUNCTIONS = ["DAYOFWEEK", "WEEKDAY", "DAYOFYEAR", "YEAR", "MONTH", "DAYOFMONTH", "QUARTER", "WEEK", "YEARWEEK", "WEEKOFYEAR",
                       "HOUR", "MINUTE", "SECOND", "MICROSECOND", "DATEDIFF"]
TEMPORAL_FUNCTIONS = {"DATE", "TIME", "TIMESTAMP", "LAST_DAY"}
MOVING = {"DATE_ADD", "DATE_SUB", "ADDDATE", "SUBDATE"}
# The kind of these is that of their arguments.
CHOOSING = {"COALESCE", "IFNULL", "NULLIF", "GREATEST", "LEAST"}


def kind(tree):
    template, children = tree
    name = template.split("(")[0]
    if not children:
        return leaf(template)
    if name in TEXT_FUNCTIONS and name not in NUMBERS_OF_TEXTS or name == "DATE_FORMAT":
        return "text"
    if name in MOVING:
        return "temporal" if kind(children[0]) == "temporal" else "text"
    if name in CHOOSING:
        return one_of(children)
    if name == "IF" or template.startswith("CASE"):
        return one_of(children[1:])
    if name == "CAST":
        target = template.split(" AS ")[1]
        return "temporal" if target.startswith(("DATE", "TIME")) else "text" if target.startswith("CHAR") else "number"
    return "temporal" if name in TEMPORAL_FUNCTIONS else "number"


def one_of(trees):
    found = {kind(tree) for tree in trees} - {"null"}
    return found.pop() if len(found) == 1 else "any" if found else "null"


def leaf(text):
    if text in expressions.COLUMNS:
        return "temporal" if text in TEMPORAL_COLUMNS else "text" if text in TEXT_COLUMNS else "bytes" if text == "vb" else "number"
    if text == "NULL":
        return "null"
    if text in expressions.HEX:
        return "bytes"
    return "text" if text.startswith("'") else "temporal" if "'" in text else "number"


def calls(tree):
    """All calls in a tree: the template of each and its arguments."""
    if tree[1]:
        yield tree
    for child in tree[1]:
        yield from calls(child)


def has_bytes(tree, *_):
    return any(leaf(text) == "bytes" for text in expressions.leaves(tree))
