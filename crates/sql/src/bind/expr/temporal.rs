//! Dates: INTERVAL arithmetic, EXTRACT.

use super::Context;
use crate::{
    bind::binder::Binder,
    typing::{Derivation, Item, fold},
};
use muster_algebra::{Expr, IntervalUnit, ScalarFunction};
use muster_types::{Decimal, Result, SqlError, SqlType, Value, temporal};
use sqlparser::ast::{self, DateTimeField};

/// An interval: so many of a unit.
struct Interval {
    unit: IntervalUnit,
    count: Item,
}

impl Binder<'_> {
    /// `date + INTERVAL n unit`, DATE_ADD, DATE_SUB.
    pub fn date_add(
        &mut self,
        date: &ast::Expr,
        interval: &ast::Interval,
        subtract: bool,
        cx: &mut Context,
    ) -> Result<Item> {
        let date = self.expr(date, cx)?;
        let interval = self.interval(interval, cx)?;
        self.add_interval(date, interval, subtract)
    }

    /// `ADDDATE(date, days)`, `DATE_ADD(date, INTERVAL ..)`.
    pub fn date_add_call(&mut self, args: &[&ast::Expr], subtract: bool, days: bool, cx: &mut Context) -> Result<Item> {
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
    pub fn timestamp_add(&mut self, args: &[&ast::Expr], cx: &mut Context) -> Result<Item> {
        let ast::Expr::Identifier(unit) = args[0] else { return Err(SqlError::syntax(args[0], 1)) };
        let unit = unit_by_name(&unit.value).ok_or_else(|| SqlError::syntax(&unit.value, 1))?;
        let (count, date) = (self.expr(args[1], cx)?, self.expr(args[2], cx)?);
        self.add_interval(date, Interval { unit, count }, false)
    }

    fn interval(&mut self, interval: &ast::Interval, cx: &mut Context) -> Result<Interval> {
        let name = match &interval.leading_field {
            Some(field) => field.to_string(),
            None => return Err(SqlError::syntax(interval, 1)),
        };
        let count = self.expr(&interval.value, cx)?;
        if let Some(unit) = unit_by_name(&name) {
            return Ok(Interval { unit, count });
        }
        match compound(&name, count.as_literal()) {
            Some(_) if matches!(count.as_literal(), Some(Value::Null)) => {
                Ok(Interval { unit: IntervalUnit::Day, count })
            }
            Some(Some((unit, n))) => Ok(Interval { unit, count: self.given(Value::Int(n)) }),
            Some(None) => Err(SqlError::unsupported(format!("INTERVAL expr {name}"))),
            None => Err(SqlError::syntax(&name, 1)),
        }
    }

    fn add_interval(&mut self, date: Item, interval: Interval, subtract: bool) -> Result<Item> {
        let Interval { mut unit, count } = interval;
        // Seconds can have a fraction: they are counted in microseconds then.
        let fraction = match (unit, &count.as_literal(), count.ty) {
            (IntervalUnit::Second, Some(Value::Text(text)), _) => {
                Decimal::parse(text.trim()).is_some_and(|d| d.scale > 0)
            }
            (IntervalUnit::Second, _, SqlType::Decimal { scale, .. }) => scale > 0,
            _ => false,
        };
        let mut count = if fraction {
            unit = IntervalUnit::Microsecond;
            let seconds = self.convert(count, SqlType::decimal(26, 6));
            let million = self.given(Value::Int(1_000_000));
            let micros = self.arithmetic(muster_algebra::ArithmeticOp::Mul, seconds, million);
            self.convert(micros, SqlType::BIGINT)
        } else {
            self.convert(count, SqlType::BIGINT)
        };
        if subtract {
            count = match count.as_literal() {
                Some(Value::Int(i)) => self.given(Value::Int(i.saturating_neg())),
                _ => {
                    let ty = SqlType::BIGINT;
                    Item::new(Expr::Negate { arg: Box::new(count.expr), ty }, ty)
                }
            };
        }
        let in_days = matches!(
            unit,
            IntervalUnit::Day | IntervalUnit::Week | IntervalUnit::Month | IntervalUnit::Quarter | IntervalUnit::Year
        );
        let is_text = date.ty.is_text();
        let date = match date.ty {
            SqlType::Date if in_days => date,
            SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => {
                let fsp = if unit == IntervalUnit::Microsecond { 6 } else { fsp };
                self.convert(date, SqlType::DateTime { fsp })
            }
            SqlType::Time { .. } => return Err(SqlError::unsupported("TIME + INTERVAL")),
            // Text stays text: with a time of day only if there is one.
            _ if is_text => match date.as_literal() {
                Some(Value::Text(text)) => self.date_of_text(text.clone(), in_days),
                _ => {
                    let ty = if in_days { SqlType::Date } else { SqlType::DateTime { fsp: 6 } };
                    self.convert(date, ty)
                }
            },
            _ => {
                let fsp = if unit == IntervalUnit::Microsecond { 6 } else { 0 };
                let ty = if in_days && date.ty.is_numeric() { SqlType::Date } else { SqlType::DateTime { fsp } };
                self.convert(date, ty)
            }
        };
        let ty = date.ty;
        let folded = match (date.as_literal(), count.as_literal()) {
            (Some(d), Some(Value::Int(n))) => fold::date_add(d, unit, *n),
            _ => None,
        };
        let item = match folded {
            Some(value) => Item::literal(value, ty),
            None => {
                let args = vec![date.expr, count.expr];
                Item::new(Expr::Call { function: ScalarFunction::DateAdd(unit), args, ty }, ty)
            }
        };
        if !is_text {
            return Ok(item);
        }
        let collation = self.default_collation();
        Ok(Item { derivation: Derivation::Literal, ..self.convert_to_text(item, collation) })
    }

    /// What a text literal means where a date is wanted; NULL with a warning if nothing.
    fn date_of_text(&mut self, text: String, in_days: bool) -> Item {
        let has_clock = text.contains(':');
        match temporal::parse_datetime(&text) {
            Some(t) if in_days && !has_clock => {
                Item::literal(Value::Date(t.div_euclid(temporal::MICROS_PER_DAY) as i32), SqlType::Date)
            }
            Some(t) => {
                let fsp = if t % temporal::MICROS_PER_SECOND == 0 { 0 } else { 6 };
                Item::literal(Value::DateTime(t), SqlType::DateTime { fsp })
            }
            None => {
                let message = format!("Incorrect datetime value: '{text}'");
                self.warn(muster_types::ErrorCode::TruncatedWrongValue, message);
                Item::literal(Value::Null, SqlType::Date)
            }
        }
    }

    pub fn extract(&mut self, field: &DateTimeField, expr: &ast::Expr, cx: &mut Context) -> Result<Item> {
        let name = field.to_string();
        match unit_by_name(&name) {
            Some(unit) => self.extract_unit(unit, expr, cx),
            None if compound(&name, None).is_some() => Err(SqlError::unsupported(format!("EXTRACT({name} FROM ..)"))),
            None => Err(SqlError::syntax(name, 1)),
        }
    }

    pub fn extract_unit(&mut self, unit: IntervalUnit, expr: &ast::Expr, cx: &mut Context) -> Result<Item> {
        let item = self.expr(expr, cx)?;
        let clock = matches!(
            unit,
            IntervalUnit::Microsecond | IntervalUnit::Second | IntervalUnit::Minute | IntervalUnit::Hour
        );
        let arg = match item.ty {
            t if t.is_temporal() => item,
            // A text may be a time alone.
            _ if clock => match item.as_literal() {
                Some(Value::Text(text)) if !text.trim().contains([' ', 'T']) && text.contains(':') => {
                    self.convert(item, SqlType::Time { fsp: 6 })
                }
                _ => self.convert(item, SqlType::DateTime { fsp: 6 }),
            },
            _ => self.convert(item, SqlType::Date),
        };
        let ty = SqlType::BIGINT;
        Ok(Item::new(Expr::Call { function: ScalarFunction::Extract(unit), args: vec![arg.expr], ty }, ty))
    }
}

fn unit_by_name(name: &str) -> Option<IntervalUnit> {
    Some(match name.trim_start_matches("SQL_TSI_").to_ascii_uppercase().as_str() {
        "MICROSECOND" => IntervalUnit::Microsecond,
        "SECOND" => IntervalUnit::Second,
        "MINUTE" => IntervalUnit::Minute,
        "HOUR" => IntervalUnit::Hour,
        "DAY" => IntervalUnit::Day,
        "WEEK" => IntervalUnit::Week,
        "MONTH" => IntervalUnit::Month,
        "QUARTER" => IntervalUnit::Quarter,
        "YEAR" => IntervalUnit::Year,
        _ => return None,
    })
}

/// `'1:30' MINUTE_SECOND` as one count. `None`: no such unit; `Some(None)`: not a literal that can be read.
fn compound(name: &str, value: Option<&Value>) -> Option<Option<(IntervalUnit, i64)>> {
    // Parts from the largest to the smallest, in microseconds (or months for the first).
    const SECOND: i64 = 1_000_000;
    let parts: &[i64] = match name.to_ascii_uppercase().as_str() {
        "YEAR_MONTH" => &[12, 1],
        "DAY_HOUR" => &[86_400 * SECOND, 3_600 * SECOND],
        "DAY_MINUTE" => &[86_400 * SECOND, 3_600 * SECOND, 60 * SECOND],
        "DAY_SECOND" => &[86_400 * SECOND, 3_600 * SECOND, 60 * SECOND, SECOND],
        "DAY_MICROSECOND" => &[86_400 * SECOND, 3_600 * SECOND, 60 * SECOND, SECOND, 1],
        "HOUR_MINUTE" => &[3_600 * SECOND, 60 * SECOND],
        "HOUR_SECOND" => &[3_600 * SECOND, 60 * SECOND, SECOND],
        "HOUR_MICROSECOND" => &[3_600 * SECOND, 60 * SECOND, SECOND, 1],
        "MINUTE_SECOND" => &[60 * SECOND, SECOND],
        "MINUTE_MICROSECOND" => &[60 * SECOND, SECOND, 1],
        "SECOND_MICROSECOND" => &[SECOND, 1],
        _ => return None,
    };
    let text = match value {
        Some(Value::Text(text)) => text.clone(),
        Some(v @ (Value::Int(_) | Value::Decimal(_))) => v.to_string(),
        _ => return Some(None),
    };
    let negative = text.trim_start().starts_with('-');
    let numbers: Option<Vec<i64>> =
        text.split(|c: char| !c.is_ascii_digit()).filter(|t| !t.is_empty()).map(|t| t.parse().ok()).collect();
    // Fewer numbers than parts: the largest are missing.
    let Some(numbers) = numbers.filter(|n| n.len() <= parts.len()) else { return Some(None) };
    let used = &parts[parts.len() - numbers.len()..];
    let total = numbers.iter().zip(used).try_fold(0i64, |sum, (n, part)| sum.checked_add(n.checked_mul(*part)?));
    let Some(total) = total else { return Some(None) };
    let total = if negative { -total } else { total };
    let unit = match parts {
        [12, 1] => IntervalUnit::Month,
        [.., 1] => IntervalUnit::Microsecond,
        _ => return Some(Some((IntervalUnit::Second, total / SECOND))),
    };
    Some(Some((unit, total)))
}
