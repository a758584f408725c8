"""The rows of every_type.tsv as a Python client must read them back."""

from datetime import date, datetime, timedelta
from decimal import Decimal

FULL = (
    1, -128, 255, -32768, 65535, -8388608, 16777215, -2147483648, 4294967295, -9223372036854775808,
    18446744073709551615, Decimal("-1234567890123.45"), Decimal("1234567890123456789012345678.0123456789"), 1.5, -2.25,
    date(1998, 12, 1), datetime(1999, 12, 31, 23, 59, 59, 123456), datetime(2001, 2, 3, 4, 5, 6),
    -timedelta(hours=12, minutes=34, seconds=56), "char", "varchar é", "text", b"abcd", b"bytes", b"blob",
)
NULLS = (2,) + (None,) * (len(FULL) - 1)


def check(rows):
    rows = [tuple(bytes(c) if isinstance(c, bytearray) else c for c in row) for row in rows]
    assert rows == [FULL, NULLS], "\n".join(f"{a!r} {b!r}" for r, w in zip(rows, [FULL, NULLS]) for a, b in zip(r, w) if a != b)
