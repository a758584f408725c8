//! System variables: what there is, and the values of the server and of each session.
//!
//! ```text
//!   definitions        name, scope, kind and default of each     definitions.rs
//!   Variables          values, and the checks of SET             values.rs
//!   optimizer_switch   the flags of one of them                  optimizer_switch.rs
//! ```

pub mod definitions;
pub mod optimizer_switch;
mod values;

pub use values::*;
