//! SHOW WARNINGS and SHOW ERRORS.

use crate::{
    ColumnInfo, Outcome,
    rows::{self, text_column},
    statement::{Diagnostics, Level},
};
use muster_types::{IntWidth, Result, SqlType, Value};

/// Characters of how many conditions there are.
const COUNT_LENGTH: u32 = 21;
/// Characters of the number of an error.
const CODE_LENGTH: u32 = 5;

/// The conditions of the statement before, or their number.
pub fn conditions(
    diagnostics: &Diagnostics,
    errors_only: bool,
    count: bool,
    offset: u64,
    limit: Option<u64>,
) -> Result<Outcome> {
    let unsigned = |width| SqlType::Int { width, unsigned: true };
    if count {
        let (all, errors) = diagnostics.counts();
        let name = if errors_only { "@@session.error_count" } else { "@@session.warning_count" };
        let column = rows::column(name, unsigned(IntWidth::Big), true);
        let columns = vec![ColumnInfo { length: Some(COUNT_LENGTH), ..column }];
        return rows::outcome(columns, &[vec![Value::UInt(if errors_only { errors } else { all })]]);
    }
    let not_null = |column: ColumnInfo| ColumnInfo { nullable: false, ..column };
    let columns = vec![
        not_null(text_column("Level", 7)),
        ColumnInfo { length: Some(CODE_LENGTH), ..rows::column("Code", unsigned(IntWidth::Int), false) },
        not_null(text_column("Message", 512)),
    ];
    let bounded = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let wanted = diagnostics.all().into_iter().filter(|(l, _)| !errors_only || *l == Level::Error);
    let shown: Vec<Vec<Value>> = wanted
        .skip(bounded(offset))
        .take(limit.map_or(usize::MAX, bounded))
        .map(|(level, w)| {
            vec![Value::Text(format!("{level:?}")), Value::UInt(w.code.number().into()), Value::Text(w.message)]
        })
        .collect();
    rows::outcome(columns, &shown)
}
