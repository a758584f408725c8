//! `mysql.server_cost` and `mysql.engine_cost`: the constants of the cost model, with MySQL's columns (MySQL manual,
//! section 8.9.5, "The Optimizer Cost Model").
//!
//! ```text
//!   names         MySQL's names and Muster's, and the constants that they stand for   names.rs
//!   definitions   columns, defaults and rows of the two tables                        definitions.rs
//!   stored        both as stored tables                                               stored.rs
//!   read          the cost model that their rows make                                 read.rs
//!   origin        the comment of a row that a statement changes                       origin.rs
//! ```
//!
//! As long as nobody has changed them, both are virtual: their rows are the defaults. The first statement that changes
//! one of them stores both, as tables of the catalog, so that all later changes are those of any table. Sessions that
//! begin after FLUSH OPTIMIZER_COSTS, or after a start, plan with what is in the tables then.

mod definitions;
mod names;
mod origin;
mod read;
mod stored;

pub use definitions::{default_rows, definitions, entry};
pub use origin::note_origin;
pub use read::read;
pub use stored::{refresh, store};

use crate::system_schema;
use muster_algebra::TableDef;

/// Returns true for one of the two tables' names.
pub fn is_name(database: &str, table: &str) -> bool {
    database == system_schema::MYSQL && (table == definitions::SERVER || table == definitions::ENGINE)
}

/// Returns true for the definition of one of the two tables.
pub fn is_cost_table(def: &TableDef) -> bool {
    is_name(&def.database, &def.name)
}
