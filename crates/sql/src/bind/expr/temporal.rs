//! Dates: INTERVAL arithmetic, EXTRACT.

use super::{ExprContext, case::case, function::call};
use crate::{
    bind::binder::Binder,
    typing::{Derivation, Item, fold},
};
use muster_algebra::{CompareOp, Expr, IntervalUnit, LogicOp, ScalarFunction};
use muster_types::{
    Result, SqlError, SqlType, TextKind, Value,
    cast::{MomentRead, read_moment},
    temporal::{self, DateModes, FSP_MAX},
};
use sqlparser::ast::{self, DateTimeField};

/// Characters of a text that may be a datetime with its fraction, though it is none that was moved.
const DATED_TEXT_LENGTH: u32 = 26;
/// Characters of a text that was moved by an interval, as MySQL declares it.
pub(super) const MOVED_TEXT_LENGTH: u32 = 29;
/// Type of a count of seconds that is no decimal.
const SECONDS: SqlType = SqlType::Decimal { precision: 38, scale: 9 };

/// An interval: so many of a unit.
pub(super) struct Interval {
    pub unit: IntervalUnit,
    pub count: Item,
}

impl Binder<'_> {
    /// `date + INTERVAL n unit`, DATE_ADD, DATE_SUB.
    pub fn date_add(
        &mut self,
        date: &ast::Expr,
        interval: &ast::Interval,
        subtract: bool,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        let date = self.expr(date, cx)?;
        let interval = self.interval(interval, cx)?;
        self.add_interval(date, interval, subtract)
    }

    /// `ADDDATE(date, days)`, `DATE_ADD(date, INTERVAL ..)`.
    pub fn date_add_call(
        &mut self,
        args: &[&ast::Expr],
        subtract: bool,
        days: bool,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        match args[1] {
            ast::Expr::Interval(interval) => self.date_add(args[0], interval, subtract, cx),
            other if days => {
                let date = self.expr(args[0], cx)?;
                let count = self.expr(other, cx)?;
                self.add_interval(date, Interval { unit: IntervalUnit::Day, count }, subtract)
            }
            other => Err(SqlError::syntax(other, 1)),
        }
    }

    /// `TIMESTAMPADD(unit, n, date)`.
    pub fn timestamp_add(&mut self, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        let ast::Expr::Identifier(unit) = args[0] else { return Err(SqlError::syntax(args[0], 1)) };
        let simple = unit_by_name(&unit.value).filter(|unit| unit.parts().is_empty());
        let unit = simple.ok_or_else(|| SqlError::syntax(&unit.value, 1))?;
        let (count, date) = (self.expr(args[1], cx)?, self.expr(args[2], cx)?);
        self.add_interval(date, Interval { unit, count }, false)
    }

    pub(super) fn interval(&mut self, interval: &ast::Interval, cx: &mut ExprContext) -> Result<Interval> {
        let Some(field) = &interval.leading_field else { return Err(SqlError::syntax(interval, 1)) };
        let unit = unit_by_name(&field.to_string()).ok_or_else(|| SqlError::syntax(field, 1))?;
        Ok(Interval { unit, count: self.expr(&interval.value, cx)? })
    }

    pub(super) fn add_interval(&mut self, start: Item, interval: Interval, subtract: bool) -> Result<Item> {
        let Interval { unit, count } = interval;
        let (warnings, is_null) = (self.warnings.len(), start.is_null_literal());
        let collation = self.default_collation();
        let count = if unit.parts().is_empty() { self.number_of_bytes(count) } else { count };
        let digits = interval_digits(unit, count.ty);
        let start = self.of_whole_day(start);
        let start = match moves_days(unit) || start.ty == SqlType::Json {
            true => self.dated(start),
            false => {
                let start = self.bits_as_bytes(start);
                let start = self.zero_for_null(start);
                let start = self.added_as_moment(start);
                self.with_dated_results(&start).unwrap_or(start)
            }
        };
        let start = self.cut_beyond_micros(start);
        let (start, ty) = match start.ty {
            SqlType::Date if unit.keeps_dates() => (start, SqlType::Date),
            SqlType::Date => (start, SqlType::DateTime { fsp: digits }),
            SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => {
                let ty = SqlType::DateTime { fsp: fsp.max(digits) };
                (self.convert(start, ty), ty)
            }
            SqlType::Time { fsp } => (start, SqlType::Time { fsp: fsp.max(digits) }),
            _ => (start, SqlType::Text { kind: TextKind::Char, length: MOVED_TEXT_LENGTH, collation }),
        };
        let count = match unit {
            _ if !unit.parts().is_empty() => self.convert_to_text(count, collation),
            IntervalUnit::Second if digits > 0 => match count.ty {
                SqlType::Decimal { .. } => count,
                _ => self.convert(count, SECONDS),
            },
            _ => self.convert(count, SqlType::BIGINT),
        };
        // What is added to no date is not asked for.
        let count = match (is_null || self.is_no_date(&start)) && !count.expr.has_subquery() {
            true => {
                self.forget_conversions(warnings);
                Item::new(Expr::null(count.ty), count.ty)
            }
            false => count,
        };
        let function = if subtract { ScalarFunction::DateSub(unit) } else { ScalarFunction::DateAdd(unit) };
        let modes = self.modes_beside(&start);
        let args = [start.expr, count.expr].into_iter().chain(modes).collect();
        let call = Expr::Call { function, args, ty };
        // A constant is known at once: how a column compares with it depends on its value.
        // One with a fraction of a second is an integer in another way than a literal (see `whole_moment`).
        let item = match fold::constant(&call) {
            Some(value) if ty.is_text() || ty.fsp() == 0 => Item::literal(value, ty),
            _ => Item::new(call, ty),
        };
        Ok(if ty.is_text() { Item { derivation: Derivation::Literal, ..item } } else { item })
    }

    /// Returns true for a constant that DATE_ADD does not read as a date.
    fn is_no_date(&self, start: &Item) -> bool {
        let modes = self.env.session.date_modes();
        let is_read = |value: &Value| read_moment(value, MomentRead::Day, modes, &mut |_| {}).is_some();
        !start.ty.is_temporal() && start.as_literal().is_some_and(|value| !value.is_null() && !is_read(value))
    }

    pub fn extract(&mut self, field: &DateTimeField, expr: &ast::Expr, cx: &mut ExprContext) -> Result<Item> {
        let unit = unit_by_name(&field.to_string()).ok_or_else(|| SqlError::syntax(field, 1))?;
        self.extract_unit(unit, expr, cx)
    }

    /// `EXTRACT(unit FROM x)`: what is no date or time is read as one when it is evaluated.
    pub fn extract_unit(&mut self, unit: IntervalUnit, expr: &ast::Expr, cx: &mut ExprContext) -> Result<Item> {
        let arg = self.expr(expr, cx)?;
        let arg = self.zero_for_null(arg);
        let is_moved = is_moved(expr);
        let mut part = |binder: &mut Self, result: Item| binder.extracted(unit, result, false).expr;
        let of_results = self.of_each_result(&arg, SqlType::BIGINT, &mut part);
        let of_results = of_results.or_else(|| self.of_each_moment(&arg, SqlType::BIGINT, &mut part));
        Ok(of_results.unwrap_or_else(|| self.extracted(unit, arg, is_moved)))
    }

    /// `EXTRACT(unit FROM arg)`, with the argument read as the unit needs it. `is_moved`: it is a date that the
    /// statement moves by an interval, which has its day.
    pub(super) fn extracted(&mut self, unit: IntervalUnit, arg: Item, is_moved: bool) -> Item {
        use IntervalUnit::*;
        let arg = self.zero_for_null(arg);
        let arg = self.cut_beyond_micros(arg);
        let is_moved = is_moved || self.is_moved_text(&arg.expr);
        let arg = self.moved_as_moment(arg);
        let is_of_date = matches!(unit, Day | Month | Quarter | Year | YearMonth);
        let arg = if is_of_date { self.dated(arg) } else { self.bits_as_bytes(arg) };
        if unit == Week {
            let date = self.dated(arg);
            let modes = self.modes_beside(&date).unwrap_or_else(|| self.date_modes());
            let args = vec![date.expr, modes, self.default_week_mode().expr];
            let function = ScalarFunction::Extract(unit);
            return Item::new(Expr::Call { function, args, ty: SqlType::BIGINT }, SqlType::BIGINT);
        }
        let arg = if unit.parts().first() == Some(&Day) && !is_moved { self.without_day(arg) } else { arg };
        self.part_of(unit, arg)
    }

    /// A date or time of each result of a CASE that has made texts of values of other types, which MySQL asks for their
    /// dates and times (`Item_func_case::get_date`). `None` for anything else.
    pub(in crate::bind) fn of_each_result(
        &mut self,
        item: &Item,
        ty: SqlType,
        of: &mut dyn FnMut(&mut Self, Item) -> Expr,
    ) -> Option<Item> {
        let Expr::Case { branches, otherwise, ty: SqlType::Text { .. } } = &item.expr else { return None };
        let given = |expr: &Expr| match expr {
            Expr::Cast { arg, ty } if ty.is_text() && !self.type_of(arg).is_text() => (**arg).clone(),
            other => other.clone(),
        };
        let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
        let given: Vec<Expr> = results.map(given).collect();
        if given.iter().all(|result| self.type_of(result).is_text() || self.type_of(result) == SqlType::Null) {
            return None;
        }
        let made = given.into_iter().map(|result| {
            let from = self.type_of(&result);
            match from {
                SqlType::Null => Expr::null(ty),
                _ => of(self, Item::new(result, from)),
            }
        });
        let made = made.collect();
        Some(Item::new(case(branches.iter().map(|(test, _)| test.clone()).collect(), made, ty), ty))
    }

    /// A CASE that has made texts of values some of which are none, with these as the dates that MySQL reads of them:
    /// of a TIME it is a datetime of today. `None` for anything else.
    pub(in crate::bind) fn with_dated_results(&mut self, item: &Item) -> Option<Item> {
        let Expr::Case { branches, otherwise, ty: SqlType::Text { length, collation, .. } } = &item.expr else {
            return None;
        };
        let is_no_text = |result: &Expr| match result {
            Expr::Cast { arg, .. } => {
                let from = self.type_of(arg);
                matches!(from, SqlType::Time { .. }) || from.is_numeric()
            }
            _ => false,
        };
        if !branches.iter().map(|(_, result)| result).chain(otherwise.as_deref()).any(is_no_text) {
            return None;
        }
        let ty = SqlType::varchar((*length).max(DATED_TEXT_LENGTH), *collation);
        self.of_each_result(item, ty, &mut |binder, result| match result.ty {
            number if number.is_numeric() => binder.text_of_moment_number(result, ty),
            moment if moment.is_temporal() => {
                let result = binder.dated(result);
                binder.cast_to(result, ty).expr
            }
            _ => binder.cast_to(result, ty).expr,
        })
    }

    /// The text of the date, or of the date and time, that a number is.
    fn text_of_moment_number(&mut self, number: Item, text: SqlType) -> Expr {
        /// Numbers below this one have no time of day, unless they are 0.
        const FIRST_WITH_CLOCK: f64 = 1e8;
        let double = |x: f64| Expr::literal(Value::Double(x), SqlType::Double);
        let size = self.convert(number.clone(), SqlType::Double).expr;
        let is_date = Expr::Logic {
            op: LogicOp::And,
            args: vec![
                Expr::compare(CompareOp::Gt, size.clone(), double(0.0)),
                Expr::compare(CompareOp::Lt, size, double(FIRST_WITH_CLOCK)),
            ],
        };
        let mut text_of = |ty: SqlType| {
            let moment = Item::new(self.moment_of(number.clone(), ty), ty);
            self.cast_to(moment, text).expr
        };
        let branches = vec![(is_date, text_of(SqlType::Date))];
        Expr::Case { branches, otherwise: Some(Box::new(text_of(SqlType::DateTime { fsp: FSP_MAX }))), ty: text }
    }

    /// A text that DATE_ADD or DATE_SUB has made as the moment that it is, where a time is wanted: MySQL asks these for
    /// their date (`Item_temporal_hybrid_func::get_time`). Other values as they are.
    pub(super) fn moved_as_moment(&mut self, item: Item) -> Item {
        match self.is_moved_text(&item.expr) {
            true => {
                let ty = SqlType::DateTime { fsp: FSP_MAX };
                // It is a date in all modes.
                let modes = DateModes { no_zero_date: false, no_zero_in_date: false, ..self.env.session.date_modes() };
                let args = vec![item.expr, Expr::literal(Value::Int(modes.bits()), SqlType::BIGINT)];
                Item::new(Expr::Call { function: ScalarFunction::ReadDate, args, ty }, ty)
            }
            false => item,
        }
    }

    /// A text that ADDTIME or SUBTIME has made where a date is wanted: MySQL asks these for their own, which is today
    /// for a time (`Item_func_add_time::get_date`). Other values as they are.
    pub(super) fn added_as_moment(&mut self, item: Item) -> Item {
        let is_added = match &item.expr {
            Expr::Call { function: ScalarFunction::Library(function), ty, .. } => {
                ty.is_text() && matches!(function.name, "ADDTIME" | "SUBTIME")
            }
            _ => false,
        };
        if !is_added || item.expr.has_subquery() {
            return item;
        }
        let collation = self.default_collation();
        let ty = SqlType::varchar(DATED_TEXT_LENGTH, collation);
        let time = self.convert(item.clone(), SqlType::Time { fsp: FSP_MAX });
        let today = self.dated(time);
        let today = self.convert_to_text(today, collation);
        let (today, text) = (self.cast_to(today, ty).expr, self.cast_to(item, ty).expr);
        let pattern = Expr::literal(Value::Text("____-%".into()), ty);
        let has_date =
            Expr::Like { arg: Box::new(text.clone()), pattern: Box::new(pattern), escape: Some('\\'), negated: false };
        Item::new(Expr::Case { branches: vec![(has_date, text)], otherwise: Some(Box::new(today)), ty }, ty)
    }

    /// Returns true for the text of a date that was moved by an interval. A constant is known by its declared length.
    pub(super) fn is_moved_text(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Call { function: ScalarFunction::DateAdd(_) | ScalarFunction::DateSub(_), ty, .. } => ty.is_text(),
            Expr::Literal { value: Value::Text(text), ty: SqlType::Text { length: MOVED_TEXT_LENGTH, .. } } => {
                text.len() < MOVED_TEXT_LENGTH as usize && text.as_bytes().get(4) == Some(&b'-')
            }
            _ => false,
        }
    }

    /// The date or time of a value, which is read only if a row needs it.
    pub(in crate::bind) fn moment_of(&mut self, item: Item, ty: SqlType) -> Expr {
        if item.ty.is_temporal() {
            return self.convert(item, ty).expr;
        }
        match self.has_other_date_modes() {
            true => Expr::Call { function: ScalarFunction::ReadDate, args: vec![item.expr, self.date_modes()], ty },
            false => Expr::Cast { arg: Box::new(item.expr), ty },
        }
    }

    /// `EXTRACT(unit FROM arg)` of a value that is bound.
    fn part_of(&self, unit: IntervalUnit, arg: Item) -> Item {
        let ty = SqlType::BIGINT;
        let modes = self.modes_beside(&arg);
        let args = std::iter::once(arg.expr).chain(modes).collect();
        Item::new(Expr::Call { function: ScalarFunction::Extract(unit), args, ty }, ty)
    }

    /// The session's modes of dates as one more argument, behind a text or number that is read as a date where they are
    /// not the default ones.
    pub(super) fn modes_beside(&self, arg: &Item) -> Option<Expr> {
        (!arg.ty.is_temporal() && self.has_other_date_modes()).then(|| self.date_modes())
    }

    /// A date or datetime as MySQL reads it where a unit of several parts begins with days: a column, and what is moved
    /// by an interval, has its day; anything else is a time of day alone.
    pub(super) fn without_day(&mut self, arg: Item) -> Item {
        use ScalarFunction::{ConvertTz, DateAdd, DateSub, Library};
        let has_day = match &arg.expr {
            Expr::Column(_) => true,
            Expr::Call { function: Library(function), .. } => function.name == "STR_TO_DATE",
            Expr::Call { function, .. } => matches!(function, DateAdd(_) | DateSub(_) | ConvertTz),
            _ => false,
        };
        match arg.ty {
            SqlType::Date | SqlType::DateTime { .. } if !has_day => {
                let ty = SqlType::Time { fsp: arg.ty.fsp() };
                self.convert(arg, ty)
            }
            _ => arg,
        }
    }

    /// `HOUR(x)`, MINUTE, SECOND, MICROSECOND: as EXTRACT, without the sign of a negative time.
    pub fn clock_part(&mut self, unit: IntervalUnit, expr: &ast::Expr, cx: &mut ExprContext) -> Result<Item> {
        let arg = self.expr(expr, cx)?;
        let arg = self.zero_for_null(arg);
        let mut part = |binder: &mut Self, result: Item| binder.clock_part_of(unit, result).expr;
        let of_results = self.of_each_result(&arg, SqlType::BIGINT, &mut part);
        let of_results = of_results.or_else(|| self.of_each_moment(&arg, SqlType::BIGINT, &mut part));
        Ok(of_results.unwrap_or_else(|| self.clock_part_of(unit, arg)))
    }

    fn clock_part_of(&mut self, unit: IntervalUnit, arg: Item) -> Item {
        let arg = self.bits_as_bytes(arg);
        let arg = self.zero_for_null(arg);
        let arg = self.cut_beyond_micros(arg);
        let arg = self.moved_as_moment(arg);
        let has_sign = !matches!(arg.ty, SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. });
        let part = self.part_of(unit, arg);
        if has_sign { call(ScalarFunction::Abs, vec![part], SqlType::BIGINT) } else { part }
    }

    /// Digits of fractional seconds that a value has as a datetime or, where `time` is wanted, as a TIME: those that a
    /// constant text is written with, all six of a text that is not known or is no date or time.
    pub fn fraction_digits(&self, item: &Item, time: bool) -> u8 {
        match item.ty {
            SqlType::Null | SqlType::Bool | SqlType::Int { .. } => 0,
            SqlType::Decimal { scale, .. } => scale.min(FSP_MAX),
            ty if ty.is_temporal() => ty.fsp(),
            // What has columns is no constant, though it may not need them.
            _ => match fold::constant(&item.expr).filter(|_| item.expr.columns().is_empty()) {
                Some(Value::Text(text)) => {
                    let time = time && !self.is_moved_text(&item.expr);
                    self.digits_of_text(&text, time).unwrap_or(FSP_MAX)
                }
                Some(Value::Bytes(bytes)) => self.digits_of_bytes(item, &bytes, time),
                _ => item.decimals.map_or(FSP_MAX, |digits| digits.min(FSP_MAX)),
            },
        }
    }

    /// Digits of the fraction of a second that a text is written with; `None` for one that is no date or time.
    fn digits_of_text(&self, text: &str, time: bool) -> Option<u8> {
        if time {
            return temporal::read_time(text).map(|read| read.fsp);
        }
        let modes = DateModes { no_zero_date: false, ..self.env.session.date_modes() };
        temporal::read_datetime(text).filter(|read| modes.read(&read.moment)).map(|read| read.fsp)
    }

    /// The same of a byte string. One that is no date or time has those of what it was made of, a hexadecimal literal
    /// none.
    fn digits_of_bytes(&self, item: &Item, bytes: &[u8], time: bool) -> u8 {
        let read = std::str::from_utf8(bytes).ok().and_then(|text| self.digits_of_text(text, time));
        let declared = if item.hexadecimal { Some(0) } else { item.decimals };
        read.unwrap_or(declared.map_or(FSP_MAX, |digits| digits.min(FSP_MAX)))
    }
}

/// Returns true if a TIME that is moved by the unit is a datetime: for days and more, and for all units of several
/// parts that begin with days but DAY_MICROSECOND.
pub(super) fn moves_days(unit: IntervalUnit) -> bool {
    use IntervalUnit::*;
    unit.keeps_dates() || matches!(unit, DaySecond | DayMinute | DayHour)
}

/// Returns true for a date that an interval moves.
fn is_moved(expr: &ast::Expr) -> bool {
    use ast::Expr as E;
    match expr {
        E::Nested(inner) => is_moved(inner),
        E::BinaryOp { left, right, .. } => [left, right].into_iter().any(|side| matches!(**side, E::Interval(_))),
        E::Function(function) => {
            let name = function.name.to_string().to_ascii_uppercase();
            matches!(name.as_str(), "DATE_ADD" | "DATE_SUB" | "ADDDATE" | "SUBDATE" | "TIMESTAMPADD")
        }
        _ => false,
    }
}

/// Digits of fractional seconds that a datetime gets from an interval.
fn interval_digits(unit: IntervalUnit, count: SqlType) -> u8 {
    match (unit, count) {
        _ if unit.has_microseconds() => FSP_MAX,
        (IntervalUnit::Second, SqlType::Decimal { scale, .. }) => scale.min(FSP_MAX),
        (IntervalUnit::Second, moment) if moment.is_temporal() => moment.fsp(),
        (IntervalUnit::Second, SqlType::Float | SqlType::Double) => FSP_MAX,
        (IntervalUnit::Second, SqlType::Text { .. } | SqlType::Bytes { .. }) => FSP_MAX,
        _ => 0,
    }
}

fn unit_by_name(name: &str) -> Option<IntervalUnit> {
    Some(match name.to_ascii_uppercase().trim_start_matches("SQL_TSI_") {
        "MICROSECOND" => IntervalUnit::Microsecond,
        "SECOND" => IntervalUnit::Second,
        "MINUTE" => IntervalUnit::Minute,
        "HOUR" => IntervalUnit::Hour,
        "DAY" => IntervalUnit::Day,
        "WEEK" => IntervalUnit::Week,
        "MONTH" => IntervalUnit::Month,
        "QUARTER" => IntervalUnit::Quarter,
        "YEAR" => IntervalUnit::Year,
        "SECOND_MICROSECOND" => IntervalUnit::SecondMicrosecond,
        "MINUTE_MICROSECOND" => IntervalUnit::MinuteMicrosecond,
        "MINUTE_SECOND" => IntervalUnit::MinuteSecond,
        "HOUR_MICROSECOND" => IntervalUnit::HourMicrosecond,
        "HOUR_SECOND" => IntervalUnit::HourSecond,
        "HOUR_MINUTE" => IntervalUnit::HourMinute,
        "DAY_MICROSECOND" => IntervalUnit::DayMicrosecond,
        "DAY_SECOND" => IntervalUnit::DaySecond,
        "DAY_MINUTE" => IntervalUnit::DayMinute,
        "DAY_HOUR" => IntervalUnit::DayHour,
        "YEAR_MONTH" => IntervalUnit::YearMonth,
        _ => return None,
    })
}
