//! Frames of windows: ROWS and RANGE with their bounds.

use super::{
    ExprContext,
    temporal::{Interval, moves_days},
    window::{Definition, RowCount},
};
use crate::{
    bind::{Parameters, binder::Binder},
    typing::{Item, fold},
};
use muster_algebra::{ArithmeticOp, Expr, Frame, FrameBound, FrameUnits, IntervalUnit, ValueBound};
use muster_types::{ErrorCode, Result, SqlError, SqlType, Value, sql_type::DECIMAL_MAX_PRECISION, temporal::FSP_MAX};
use sqlparser::ast::{self, WindowFrameUnits};

impl Binder<'_> {
    /// The frame. Errors 3584 to 3589, 3596.
    pub(super) fn frame(
        &mut self,
        definition: &Definition,
        order: &[(Item, bool)],
        cx: &mut ExprContext,
    ) -> Result<Frame> {
        let Some(frame) = &definition.frame else {
            return Ok(match order.is_empty() {
                true => Frame::whole(),
                false => Frame {
                    units: FrameUnits::Range,
                    start: FrameBound::UnboundedPreceding,
                    end: FrameBound::CurrentRow,
                },
            });
        };
        let name = &definition.name;
        let units = match frame.units {
            WindowFrameUnits::Rows => FrameUnits::Rows,
            WindowFrameUnits::Range => FrameUnits::Range,
            WindowFrameUnits::Groups => return Err(SqlError::unsupported("GROUPS")),
        };
        use ast::WindowFrameBound as B;
        if frame.end_bound.is_none() && matches!(frame.start_bound, B::Following(_)) {
            return Err(SqlError::syntax("FOLLOWING", 1));
        }
        let end = frame.end_bound.clone().unwrap_or(B::CurrentRow);
        if matches!(frame.start_bound, B::Following(None)) {
            let message = format!("Window '{name}': frame start cannot be UNBOUNDED FOLLOWING.");
            return Err(SqlError::new(ErrorCode::WindowFrameStartIllegal, message));
        }
        if matches!(end, B::Preceding(None)) {
            let message = format!("Window '{name}': frame end cannot be UNBOUNDED PRECEDING.");
            return Err(SqlError::new(ErrorCode::WindowFrameEndIllegal, message));
        }
        let place = |bound: &B| match bound {
            B::Preceding(_) => 0,
            B::CurrentRow => 1,
            B::Following(_) => 2,
        };
        if place(&frame.start_bound) > place(&end) {
            return Err(illegal_frame(name));
        }
        let start = self.frame_bound(&frame.start_bound, units, definition, order, cx)?;
        let end = self.frame_bound(&end, units, definition, order, cx)?;
        Ok(Frame { units, start, end })
    }

    fn frame_bound(
        &mut self,
        bound: &ast::WindowFrameBound,
        units: FrameUnits,
        definition: &Definition,
        order: &[(Item, bool)],
        cx: &mut ExprContext,
    ) -> Result<FrameBound> {
        let (offset, forward) = match bound {
            ast::WindowFrameBound::CurrentRow => return Ok(FrameBound::CurrentRow),
            ast::WindowFrameBound::Preceding(None) => return Ok(FrameBound::UnboundedPreceding),
            ast::WindowFrameBound::Following(None) => return Ok(FrameBound::UnboundedFollowing),
            ast::WindowFrameBound::Preceding(Some(offset)) => (&**offset, false),
            ast::WindowFrameBound::Following(Some(offset)) => (&**offset, true),
        };
        if units == FrameUnits::Rows {
            let rows = self.frame_rows(offset, &definition.name)?;
            return Ok(if forward { FrameBound::RowsAfter(rows) } else { FrameBound::RowsBefore(rows) });
        }
        let bound = self.range_bound(offset, forward, definition, order, cx)?;
        Ok(if forward { FrameBound::After(bound) } else { FrameBound::Before(bound) })
    }

    /// The number of rows of a bound. Errors 3586, 3596; 1210 for a parameter that is no integer.
    fn frame_rows(&mut self, offset: &ast::Expr, name: &str) -> Result<u64> {
        match offset {
            ast::Expr::Interval(_) => {
                let message = format!("Window '{name}': INTERVAL can only be used with RANGE frames.");
                Err(SqlError::new(ErrorCode::WindowRowsIntervalUse, message))
            }
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Number(digits, _) => digits.parse().map_err(|_| illegal_frame(name)),
                ast::Value::Placeholder(_) => match self.row_count(offset)? {
                    RowCount::Rows(rows) => Ok(rows),
                    RowCount::Null | RowCount::Negative => Err(illegal_frame(name)),
                },
                ast::Value::Null | ast::Value::SingleQuotedString(_) => Err(illegal_frame(name)),
                other => Err(SqlError::syntax(other, 1)),
            },
            other => Err(SqlError::syntax(other, 1)),
        }
    }

    /// A bound that is a value. Errors 3586 to 3590.
    fn range_bound(
        &mut self,
        offset: &ast::Expr,
        forward: bool,
        definition: &Definition,
        order: &[(Item, bool)],
        cx: &mut ExprContext,
    ) -> Result<ValueBound> {
        let name = &definition.name;
        let wrong_order = || {
            let message = format!(
                "Window '{name}' with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of \
                 numeric or temporal type"
            );
            SqlError::new(ErrorCode::WindowRangeFrameOrderType, message)
        };
        let [(key, descending)] = order else { return Err(wrong_order()) };
        let ty = self.declared_type(key).unwrap_or(key.ty);
        if !ty.is_temporal() && !ty.is_numeric() && !matches!(ty, SqlType::Year | SqlType::Bit { .. }) {
            return Err(wrong_order());
        }
        let is_moment = ty.is_temporal() && ty != SqlType::Year;
        let subtract = forward == *descending;
        match (offset, is_moment) {
            (ast::Expr::Interval(interval), true) => {
                let interval = self.interval(interval, cx)?;
                self.check_interval(&interval, name)?;
                self.moment_bound(key, ty, interval, subtract)
            }
            (_, true) => {
                let message = format!(
                    "Window '{name}' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound \
                     value allowed."
                );
                Err(SqlError::new(ErrorCode::WindowRangeFrameTemporalType, message))
            }
            (ast::Expr::Interval(_), false) => {
                let message = format!(
                    "Window '{name}' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not \
                     allowed."
                );
                Err(SqlError::new(ErrorCode::WindowRangeFrameNumericType, message))
            }
            (ast::Expr::Value(value), false) => {
                let is_parameter = matches!(value.value, ast::Value::Placeholder(_));
                let offset = match is_parameter && matches!(self.env.parameters, Parameters::Unknown) {
                    true => Item::literal(Value::Int(0), SqlType::BIGINT),
                    false => self.expr(offset, cx)?,
                };
                // A parameter may be a text.
                let offset =
                    if is_parameter && offset.ty.is_text() { self.convert(offset, SqlType::Double) } else { offset };
                let is_below = fold::constant_and_warnings(&offset.expr).is_some_and(|(value, _)| is_negative(&value));
                if offset.is_null_literal() || !offset.ty.is_numeric() || is_below {
                    return Err(illegal_frame(name));
                }
                Ok(self.numeric_bound(key.clone(), offset, subtract))
            }
            (other, false) => Err(SqlError::syntax(other, 1)),
        }
    }

    /// Error 3590 for an interval whose length is no constant, 3586 for one that is NULL or negative.
    fn check_interval(&mut self, interval: &Interval, name: &str) -> Result<()> {
        let Interval { unit, count } = interval;
        let has_subquery = count.expr.has_subquery();
        if !count.expr.columns().is_empty() || !has_subquery && !count.expr.is_movable() {
            let message = format!("Window '{name}' has a non-constant frame bound.");
            return Err(SqlError::new(ErrorCode::WindowFrameNonConst, message));
        }
        // A statement that is prepared is checked when its parameters have values.
        if has_subquery || matches!(self.env.parameters, Parameters::Unknown) {
            return Ok(());
        }
        let warnings = self.warnings.len();
        let collation = self.default_collation();
        let length = match unit {
            _ if !unit.parts().is_empty() => self.convert_to_text(count.clone(), collation),
            IntervalUnit::Second if matches!(count.ty, SqlType::Decimal { .. }) => count.clone(),
            _ => self.convert(count.clone(), SqlType::BIGINT),
        };
        self.forget_conversions(warnings);
        // A constant without a value is NULL.
        match fold::constant_and_warnings(&length.expr) {
            Some((value, _)) if !is_negative(&value) => Ok(()),
            _ => Err(illegal_frame(name)),
        }
    }

    /// A bound that is a date or time. What a TIME becomes by days and more is a datetime, which no TIME reaches, as in
    /// MySQL.
    fn moment_bound(&mut self, key: &Item, ty: SqlType, interval: Interval, subtract: bool) -> Result<ValueBound> {
        let moment = match ty {
            SqlType::Time { .. } if moves_days(interval.unit) => {
                let key = self.convert(key.clone(), SqlType::BIGINT).expr;
                return Ok(ValueBound { key, value: Expr::literal(Value::Int(i64::MAX), SqlType::BIGINT) });
            }
            SqlType::Time { .. } => SqlType::Time { fsp: FSP_MAX },
            _ => SqlType::DateTime { fsp: FSP_MAX },
        };
        let key = self.convert(key.clone(), moment);
        let value = self.add_interval(key.clone(), interval, subtract)?;
        Ok(ValueBound { key: key.expr, value: self.convert(value, moment).expr })
    }

    /// As [`Binder::range_bound`], for numbers: all as decimals that hold any sum, or as doubles.
    fn numeric_bound(&mut self, key: Item, offset: Item, subtract: bool) -> ValueBound {
        let is_exact = |item: &Item| !matches!(item.ty, SqlType::Float | SqlType::Double);
        let ty = match (key.decimal_digits(), offset.decimal_digits()) {
            (Some((_, scale)), Some((_, other))) if is_exact(&key) && is_exact(&offset) => {
                SqlType::decimal(DECIMAL_MAX_PRECISION.into(), scale.max(other))
            }
            _ => SqlType::Double,
        };
        let (key, offset) = (self.convert(key, ty).expr, self.convert(offset, ty).expr);
        let op = if subtract { ArithmeticOp::Sub } else { ArithmeticOp::Add };
        let value = Expr::Arithmetic { op, left: Box::new(key.clone()), right: Box::new(offset), ty };
        ValueBound { key, value }
    }
}

/// Returns true for a number below zero, or a text that begins with a minus.
fn is_negative(value: &Value) -> bool {
    match value {
        Value::Int(number) => *number < 0,
        Value::Decimal(number) => number.is_negative(),
        Value::Double(number) => *number < 0.0,
        Value::Text(text) => text.trim_start().starts_with('-'),
        _ => false,
    }
}

/// Error 3586.
fn illegal_frame(name: &str) -> SqlError {
    let message = format!("Window '{name}': frame start or end is negative, NULL or of non-integral type");
    SqlError::new(ErrorCode::WindowFrameIllegal, message)
}
