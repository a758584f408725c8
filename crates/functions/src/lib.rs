//! MySQL's functions of one row, each as one entry of a table.
//!
//! ```text
//!   lib.rs        how a function is added; the table of all functions
//!   function.rs   what an entry says of a function: name, arguments, result, value
//!   fuzz/         any formats and patterns beside simple models, for tests
//!   typing.rs     what the type of a result may depend on
//!   call.rs       what a function may ask for while it is computed
//!   mysql.rs      the names of all functions that MySQL has
//!   locale.rs     languages: names of months and days, how numbers are written
//!   number/       functions of numbers
//!   time/         functions of dates and times
//!   strings/      parts of texts, lists of texts, weights
//!   regexp/       regular expressions
//!   encoding/     bytes as text, digests, compression
//!   secrets/      encryption, random bytes, unique identifiers
//!   network/      addresses
//!   information/  what the server tells, amounts for people
//!   xml/          parts of XML
//!   json/         JSON documents
//! ```
//!
//! # How to add a function
//!
//! A function is one [`Function`] in the table of its family, a constant `FUNCTIONS` that [`FAMILIES`] lists. The
//! binder finds it by its name, the evaluator computes it, EXPLAIN prints it and the list in `docs/sql.md` shows it;
//! nothing else has to be changed. When a name becomes a function, `mysql.rs` keeps it: that file lists what MySQL has.
//!
//! ```ignore
//! Function::new("REVERSE_BITS", &[Takes::Int, Takes::Text], result::bigint, reverse_bits).optional(1)
//! ```
//!
//! - **Arguments** ([`Takes`]): what each argument is converted to before the function sees it, with MySQL's warnings.
//!   `Takes::AsIs` leaves the value alone; so does `Takes::Moment`, which functions of dates have: they read a text or
//!   a number with warnings of their own. `Takes::Number` is an integer, a decimal or a double, as the argument is.
//!   All arguments that are `Takes::Text` come to one collation (error 1267 if there is none). `optional(n)`: the last
//!   n arguments may be left out; `repeated()`: the last one may come any number of times more. Wrong numbers are
//!   error 1582. Arguments that are `Takes::Compared` become what they are compared as.
//!   `like_first()`: the first text says whether the function is one of texts or of byte strings;
//!   `of_one_charset()`: its texts must not be mixed with byte strings.
//! - **Result** ([`ResultType`]): `fn(&Typing) -> ResultType`. [`Typing`] tells the types of the arguments before and
//!   after their conversion, how many characters they have, their digits of fractional seconds, and their values if
//!   they are constant. The module [`result`] has the common ones. A text's length is what MySQL declares for the
//!   column. `never_null()` and `null_of_null()` say when the result's column is NOT NULL; without them it may be NULL.
//! - **NULL**: a function with an argument that is NULL is NULL and is not called, unless it says `takes_null()`.
//! - **Value**: `fn(&mut Call, &[Value]) -> Result<Value>`. The value may be of another type than the result: it is
//!   converted. Whatever the arguments are, the function must not panic; a test calls all functions with odd values.
//!   Warnings go to [`Call::warn`]. A function whose result can be much longer than its arguments asks
//!   [`Call::has_room`] first, which looks at `max_allowed_packet`.
//! - **The session** ([`SessionValue`]): a function is a function of its arguments. What it needs of the session
//!   (`asks(&[..])`) the binder appends to the arguments as literals; the value finds it in [`Call::session`]. So plans
//!   can be kept, moved and computed anywhere. EXPLAIN does not show these arguments.
//! - **Determinism**: constants are folded, calls moved and computed once, unless the function says `volatile()`: then
//!   each row calls it, at its place. A function `with_state()` is volatile and has a [`Call::state`] of its own for
//!   each place where the statement calls it, which is empty when the statement begins.
//!
//! Tests: files `functions_*.slt` of `crates/engine/tests/slt`, with the examples of MySQL's manual and MySQL's answers
//! to odd arguments.

mod call;
mod encoding;
mod function;
pub mod fuzz;
mod information;
pub mod json;
pub mod locale;
pub mod mysql;
mod network;
pub mod number;
mod regexp;
pub mod secrets;
mod strings;
pub mod time;
mod typing;
mod xml;

pub use call::{Call, CallState, CallStates, UserVariables};
pub use function::{Function, Nullability, SessionValue, Takes};
pub use typing::{ArgumentType, ResultType, Typing, result};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::{
    collections::HashMap,
    fmt,
    hash::{Hash, Hasher},
    ops::Deref,
    sync::LazyLock,
};

/// The tables of all families.
const FAMILIES: &[&[Function]] = &[
    number::FUNCTIONS,
    time::FUNCTIONS,
    strings::FUNCTIONS,
    regexp::FUNCTIONS,
    encoding::FUNCTIONS,
    secrets::FUNCTIONS,
    network::FUNCTIONS,
    information::FUNCTIONS,
    xml::FUNCTIONS,
    json::FUNCTIONS,
];

/// All functions, and each name in upper case with the function that has it.
struct Library {
    functions: Vec<Function>,
    by_name: HashMap<&'static str, usize>,
}

static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    let functions: Vec<Function> = FAMILIES.iter().flat_map(|family| family.iter().copied()).collect();
    let names = functions.iter().enumerate().flat_map(|(i, f)| f.names().map(move |name| (name, i)));
    let by_name = names.collect();
    Library { functions, by_name }
});

/// A function of the table. Two are equal if they have the same name; it is written and read by its name.
#[derive(Clone, Copy)]
pub struct LibraryFunction(&'static Function);

impl LibraryFunction {
    /// The function of this name, which is in upper case; also by a name that is another one for the same function.
    pub fn by_name(name: &str) -> Option<LibraryFunction> {
        LIBRARY.by_name.get(name).map(|i| LibraryFunction(&LIBRARY.functions[*i]))
    }

    /// All functions, by families.
    pub fn all() -> Vec<LibraryFunction> {
        LIBRARY.functions.iter().map(LibraryFunction).collect()
    }
}

impl Deref for LibraryFunction {
    type Target = Function;

    fn deref(&self) -> &Function {
        self.0
    }
}

impl PartialEq for LibraryFunction {
    fn eq(&self, other: &LibraryFunction) -> bool {
        self.name == other.name
    }
}

impl Eq for LibraryFunction {}

impl Hash for LibraryFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for LibraryFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Serialize for LibraryFunction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for LibraryFunction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LibraryFunction, D::Error> {
        let name = String::deserialize(deserializer)?;
        LibraryFunction::by_name(&name).ok_or_else(|| D::Error::custom(format!("no function {name}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_mysqls_and_stand_for_one_function() {
        let mut seen = HashSet::new();
        for name in LIBRARY.functions.iter().flat_map(Function::names) {
            assert!(seen.insert(name), "{name} is there twice");
            // An operator, which the list of functions has not.
            assert!(mysql::has(name) || name == "MEMBER OF", "{name} is no function of MySQL");
        }
    }
}
