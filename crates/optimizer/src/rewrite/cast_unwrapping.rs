//! `CAST(column AS wider) < constant` becomes `column < constant` where no value changes: the comparison then runs on
//! the stored type and can use an index. So does a TIMESTAMP column in a zone that is always as far from UTC.

mod members;

use super::{RewriteContext, update_exprs};
use crate::literal::{exact_constant, exact_value, is_lossless_cast, literal};
use muster_algebra::{Columns, CompareOp, Expr, Rel, ScalarFunction, SqlType, Value};
use muster_types::{
    Result,
    temporal::{MICROS_PER_SECOND, datetime_parts, is_calendar_day, moved_datetime},
    time_zone::TimeZone,
};

pub fn run(rel: Rel, context: &mut RewriteContext<'_>) -> Result<Rel> {
    let columns = &*context.columns;
    update_exprs(rel, &mut |expr| {
        let unwrapped = match expr {
            Expr::Compare { op, left, right } => unwrap_comparison(*op, left, right, columns)
                .or_else(|| members::unwrap_comparison(*op, left, right, columns)),
            Expr::InList { arg, list, negated } => unwrap_list(arg, list, columns)
                .or_else(|| members::unwrap_list(arg, list, columns))
                .map(|(arg, list)| Expr::InList { arg: Box::new(arg), list, negated: *negated }),
            _ => None,
        };
        if let Some(unwrapped) = unwrapped {
            *expr = unwrapped;
        }
    })
}

/// What a column became before it was compared.
enum Wrapped {
    /// Cast without loss, from this type.
    Cast(SqlType),
    /// Moved by so many microseconds, as a TIMESTAMP of this type.
    Moved(i64, SqlType),
}

fn unwrap<'a>(expr: &'a Expr, columns: &Columns) -> Option<(&'a Expr, Wrapped)> {
    let (column, wrapped) = match expr {
        Expr::Cast { arg, ty } => {
            let from = arg.ty(columns);
            (&**arg, Wrapped::Cast(is_lossless_cast(from, *ty).then_some(from)?))
        }
        Expr::Call { function: ScalarFunction::ConvertTz, args, ty: ty @ SqlType::Timestamp { .. } } => {
            let [column, from, to] = args.as_slice() else { return None };
            let seconds = |e: &Expr| TimeZone::from_name(&literal(e)?.0.to_text(0)?)?.fixed_seconds();
            let moved = i64::from(seconds(to)? - seconds(from)?) * MICROS_PER_SECOND;
            (column, Wrapped::Moved(moved, *ty))
        }
        _ => return None,
    };
    matches!(column, Expr::Column(_)).then_some((column, wrapped))
}

/// The constant that the bare column compares with as the wrapped one does with this.
fn unwrapped_constant(expr: &Expr, wrapped: &Wrapped) -> Option<Expr> {
    match *wrapped {
        Wrapped::Cast(to) => exact_constant(expr, to),
        Wrapped::Moved(micros, to) => match literal(expr).and_then(|(value, from)| exact_value(value, from, to))? {
            // The zero date is so in all zones, and before all that is moved.
            Value::DateTime(zero @ 0) => Some(Expr::literal(Value::DateTime(zero), to)),
            Value::DateTime(t) if is_calendar_day(datetime_parts(t).0) => {
                let utc = moved_datetime(t, -micros);
                (utc > 0).then(|| Expr::literal(Value::DateTime(utc), to))
            }
            Value::Null => Some(Expr::null(to)),
            _ => None,
        },
    }
}

fn unwrap_comparison(op: CompareOp, left: &Expr, right: &Expr, columns: &Columns) -> Option<Expr> {
    if let Some((arg, wrapped)) = unwrap(left, columns)
        && let Some(constant) = unwrapped_constant(right, &wrapped)
    {
        return Some(Expr::compare(op, arg.clone(), constant));
    }
    if let Some((arg, wrapped)) = unwrap(right, columns)
        && let Some(constant) = unwrapped_constant(left, &wrapped)
    {
        return Some(Expr::compare(op, constant, arg.clone()));
    }
    None
}

fn unwrap_list(arg: &Expr, list: &[Expr], columns: &Columns) -> Option<(Expr, Vec<Expr>)> {
    let (arg, wrapped) = unwrap(arg, columns)?;
    let list: Option<Vec<Expr>> = list.iter().map(|e| unwrapped_constant(e, &wrapped)).collect();
    Some((arg.clone(), list?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;
    use muster_types::temporal::{date_code, datetime_of};

    #[test]
    fn constants_take_the_type_of_the_column() {
        let mut t = Tables::new();
        let (_, a, _) = t.table("t", &["a", "b"]).pair();
        let wide = Expr::Cast { arg: Box::new(Expr::Column(a)), ty: SqlType::BIGINT };
        let got = unwrap_comparison(CompareOp::Lt, &wide, &Expr::int(7), &t.columns);
        let wanted = Expr::compare(CompareOp::Lt, Expr::Column(a), Expr::literal(Value::Int(7), SqlType::INT));
        assert_eq!(got, Some(wanted));
        // 5 thousand million is no INT: the comparison stays as it is.
        let big = Expr::int(5_000_000_000);
        assert_eq!(unwrap_comparison(CompareOp::Lt, &wide, &big, &t.columns), None);
    }

    #[test]
    fn timestamps_compare_in_utc() {
        let mut t = Tables::new();
        let (_, a, _) = t.table("t", &["a", "b"]).pair();
        let ty = SqlType::Timestamp { fsp: 0 };
        let text =
            |s: &str| Expr::literal(Value::Text(s.into()), SqlType::varchar(9, muster_types::Collation::DEFAULT));
        let local = |zone| Expr::Call {
            function: ScalarFunction::ConvertTz,
            args: vec![Expr::Column(a), text("+00:00"), text(zone)],
            ty,
        };
        let day = datetime_of(date_code(2001, 1, 31), 0);
        let hours = |n: i64| Expr::literal(Value::DateTime(moved_datetime(day, n * 3_600_000_000)), ty);
        let compare = |zone| unwrap_comparison(CompareOp::Lt, &local(zone), &hours(5), &t.columns);
        assert_eq!(compare("+02:00"), Some(Expr::compare(CompareOp::Lt, Expr::Column(a), hours(3))));
        assert_eq!(compare("-02:00"), Some(Expr::compare(CompareOp::Lt, Expr::Column(a), hours(7))));
        assert_eq!(compare("-20:00"), None);
        assert_eq!(compare("-13:00"), Some(Expr::compare(CompareOp::Lt, Expr::Column(a), hours(18))));
        assert_eq!(compare("+13:00"), Some(Expr::compare(CompareOp::Lt, Expr::Column(a), hours(-8))));
        let zero = Expr::literal(Value::DateTime(0), ty);
        assert_eq!(
            unwrap_comparison(CompareOp::Eq, &local("+02:00"), &zero, &t.columns),
            Some(Expr::compare(CompareOp::Eq, Expr::Column(a), zero))
        );
        let first = Expr::literal(Value::DateTime(datetime_of(date_code(0, 1, 1), 0)), ty);
        assert_eq!(unwrap_comparison(CompareOp::Gt, &local("+02:00"), &first, &t.columns), None);
        // Where clocks change, the order of local times is not that of moments.
        assert_eq!(compare("Europe/Berlin"), None);
    }
}
