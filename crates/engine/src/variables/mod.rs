//! System variables: what there is, and the values of the server and of each session.
//!
//! ```text
//!   definitions        name, scope, kind and default of each     definitions.rs
//!   Variables          values, and the checks of SET             values.rs
//!   Settings           what statements ask for each time       settings.rs
//!   optimizer_switch   the flags of one of them                  optimizer_switch.rs
//!   optimizer_options  what the optimizer obeys                  optimizer_options.rs
//! ```

pub mod definitions;
mod optimizer_options;
mod optimizer_switch;
mod settings;
mod values;

pub use optimizer_options::optimizer_options;
pub use settings::Settings;
pub use values::*;
