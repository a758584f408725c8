//! The values of a statement that are others at each execution though its text is the same: they are parameters behind
//! those of its text.

use super::parameters::VALUES_MAX;
use muster_sql::MomentValue;
use muster_types::{Value, temporal::datetime_parts};

/// The number of the first of them; a text has fewer values.
pub const FIRST_MOMENT: usize = VALUES_MAX;

/// What these values are taken from.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The local datetime of the statement, in microseconds.
    pub now: i64,
    pub last_insert_id: u64,
}

impl Moment {
    pub fn value(&self, of: MomentValue) -> Value {
        match of {
            MomentValue::Now { fsp } => {
                let unit = 10i64.pow(6 - u32::from(fsp));
                Value::DateTime(self.now.div_euclid(unit) * unit)
            }
            MomentValue::Today => Value::Date(datetime_parts(self.now).0),
            MomentValue::LastInsertId => Value::UInt(self.last_insert_id),
        }
    }
}
