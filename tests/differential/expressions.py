"""Random expressions: every function, operator and cast that Muster has, over constants and columns.

An expression is a tree of tuples (template, children): the template has one `{}` for each child.
"""

NULLS = ["NULL"]
INTEGERS = """0 1 -1 2 3 7 10 59 60 100 127 255 1000 10101 -102030 102030 230322 8385959 8385960 20010131 20010200
    20071108181000 1000101 4294967296 9223372036854775807 -9223372036854775808 18446744073709551615""".split()
DECIMALS = """0.5 -0.5 1.5 2.5 -2.5 1.25 0.000 12345.6789 -0.0001 230322.33 20001231235959.9999999 20010131.75
    99999999999999999.999""".split()
DOUBLES = "0e0 1e0 -1.5e0 1e10 1e-5 2.5e0 1.7e300 20010131e0".split()
TEXTS = ["''", "' '", "'0'", "'1'", "'-1'", "'1.5'", "' 7 '", "'12abc'", "'abc'", "'AbC'", "'a%c'", "'é'", "'ß'",
         "'日本'", "'-'", "'.'", "'1e3'", "'1e'", "'aXbXc'", "'999999999999999999999'"]
HEX = ["x''", "0x31", "0x313A32", "0x414263", "x'00'", "x'FF'", "b'101'"]
DATE_TEXTS = """2001-01-31|2000-02-29|1999-12-31 23:59:59|2001-02-00|2001-00-00|0000-00-00|2001-02-30|2001-13-01|20010131|010131|
    2001-1-1|01/2/3|2001-01-01T10:11:12|20071108181000|071108181000|20010131101112.5|2001-01-01 10:11:12.123456|
    2001-01-01 10:11:12.9999999|2001-01-01 10:11:12x|2001-01-01 25:00:00|0000-01-01|9999-12-31 23:59:59.9|2001-12|
    2001-01-31 10|2001-01-31 1:2:3"""
DATE_TEXTS = ["'" + text.strip() + "'" for text in DATE_TEXTS.split("|")]
TIME_TEXTS = """10:11:12|-20:20:20|1 02:03:04|838:59:59|850:00:00|-838:59:59.5|10:11|10:11:12.5|10:60:00|101112|12|-1 10|
    10:11:12.1234567|00:00:00.000|1:2:3"""
TIME_TEXTS = ["'" + text.strip() + "'" for text in TIME_TEXTS.split("|")]
DATES = ["DATE'2001-01-31'", "DATE'2000-02-29'", "DATE'0000-01-01'", "DATE'9999-12-31'",
         "TIMESTAMP'2001-01-31 10:20:30'", "TIMESTAMP'1999-12-31 23:59:59.999'", "TIMESTAMP'2001-01-01 00:00:00.0'"]
TIMES = ["TIME'10:11:12'", "TIME'-20:20:20'", "TIME'00:00:00.0'", "TIME'838:59:59'", "TIME'-00:00:00.5'"]

COLUMNS = {
    "tiny": "TINYINT", "small": "SMALLINT UNSIGNED", "i": "INT", "big": "BIGINT", "ubig": "BIGINT UNSIGNED",
    "n": "DECIMAL(10,2)", "n0": "DECIMAL(18,0)", "f": "FLOAT", "x": "DOUBLE", "d": "DATE", "dt": "DATETIME",
    "dt3": "DATETIME(3)", "ti": "TIME", "ti6": "TIME(6)", "c": "CHAR(10)", "v": "VARCHAR(40)", "tx": "TEXT",
    "vb": "VARBINARY(20)", "e": "ENUM('b','a','7')", "s": "SET('x','y','z')", "y": "YEAR", "bi": "BIT(10)", "ts": "TIMESTAMP(2)",
    "un": "DECIMAL(8,3) UNSIGNED", "nn": "INT NOT NULL", "cn": "VARCHAR(20) NOT NULL", "dn": "DATE NOT NULL", "cb": "CHAR(6) COLLATE utf8mb4_bin",
}
COLUMN_KINDS = {
    "integer": ["tiny", "small", "i", "big", "ubig", "n0", "y", "bi", "nn"], "number": ["n", "f", "x", "n0", "i", "un", "nn"],
    "text": ["c", "v", "tx", "vb", "e", "s", "cn", "cb"], "date": ["d", "dt", "dt3", "v", "ts", "dn"], "time": ["ti", "ti6", "dt3", "v"],
}
# One row a line, as LOAD DATA reads it: id, then the columns above.
ROWS = """
1|0|0|0|0|0|0|0|0|0|2001-01-31|2001-01-31 10:20:30|2001-01-31 10:20:30.5|10:11:12|10:11:12.123456|||||b||1970|\\0|2001-01-31 10:20:30.25|0|0||2001-01-31|
2|-128|65535|-2147483648|-9223372036854775808|18446744073709551615|-99999999.99|-999999999999999999|-1.5|-1.5e10|1000-01-01|\
1000-01-01 00:00:00|1999-12-31 23:59:59.999|-838:59:59|-00:00:00.5|abc|2001-01-31|12abc|AbC|a|x,z|2155|a|2000-02-29 00:00:01|99999.999|-7|abc|1999-12-31|AbC
3|127|1|2147483647|9223372036854775807|1|99999999.99|999999999999999999|2.5|1e-5|9999-12-31|9999-12-31 23:59:59|\
2000-02-29 00:00:00|838:59:59|20:20:20|é|20071108181000|10:11:12.5|2|7|y|1901|c|2038-01-19 03:14:07|2.5|1|2001-01-31 10:20:30|2000-02-29|é
4|7|7|7|7|7|2.5|7|0.25|20010131|2000-02-29|2000-02-29 12:00:00|2007-11-08 18:10:00|00:00:00|1:00:00|7|2001-02-00|日本|10:11|b|z|2000|7|1970-01-01 00:00:01|7|7|7|2007-11-08|7
5|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|5|x|2001-01-01|\\N
""".strip()

CONSTANTS = {
    "integer": INTEGERS, "number": DECIMALS + DOUBLES + INTEGERS, "text": TEXTS + HEX,
    "date": DATE_TEXTS + DATES + ["20010131", "20071108181000"],
    "time": TIME_TEXTS + TIMES + ["102030", "-102030", "230322.33"],
}
KINDS = list(CONSTANTS)
KINDS_OF_CONSTANTS = {"integer": INTEGERS, "decimal": DECIMALS, "double": DOUBLES, "text": TEXTS, "hex": HEX, "date text": DATE_TEXTS,
                      "time text": TIME_TEXTS, "date": DATES, "time": TIMES}
UNITS = ["MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"]
PARTED_UNITS = ["SECOND_MICROSECOND", "MINUTE_MICROSECOND", "MINUTE_SECOND", "HOUR_MICROSECOND", "HOUR_SECOND", "HOUR_MINUTE",
                "DAY_MICROSECOND", "DAY_SECOND", "DAY_MINUTE", "DAY_HOUR", "YEAR_MONTH"]
PARTED_COUNTS = ["'1.5'", "'1:2'", "'-1 2:3:4'", "'1 2:3:4.5'", "1.25", "'x'", "'1:2:3:4:5:6'", "3", "v"]
CASTS = ["SIGNED", "UNSIGNED", "DECIMAL(10,2)", "DECIMAL(20,5)", "DOUBLE", "DATE", "DATETIME", "DATETIME(3)", "TIME", "TIME(6)",
         "CHAR", "CHAR(3)", "BINARY", "BINARY(3)", "YEAR", "FLOAT", "NCHAR(2)"]

# Kinds of the arguments of each function; the first letter says which: i(nteger), n(umber), t(ext), d(ate), (ti)m(e).
FUNCTIONS = {
    # numeric
    "ABS": ["n"], "SIGN": ["n"], "CEIL": ["n"], "FLOOR": ["n"], "ROUND": ["n", "ni"], "TRUNCATE": ["ni"], "SQRT": ["n"],
    "POW": ["nn"], "EXP": ["n"], "LN": ["n"], "LOG": ["n", "nn"], "LOG2": ["n"], "LOG10": ["n"], "SIN": ["n"], "COS": ["n"],
    "TAN": ["n"], "MOD": ["nn"], "BIT_COUNT": ["n"], "INTERVAL": ["nnn", "nnnn"],
    # text
    "CONCAT": ["tt", "ttt"], "CONCAT_WS": ["ttt"], "UPPER": ["t"], "LOWER": ["t"], "REVERSE": ["t"], "CHAR_LENGTH": ["t"],
    "LENGTH": ["t"], "BIT_LENGTH": ["t"], "ASCII": ["t"], "HEX": ["t", "n"], "LEFT": ["ti"], "RIGHT": ["ti"],
    "SUBSTRING": ["ti", "tii"], "LPAD": ["tit"], "RPAD": ["tit"], "REPLACE": ["ttt"], "REPEAT": ["ti"], "SPACE": ["i"],
    "LOCATE": ["tt", "tti"], "INSTR": ["tt"], "TRIM": ["t"], "LTRIM": ["t"], "RTRIM": ["t"], "STRCMP": ["tt"],
    # temporal
    "DAYOFWEEK": ["d"], "WEEKDAY": ["d"], "DAYOFYEAR": ["d"], "YEAR": ["d"], "MONTH": ["d"], "DAYOFMONTH": ["d"],
    "QUARTER": ["d"], "WEEK": ["d", "di"], "YEARWEEK": ["d", "di"], "WEEKOFYEAR": ["d"], "HOUR": ["m"], "MINUTE": ["m"],
    "SECOND": ["m"], "MICROSECOND": ["m"], "DATE": ["d"], "TIME": ["m"], "TIMESTAMP": ["d"], "LAST_DAY": ["d"],
    "DATEDIFF": ["dd"], "ADDDATE": ["di"], "SUBDATE": ["di"], "ADDTIME": ["dm", "mm"], "SUBTIME": ["dm", "mm"], "TIMEDIFF": ["mm", "dd"],
    "DAYNAME": ["d"], "MONTHNAME": ["d"], "DAY": ["d"], "FROM_DAYS": ["i"], "TO_DAYS": ["d"], "TO_SECONDS": ["d"], "MAKEDATE": ["ii"],
    "MAKETIME": ["iin"], "SEC_TO_TIME": ["n"], "TIME_TO_SEC": ["m"], "PERIOD_ADD": ["ii"], "PERIOD_DIFF": ["ii"], "FROM_UNIXTIME": ["n"],
    "UNIX_TIMESTAMP": ["d"],
    # numeric and bits, again
    "ACOS": ["n"], "ASIN": ["n"], "ATAN": ["n", "nn"], "ATAN2": ["nn"], "COT": ["n"], "DEGREES": ["n"], "RADIANS": ["n"],
    "CONV": ["tii", "nii"], "CRC32": ["t"], "BIN": ["n"], "OCT": ["n"], "RAND": ["i"], "FORMAT": ["ni"],
    # text, again
    "CHAR": ["n", "nn"], "ELT": ["itt", "i***"], "FIELD": ["ttt", "nnn", "***"], "FIND_IN_SET": ["tt"], "INSERT": ["tiit"], "MAKE_SET": ["itt"],
    "EXPORT_SET": ["itt", "ittti"], "ORD": ["t"], "QUOTE": ["t"], "SOUNDEX": ["t"], "SUBSTRING_INDEX": ["tti"], "TO_BASE64": ["t"],
    "FROM_BASE64": ["t"], "UNHEX": ["t"], "REGEXP_LIKE": ["tt", "ttt"], "REGEXP_INSTR": ["tt"], "REGEXP_REPLACE": ["ttt"],
    "REGEXP_SUBSTR": ["tt"], "MD5": ["t"], "SHA1": ["t"], "SHA2": ["ti"], "UNCOMPRESSED_LENGTH": ["t"], "WEIGHT_STRING": ["t"],
    "INET_ATON": ["t"], "INET_NTOA": ["n"], "INET6_ATON": ["t"], "INET6_NTOA": ["t"], "IS_IPV4": ["t"], "IS_IPV6": ["t"],
    "IS_UUID": ["t"], "UUID_TO_BIN": ["t"], "BIN_TO_UUID": ["t"], "AES_ENCRYPT": ["tt"], "AES_DECRYPT": ["tt"],
    "CHARSET": ["*"], "COLLATION": ["*"], "COERCIBILITY": ["*"], "FORMAT_BYTES": ["n"], "FORMAT_PICO_TIME": ["n"],
    # any
    "COALESCE": ["**", "***"], "IFNULL": ["**"], "NULLIF": ["**"], "IF": ["n**"], "GREATEST": ["**", "***"],
    "LEAST": ["**", "***"], "ISNULL": ["*"],
}
OPERATORS = ["+", "-", "*", "/", "DIV", "%", "=", "<=>", "<", ">=", "<>", "AND", "OR", "XOR", "&", "|", "^", "<<", ">>", "LIKE", "REGEXP"]
COLLATIONS = ["utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_0900_ai_ci"]
FORMATS = ["'%Y-%m-%d %H:%i:%s.%f'", "'%a %b %c %D %e %j %W %M'", "'%h %I %k %l %p %r %T'", "'%U %u %V %v %X %x %w %y'", "'%q%%'"]
READ_FORMATS = ["'%Y-%m-%d'", "'%Y-%m-%d %H:%i:%s'", "'%H:%i:%s.%f'", "'%y%m%d'", "'%d,%m,%Y'", "'%W %M %Y'"]
AGGREGATES = ["SUM({})", "AVG({})", "MIN({})", "MAX({})", "COUNT({})", "COUNT(DISTINCT {})", "SUM(DISTINCT {})", "BIT_AND({})", "BIT_OR({})",
              "BIT_XOR({})", "STD({})", "VAR_SAMP({})", "GROUP_CONCAT({} ORDER BY 1)", "ANY_VALUE({})"]
LETTERS = {"i": "integer", "n": "number", "t": "text", "d": "date", "m": "time"}


class Generator:
    def __init__(self, random):
        self.random = random

    def leaf(self, kind):
        """A constant or a column, mostly of the kind."""
        pick = self.random.choice
        roll = self.random.random()
        if roll < 0.04:
            return (pick(NULLS), ())
        if roll < 0.25 or kind is None:
            kind = pick(KINDS)
        pool = COLUMN_KINDS[kind] if self.random.random() < 0.3 else CONSTANTS[kind]
        return (pick(pool), ())

    def argument(self, letter, depth):
        if depth > 0 and self.random.random() < 0.3:
            return self.call(depth - 1)
        return self.leaf(LETTERS.get(letter))

    def call(self, depth):
        pick = self.random.choice
        forms = [self.function] * 12 + [self.operator] * 3 + [self.cast] * 2 + [self.moved] * 3 + [self.part, self.format]
        forms += [self.case, self.between, self.member, self.unary, self.counted, self.collated, self.parsed, self.aggregate]
        return pick(forms)(depth)

    def function(self, depth):
        name = self.random.choice(list(FUNCTIONS))
        letters = self.random.choice(FUNCTIONS[name])
        return (name + "(" + ", ".join(["{}"] * len(letters)) + ")", tuple(self.argument(a, depth) for a in letters))

    def operator(self, depth):
        operator = self.random.choice(OPERATORS)
        letter = "t" if operator == "LIKE" else self.random.choice("nn*dm")
        return ("({} " + operator + " {})", (self.argument(letter, depth), self.argument(letter, depth)))

    def cast(self, depth):
        return ("CAST({} AS " + self.random.choice(CASTS) + ")", (self.argument("*", depth),))

    def moved(self, depth):
        name = self.random.choice(["DATE_ADD", "DATE_SUB"])
        start = self.argument(self.random.choice("dddm"), depth)
        if self.random.random() < 0.3:
            unit, count = self.random.choice(PARTED_UNITS), (self.random.choice(PARTED_COUNTS), ())
        else:
            unit, count = self.random.choice(UNITS), self.argument(self.random.choice("iint"), depth)
        return (name + "({}, INTERVAL {} " + unit + ")", (start, count))

    def part(self, depth):
        return ("EXTRACT(" + self.random.choice(UNITS + PARTED_UNITS) + " FROM {})", (self.argument(self.random.choice("dm"), depth),))

    def format(self, depth):
        return ("DATE_FORMAT({}, " + self.random.choice(FORMATS) + ")", (self.argument("d", depth),))

    def unary(self, depth):
        return (self.random.choice(["(- {})", "(~ {})", "(! {})", "(NOT {})", "({} IS NULL)", "({} IS TRUE)", "BINARY {}"]), (self.argument("*", depth),))

    def counted(self, depth):
        """How many of a unit lie between two moments, or a moment that many later."""
        unit = self.random.choice(UNITS)
        if self.random.random() < 0.5:
            return ("TIMESTAMPDIFF(" + unit + ", {}, {})", (self.argument("d", depth), self.argument("d", depth)))
        return ("TIMESTAMPADD(" + unit + ", {}, {})", (self.argument("i", depth), self.argument("d", depth)))

    def collated(self, depth):
        name = self.random.choice(COLLATIONS)
        template = self.random.choice(["({} COLLATE " + name + ")", "CONVERT({} USING utf8mb4)", "CONVERT({} USING latin1)"])
        return (template, (self.argument("t", depth),))

    def parsed(self, depth):
        """A text read by a format, or a time written by one."""
        if self.random.random() < 0.5:
            return ("STR_TO_DATE({}, " + self.random.choice(READ_FORMATS) + ")", (self.argument(self.random.choice("dm"), depth),))
        return ("TIME_FORMAT({}, " + self.random.choice(FORMATS) + ")", (self.argument("m", depth),))

    def aggregate(self, depth):
        """An aggregate over all rows."""
        return (self.random.choice(AGGREGATES), (self.argument(self.random.choice("intdm*"), 0),))

    def case(self, depth):
        return ("CASE WHEN {} THEN {} ELSE {} END", tuple(self.argument(a, depth) for a in "n**"))

    def between(self, depth):
        letter = self.random.choice("ntdm")
        return ("({} BETWEEN {} AND {})", tuple(self.argument(letter, depth) for _ in range(3)))

    def member(self, depth):
        letter = self.random.choice("ntdm")
        return ("({} IN ({}, {}))", tuple(self.argument(letter, depth) for _ in range(3)))


def text(tree):
    template, children = tree
    return template.format(*(text(child) for child in children)) if children else template


def leaves(tree):
    """The constants and columns of a tree."""
    template, children = tree
    if not children:
        return [template]
    return [leaf for child in children for leaf in leaves(child)]


def kind_of(tree):
    """A word for an operand: the name of a column or of an operation, or the kind of a constant."""
    template, children = tree
    if children or template in COLUMNS:
        return template
    return next((kind for kind, pool in KINDS_OF_CONSTANTS.items() if template in pool), template)


def has_aggregate(tree):
    template, children = tree
    return template in AGGREGATES or any(has_aggregate(child) for child in children)


def uses_columns(tree):
    return any(leaf in COLUMNS for leaf in leaves(tree))


def smaller(tree):
    """Trees that are simpler than this one: one of its parts alone, or with a simpler part in it."""
    template, children = tree
    for child in children:
        if child[1]:
            yield child
    for i, child in enumerate(children):
        candidates = list(smaller(child))
        if child[1]:
            candidates += [("1", ()), ("'1'", ())]
        for part in candidates:
            yield (template, children[:i] + (part,) + children[i + 1:])
