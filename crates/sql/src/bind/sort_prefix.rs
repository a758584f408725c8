//! ORDER BY looks at the first `max_sort_length` bytes of a text's weights only, if its collation pads spaces (manual
//! 7.1.8; MySQL: `sortlength`). Texts that are equal so far are in the order of the other keys.

use super::binder::Binder;
use muster_algebra::{Expr, ScalarFunction};
use muster_types::{Collation, SqlType, Value};

/// The variable's default, in bytes.
const USUAL_LENGTH: i64 = 1024;

impl Binder<'_> {
    /// The part of a sort key that is looked at.
    pub(super) fn sort_prefix(&self, key: Expr) -> Expr {
        let ty = key.ty(&self.columns);
        let SqlType::Text { length, collation, .. } = ty else { return key };
        if !collation.pad_space() {
            return key;
        }
        let bytes = match self.env.session.kept_variable("max_sort_length") {
            Value::Int(bytes) => bytes,
            Value::UInt(bytes) => i64::try_from(bytes).unwrap_or(i64::MAX),
            _ => USUAL_LENGTH,
        };
        let letters = bytes / weight_bytes(collation);
        if i64::from(length) <= letters {
            return key;
        }
        Expr::Call { function: ScalarFunction::Left, args: vec![key, Expr::int(letters)], ty }
    }
}

/// Bytes of one letter's weight in a sort key of MySQL.
fn weight_bytes(collation: Collation) -> i64 {
    let charset = collation.character_set();
    match (charset.is_unicode(), collation.is_binary()) {
        (true, true) => 3,
        (true, false) => 2,
        (false, _) => i64::from(charset.max_bytes()),
    }
}
