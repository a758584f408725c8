//! One type for several values: CASE, IF, COALESCE, GREATEST, UNION (MySQL: `Field::field_type_merge`).

use super::{Derivation, Item, JSON_TEXT, bytes_of_length, collation, display_length, text_of_length};
use muster_algebra::Expr;
use muster_types::{BytesKind, Collation, IntWidth, Result, SqlType, TextKind};

/// The operation whose columns must have one collation.
pub(crate) const UNION: &str = "UNION";

/// The common type. Error 1267 when collations do not go together.
pub(crate) fn result_type(items: &[&Item], default: Collation, operation: &str) -> Result<SqlType> {
    let known: Vec<&Item> = items.iter().copied().filter(|i| i.ty != SqlType::Null).collect();
    let Some(first) = known.first() else { return Ok(SqlType::Null) };
    if known.iter().all(|i| i.ty == first.ty) {
        return Ok(first.ty);
    }
    if known.iter().any(|i| i.ty == SqlType::Json) {
        // Beside anything else a document is a text.
        let text = |i: &&Item| match i.ty {
            SqlType::Json => Item { ty: JSON_TEXT, ..(*i).clone() },
            _ => (*i).clone(),
        };
        let texts: Vec<Item> = known.iter().map(text).collect();
        return result_type(&texts.iter().collect::<Vec<_>>(), default, operation);
    }
    let is_text_stronger = known.iter().any(|i| i.collation().is_some_and(|of| of != Collation::Binary))
        && collation::aggregate_result(&known, default, operation).is_ok_and(|(of, _)| of != Collation::Binary);
    let are_numbers = known.iter().all(|i| i.ty.is_numeric());
    if known.iter().any(|i| i.collation() == Some(Collation::Binary)) && !are_numbers && !is_text_stronger {
        let of = |i: &Item| match i.ty {
            ty if ty.is_integer() => i.text_length(),
            _ => computed_double(i).unwrap_or_else(|| byte_length(i.ty)),
        };
        let length = known.iter().map(|i| of(i)).max().unwrap_or(0);
        // A temporary table has all values in the length of a BINARY, unless one is a string of variable length.
        if operation == UNION && known.iter().all(|i| !is_of_variable_length(i.ty)) {
            return Ok(SqlType::Bytes { kind: BytesKind::Binary, length });
        }
        return Ok(bytes_of_length(length.into()));
    }
    if are_numbers {
        return Ok(numeric(&known));
    }
    if known.iter().all(|i| i.ty.is_temporal()) {
        return Ok(temporal(&known));
    }
    let (collation, derivation) = collation::aggregate_result(&known, default, operation)?;
    if derivation == Derivation::None && operation == UNION {
        return Err(collation::illegal_mix_of_many(UNION));
    }
    let length = known.iter().map(|i| i.text_length()).max().unwrap_or(0);
    Ok(match known.iter().filter_map(|i| text_kind(i.ty)).max_by_key(|kind| rank(*kind)) {
        Some(kind) => SqlType::Text { kind, length, collation },
        None => text_of_length(length.into(), collation),
    })
}

/// Bytes of a double that is no column and no literal (MySQL: `Item::float_length`).
fn computed_double(item: &Item) -> Option<u32> {
    const DIGITS: u32 = 17;
    const LONGEST: u32 = 23;
    let is_computed = item.ty == SqlType::Double && !matches!(item.expr, Expr::Column(_) | Expr::Literal { .. });
    is_computed.then(|| item.decimals.map_or(LONGEST, |decimals| DIGITS + u32::from(decimals)))
}

fn is_of_variable_length(ty: SqlType) -> bool {
    let is_fixed =
        matches!(ty, SqlType::Text { kind: TextKind::Char, .. } | SqlType::Bytes { kind: BytesKind::Binary, .. });
    (ty.is_text() || ty.is_bytes()) && !is_fixed
}

fn text_kind(ty: SqlType) -> Option<TextKind> {
    match ty {
        SqlType::Text { kind, .. } => Some(kind),
        // A byte string that becomes a text is one of variable length.
        SqlType::Bytes { kind: BytesKind::VarBinary, .. } => Some(TextKind::VarChar),
        _ => None,
    }
}

/// The kind of the higher rank is that of both; CHAR only next to others and to what is no text.
fn rank(kind: TextKind) -> u8 {
    match kind {
        TextKind::Char => 0,
        TextKind::VarChar => 1,
        TextKind::TinyText => 2,
        TextKind::Text => 3,
        TextKind::MediumText => 4,
        TextKind::LongText => 5,
    }
}

/// Digits behind the point that a floating-point number made of these shows, or that are declared for a text made of
/// numbers and moments: the most of any, if all are known.
pub(crate) fn decimals(items: &[&Item]) -> Option<u8> {
    let known = items.iter().filter(|i| i.ty != SqlType::Null);
    let digits = |item: &Item| match item.ty {
        ty if ty.is_temporal() => Some(ty.fsp()),
        _ if item.hexadecimal => Some(0),
        // A text that was made of such values knows their digits.
        SqlType::Text { .. } | SqlType::Bytes { .. } => item.decimals,
        _ => item.shown_decimals(),
    };
    known.map(|i| digits(i)).try_fold(0, |most, decimals| Some(decimals?.max(most)))
}

/// Most bytes of a value as a byte string.
pub(crate) fn byte_length(ty: SqlType) -> u32 {
    match ty {
        SqlType::Text { length, collation, .. } => length.saturating_mul(collation.charset_max_bytes()),
        other => display_length(other),
    }
}

fn numeric(items: &[&Item]) -> SqlType {
    if items.iter().all(|i| i.ty == SqlType::Float) {
        return SqlType::Float;
    }
    if items.iter().any(|i| matches!(i.ty, SqlType::Float | SqlType::Double)) {
        return floating(items);
    }
    if items.iter().any(|i| matches!(i.ty, SqlType::Decimal { .. })) {
        let digits = items.iter().filter_map(|i| i.decimal_digits());
        let (whole, scale) = digits.fold((0, 0), |(w, s), (p, sc)| (w.max(p - sc), s.max(sc)));
        return SqlType::decimal(whole + scale, scale);
    }
    integer(items)
}

/// The type of floating-point numbers and others, from left to right: FLOAT stays so beside small integers, and
/// beside a BIGINT behind it (MySQL: `field_types_merge_rules`).
fn floating(items: &[&Item]) -> SqlType {
    let is_small = |ty: SqlType| match ty {
        SqlType::Int { width, .. } => !matches!(width, IntWidth::Int | IntWidth::Big),
        ty => ty == SqlType::Float,
    };
    // Conditions are BIGINT.
    let is_big = |ty: SqlType| matches!(ty, SqlType::Bool | SqlType::Int { width: IntWidth::Big, .. });
    let mut has_float = false;
    for item in items {
        let stays = is_small(item.ty) || has_float && is_big(item.ty);
        if !stays {
            return SqlType::Double;
        }
        has_float |= item.ty == SqlType::Float;
    }
    SqlType::Float
}

/// The widest of several integers; a wider one if there are both signs and an unsigned one is as wide (MySQL:
/// `Item::aggregate_type`).
fn integer(items: &[&Item]) -> SqlType {
    let of = |item: &Item| match item.ty {
        SqlType::Int { width, unsigned } => (width, unsigned),
        _ => (IntWidth::Big, false),
    };
    let width = items.iter().map(|item| of(item).0).max().unwrap_or(IntWidth::Big);
    let is_unsigned = |item: &Item| of(item).1;
    if items.iter().all(|item| !is_unsigned(item)) {
        return SqlType::Int { width, unsigned: false };
    }
    if items.iter().all(|item| is_unsigned(item)) {
        return SqlType::Int { width, unsigned: true };
    }
    let unsigned = items.iter().any(|item| of(item) == (width, true));
    let width = match width {
        width if !unsigned => width,
        IntWidth::Tiny => IntWidth::Small,
        IntWidth::Small => IntWidth::Medium,
        IntWidth::Medium => IntWidth::Int,
        IntWidth::Int => IntWidth::Big,
        IntWidth::Big => {
            let digits = items.iter().filter_map(|item| item.decimal_digits()).map(|(digits, _)| digits).max();
            return SqlType::decimal(digits.unwrap_or(20), 0);
        }
    };
    SqlType::Int { width, unsigned: false }
}

fn temporal(items: &[&Item]) -> SqlType {
    let fsp = items.iter().map(|i| i.ty.fsp()).max().unwrap_or(0);
    if items.iter().all(|i| matches!(i.ty, SqlType::Time { .. })) {
        SqlType::Time { fsp }
    } else if items.iter().all(|i| matches!(i.ty, SqlType::Timestamp { .. })) {
        SqlType::Timestamp { fsp }
    } else {
        SqlType::DateTime { fsp }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_algebra::{ColId, Expr};
    use muster_types::Value;

    fn of(types: &[SqlType]) -> String {
        let items: Vec<Item> = types.iter().map(|t| Item::new(Expr::Column(ColId(0)), *t)).collect();
        result_type(&items.iter().collect::<Vec<_>>(), Collation::DEFAULT, "case").unwrap().to_string()
    }

    #[test]
    fn types_merge_as_in_mysql() {
        use SqlType as T;
        let text = T::varchar(5, Collation::DEFAULT);
        for (types, want) in [
            (vec![T::INT, T::BIGINT], "bigint"),
            (vec![T::INT, T::Null], "int"),
            (vec![T::INT, T::BIGINT_UNSIGNED], "decimal(20,0)"),
            (vec![T::INT, T::decimal(5, 2)], "decimal(12,2)"),
            (vec![T::decimal(5, 2), T::Double], "double"),
            (vec![T::Date, T::Date], "date"),
            (vec![T::Date, T::DateTime { fsp: 2 }], "datetime(2)"),
            (vec![T::Date, T::Time { fsp: 0 }], "datetime"),
            (vec![text, T::INT], "varchar(11)"),
            (vec![text, T::Date], "varchar(10)"),
            (vec![text, T::varchar(9, Collation::DEFAULT)], "varchar(9)"),
            (vec![T::Null, T::Null], "null"),
            (vec![T::Bool, T::Bool], "tinyint(1)"),
        ] {
            assert_eq!(of(&types), want, "{types:?}");
        }
    }

    #[test]
    fn literals_count_their_digits() {
        let volume = Item::new(Expr::Column(ColId(0)), SqlType::decimal(31, 4));
        let zero = Item::literal(Value::Int(0), SqlType::BIGINT);
        assert_eq!(result_type(&[&volume, &zero], Collation::DEFAULT, "case"), Ok(SqlType::decimal(31, 4)));
    }
}
