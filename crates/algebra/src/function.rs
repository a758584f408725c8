//! The functions of scalar expressions, and the units of their intervals.

use muster_functions::LibraryFunction;
use serde::{Deserialize, Serialize};

/// Declares an enumeration whose values can be listed. A variant over an enumeration of its own stands for each value
/// of that.
macro_rules! listed {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident $(($inner:ident))?,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* $variant $(($inner))?,)*
        }

        impl $name {
            /// All values, in the order in which they are declared.
            pub fn all() -> Vec<$name> {
                [$(listed!(@values $name, $variant $(, $inner)?)),*].concat()
            }
        }
    };
    (@values $name:ident, $variant:ident) => {
        vec![$name::$variant]
    };
    (@values $name:ident, $variant:ident, $inner:ident) => {
        $inner::all().into_iter().map($name::$variant).collect::<Vec<_>>()
    };
}

listed! {
    /// Unit of an INTERVAL. A unit of several parts (`DAY_HOUR`) has its numbers in one text.
    IntervalUnit {
        Microsecond,
        Second,
        Minute,
        Hour,
        Day,
        Week,
        Month,
        Quarter,
        Year,
        SecondMicrosecond,
        MinuteMicrosecond,
        MinuteSecond,
        HourMicrosecond,
        HourSecond,
        HourMinute,
        DayMicrosecond,
        DaySecond,
        DayMinute,
        DayHour,
        YearMonth,
    }
}

impl IntervalUnit {
    /// The units that a unit of several parts has, the largest first; none for a simple unit.
    pub fn parts(self) -> &'static [IntervalUnit] {
        use IntervalUnit::*;
        match self {
            SecondMicrosecond => &[Second, Microsecond],
            MinuteMicrosecond => &[Minute, Second, Microsecond],
            MinuteSecond => &[Minute, Second],
            HourMicrosecond => &[Hour, Minute, Second, Microsecond],
            HourSecond => &[Hour, Minute, Second],
            HourMinute => &[Hour, Minute],
            DayMicrosecond => &[Day, Hour, Minute, Second, Microsecond],
            DaySecond => &[Day, Hour, Minute, Second],
            DayMinute => &[Day, Hour, Minute],
            DayHour => &[Day, Hour],
            YearMonth => &[Year, Month],
            _ => &[],
        }
    }

    /// Returns true if a date moved by this unit is still a date without a time of day.
    pub fn keeps_dates(self) -> bool {
        use IntervalUnit::*;
        matches!(self, Day | Week | Month | Quarter | Year | YearMonth)
    }

    /// Returns true if the unit is or ends with microseconds.
    pub fn has_microseconds(self) -> bool {
        self == IntervalUnit::Microsecond || self.parts().last() == Some(&IntervalUnit::Microsecond)
    }
}

listed! {
    /// Functions that ask or change what is shared between sessions. Each call is made once for each row, in order.
    SessionFunction {
        /// `(name, seconds)`: 1, or 0 when the time is over.
        GetLock,
        /// `(name)`: 1, 0 if another session has the lock, NULL if nobody has.
        ReleaseLock,
        /// How many locks were released.
        ReleaseAllLocks,
        /// `(name)`.
        IsFreeLock,
        /// `(name)`: the number of the connection that has the lock.
        IsUsedLock,
        /// `(connection)`: the number of its thread.
        PsThreadId,
        /// `(statement, modes of sql_mode, 1 if the statement is constant)`: the hash of the statement without its
        /// values.
        StatementDigest,
        /// As [`SessionFunction::StatementDigest`]; the text of the statement without its values.
        StatementDigestText,
    }
}

impl SessionFunction {
    /// The name as MySQL prints it.
    pub fn name(self) -> &'static str {
        match self {
            SessionFunction::GetLock => "get_lock",
            SessionFunction::ReleaseLock => "release_lock",
            SessionFunction::ReleaseAllLocks => "release_all_locks",
            SessionFunction::IsFreeLock => "is_free_lock",
            SessionFunction::IsUsedLock => "is_used_lock",
            SessionFunction::PsThreadId => "ps_thread_id",
            SessionFunction::StatementDigest => "statement_digest",
            SessionFunction::StatementDigestText => "statement_digest_text",
        }
    }
}

listed! {
    /// What MySQL says of a text that it reads as a number, which depends on where the text comes from.
    NumberReading {
        /// Nothing: a column of TEXT or BLOB, COALESCE, GREATEST, MIN and their kin (`Field_blob::val_real`).
        Quiet,
        /// As a decimal, a literal: warning 1292 for a text that goes on behind the number or has none.
        Literal,
        /// As a decimal, a column of CHAR or VARCHAR: warning 1366 for a text without a number, beside that of a
        /// literal (`Field_varstring::val_decimal`).
        Column,
        /// As a decimal, what a function gives: warning 1366 only (`Item::val_decimal_from_string`).
        Result,
        /// As 64 bits: a negative integer has those of its complement, of which a cast would warn.
        Bits,
    }
}

listed! {
    /// What becomes of bytes that are no text of a character set.
    Decoding {
        /// Error 3854.
        Refused,
        /// The text ends in front of them, with warning 1300.
        Cut,
    }
}

listed! {
    /// Functions over the values of one row. Argument order is MySQL's.
    ScalarFunction {
        /// `(text)`: the number that the text begins with, a cast but for its warnings.
        ReadNumber(NumberReading),
        /// `(text)`: the number of a date or time that DATE_ADD or ADDTIME have made a text: 20010131 of '2001-01-31'.
        MomentNumber,
        /// `(double)`: a cast to an integer, of a number that was computed; error 1690 beyond BIGINT.
        ComputedInteger,
        /// `(double)`: its text in a column of the result's length, as many digits as there is room for.
        FittedDouble,
        /// `(text or number, modes)`: a cast to DATE, DATETIME or TIME where the session's modes of dates or its time
        /// zone are not the default ones. Functions of dates have the same number as one more argument then.
        ReadDate,
        /// `(byte string)`: the text of the result's character set that the bytes are, a cast but for what it does if
        /// they are none.
        DecodeText(Decoding),
        /// `(value)`: CAST .. AS JSON: a text is read as JSON. [`crate::Expr::Cast`] makes a JSON string of it, as
        /// comparisons do.
        ParseJson,
        /// `(start, count)`: `DATE_ADD`. The count is an integer, for seconds also a decimal, and text for a unit of
        /// several parts. A start that is a date, datetime or time keeps its type; of anything else the result is text.
        DateAdd(IntervalUnit),
        /// `DATE_SUB`: moves backwards what [`ScalarFunction::DateAdd`] moves onward.
        DateSub(IntervalUnit),
        /// `EXTRACT(unit FROM x)`, also YEAR(), MONTH(), DAY(), HOUR(), QUARTER() ...
        Extract(IntervalUnit),
        DayOfWeek,
        Weekday,
        DayOfYear,
        /// `(date, mode)`: the week's number; the mode says how weeks are numbered (0 to 7).
        Week,
        /// `(date, mode)`: year and week of it as one number, 200801.
        YearWeek,
        /// `(a, b)`: days from b to a.
        DateDiff,
        LastDay,
        /// `(datetime, zone text, zone text)`: a local time of the first zone in the second; NULL for an unknown zone.
        /// Also how a TIMESTAMP, which is stored in UTC, becomes the session's time.
        ConvertTz,
        /// `(text, 1-based start, length?)`; negative starts count from the end.
        Substring,
        Concat,
        /// `(separator, text...)`.
        ConcatWs,
        Upper,
        Lower,
        /// Length in characters.
        CharLength,
        /// Length in bytes.
        Length,
        /// `(text, remove text?)`.
        Trim,
        LTrim,
        RTrim,
        Left,
        Right,
        /// `(text, length, pad)`.
        LPad,
        RPad,
        Replace,
        Repeat,
        Reverse,
        /// `(needle, haystack)`: 1-based position, 0 if absent.
        Locate,
        Ascii,
        /// The checksum of the bytes of a text, with the polynomial of ISO 3309.
        Crc32,
        Coalesce,
        /// `(a, b)`: NULL when equal.
        NullIf,
        Greatest,
        Least,
        Abs,
        Sign,
        Ceil,
        Floor,
        /// `(x, digits)`.
        Round,
        Truncate,
        Sqrt,
        Pow,
        Exp,
        Ln,
        Log10,
        Log2,
        /// `(base, x)`.
        Log,
        Sin,
        Cos,
        Tan,
        /// `(seconds)`: waits; 0. For tests of KILL and cancellation.
        Sleep,
        /// `(count, expression)`: computes the expression so many times; 0 (MySQL's manual 12.15).
        Benchmark,
        /// `(id)`: the id, which is what LAST_INSERT_ID() is from now on.
        LastInsertId,
        /// `(name, value)`: `@name := value`; the value, which is that of the session's variable from now on.
        AssignVariable,
        /// `(name)`: `@name`, in a statement that assigns to variables: the value at the moment of the call, of
        /// whatever type that is.
        ReadVariable,
        /// A function that the session answers.
        Session(SessionFunction),
        BitAnd,
        BitOr,
        BitXor,
        BitNot,
        ShiftLeft,
        ShiftRight,
        /// Bits that are set, of an integer or of a byte string.
        BitCount,
        /// A function of the table in `muster_functions`, which says all about it. Behind the arguments of the
        /// statement come the values of the session that it asks for.
        Library(LibraryFunction),
    }
}
