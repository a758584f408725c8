//! Storing a value into a column: one home for what INSERT, UPDATE, LOAD DATA and DEFAULT do with a value that a column
//! can hold, and with one that it cannot.
//!
//! ```text
//!   value     a value, or a field of text, into a column of any type
//!   number    text to integers, decimals and floating-point numbers
//!   temporal  text to dates and times; local times to moments
//!   named     ENUM, SET, YEAR and BIT
//!   text      lengths of texts and byte strings, and their stored form
//!   double_text  a floating-point number in so many characters
//!   cut_fraction  dates and times with digits cut
//!   lost_parts   what a column does not hold of a value that it stores
//!   fault     what can be wrong with a value, in MySQL's numbers and words
//! ```
//!
//! A function of this module gives the value as the column stores it: rounded to the column's digits, a TIMESTAMP in
//! UTC, a CHAR without its padding and a BINARY with it. What does not fit is [`Unfit`]: the fault, and the value that
//! IGNORE and sessions that are not strict store instead. The caller decides which of the two counts, and adds the
//! names of the column and the row to the message. A reader of files calls the functions of one type for a whole
//! column; [`store`] is for one value.
//!
//! Storing is not CAST. [`crate::cast`] converts values within expressions and never fails: it cuts a text, wraps a
//! negative number to an unsigned one, reads `'12abc'` as 12, and warns about an expression. Storing refuses all three,
//! and speaks of a column and a row. Where both mean the same (a date made of a number, the text of a number), storing
//! asks `cast`.

mod cut_fraction;
mod double_text;
mod fault;
mod lost_parts;
mod named;
pub mod number;
pub mod temporal;
pub mod text;
mod value;

pub use cut_fraction::fraction_cut;
pub use double_text::{fitted_double, usual_text};
pub use fault::{StoreFault, Unfit};
pub use lost_parts::{deprecated_delimiter, loses_part};
pub use named::enum_text;
pub use value::{
    LONG_LITERAL, StoredType, decimal_max, decimal_max_256, hexadecimal, implicit_default, is_negative_number, store,
    store_text,
};
