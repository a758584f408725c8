//! An entry of the table: a function with its arguments and its result.

use crate::{Call, ResultType, Typing};
use muster_types::{Result, Value};
use std::ops::RangeInclusive;

/// The conversion of an argument before the function sees it. NULL stays NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// The value as it is.
    AsIs,
    /// The value as it is, as a part of a JSON document; a BIT column's is its bits.
    JsonScalar,
    /// The value as it is; a floating-point number is an integer.
    Whole,
    /// The value as it is; a BIT column's is its bytes.
    Temporal,
    /// As [`Takes::Temporal`]; a TIME becomes a datetime of today.
    Moment,
    /// As [`Takes::Temporal`]; a date or datetime that is no column's becomes its time of day (`Item::get_time`).
    Clock,
    /// Text. All text arguments of a function have one collation; if that is `binary`, they are byte strings.
    Text,
    /// All such arguments are compared: they become texts if all are, integers or decimals if all are, else doubles.
    Compared,
    /// Text; a hexadecimal literal is the text of its number.
    DigitText,
    /// The value as it is; a hexadecimal literal is its number. For functions that read texts as decimals.
    Exact,
    /// The bytes of a byte string, or of a text in its character set.
    Bytes,
    /// A signed 64-bit integer; an unsigned one that is larger becomes the largest.
    Int,
    /// The 64 bits of an integer, unsigned.
    Bits,
    Double,
    /// An integer, a decimal or a double: text is a double, a date a number such as 20081231.
    Number,
    /// One of these words, which the statement has without quotes and in any case; the function sees a text in upper
    /// case.
    Keyword(&'static [&'static str]),
}

/// When the result of a function can be NULL, as far as columns tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nullability {
    Always,
    /// If an argument can be NULL.
    OfArguments,
    Never,
}

/// A value of the session that a function needs: a literal argument behind those of the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionValue {
    /// The session's time zone, as text that [`muster_types::time_zone::TimeZone::from_name`] reads.
    TimeZone,
    /// A system variable, by its name.
    Variable(&'static str),
    /// TRUE if the account may read files of the server.
    ReadsFiles,
    /// The modes of dates as a number ([`muster_types::temporal::DateModes::bits`]). A function asks for them first.
    DateModes,
    /// The arguments that are texts of dates which an interval has moved: a number with the bit 1 << i for argument i.
    /// These are dates or datetimes, whatever other texts like them are. A function asks for it behind the modes.
    MovedArguments,
    /// TRUE if all arguments are the same for all rows, as the statement is written.
    ConstantArguments,
}

/// A function of one row. How one is written: see the head of the crate.
#[derive(Clone, Copy)]
pub struct Function {
    /// In upper case.
    pub name: &'static str,
    /// Other names of it, in upper case.
    pub aliases: &'static [&'static str],
    pub takes: &'static [Takes],
    /// How many of the last arguments may be left out.
    pub optional: usize,
    /// The last argument may come again and again.
    pub is_repeated: bool,
    /// How many of the last arguments come together.
    pub group: usize,
    pub returns: fn(&Typing) -> ResultType,
    pub nullability: Nullability,
    /// The value is also asked for when an argument is NULL.
    pub takes_null: bool,
    pub is_volatile: bool,
    /// Calls keep something in [`Call::state`]; of volatile functions.
    pub keeps_state: bool,
    /// Error 3995 for a text next to a byte string among the text arguments.
    pub is_of_one_charset: bool,
    /// The result is a text or a byte string as the first argument is; other arguments become what that is.
    pub is_like_first: bool,
    pub session: &'static [SessionValue],
    pub value: fn(&mut Call, &[Value]) -> Result<Value>,
}

impl Function {
    pub const fn new(
        name: &'static str,
        takes: &'static [Takes],
        returns: fn(&Typing) -> ResultType,
        value: fn(&mut Call, &[Value]) -> Result<Value>,
    ) -> Function {
        Function {
            name,
            aliases: &[],
            takes,
            optional: 0,
            is_repeated: false,
            group: 1,
            returns,
            nullability: Nullability::Always,
            takes_null: false,
            is_volatile: false,
            keeps_state: false,
            is_of_one_charset: false,
            is_like_first: false,
            session: &[],
            value,
        }
    }

    /// The function has these names, too.
    pub const fn also(self, aliases: &'static [&'static str]) -> Function {
        Function { aliases, ..self }
    }

    /// The last `count` arguments may be left out.
    pub const fn optional(self, count: usize) -> Function {
        Function { optional: count, ..self }
    }

    /// The last argument may come any number of times more.
    pub const fn repeated(self) -> Function {
        Function { is_repeated: true, ..self }
    }

    /// The last `count` arguments come together, each time they come.
    pub const fn in_groups(self, count: usize) -> Function {
        Function { group: count, ..self }
    }

    /// The function is also called for arguments that are NULL.
    pub const fn takes_null(self) -> Function {
        Function { takes_null: true, ..self }
    }

    /// The result is never NULL.
    pub const fn never_null(self) -> Function {
        Function { nullability: Nullability::Never, ..self }
    }

    /// The result is NULL only if an argument is.
    pub const fn null_of_null(self) -> Function {
        Function { nullability: Nullability::OfArguments, ..self }
    }

    /// Two calls with the same arguments may differ, or a call does something.
    pub const fn volatile(self) -> Function {
        Function { is_volatile: true, ..self }
    }

    /// The function has a state that each row finds as the one before has left it. The function is volatile.
    pub const fn with_state(self) -> Function {
        Function { is_volatile: true, keeps_state: true, ..self }
    }

    /// The first argument decides whether the function is one of texts or of byte strings.
    pub const fn like_first(self) -> Function {
        Function { is_like_first: true, ..self }
    }

    /// The text arguments must all be texts or all byte strings.
    pub const fn of_one_charset(self) -> Function {
        Function { is_of_one_charset: true, ..self }
    }

    /// The function needs these values of the session.
    pub const fn asks(self, session: &'static [SessionValue]) -> Function {
        Function { session, ..self }
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        [self.name].into_iter().chain(self.aliases.iter().copied())
    }

    /// The name as MySQL prints it in messages and in EXPLAIN.
    pub fn printed_name(&self) -> String {
        self.name.to_ascii_lowercase()
    }

    /// How many arguments a statement may give.
    pub fn argument_count(&self) -> RangeInclusive<usize> {
        let most = if self.is_repeated { usize::MAX } else { self.takes.len() };
        self.takes.len() - self.optional..=most
    }

    /// Returns true for a number of arguments that a statement may give.
    pub fn takes_count(&self, count: usize) -> bool {
        let single = self.takes.len() - self.group.min(self.takes.len());
        self.argument_count().contains(&count) && count.saturating_sub(single).is_multiple_of(self.group)
    }

    /// The conversion of the argument at this position.
    pub fn takes_at(&self, position: usize) -> Takes {
        let again = match position.checked_sub(self.takes.len()) {
            Some(beyond) => self.takes.len().saturating_sub(self.group) + beyond % self.group,
            None => position,
        };
        self.takes.get(again).copied().unwrap_or(Takes::AsIs)
    }

    /// The arguments of the statement, without those that the binder has appended.
    pub fn given<'a, T>(&self, args: &'a [T]) -> &'a [T] {
        &args[..args.len().saturating_sub(self.session.len())]
    }
}
