//! MySQL's client/server protocol as bytes: what a client sends, checked at every step. No sockets, no sessions.
//!
//! ```text
//!   packet      payloads cut into packets, and put together again   packet.rs
//!   Fields      numbers and strings in a payload                     fields.rs
//!   Statement   a prepared statement's parameters                    parameters.rs
//!   fuzz        what fuzzers call                                    fuzz.rs
//! ```
//!
//! Source: MySQL Source Code Documentation, "Client/Server Protocol".

mod fields;
#[doc(hidden)]
pub mod fuzz;
pub mod packet;
mod parameters;

pub use fields::{Fields, put_length, put_length_bytes};
pub use parameters::{Statement, statement_id};
