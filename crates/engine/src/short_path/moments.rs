//! The values of a statement that are others at each execution though its text is the same: they are parameters behind
//! those of its text.

use super::parameters::VALUES_MAX;
use muster_sql::MomentValue;
use muster_types::{Value, temporal::datetime_parts};
use std::borrow::Cow;

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
    fn value(&self, of: MomentValue) -> Value {
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

/// The values of a text with those of the moment behind them.
pub fn with_moments<'a>(values: &'a [Value], of: &[MomentValue], moment: impl FnOnce() -> Moment) -> Cow<'a, [Value]> {
    if of.is_empty() {
        return Cow::Borrowed(values);
    }
    let mut all = values.to_vec();
    all.resize(FIRST_MOMENT, Value::Null);
    let moment = moment();
    all.extend(of.iter().map(|of| moment.value(*of)));
    Cow::Owned(all)
}
