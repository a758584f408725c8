//! Conversions to dates and times that cut digits of the fraction of a second (TIME_TRUNCATE_FRACTIONAL).

use super::binder::Binder;
use crate::typing::Item;
use muster_algebra::{ArithmeticOp, Expr, ScalarFunction};
use muster_types::{
    Collation, SqlModes, SqlType, Value,
    store::{StoredType, fraction_cut},
};

/// Most digits of a fraction.
const MAX_FSP: u8 = 6;
/// Letters of the longest date and time.
const LETTERS: u32 = 26;

impl Binder<'_> {
    /// The value with no digits of the fraction of a second beyond microseconds, where those are cut and not rounded: a
    /// number, or a text of the statement.
    pub fn cut_beyond_micros(&mut self, item: Item) -> Item {
        if !self.env.session.sql_modes().has(SqlModes::TIME_TRUNCATE_FRACTIONAL) || item.is_null_literal() {
            return item;
        }
        let ty = match item.ty {
            SqlType::Decimal { precision, scale } if scale > MAX_FSP => {
                SqlType::decimal(u32::from(precision - scale + MAX_FSP), MAX_FSP.into())
            }
            SqlType::Double => SqlType::Double,
            SqlType::Text { .. } => return cut_literal(item),
            _ => return item,
        };
        let digits = Expr::literal(Value::Int(MAX_FSP.into()), SqlType::BIGINT);
        Item::new(Expr::Call { function: ScalarFunction::Truncate, args: vec![item.expr, digits], ty }, ty)
    }

    /// A constant as a column of dates or times stores it, where digits are cut. `None` if they are rounded.
    pub fn cut_for_column(&self, value: &Value, ty: SqlType) -> Option<Value> {
        let date_modes = self.env.session.date_modes();
        let cuts = self.env.session.sql_modes().has(SqlModes::TIME_TRUNCATE_FRACTIONAL);
        fraction_cut(value, StoredType { date_modes, ..StoredType::new(ty) }).filter(|_| cuts).map(|(cut, _)| cut)
    }

    /// The value as type `ty`, a date or time of fewer digits than the value has, with the rest of its digits cut.
    /// `None` if nothing is to be cut.
    pub fn with_fraction_cut(&mut self, item: &Item, ty: SqlType) -> Option<Item> {
        let finest = match ty {
            SqlType::Date => SqlType::DateTime { fsp: MAX_FSP },
            SqlType::DateTime { .. } | SqlType::Timestamp { .. } => SqlType::DateTime { fsp: MAX_FSP },
            SqlType::Time { .. } => SqlType::Time { fsp: MAX_FSP },
            _ => return None,
        };
        let has_more = !item.ty.is_temporal() || item.ty.fsp() > ty.fsp();
        let is_cut = ty.fsp() < MAX_FSP && has_more && !item.is_null_literal();
        if !is_cut || !self.env.session.sql_modes().has(SqlModes::TIME_TRUNCATE_FRACTIONAL) {
            return None;
        }
        let cut = self.cut_beyond_micros(item.clone());
        let whole = self.convert(cut, finest);
        let text = SqlType::varchar(LETTERS, Collation::Utf8mb4GeneralCi);
        let written = self.convert(whole, text);
        // The point goes with all digits.
        let letters = i64::from(MAX_FSP - ty.fsp()) + i64::from(ty.fsp() == 0);
        let integer = |number| Expr::literal(Value::Int(number), SqlType::BIGINT);
        let length =
            Expr::Call { function: ScalarFunction::CharLength, args: vec![written.expr.clone()], ty: SqlType::BIGINT };
        let length = Expr::Arithmetic {
            op: ArithmeticOp::Sub,
            left: Box::new(length),
            right: Box::new(integer(letters)),
            ty: SqlType::BIGINT,
        };
        let args = vec![written.expr, integer(1), length];
        let kept = Item::new(Expr::Call { function: ScalarFunction::Substring, args, ty: text }, text);
        let expr = match self.has_other_date_modes() {
            true => Expr::Call { function: ScalarFunction::ReadDate, args: vec![kept.expr, self.date_modes()], ty },
            false => Expr::Cast { arg: Box::new(kept.expr), ty },
        };
        Some(Item::new(expr, ty))
    }
}

/// A text of the statement with no digits beyond microseconds behind its last point; other values as they are.
fn cut_literal(item: Item) -> Item {
    let Some(Value::Text(text)) = item.as_literal() else { return item };
    let Some((whole, fraction)) = text.rsplit_once('.') else { return item };
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    match digits.checked_sub(MAX_FSP.into()) {
        None | Some(0) => item,
        Some(_) => {
            let text = format!("{whole}.{}{}", &fraction[..MAX_FSP.into()], &fraction[digits..]);
            let expr = Expr::literal(Value::Text(text), item.ty);
            Item { expr, ..item }
        }
    }
}
