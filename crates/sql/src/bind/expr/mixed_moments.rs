//! Dates and times of several types of which CASE or IF chooses one: the result is a datetime, but MySQL asks the
//! chosen value itself for its number and for its time of day (`Item_func_case::val_int`, `Item_func_if::get_time`),
//! so that a DATE is 20010131 and a TIME has more than 23 hours.

use super::case::case;
use crate::{bind::binder::Binder, typing::Item};
use muster_algebra::{CompareOp, Expr, ScalarFunction};
use muster_types::{SqlType, Value, temporal::FSP_MAX};

/// Letters of the longest time with a fraction.
const TIME_LETTERS: u32 = 17;
/// Numbers from this one on are datetimes where a TIME is wanted.
const FIRST_MOMENT: f64 = 1e10;

/// Returns true for a DATE or TIME that is a datetime beside others.
pub(super) fn is_of_other_type(from: SqlType, to: SqlType) -> bool {
    matches!(to, SqlType::DateTime { .. }) && matches!(from, SqlType::Date | SqlType::Time { .. })
}

impl Binder<'_> {
    /// A DATE or TIME as a datetime, in the form that [`given_moment`] knows.
    pub(super) fn moment_of_other_type(&mut self, item: Item, ty: SqlType) -> Expr {
        let is_time = matches!(item.ty, SqlType::Time { .. });
        let item = self.dated(item);
        let moment = match is_time {
            true => Expr::Cast { arg: Box::new(item.expr), ty: item.ty },
            false => item.expr,
        };
        Expr::Cast { arg: Box::new(moment), ty }
    }

    /// What `of` makes of each date or time that a CASE chooses from, if they have several types.
    pub(in crate::bind) fn of_each_moment(
        &mut self,
        item: &Item,
        ty: SqlType,
        of: &mut dyn FnMut(&mut Self, Item) -> Expr,
    ) -> Option<Item> {
        let Expr::Case { branches, otherwise, ty: chosen @ SqlType::DateTime { .. } } = &item.expr else { return None };
        let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
        let given: Vec<Expr> = results.map(|result| self.given_moment(result).unwrap_or(result).clone()).collect();
        if !given.iter().any(|result| is_of_other_type(self.type_of(result), *chosen)) {
            return None;
        }
        let made = given.into_iter().map(|result| {
            let from = self.type_of(&result);
            match &result {
                Expr::Literal { value, .. } if value.is_null() => Expr::null(ty),
                _ => of(self, Item::new(result, from)),
            }
        });
        let made = made.collect();
        Some(Item::new(case(branches.iter().map(|(test, _)| test.clone()).collect(), made, ty), ty))
    }

    /// The value as type `ty`, if it is one that CASE has made of values of other types which MySQL asks themselves.
    pub(in crate::bind) fn of_each_value(&mut self, item: &Item, ty: SqlType) -> Option<Item> {
        match ty {
            SqlType::Text { .. } | SqlType::Bytes { .. } => self.text_of_each_number(item, ty),
            moment if moment.is_temporal() => {
                let of_text = self.of_each_result(item, ty, &mut |binder, result| binder.moment_of(result, ty));
                match ty {
                    SqlType::Time { .. } => {
                        let mut as_time = |binder: &mut Self, of: Item| binder.convert(of, ty).expr;
                        of_text.or_else(|| self.of_each_moment(item, ty, &mut as_time))
                    }
                    _ => of_text,
                }
            }
            _ => None,
        }
    }

    /// A CASE that has made texts of values some of which are numbers, with the times that these are: NULL for a number
    /// out of the range of TIME, where a text would be its end. Other values as they are.
    pub(super) fn numbers_as_times(&mut self, item: Item) -> Item {
        let SqlType::Text { length, collation, .. } = item.ty else { return item };
        let Expr::Case { branches, otherwise, .. } = &item.expr else { return item };
        let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
        let is_number = |result: &Expr| matches!(result, Expr::Cast { arg, .. } if self.type_of(arg).is_numeric());
        if !results.into_iter().any(is_number) {
            return item;
        }
        let ty = SqlType::varchar(length.max(TIME_LETTERS), collation);
        let times = self.of_each_result(&item, ty, &mut |binder, result| {
            let text = binder.cast_to(result.clone(), ty).expr;
            if !result.ty.is_numeric() {
                return text;
            }
            let size = binder.convert(result.clone(), SqlType::Double).expr;
            let time = binder.convert(result, SqlType::Time { fsp: FSP_MAX });
            let time = binder.cast_to(time, ty).expr;
            let first_moment = Expr::literal(Value::Double(FIRST_MOMENT), SqlType::Double);
            let branches = vec![(Expr::compare(CompareOp::GtEq, size, first_moment), text)];
            Expr::Case { branches, otherwise: Some(Box::new(time)), ty }
        });
        times.map_or(item.clone(), |times| Item { decimals: item.decimals, derivation: item.derivation, ..times })
    }

    /// The DATE or TIME behind one of the results of a CASE; `None` for another value.
    fn given_moment<'e>(&self, result: &'e Expr) -> Option<&'e Expr> {
        let Expr::Cast { arg, ty: SqlType::DateTime { .. } } = result else { return None };
        match &**arg {
            Expr::Cast { arg: dated, ty } => match &**dated {
                Expr::Call { function: ScalarFunction::Library(function), args, ty: own }
                    if function.name == "TIMESTAMP" && own == ty =>
                {
                    args.get(1)
                }
                _ => None,
            },
            date => (self.type_of(date) == SqlType::Date).then_some(date),
        }
    }
}
