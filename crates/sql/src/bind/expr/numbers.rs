//! The number of an expression whose type is text.
//!
//! - **Made of other values**: MySQL asks each of the values of IF and CASE for its number (`Item_func_if::val_real`
//!   and its kin), and a date that was moved by an interval for its own, so that it is 20010131 and not the number that
//!   its text begins with.
//! - **Warnings** depend on where a text comes from ([`NumberReading`]).

use super::temporal::MOVED_TEXT_LENGTH;
use crate::{
    bind::binder::Binder,
    typing::{Derivation, Item, fold},
};
use muster_algebra::{Expr, NumberReading, ScalarFunction};
use muster_eval::read_number::read_number;
use muster_types::{
    BytesKind, SqlType, TextKind, Value,
    sql_type::{DECIMAL_MAX_PRECISION, DECIMAL_MAX_SCALE},
};

/// A number that a text is wanted as.
#[derive(Clone, Copy)]
struct Wanted {
    ty: SqlType,
    /// True if MySQL reads a decimal, whatever the type is.
    is_decimal: bool,
}

impl Binder<'_> {
    /// The value as a number of this type, if it is a text of which CAST makes another one: a text that was made of
    /// other values, or one that MySQL warns of in another way.
    pub(in crate::bind) fn number_of_text(&self, item: &Item, ty: SqlType) -> Option<Item> {
        self.number_wanted(item, Wanted { ty, is_decimal: matches!(ty, SqlType::Decimal { .. }) })
    }

    /// A text as a double, read with the warnings of a decimal; other values as they are.
    pub(super) fn double_read_as_decimal(&mut self, item: Item) -> Item {
        if let Some(number) = self.number_wanted(&item, Wanted { ty: SqlType::Double, is_decimal: true }) {
            return number;
        }
        match item.as_literal() {
            Some(value @ (Value::Text(_) | Value::Bytes(_))) if !item.hexadecimal => {
                self.read_literal(value, NumberReading::Literal, SqlType::Double)
            }
            _ => item,
        }
    }

    /// The constant text of a function next to a decimal that is none, as the decimal that it begins with (MySQL:
    /// `Arg_comparator::set_cmp_func`). Other values as they are.
    pub(super) fn decimal_beside(&mut self, item: Item, other: &Item) -> Item {
        let is_beside = matches!(other.ty, SqlType::Decimal { .. }) && fold::constant(&other.expr).is_none();
        let is_computed = item.ty.is_text() && item.as_literal().is_none() && item.expr.columns().is_empty();
        if !is_beside || !is_computed || item.expr.has_subquery() || self.declared_type(&item).is_some() {
            return item;
        }
        let Some((value @ Value::Text(_), warnings)) = fold::constant_and_warnings(&item.expr) else { return item };
        warnings.into_iter().for_each(|warning| self.warn(warning.code, warning.message));
        let most = SqlType::decimal(DECIMAL_MAX_PRECISION.into(), DECIMAL_MAX_SCALE.into());
        self.read_literal(&value, NumberReading::Result, most)
    }

    /// The number of a text of which MySQL says nothing: one of the distinct values of an aggregate.
    pub(super) fn quiet_number(&self, item: Item, ty: SqlType) -> Item {
        let is_text = item.ty.is_text() || item.ty.is_bytes() && !item.hexadecimal;
        match self.number_of_text(&item, ty) {
            Some(number) => number,
            // An ENUM or SET is a number by itself.
            None if self.declared_type(&item).is_some() => item,
            None if is_text && ty.is_numeric() => read(&item.expr, NumberReading::Quiet, ty),
            None => item,
        }
    }

    /// The bits of a text as a number.
    pub(super) fn bits_of_text(&mut self, item: Item) -> Expr {
        match item.as_literal() {
            Some(value) => self.read_literal(value, NumberReading::Bits, SqlType::BIGINT_UNSIGNED).expr,
            None => read(&item.expr, NumberReading::Bits, SqlType::BIGINT_UNSIGNED).expr,
        }
    }

    /// The number of a text of the statement, at once.
    fn read_literal(&mut self, value: &Value, reading: NumberReading, ty: SqlType) -> Item {
        let mut warnings = Vec::new();
        let number = read_number(reading, value, ty, &mut |warning| warnings.push(warning));
        warnings.into_iter().for_each(|warning| self.warn(warning.code, warning.message));
        Item::literal(number, ty)
    }

    fn number_wanted(&self, item: &Item, wanted: Wanted) -> Option<Item> {
        let is_text = item.ty.is_text() || item.ty.is_bytes() && !item.hexadecimal;
        // Columns of ENUM and SET are numbers by themselves.
        if !is_text || !wanted.ty.is_numeric() || self.declared_type(item).is_some() {
            return None;
        }
        // A text that the statement asks for is one.
        let is_asked_for = match &item.expr {
            Expr::Cast { arg, .. } => !is_extreme(arg),
            _ => false,
        };
        // So is one that was computed while the statement was bound, or has a COLLATE.
        let is_of_function = matches!(item.derivation, Derivation::Implicit | Derivation::Explicit);
        let is_computed = item.as_literal().is_some() && is_of_function;
        if is_asked_for || is_computed {
            return wanted.is_decimal.then(|| read(&item.expr, NumberReading::Result, wanted.ty));
        }
        self.number(&item.expr, wanted).map(|expr| Item::new(expr, wanted.ty))
    }

    fn number(&self, expr: &Expr, wanted: Wanted) -> Option<Expr> {
        let ty = wanted.ty;
        match expr {
            // A constant that was moved by an interval, which its declared length tells from a text of the statement.
            Expr::Literal { value: Value::Text(text), ty: SqlType::Text { length: MOVED_TEXT_LENGTH, .. } }
                if text.len() < MOVED_TEXT_LENGTH as usize =>
            {
                let number = moment_number(expr, ty);
                Some(fold::constant(&number).map_or(number, |value| Expr::literal(value, ty)))
            }
            // A value that was made text is asked itself.
            Expr::Cast { arg, ty: made } if is_string(*made) && !is_string(self.type_of(arg)) => {
                Some(cast((**arg).clone(), ty))
            }
            Expr::Cast { arg, ty: made } if is_string(*made) => self.number(arg, wanted),
            Expr::Case { branches, otherwise, ty: made } if is_string(*made) => {
                let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
                let numbers = self.numbers(results, wanted)?;
                let mut numbers = numbers.into_iter();
                let branches = branches.iter().map(|(test, _)| test.clone()).zip(numbers.by_ref()).collect::<Vec<_>>();
                Some(Expr::Case { branches, otherwise: numbers.next().map(Box::new), ty })
            }
            Expr::Call { function, ty: made, .. } if made.is_text() && is_moved(*function) => {
                Some(moment_number(expr, ty))
            }
            // The number of a day's name is that of the day, 0 for Monday (`Item_func_dayname` is a kind of WEEKDAY).
            Expr::Call { function: ScalarFunction::Library(function), args, .. } if function.name == "DAYNAME" => {
                let args = args.iter().take(2).cloned().collect();
                let weekday = Expr::Call { function: ScalarFunction::Weekday, args, ty: SqlType::BIGINT };
                Some(cast(weekday, ty))
            }
            Expr::Call { function: ScalarFunction::Library(function), args, .. }
                if function.name == "ELT" && !wanted.is_decimal =>
            {
                self.number_of_element(args, wanted)
            }
            Expr::Call { function, args, .. } if is_extreme(expr) && args.iter().any(|arg| self.is_of_time(arg)) => {
                Some(self.extreme_number(*function, args, wanted))
            }
            _ => self.reading(expr, wanted).map(|reading| read(expr, reading, ty).expr),
        }
    }

    /// Returns true for a TIME that was made a text.
    fn is_of_time(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Cast { arg, ty } if is_string(*ty) && matches!(self.type_of(arg), SqlType::Time { .. }))
    }

    /// The number of GREATEST or LEAST of texts one of which is a TIME: that of the numbers of all of them.
    fn extreme_number(&self, function: ScalarFunction, args: &[Expr], wanted: Wanted) -> Expr {
        let ty = match wanted.ty {
            SqlType::Bool => SqlType::Double,
            SqlType::Int { unsigned: true, .. } => SqlType::BIGINT,
            ty => ty,
        };
        let numbers = args.iter().map(|arg| match arg {
            Expr::Cast { arg, ty: made } if is_string(*made) && !is_string(self.type_of(arg)) => {
                cast((**arg).clone(), ty)
            }
            text => self.number(text, Wanted { ty, ..wanted }).unwrap_or_else(|| cast(text.clone(), ty)),
        });
        let number = Expr::Call { function, args: numbers.collect(), ty };
        if ty == wanted.ty { number } else { cast(number, wanted.ty) }
    }

    /// The number of `ELT(n, a, b, ..)`, which is that of the value that it gives (MySQL: `Item_func_elt::val_real`);
    /// `None` if each is the number that its text begins with.
    fn number_of_element(&self, args: &[Expr], wanted: Wanted) -> Option<Expr> {
        let (place, values) = args.split_first().filter(|(place, _)| !place.has_subquery())?;
        let numbers = self.numbers(values.iter(), wanted)?.into_iter().zip(1..);
        let is_place = |i: i64| Expr::eq(place.clone(), Expr::literal(Value::Int(i), SqlType::BIGINT));
        let branches = numbers.map(|(number, i)| (is_place(i), number)).collect();
        Some(Expr::Case { branches, otherwise: None, ty: wanted.ty })
    }

    /// The numbers of several values; `None` if each is the number that its text begins with.
    fn numbers<'e>(&self, values: impl Iterator<Item = &'e Expr>, wanted: Wanted) -> Option<Vec<Expr>> {
        let mut is_mixed = false;
        let numbers = values.map(|value| {
            let number = self.number(value, wanted);
            is_mixed |= number.is_some();
            number.unwrap_or_else(|| cast(value.clone(), wanted.ty))
        });
        let numbers = numbers.collect();
        is_mixed.then_some(numbers)
    }

    /// What MySQL says of a text, if that is not what it says of one that CAST makes a number.
    fn reading(&self, expr: &Expr, wanted: Wanted) -> Option<NumberReading> {
        let is_quiet = match expr {
            Expr::Literal { .. } | Expr::Parameter { .. } => return None,
            Expr::Column(id) if self.columns.get(*id).origin.is_some() => match self.type_of(expr) {
                SqlType::Text { kind: TextKind::Char | TextKind::VarChar, .. }
                | SqlType::Bytes { kind: BytesKind::Binary | BytesKind::VarBinary, .. } => {
                    return wanted.is_decimal.then_some(NumberReading::Column);
                }
                _ => true,
            },
            // MySQL says nothing of a joined text that is no integer, and of one that is no decimal the same as of a
            // literal.
            Expr::Column(id) if self.joined_texts.contains(id) => {
                return match (wanted.is_decimal, wanted.ty) {
                    (true, _) => Some(NumberReading::Literal),
                    (_, SqlType::Int { .. }) => Some(NumberReading::Quiet),
                    _ => None,
                };
            }
            Expr::Column(id) => self.aggregated_columns.contains(id),
            Expr::Call { function: ScalarFunction::Library(function), .. } => function.name == "REGEXP_REPLACE",
            Expr::Call { function, .. } => {
                matches!(function, ScalarFunction::Coalesce | ScalarFunction::Greatest | ScalarFunction::Least)
            }
            _ => false,
        };
        match wanted.is_decimal {
            true => Some(NumberReading::Result),
            false => is_quiet.then_some(NumberReading::Quiet),
        }
    }
}

fn is_string(ty: SqlType) -> bool {
    ty.is_text() || ty.is_bytes()
}

/// Returns true for functions whose text is a date or time.
fn is_moved(function: ScalarFunction) -> bool {
    match function {
        ScalarFunction::DateAdd(_) | ScalarFunction::DateSub(_) => true,
        ScalarFunction::Library(function) => matches!(function.name, "ADDTIME" | "SUBTIME"),
        _ => false,
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

fn read(expr: &Expr, reading: NumberReading, ty: SqlType) -> Item {
    let args = vec![expr.clone()];
    Item::new(Expr::Call { function: ScalarFunction::ReadNumber(reading), args, ty }, ty)
}

fn moment_number(expr: &Expr, ty: SqlType) -> Expr {
    Expr::Call { function: ScalarFunction::MomentNumber, args: vec![expr.clone()], ty }
}

fn cast(expr: Expr, ty: SqlType) -> Expr {
    match expr {
        Expr::Literal { value: Value::Null, .. } => Expr::null(ty),
        expr => Expr::Cast { arg: Box::new(expr), ty },
    }
}
