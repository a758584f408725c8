//! Names, types and implicit casts: a parsed query becomes a `Rel`.

use crate::{OptimizerHint, VariableScope};
use muster_algebra::{Catalog, ColId, Columns, Rel};
use muster_types::{Collation, Result, SqlError, Value};

/// What an expression can ask the session: each answer becomes a literal of the statement.
pub trait SessionValues {
    fn database(&self) -> Option<String>;
    /// `@@name`; error 1193 when there is none. `scope`: `None` when not written.
    fn system_variable(&self, scope: Option<VariableScope>, name: &str) -> Result<Value>;
    /// `@name`; NULL when never set.
    fn user_variable(&self, name: &str) -> Value;
    /// Local time of the statement's start, in microseconds since 1970-01-01 00:00:00.
    fn now_micros(&self) -> i64;
    /// The offset of local time from UTC, in microseconds.
    fn utc_offset_micros(&self) -> i64 {
        0
    }
    /// `user@host` as the client gave them.
    fn user(&self) -> String;
    /// `user@host` of the account (CURRENT_USER()).
    fn current_user(&self) -> String {
        self.user()
    }
    fn connection_id(&self) -> u32;
    fn last_insert_id(&self) -> u64;
    /// FOUND_ROWS().
    fn found_rows(&self) -> i64 {
        0
    }
    /// ROW_COUNT().
    fn row_count(&self) -> i64 {
        -1
    }
    fn version(&self) -> String;
    /// Of text literals (`collation_connection`).
    fn default_collation(&self) -> Collation;
    /// Whether `sql_mode` has ONLY_FULL_GROUP_BY.
    fn only_full_group_by(&self) -> bool {
        true
    }
}

/// All that binding looks at besides the statement.
pub struct BindEnv<'a> {
    pub catalog: &'a dyn Catalog,
    pub session: &'a dyn SessionValues,
    /// Values of `?`, in order.
    pub parameters: &'a [Value],
}

/// A bound query.
#[derive(Debug, Clone)]
pub struct Bound {
    pub rel: Rel,
    pub columns: Columns,
    /// Result columns in order, with their names.
    pub outputs: Vec<(ColId, String)>,
    /// Base tables and views mentioned, as (database, name), each once: for privileges.
    pub tables: Vec<(String, String)>,
    /// Number and wording.
    pub warnings: Vec<SqlError>,
    pub hints: Vec<OptimizerHint>,
}
