#!/usr/bin/env python3
"""Makes the tables of this folder from the answers of a MySQL 8.0.33 server.

    generate.py SOCKET

The server is asked, through an account without a password (root), for the weights of every character under every
collation (WEIGHT_STRING) and for the bytes of every character in every character set (CONVERT). What it answers follows
from data of the Unicode Consortium (allkeys.txt of the Unicode Collation Algorithm, CLDR) and from the standards of the
character sets; see README.md for their licences and for the layout of the files. Needs PyMySQL.
"""

import os
import random
import string
import struct
import sys
import zlib

import pymysql

HERE = os.path.dirname(os.path.abspath(__file__))

ROOTS = {
    "utf8mb4_0900_as_cs": "uca_9.0.0",
    "utf8mb4_unicode_520_ci": "uca_5.2.0",
    "utf8mb4_unicode_ci": "uca_4.0.0",
}
# Character sets of one byte. tis620 is left out: README.md says why.
SINGLE = (
    "armscii8 ascii cp1250 cp1251 cp1256 cp1257 cp850 cp852 cp866 dec8 geostd8 greek hebrew hp8 keybcs2 koi8r koi8u "
    "latin1 latin2 latin5 latin7 macce macroman swe7"
).split()
MULTI = "big5 cp932 eucjpms euckr gb18030 gb2312 gbk sjis ujis".split()
# Collations that weigh characters in ways no table of this folder can tell.
LEFT_OUT = {"latin2_czech_cs", "cp1250_czech_cs", "utf8mb4_ja_0900_as_cs_ks"}
# Japanese marks of length and repetition, which weigh as what stands in front of them. At the beginning of a text the
# server takes its last character for that, in the third level; README.md says so.
MARKS = "ーゝヽゞヾｰ"
# Texts in which a contraction is looked for: every pair of these characters is asked for.
ALPHABET = (
    [0x20, 0x27, 0x2D, 0xB7, 0x2BC, 0x200D, 0x2019]
    + [ord(c) for c in string.ascii_letters]
    + list(range(0xC0, 0x250))
    + list(range(0x1E00, 0x1F00))
    + list(range(0x300, 0x370))
    + list(range(0x622, 0x64B))
    + list(range(0xD80, 0xE00))
    + list(range(0x3041, 0x3100))
    + list(range(0xFF66, 0xFFA0))
)


class Out:
    """A stream of numbers in groups of seven bits, the lowest first."""

    def __init__(self):
        self.bytes = bytearray()

    def unsigned(self, n):
        while n >= 0x80:
            self.bytes.append(n & 0x7F | 0x80)
            n >>= 7
        self.bytes.append(n)

    def signed(self, n):
        self.unsigned(2 * n if n >= 0 else -2 * n - 1)

    def text(self, text):
        self.unsigned(len(text.encode()))
        self.bytes += text.encode()

    def weights(self, lists):
        """Columns: how many weights each list has; then the differences of all weights, upper and lower bytes apart."""
        self.bytes += bytes(len(one) for one in lists)
        before, differences = 0, []
        for weight in (weight for one in lists for weight in one):
            differences.append((weight - before) % 65536)
            before = weight
        self.bytes += bytes(d >> 8 for d in differences) + bytes(d & 255 for d in differences)

    def write(self, name):
        data = zlib.compress(bytes(self.bytes), 9)
        with open(os.path.join(HERE, name), "wb") as file:
            file.write(data)
        print(name, len(self.bytes), "->", len(data), "bytes", flush=True)


class Server:
    def __init__(self, socket):
        self.connection = pymysql.connect(unix_socket=socket, user="root", charset="utf8mb4", autocommit=True)
        self.cursor = self.connection.cursor()
        self.ask("set sql_mode = ''")
        self.ask("drop database if exists weights_of_all")
        self.ask("create database weights_of_all")
        self.ask("use weights_of_all")
        self.ask("create table c (code int primary key, c varchar(1) character set utf8mb4 collate utf8mb4_0900_bin)")
        codes = [*range(0xD800), *range(0xE000, 0x30000), *range(0xE0000, 0xE0200), *range(0xF0000, 0xF0010)]
        self.insert("insert into c values (%s, %s)", [(code, chr(code)) for code in codes])

    def ask(self, sql, values=None):
        self.cursor.execute(sql, values)
        return self.cursor.fetchall()

    def insert(self, sql, rows):
        for i in range(0, len(rows), 20000):
            self.cursor.executemany(sql, rows[i : i + 20000])

    def weights_of(self, texts, collation):
        """Weights by level of each text."""
        self.ask("create temporary table s (i int primary key, s varchar(9) character set utf8mb4 collate utf8mb4_0900_bin)")
        self.insert("insert into s values (%s, %s)", list(enumerate(texts)))
        rows = self.ask(f"select i, weight_string(s collate {collation}) from s order by i")
        self.ask("drop temporary table s")
        return [levels(weights) for _, weights in rows]


def levels(weights):
    out = [[]]
    for weight in struct.unpack(f">{len(weights) // 2}H", weights):
        if weight == 0:
            out.append([])
        else:
            out[-1].append(weight)
    return out


def of_levels(weights, count):
    """The levels, so many: one more tells that a contraction has the weight zero, which MySQL does not leave out."""
    if len(weights) > count:
        return [weights[0] + [0] + weights[1]] + weights[2:]
    return weights + [[]] * (count - len(weights))


def add(parts, count):
    """The levels of texts behind one another."""
    return [[w for part in parts for w in (part[i] if i < len(part) else [])] for i in range(count)]


def implicit(code, root):
    """Weights that follow from the number of a character; crates/types/src/collation/uca/implicit.rs does the same."""
    if root == "uca_4.0.0" and code > 0xFFFF:
        return [[0xFFFD]]
    page, rest = code >> 15, code & 0x7FFF | 0x8000
    if root == "uca_9.0.0":
        if 0x17000 <= code <= 0x18AFF:
            page, rest = 0xFB00, code - 0x17000 | 0x8000
        elif any(a <= code <= b for a, b in [(0x3400, 0x4DB5), (0x20000, 0x2A6D6), (0x2A700, 0x2B734), (0x2B740, 0x2B81D), (0x2B820, 0x2CEA1)]):
            page += 0xFB80
        elif 0x4E00 <= code <= 0x9FD5 or 0xFA0E <= code <= 0xFA29:
            page += 0xFB40
        else:
            page += 0xFBC0
        return [[page, rest], [0x20], [0x02]]
    if 0x3400 <= code <= 0x4DB5:
        page += 0xFB80
    elif 0x4E00 <= code <= 0x9FA5 or 0xFA0E <= code <= 0xFA29:
        page += 0xFB40
    else:
        page += 0xFBC0
    return [[page, rest]]


def is_computed(code, weights, root, table):
    """True of weights that the Rust code computes: implicit ones, and of Hangul those of its letters."""
    if root == "uca_9.0.0" and 0xAC00 <= code <= 0xD7A3:
        n = code - 0xAC00
        letters = [0x1100 + n // 588, 0x1161 + n % 588 // 28] + ([0x11A7 + n % 28] if n % 28 else [])
        return weights == add([table[letter] for letter in letters], 3)
    return weights == implicit(code, root)


def remaps(base, tailored, count):
    """Runs of weights that a tailoring moves: by level (first, last, difference, weight in front of it or 0)."""
    out = []
    for level in range(count):
        seen = {}
        for code, weights in tailored.items():
            before, after = base[code][level], weights[level]
            if len(before) == len(after):
                pairs = [(b, (a - b, 0)) for b, a in zip(before, after)]
            elif len(after) == 2 * len(before) and len(set(after[::2])) == 1:
                pairs = [(b, (a - b, after[0])) for b, a in zip(before, after[1::2])]
            else:
                continue
            for weight, change in pairs:
                seen.setdefault(weight, {}).setdefault(change, 0)
                seen[weight][change] += 1
        for code, weights in base.items():
            if code not in tailored:
                for weight in weights[level]:
                    seen.setdefault(weight, {}).setdefault((0, 0), 0)
                    seen[weight][(0, 0)] += 1
        runs = []
        for weight in sorted(seen):
            change = max(seen[weight], key=seen[weight].get)
            if runs and runs[-1][2:] == list(change):
                runs[-1][1] = weight
            else:
                runs.append([weight, weight, *change])
        # What is rare is told by the characters themselves.
        common = [r for r in runs if r[2:] != [0, 0] and (r[1] > r[0] or sum(seen[r[0]].values()) > 500)]
        out.append(common)
    return out


def moved(weights, runs):
    out = []
    for level, level_runs in zip(weights, runs):
        new = []
        for weight in level:
            for first, last, difference, front in level_runs:
                if first <= weight <= last:
                    new += ([front] if front else []) + [weight + difference]
                    break
            else:
                new.append(weight)
        out.append(new)
    return out


def contractions(server, collation, count):
    """Texts of several characters that weigh other than their characters do one by one."""
    single = dict(zip(ALPHABET, server.weights_of([chr(c) for c in ALPHABET], collation)))
    count_of = lambda code: of_levels(single[code], count)
    pack = lambda level: struct.pack(f">{len(level)}H", *level)
    columns = ", ".join(f"l{i} varbinary(64)" for i in range(count))
    server.ask(f"create table p (code int primary key, c varchar(1) character set utf8mb4 collate utf8mb4_0900_bin, {columns})")
    places = ", ".join(["%s"] * (count + 2))
    server.insert(f"insert into p values ({places})", [(c, chr(c), *map(pack, count_of(c))) for c in ALPHABET])
    whole = ", x'0000', ".join(f"a.l{i}, b.l{i}" for i in range(count))
    weighed = f"weight_string(concat(a.c, b.c) collate {collation})"
    rows = server.ask(f"select a.c, b.c, {weighed} from p a join p b where {weighed} <> concat({whole})")
    server.ask("drop table p")
    found = {a + b: of_levels(levels(w), count) for a, b, w in rows if "_ja_" not in collation or a not in MARKS}
    # Longer ones: all of three small letters, and those that go on where a shorter one ends or begins before it.
    letters = string.ascii_lowercase
    longer = [a + b + c for a in letters for b in letters for c in letters]
    longer += [pair + chr(c) for pair in found for c in ALPHABET] if len(found) < 100 else []
    for _ in range(2):
        found |= unlike_parts(server, collation, longer, single, found, count)
        longest = max(map(len, found), default=2)
        three = [text for text in found if len(text) == longest and longest > 2]
        cases = lambda text: [""] if not text else [c + rest for c in {text[0].lower(), text[0].upper()} for rest in cases(text[1:])]
        longer = [text for one in three if one.isascii() for c in letters for text in (c + one, one + c)]
        longer += [cased for text in list(found) if len(text) > 2 if text.isascii() for cased in cases(text)]
        longer = list(dict.fromkeys(longer))
    return found


def by_parts(text, single, found, count):
    """Weights of a text by the longest contraction at each place."""
    parts, at = [], 0
    while at < len(text):
        for n in (4, 3, 2):
            if text[at : at + n] in found and at + n <= len(text):
                parts.append(found[text[at : at + n]])
                at += n
                break
        else:
            parts.append(single[ord(text[at])])
            at += 1
    return add(parts, count)


def unlike_parts(server, collation, texts, single, found, count):
    out = {}
    for text, weights in zip(texts, server.weights_of(texts, collation)):
        weights = of_levels(weights, count)
        if weights != by_parts(text, single, found, count):
            out[text] = weights
    return out


def uca(server):
    names = [name for (name,) in server.ask("select collation_name from information_schema.collations where character_set_name = 'utf8mb4'")]
    bases = {}
    for collation, root in ROOTS.items():
        count = 3 if root == "uca_9.0.0" else 1
        bases[root] = {code: levels(w) for code, w in server.ask(f"select code, weight_string(c collate {collation}) from c")}
        out = Out()
        out.unsigned(count)
        kept = {c: w for c, w in bases[root].items() if not is_computed(c, w, root, bases[root])}
        write_entries(out, [(chr(c), w) for c, w in sorted(kept.items())], count)
        out.write(root + ".zlib")
    out = Out()
    for name in sorted(names):
        is_900 = name.endswith("_0900_as_cs")
        is_old = "_0900_" not in name and not name.endswith(("_bin", "general_ci"))
        if name in ROOTS or name in LEFT_OUT or not (is_900 or is_old):
            continue
        root_collation = "utf8mb4_0900_as_cs" if is_900 else "utf8mb4_unicode_ci"
        root, count = ROOTS[root_collation], 3 if is_900 else 1
        base = bases[root]
        differing = f"weight_string(c collate {name}) <> weight_string(c collate {root_collation})"
        tailored = {c: levels(w) for c, w in server.ask(f"select code, weight_string(c collate {name}) from c where {differing}")}
        runs = remaps(base, tailored, count)
        entries = [(chr(c), w) for c, w in sorted((base | tailored).items()) if moved(base[c], runs) != w]
        pairs = contractions(server, name, count)
        out.text(name)
        out.text(root)
        out.unsigned(count)
        for level in runs:
            out.unsigned(len(level))
            for first, last, difference, front in level:
                out.unsigned(first)
                out.unsigned(last)
                out.signed(difference)
                out.unsigned(front)
        write_entries(out, entries, count)
        write_entries(out, sorted(pairs.items()), count)
        print(name, len(entries), "characters", len(pairs), "contractions", flush=True)
    german2(server, out)
    out.write("uca_tailorings.zlib")


def write_entries(out, entries, count):
    out.unsigned(len(entries))
    before = 0
    for text, _ in entries:
        out.signed(ord(text[0]) - before)
        before = ord(text[0])
    out.bytes += bytes(len(text) - 1 for text, _ in entries)
    for text, _ in entries:
        for c in text[1:]:
            out.unsigned(ord(c))
    for level in range(count):
        out.weights([w[level] if level < len(w) else [] for _, w in entries])


def german2(server, out):
    """latin1_german2_ci: its letters weigh as much as two; the weights are bytes."""
    rows = server.ask("select code, weight_string(convert(c using latin1) collate latin1_german2_ci), hex(convert(c using latin1)) from c")
    entries = [(chr(c), [list(w)]) for c, w, b in rows if b != "3F" or c == 0x3F]
    out.text("latin1_german2_ci")
    out.text("latin1")
    out.unsigned(1)
    out.unsigned(0)
    write_entries(out, entries, 1)
    write_entries(out, [], 1)


def encoded(server, charset):
    """The bytes of each character that the character set has."""
    rows = server.ask(f"select code, cast(convert(c using {charset}) as binary) from c")
    # Several sequences of bytes are read as the replacement character.
    lost = 0xFFFD if charset != "gb18030" else None
    return {code: b for code, b in rows if code != lost and (b != b"?" or code == 0x3F)}


def order(out, name, base, entries):
    """Weights that differ from those of the base: code points of `unicode`, else bytes of the character set."""
    out.text(name)
    out.text(base)
    out.unsigned(len(entries))
    code, weight = 0, 0
    for c, _ in entries:
        out.unsigned(c - code)
        code = c
    for _, w in entries:
        out.signed(w - weight)
        weight = w
    print(name, len(entries), flush=True)


def usual(b):
    """The weight of a character that has none in the table; of four bytes of gb18030 by their place among all such."""
    return int.from_bytes(b, "big") if len(b) < 4 else 0xFF000000 + number_of("gb18030", b) - 0x10000


def orders(server):
    out = Out()
    for name in ["utf8mb4_general_ci", "utf8mb3_general_mysql500_ci", "utf8mb3_tolower_ci"]:
        using = "c" if name.startswith("utf8mb4") else "convert(c using utf8mb3)"
        rows = server.ask(f"select code, weight_string({using} collate {name}) from c where code < 65536")
        order(out, name, "unicode", [(c, int.from_bytes(w, "big")) for c, w in rows if int.from_bytes(w, "big") != c])
    names = server.ask("select collation_name, character_set_name from information_schema.collations order by 1")
    for name, charset in names:
        is_told = charset in SINGLE + MULTI and not name.endswith("_bin") and name not in LEFT_OUT
        if not is_told or name in ("latin1_german2_ci", "gb18030_unicode_520_ci"):
            continue
        bytes_of = encoded(server, charset)
        rows = server.ask(f"select code, weight_string(convert(c using {charset}) collate {name}) from c")
        weights = {c: w for c, w in rows if c in bytes_of}
        assert all(w[0] or len(w) == 1 for w in weights.values()), name
        entries = [(c, int.from_bytes(w, "big")) for c, w in weights.items() if int.from_bytes(w, "big") != usual(bytes_of[c])]
        order(out, name, charset, entries)
    out.write("orders.zlib")


def number_of(charset, b):
    """The bytes of a character as a number; four bytes of gb18030 by their place among all such, from 0x10000 on."""
    if charset == "gb18030" and len(b) == 4:
        return 0x10000 + ((b[0] - 0x81) * 10 + b[1] - 0x30) * 1260 + (b[2] - 0x81) * 10 + b[3] - 0x30
    return int.from_bytes(b, "big")


def decoded(server, charset, bytes_of):
    """The character of each sequence of bytes; several may be of one character."""
    if charset == "gb18030":
        return {b: c for c, b in bytes_of.items() if c < 0x10000}
    server.ask("create temporary table b (b varbinary(4) primary key)")
    rows = [bytes([a]) for a in range(256)]
    if charset in MULTI:
        rows += [bytes([a, b]) for a in range(0x80, 256) for b in range(0x30, 256)]
    if charset in ("ujis", "eucjpms"):
        rows += [bytes([0x8F, a, b]) for a in range(0xA0, 256) for b in range(0xA0, 256)]
    server.insert("insert into b values (%s)", [(row,) for row in rows])
    rows = server.ask(f"select b, convert(convert(b using {charset}) using utf8mb4) from b")
    server.ask("drop temporary table b")
    rows = [(b, text) for b, text in rows if text is not None and len(text) == 1]
    return {b: ord(text) for b, text in rows if (text != "?" or b == b"?") and text != "\ufffd"}


def maps(server):
    out = Out()
    for charset in SINGLE + MULTI:
        bytes_of = encoded(server, charset)
        of_bytes = decoded(server, charset, bytes_of)
        codes = sorted((number_of(charset, b), c) for b, c in of_bytes.items())
        out.text(charset)
        out.unsigned(len(codes))
        number, code = 0, 0
        for n, _ in codes:
            out.unsigned(n - number)
            number = n
        for _, c in codes:
            out.signed(c - code)
            code = c
        # Characters that several sequences mean, or that are read from none: the bytes that are written.
        first = {}
        for n, c in codes:
            first.setdefault(c, n)
        chosen = [(c, number_of(charset, b)) for c, b in sorted(bytes_of.items()) if c < 0x10000 and first.get(c) != number_of(charset, b)]
        # Characters that are read and never written.
        chosen += [(c, 0) for c in sorted(first) if c not in bytes_of]
        out.unsigned(len(chosen))
        for c, n in chosen:
            out.unsigned(c)
            out.unsigned(n)
        print(charset, len(codes), "sequences", len(chosen), "choices", flush=True)
    out.write("charsets.zlib")


# Pieces of the texts whose weights the test of crates/types/src/collation compares.
PIECES = (
    list("aAbcCdghHijlLnNoOsStTuyzZ0 -_.\t")
    + ["ch", "Ch", "aa", "dz", "dzs", "ddzs", "lj", "nj", "ll", "gy", "ggy", "ccs", "i\u0307\u0301", "m\u0304"]
    + list("äÄéßæøåñçčšžłőűğıİđðþÿœ€ŀĳſﬁ\u0301\u0308αΩΆςжЯёйұיעبی")
    + list("あアｱがゝー一丁中亜愛字日本阿㐀가각힣กก็\u0d85\U0001f600\U00020000\U00017001\ufffd\u0001\u200d")
)


def samples(server, count):
    """Weights of some texts under every collation that the tables are for, as lines of text."""
    chosen = random.Random(33)
    lines = []
    for name, charset in server.ask("select collation_name, character_set_name from information_schema.collations order by 1"):
        if charset == "tis620" or name in LEFT_OUT:
            continue
        taken = 0
        while taken < count:
            text = "".join(chosen.choice(PIECES) for _ in range(chosen.randint(1, 4)))
            if "_ja_" in name and text[0] in MARKS:
                continue
            kept = server.ask(f"select convert(convert(%s using {charset}) using utf8mb4)", (text,))[0][0]
            if kept is None or isinstance(kept, bytes) and charset != "binary":
                continue
            if charset in MULTI and charset != "gb18030" and "\ufffd" in text:
                continue
            if charset != "binary" and "?" in kept:
                # Other character sets have few of the letters.
                text = kept.replace("?", chosen.choice("aBz"))
            weights = server.ask(f"select hex(weight_string(convert(%s using {charset}) collate `{name}`))", (text,))[0][0]
            lines.append(f"{name} {text.encode().hex()} {weights}")
            taken += 1
    with open(os.path.join(HERE, "weights.txt"), "w") as file:
        file.write("\n".join(lines) + "\n")
    print("weights.txt", len(lines), "lines", flush=True)


if __name__ == "__main__":
    main_server = Server(sys.argv[1])
    maps(main_server)
    orders(main_server)
    uca(main_server)
    samples(main_server, 8)
    main_server.ask("drop database weights_of_all")
