//! Comparisons and IN: in which representation values are compared.
//!
//! Numbers of different widths or scales meet in the narrowest type that holds both; a constant that a column's own
//! type can represent exactly is converted to it, and a widening cast around the column is dropped. Texts compare as
//! bytes where the facts known of them allow it, else under the collation.

use super::{
    Compiler, Physical,
    control::OneZero,
    kernel::KernelExpr,
    text::{CollateKey, CompareText, DocumentKey},
};
use crate::{
    arrow_value::{arrow_type, scalar},
    error::to_sql,
};
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{BinaryExpr, Literal, in_list, is_null, not};
use muster_algebra::{CompareOp, Expr};
use muster_types::{Collation, Result, SqlType, Value, collation::TextTraits, temporal::datetime_parts};
use std::sync::Arc;

fn operator(op: CompareOp) -> Operator {
    match op {
        CompareOp::Eq => Operator::Eq,
        CompareOp::NotEq => Operator::NotEq,
        CompareOp::Lt => Operator::Lt,
        CompareOp::LtEq => Operator::LtEq,
        CompareOp::Gt => Operator::Gt,
        CompareOp::GtEq => Operator::GtEq,
        CompareOp::NullSafeEq => Operator::IsNotDistinctFrom,
    }
}

impl Compiler<'_> {
    /// `left op right`.
    pub(super) fn compare(&self, op: CompareOp, left: &Expr, right: &Expr) -> Result<Physical> {
        let (lt, rt) = (left.ty(self.columns), right.ty(self.columns));
        if lt == SqlType::Null || rt == SqlType::Null {
            return match op {
                CompareOp::NullSafeEq => {
                    let other = if lt == SqlType::Null { right } else { left };
                    is_null(self.compile(other)?).map_err(|e| to_sql(&e, 0))
                }
                _ => Ok(Arc::new(Literal::new(ScalarValue::Boolean(None)))),
            };
        }
        if lt == SqlType::Json || rt == SqlType::Json {
            return self.row_wise(Expr::compare(op, left.clone(), right.clone()), SqlType::Bool);
        }
        if let (SqlType::Text { collation, .. }, SqlType::Text { .. }) = (lt, rt) {
            return self.compare_texts(op, left, right, collation);
        }
        let (l, r) = self.comparable(left, right)?;
        Ok(Arc::new(BinaryExpr::new(l, operator(op), r)))
    }

    fn compare_texts(&self, op: CompareOp, left: &Expr, right: &Expr, collation: Collation) -> Result<Physical> {
        let traits = match (self.scope.text_traits(left), self.scope.text_traits(right)) {
            (Some(a), Some(b)) => Some(TextTraits::merge(a, b)),
            _ => None,
        };
        let equality = matches!(op, CompareOp::Eq | CompareOp::NotEq | CompareOp::NullSafeEq);
        let as_bytes = collation == Collation::Binary
            || traits.is_some_and(|t| match equality {
                true => t.bytes_decide_equality(collation),
                false => t.bytes_decide_order(collation),
            });
        let (l, r) = (self.compile(left)?, self.compile(right)?);
        if as_bytes {
            return Ok(Arc::new(BinaryExpr::new(l, operator(op), r)));
        }
        Ok(KernelExpr::build(CompareText { op, collation }, vec![l, r], DataType::Boolean, true))
    }

    /// Both sides in one Arrow type in which comparison means the same. Not for texts.
    pub(super) fn comparable(&self, left: &Expr, right: &Expr) -> Result<(Physical, Physical)> {
        if let Some((l, r)) = self.with_exact_constant(left, right)? {
            return Ok((l, r));
        }
        if let Some((r, l)) = self.with_exact_constant(right, left)? {
            return Ok((l, r));
        }
        let (lt, rt) = (left.ty(self.columns), right.ty(self.columns));
        let ty = if arrow_type(&lt) == arrow_type(&rt) { lt } else { common_type(lt, rt) };
        Ok((self.one_zero(self.compile_as(left, ty)?, ty), self.one_zero(self.compile_as(right, ty)?, ty)))
    }

    fn one_zero(&self, expr: Physical, ty: SqlType) -> Physical {
        match ty {
            SqlType::Float | SqlType::Double => KernelExpr::build(OneZero, vec![expr], arrow_type(&ty), true),
            _ => expr,
        }
    }

    /// The column side without widening casts, and the constant in its type.
    fn with_exact_constant(&self, column: &Expr, constant: &Expr) -> Result<Option<(Physical, Physical)>> {
        let Expr::Literal { value, .. } = constant else { return Ok(None) };
        let mut inner = column;
        loop {
            if let Some(exact) = exact_scalar(value, inner.ty(self.columns)) {
                // Look further in: the innermost type is the narrowest.
                if let Expr::Cast { arg, ty } = inner
                    && keeps_order(arg.ty(self.columns), *ty)
                    && exact_scalar(value, arg.ty(self.columns)).is_some()
                {
                    inner = arg;
                    continue;
                }
                return Ok(Some((self.compile(inner)?, Arc::new(Literal::new(exact)))));
            }
            return Ok(None);
        }
    }

    /// `arg [NOT] IN (list)`.
    pub(super) fn in_list(&self, arg: &Expr, list: &[Expr], negated: bool) -> Result<Physical> {
        let df = |r: datafusion_common::Result<Physical>| r.map_err(|e| to_sql(&e, 0));
        let ty = arg.ty(self.columns);
        if ty == SqlType::Json || list.iter().any(|item| item.ty(self.columns) == SqlType::Json) {
            let node = Expr::InList { arg: Box::new(arg.clone()), list: list.to_vec(), negated };
            return self.row_wise(node, SqlType::Bool);
        }
        let constants: Option<Vec<&Value>> =
            list.iter().map(|e| if let Expr::Literal { value, .. } = e { Some(value) } else { None }).collect();
        let Some(constants) = constants.filter(|_| ty != SqlType::Null) else {
            let alternatives: Vec<Physical> =
                list.iter().map(|item| self.compare(CompareOp::Eq, arg, item)).collect::<Result<_>>()?;
            let any = alternatives
                .into_iter()
                .reduce(|a, b| Arc::new(BinaryExpr::new(a, Operator::Or, b)) as Physical)
                .unwrap_or_else(|| Arc::new(Literal::new(ScalarValue::Boolean(Some(false)))));
            return if negated { df(not(any)) } else { Ok(any) };
        };
        let literals = |scalars: Vec<ScalarValue>| -> Vec<Physical> {
            scalars.into_iter().map(|s| Arc::new(Literal::new(s)) as Physical).collect()
        };
        if let SqlType::Text { collation, .. } = ty {
            let mut traits = self.scope.text_traits(arg);
            for item in list {
                traits = traits.zip(self.scope.text_traits(item)).map(|(a, b)| TextTraits::merge(a, b));
            }
            let as_bytes = collation == Collation::Binary || traits.is_some_and(|t| t.bytes_decide_equality(collation));
            let (needle, scalars): (Physical, Vec<ScalarValue>) = if as_bytes {
                (self.compile(arg)?, constants.iter().map(|v| scalar(v, ty)).collect::<Result<_>>()?)
            } else {
                let keys = constants.iter().map(|v| match v {
                    Value::Text(text) => ScalarValue::BinaryView(Some(collation.sort_key(text))),
                    _ => ScalarValue::BinaryView(None),
                });
                (self.sort_key(self.compile(arg)?, collation), keys.collect())
            };
            return df(in_list(needle, literals(scalars), &negated, &self.scope.schema));
        }
        // The type of the list, unless a narrower one under the casts holds all of it.
        let mut inner = arg;
        while let Expr::Cast { arg: below, ty } = inner
            && keeps_order(below.ty(self.columns), *ty)
            && constants.iter().all(|v| v.is_null() || exact_scalar(v, below.ty(self.columns)).is_some())
        {
            inner = below;
        }
        let ty = inner.ty(self.columns);
        let exact = constants.iter().map(|v| if v.is_null() { scalar(v, ty).ok() } else { exact_scalar(v, ty) });
        match exact.collect::<Option<Vec<ScalarValue>>>() {
            Some(scalars) => {
                let needle = self.one_zero(self.compile(inner)?, ty);
                df(in_list(needle, literals(scalars), &negated, &self.scope.schema))
            }
            None => {
                let equals: Vec<Expr> = list.iter().map(|item| Expr::eq(arg.clone(), item.clone())).collect();
                let any: Vec<Physical> = equals.iter().map(|e| self.compile(e)).collect::<Result<_>>()?;
                let any = any.into_iter().reduce(|a, b| Arc::new(BinaryExpr::new(a, Operator::Or, b)) as Physical);
                match any {
                    Some(any) if negated => df(not(any)),
                    Some(any) => Ok(any),
                    None => Ok(Arc::new(Literal::new(ScalarValue::Boolean(Some(negated))))),
                }
            }
        }
    }

    /// The collation's sort key of a text.
    pub fn sort_key(&self, text: Physical, collation: Collation) -> Physical {
        KernelExpr::build(CollateKey { collation }, vec![text], DataType::BinaryView, true)
    }

    /// The key that rows are grouped and joined by: equal exactly when the values are equal in MySQL's sense. Whether
    /// it is not the value itself comes along.
    pub fn grouping_key(&self, expr: &Expr) -> Result<(Physical, bool)> {
        let physical = self.compile(expr)?;
        Ok(match expr.ty(self.columns) {
            SqlType::Text { collation, .. } => {
                let traits = self.scope.text_traits(expr);
                if collation == Collation::Binary || traits.is_some_and(|t| t.bytes_decide_equality(collation)) {
                    (physical, false)
                } else {
                    (self.sort_key(physical, collation), true)
                }
            }
            ty @ (SqlType::Float | SqlType::Double) => (self.one_zero(physical, ty), false),
            SqlType::Json => (document_key(physical, true), true),
            _ => (physical, false),
        })
    }

    /// The key that rows are sorted by.
    pub fn ordering_key(&self, expr: &Expr) -> Result<Physical> {
        let physical = self.compile(expr)?;
        Ok(match expr.ty(self.columns) {
            SqlType::Text { collation, .. } => {
                let traits = self.scope.text_traits(expr);
                if collation == Collation::Binary || traits.is_some_and(|t| t.bytes_decide_order(collation)) {
                    physical
                } else {
                    self.sort_key(physical, collation)
                }
            }
            SqlType::Json => document_key(physical, false),
            ty => self.one_zero(physical, ty),
        })
    }
}

/// The bytes that documents are grouped (`whole`) or sorted by.
pub fn document_key(document: Physical, whole: bool) -> Physical {
    KernelExpr::build(DocumentKey { whole }, vec![document], DataType::BinaryView, true)
}

/// Returns true if a cast maps different values to different values and keeps their order.
fn keeps_order(from: SqlType, to: SqlType) -> bool {
    match (from, to) {
        (a, b) if a == b => true,
        (SqlType::Date, SqlType::DateTime { .. } | SqlType::Timestamp { .. }) => true,
        (SqlType::Int { .. } | SqlType::Decimal { .. }, SqlType::Int { .. } | SqlType::Decimal { .. }) => {
            let (Some((p, s)), Some((q, t))) = (from.decimal_digits(), to.decimal_digits()) else { return false };
            let sign_kept = !to.is_unsigned() || from.is_unsigned();
            sign_kept && t >= s && q - t >= p - s
        }
        _ => false,
    }
}

/// The value in this type, if it is exactly representable.
fn exact_scalar(value: &Value, ty: SqlType) -> Option<ScalarValue> {
    let exact = match (value, ty) {
        (Value::Null, _) => return None,
        (Value::Decimal(d), SqlType::Int { .. }) => d.rescale(0).is_some_and(|r| r == *d),
        (Value::Decimal(d), SqlType::Decimal { scale, .. }) => d.rescale(scale).is_some_and(|r| r == *d),
        (Value::Int(_) | Value::UInt(_), SqlType::Int { .. } | SqlType::Decimal { .. }) => true,
        (Value::Bool(_), SqlType::Bool) => true,
        (Value::Double(_), SqlType::Double) => true,
        (Value::Float(_), SqlType::Float) => true,
        (Value::Date(_), SqlType::Date) => true,
        (Value::DateTime(t), SqlType::Date) => {
            let (date, clock) = datetime_parts(*t);
            return (clock == 0).then_some(ScalarValue::Date32(Some(date)));
        }
        (Value::DateTime(_), SqlType::DateTime { .. } | SqlType::Timestamp { .. }) => true,
        (Value::Time(_), SqlType::Time { .. }) => true,
        (Value::Bytes(_), SqlType::Bytes { .. }) => true,
        _ => false,
    };
    let scalar = if exact { scalar(value, ty).ok() } else { None };
    match scalar {
        // -0 equals 0.
        Some(ScalarValue::Float64(Some(x))) => Some(ScalarValue::Float64(Some(x + 0.0))),
        Some(ScalarValue::Float32(Some(x))) => Some(ScalarValue::Float32(Some(x + 0.0))),
        other => other,
    }
}

/// A type that holds the values of both, for comparison.
pub(crate) fn common_type(a: SqlType, b: SqlType) -> SqlType {
    match (a, b) {
        (SqlType::Null, other) | (other, SqlType::Null) => other,
        (SqlType::Float | SqlType::Double, _) | (_, SqlType::Float | SqlType::Double) => SqlType::Double,
        (SqlType::Text { collation, .. }, SqlType::Text { .. }) => SqlType::varchar(u32::MAX, collation),
        (SqlType::Text { .. } | SqlType::Bytes { .. }, SqlType::Text { .. } | SqlType::Bytes { .. }) => {
            SqlType::Bytes { kind: muster_types::BytesKind::LongBlob, length: u32::MAX }
        }
        (SqlType::DateTime { .. } | SqlType::Timestamp { .. }, _) if b.is_temporal() => SqlType::DateTime { fsp: 6 },
        (_, SqlType::DateTime { .. } | SqlType::Timestamp { .. }) if a.is_temporal() => SqlType::DateTime { fsp: 6 },
        _ => match (a.decimal_digits(), b.decimal_digits()) {
            (Some((_, 0)), Some((_, 0))) if a.is_integer() && b.is_integer() && a.is_unsigned() == b.is_unsigned() => {
                if a.is_unsigned() {
                    SqlType::BIGINT_UNSIGNED
                } else {
                    SqlType::BIGINT
                }
            }
            (Some(a), Some(b)) => SqlType::compared_decimal(a, b),
            _ => SqlType::Double,
        },
    }
}
