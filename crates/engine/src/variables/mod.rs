//! System variables: what there is, and the values of the server and of each session.
//!
//! ```text
//!   definitions        name, scope, kind and default of each     definitions.rs
//!   Variables          values, and the checks of SET             values.rs
//!   Settings           what statements ask for each time       settings.rs
//!   optimizer_switch   the flags of one of them                  optimizer_switch.rs
//!   flags              those of variables that have few           flags.rs
//!   optimizer_options  what the optimizer obeys                  optimizer_options.rs
//!   SessionCosts       the constants of its cost model           session_costs.rs
//! ```

pub mod definitions;
mod flags;
mod optimizer_options;
mod optimizer_switch;
mod session_costs;
mod settings;
mod values;

pub use flags::is_on as flag_is_on;
pub use optimizer_options::optimizer_options;
pub use session_costs::SessionCosts;
pub use settings::Settings;
pub use values::*;
