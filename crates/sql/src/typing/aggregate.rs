//! Types of aggregate functions (manual 14.19.1; MySQL: `Item_sum`).

use super::{Item, arithmetic::ArithmeticRules, numeric_type};
use muster_types::{SqlType, sql_type::DECIMAL_MAX_PRECISION};

/// Digits that SUM adds in front of the point: it can add that many rows.
const SUM_DIGITS: u32 = 22;

/// Type of SUM, and the type its argument is converted to.
pub(crate) fn sum(item: &Item) -> (SqlType, SqlType) {
    let arg = numeric_type(item.ty);
    match arg {
        SqlType::Double | SqlType::Null => (SqlType::Double, SqlType::Double),
        _ => match item.decimal_digits() {
            Some((p, s)) => (SqlType::decimal(p + SUM_DIGITS, s), arg),
            None => (SqlType::Double, SqlType::Double),
        },
    }
}

/// Type of AVG, and the type its argument is converted to.
pub(crate) fn avg(item: &Item, rules: ArithmeticRules) -> (SqlType, SqlType) {
    let arg = numeric_type(item.ty);
    match arg {
        SqlType::Double | SqlType::Null => (SqlType::Double, SqlType::Double),
        _ => match item.decimal_digits() {
            Some((p, s)) => {
                let precision = (p + rules.increment).min(DECIMAL_MAX_PRECISION as u32);
                (SqlType::decimal(precision, s + rules.increment), arg)
            }
            None => (SqlType::Double, SqlType::Double),
        },
    }
}

/// Type of MIN, MAX, ANY_VALUE, and of their argument.
pub(crate) fn extreme(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Bool => SqlType::BIGINT,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_algebra::{ColId, Expr};
    use muster_types::Collation;

    const RULES: ArithmeticRules = ArithmeticRules { increment: 4, signed_differences: false };

    #[test]
    fn sums_and_averages() {
        for (ty, want_sum, want_avg) in [
            (SqlType::INT, "decimal(32,0)", "decimal(14,4)"),
            (SqlType::decimal(15, 2), "decimal(37,2)", "decimal(19,6)"),
            (SqlType::decimal(31, 4), "decimal(53,4)", "decimal(35,8)"),
            (SqlType::decimal(60, 30), "decimal(65,30)", "decimal(64,30)"),
            (SqlType::Double, "double", "double"),
            (SqlType::Float, "double", "double"),
            (SqlType::varchar(5, Collation::DEFAULT), "double", "double"),
        ] {
            let item = Item::new(Expr::Column(ColId(0)), ty);
            assert_eq!(sum(&item).0.to_string(), want_sum);
            assert_eq!(avg(&item, RULES).0.to_string(), want_avg);
        }
    }
}
