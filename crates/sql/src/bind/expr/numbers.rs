//! The number of an expression whose type is text only because its values were of several types: MySQL asks each of the
//! values for its number (`Item_func_if::val_real` and its kin), so that a date is 20010131 and not the number that its
//! text begins with.

use super::temporal::MOVED_TEXT_LENGTH;
use crate::{bind::binder::Binder, typing::Item};
use muster_algebra::{CompareOp, Expr, ScalarFunction};
use muster_types::{SqlType, Value, temporal};

/// Characters of a date without a time of day.
const DATE_CHARS: i64 = 10;

impl Binder<'_> {
    /// The value as a number of this type, if it is a text that was made of other values.
    pub(super) fn number_of_mixed(&self, item: &Item, ty: SqlType) -> Option<Item> {
        if !item.ty.is_text() || !ty.is_numeric() {
            return None;
        }
        // A text that the statement asks for is one.
        let is_asked_for = match &item.expr {
            Expr::Cast { arg, .. } => !is_extreme(arg),
            _ => false,
        };
        if is_asked_for {
            return None;
        }
        self.number(&item.expr, ty).map(|expr| Item::new(expr, ty))
    }

    fn number(&self, expr: &Expr, ty: SqlType) -> Option<Expr> {
        match expr {
            // A constant that was moved by an interval, which its declared length tells from a text of the statement.
            Expr::Literal { value: Value::Text(text), ty: SqlType::Text { length: MOVED_TEXT_LENGTH, .. } }
                if text.len() < MOVED_TEXT_LENGTH as usize =>
            {
                let read = temporal::read_datetime(text)?;
                let moment = match read.has_clock {
                    true => Value::DateTime(read.moment.datetime()?),
                    false => Value::Date(read.moment.date()?),
                };
                Some(Expr::literal(muster_types::cast(&moment, ty).0, ty))
            }
            // A value that was made text is asked itself.
            Expr::Cast { arg, ty: made } if made.is_text() && !self.is_string(arg) => Some(cast((**arg).clone(), ty)),
            Expr::Cast { arg, ty: made } if made.is_text() => self.number(arg, ty),
            Expr::Case { branches, otherwise, ty: made } if made.is_text() => {
                let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
                let numbers = self.numbers(results, ty)?;
                let mut numbers = numbers.into_iter();
                let branches = branches.iter().map(|(test, _)| test.clone()).zip(numbers.by_ref()).collect::<Vec<_>>();
                Some(Expr::Case { branches, otherwise: numbers.next().map(Box::new), ty })
            }
            Expr::Call { function: ScalarFunction::Coalesce, args, ty: made } if made.is_text() => {
                let args = self.numbers(args.iter(), ty)?;
                Some(Expr::Call { function: ScalarFunction::Coalesce, args, ty })
            }
            Expr::Call { function: ScalarFunction::DateAdd(_) | ScalarFunction::DateSub(_), ty: made, .. }
                if made.is_text() && !expr.has_subquery() =>
            {
                let (date, moment) =
                    (cast(expr.clone(), SqlType::Date), cast(expr.clone(), SqlType::DateTime { fsp: 6 }));
                let chars =
                    Expr::Call { function: ScalarFunction::CharLength, args: vec![expr.clone()], ty: SqlType::BIGINT };
                let most = Expr::literal(Value::Int(DATE_CHARS), SqlType::BIGINT);
                let is_date = Expr::compare(CompareOp::LtEq, chars, most);
                let otherwise = Some(Box::new(cast(moment, ty)));
                Some(Expr::Case { branches: vec![(is_date, cast(date, ty))], otherwise, ty })
            }
            _ => None,
        }
    }

    /// The numbers of several values; `None` if each is the number that its text begins with.
    fn numbers<'e>(&self, values: impl Iterator<Item = &'e Expr>, ty: SqlType) -> Option<Vec<Expr>> {
        let mut is_mixed = false;
        let numbers = values.map(|value| {
            let number = self.number(value, ty);
            is_mixed |= number.is_some();
            number.unwrap_or_else(|| cast(value.clone(), ty))
        });
        let numbers = numbers.collect();
        is_mixed.then_some(numbers)
    }

    fn is_string(&self, expr: &Expr) -> bool {
        let ty = self.type_of(expr);
        ty.is_text() || ty.is_bytes()
    }
}

/// Returns true for GREATEST and LEAST, whatever they are made to be.
fn is_extreme(expr: &Expr) -> bool {
    match expr {
        Expr::Cast { arg, .. } => is_extreme(arg),
        Expr::Call { function, .. } => matches!(function, ScalarFunction::Greatest | ScalarFunction::Least),
        _ => false,
    }
}

fn cast(expr: Expr, ty: SqlType) -> Expr {
    match expr {
        Expr::Literal { value: Value::Null, .. } => Expr::null(ty),
        expr => Expr::Cast { arg: Box::new(expr), ty },
    }
}
