//! Comparisons of floating-point numbers that show a fixed number of digits (MySQL:
//! `Arg_comparator::compare_real_fixed`).
//!
//! `FLOAT(10,2)` holds 1.1 as the nearest binary fraction, which is not the nearest one to the 1.1 it is compared with.
//! When both sides have a known number of digits behind the point, they are equal if they differ by less than half a
//! unit of the last of these digits.

use crate::{bind::binder::Binder, typing::Item};
use muster_algebra::{ArithmeticOp, CompareOp, Expr, LogicOp, ScalarFunction};
use muster_types::{SqlType, Value};

impl Binder<'_> {
    /// Returns the smallest difference of two numbers that are not equal; `None` when they are compared exactly.
    pub(super) fn tolerance(&self, op: CompareOp, l: &Item, r: &Item) -> Option<f64> {
        let is_float = |item: &Item| matches!(item.ty, SqlType::Float | SqlType::Double);
        if !is_float(l) && !is_float(r) || self.compares_exactly(l, r) || self.compares_exactly(r, l) {
            return None;
        }
        // NULL-safe equality has either side twice, and a subquery may be in a statement only once.
        if op == CompareOp::NullSafeEq && (l.expr.has_subquery() || r.expr.has_subquery()) {
            return None;
        }
        let decimals = l.shown_decimals()?.max(r.shown_decimals()?);
        Some(5.0 / 10f64.powi(decimals as i32 + 1))
    }

    /// Returns true if equal digits are equal numbers: a stored number was rounded to the column's digits, so it is the
    /// nearest one to them, as is every constant of no more digits, and every value of another such column.
    fn compares_exactly(&self, stored: &Item, other: &Item) -> bool {
        let (Some(decimals), Some(others)) = (self.stored_decimals(stored), other.shown_decimals()) else {
            return false;
        };
        match &other.expr {
            Expr::Literal { .. } => stored.ty == SqlType::Double && others <= decimals,
            _ => stored.ty == other.ty && self.stored_decimals(other) == Some(decimals),
        }
    }

    /// Digits behind the point to which a column's values were rounded when they were stored.
    fn stored_decimals(&self, item: &Item) -> Option<u8> {
        match item.expr {
            Expr::Column(id) if self.columns.get(id).origin.is_some() => item.decimals,
            _ => None,
        }
    }

    pub(super) fn compare_within(&mut self, op: CompareOp, l: Item, r: Item, tolerance: f64) -> Item {
        let (l, r) = (self.convert(l, SqlType::Double).expr, self.convert(r, SqlType::Double).expr);
        let constant = |x: f64| Expr::literal(Value::Double(x), SqlType::Double);
        let difference = |l: Expr, r: Expr| Expr::Arithmetic {
            op: ArithmeticOp::Sub,
            left: Box::new(l),
            right: Box::new(r),
            ty: SqlType::Double,
        };
        let distance = |l: Expr, r: Expr| Expr::Call {
            function: ScalarFunction::Abs,
            args: vec![difference(l, r)],
            ty: SqlType::Double,
        };
        Item::bool(match op {
            CompareOp::Eq => Expr::compare(CompareOp::Lt, distance(l, r), constant(tolerance)),
            CompareOp::NotEq => Expr::compare(CompareOp::GtEq, distance(l, r), constant(tolerance)),
            CompareOp::Lt => Expr::compare(CompareOp::LtEq, difference(l, r), constant(-tolerance)),
            CompareOp::LtEq => Expr::compare(CompareOp::Lt, difference(l, r), constant(tolerance)),
            CompareOp::Gt => Expr::compare(CompareOp::GtEq, difference(l, r), constant(tolerance)),
            CompareOp::GtEq => Expr::compare(CompareOp::Gt, difference(l, r), constant(-tolerance)),
            CompareOp::NullSafeEq => {
                let near = Expr::compare(CompareOp::Lt, distance(l.clone(), r.clone()), constant(tolerance));
                let near = Expr::IsTruth { arg: Box::new(near), truth: true, negated: false };
                let same = Expr::compare(CompareOp::NullSafeEq, l, r);
                Expr::Logic { op: LogicOp::Or, args: vec![same, near] }
            }
        })
    }
}
