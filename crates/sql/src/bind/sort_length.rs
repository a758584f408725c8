//! `max_sort_length` (manual 7.1.8): sorting looks at so many bytes of a text's weights at most, if its collation pads
//! texts with spaces.
//!
//! ```text
//!   ORDER BY v   ->   ORDER BY LEFT(v, 1), LEFT(WEIGHT_STRING(RPAD(SUBSTRING(v, 2, 1), 1, ' ')), 1)
//! ```
//!
//! with 4 bytes of weights that have three each.

use super::binder::Binder;
use crate::typing::{Item, bytes_of_length};
use muster_algebra::{ColId, Expr, ScalarFunction, SortKey};
use muster_functions::LibraryFunction;
use muster_types::{SqlType, Value};

impl Binder<'_> {
    /// The keys that rows are sorted by where a column is to be.
    pub(super) fn sort_keys_of(&self, id: ColId, descending: bool) -> Vec<SortKey> {
        let exprs = self.short_key(id).unwrap_or_else(|| vec![Expr::Column(id)]);
        exprs.into_iter().map(|expr| SortKey { expr, descending }).collect()
    }

    /// The part of a text column that sorting looks at; `None` if that is all of it.
    fn short_key(&self, id: ColId) -> Option<Vec<Expr>> {
        let most = match self.env.session.kept_variable("max_sort_length") {
            // MySQL makes the number even.
            Value::Int(n) => u32::try_from(n).ok()?.next_multiple_of(2),
            Value::UInt(n) => u32::try_from(n).ok()?.next_multiple_of(2),
            _ => return None,
        };
        let ty = self.columns.ty(id);
        let SqlType::Text { kind, length, collation } = ty else { return None };
        if !collation.pad_space() {
            return None;
        }
        let weight = u32::try_from(collation.weight_string("a").len()).ok()?.max(1);
        let (whole, rest) = (most / weight, most % weight);
        if length <= whole {
            return None;
        }
        let int = |n: u32| Expr::literal(Value::Int(n.into()), SqlType::BIGINT);
        let text = |length| SqlType::Text { kind, length, collation };
        let call = |function, args, ty| Expr::Call { function, args, ty };
        let column = Expr::Column(id);
        let mut keys = vec![call(ScalarFunction::Left, vec![column.clone(), int(whole)], text(whole))];
        if rest > 0 {
            let one = call(ScalarFunction::Substring, vec![column, int(whole + 1), int(1)], text(1));
            let space = Item::literal(Value::Text(" ".into()), text(1)).expr;
            let padded = call(ScalarFunction::RPad, vec![one, int(1), space], text(1));
            let weights = ScalarFunction::Library(LibraryFunction::by_name("WEIGHT_STRING")?);
            let weights = call(weights, vec![padded], bytes_of_length(weight.into()));
            keys.push(call(ScalarFunction::Left, vec![weights, int(rest)], bytes_of_length(rest.into())));
        }
        Some(keys)
    }
}
