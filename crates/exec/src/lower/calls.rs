//! Aggregate calls, taken apart into what is accumulated and what is computed from it at the end.
//!
//! AVG is a sum and a count, so that a query with SUM(x), AVG(x) and COUNT(*) accumulates two numbers and not four.

use super::{Lowerer, df};
use crate::{
    agg::{self, BitOp, Cuts, GroupConcat, Kind, Spread},
    expr::{
        Physical, Scope,
        control::Coalesce,
        convert::ArrowCast,
        decimal::scale_of,
        kernel::KernelExpr,
        numbers::{AverageOf, Finite},
        row_key::RowKey,
    },
};
use arrow_schema::{DataType, SortOptions};
use datafusion_common::ScalarValue;
use datafusion_expr::{AggregateUDF, Operator};
use datafusion_physical_expr::expressions::{BinaryExpr, Column, Literal, case, is_null};
use muster_algebra::{AggregateCall, AggregateFunction, Expr, ScalarFunction};
use muster_types::{
    BytesKind, Collation, Result, SqlError, SqlType,
    sql_type::{DECIMAL_MAX_PRECISION, DECIMAL128_MAX_PRECISION},
};
use std::sync::Arc;

/// Something that is accumulated.
pub(super) struct Part {
    pub function: Arc<AggregateUDF>,
    pub args: Vec<Physical>,
}

/// Everything that is accumulated for one node, each thing once.
#[derive(Default)]
pub(super) struct Parts {
    pub list: Vec<Part>,
}

impl Parts {
    /// Position of this part, which is added unless it is there.
    pub fn add(&mut self, kind: Kind, args: Vec<Physical>) -> usize {
        let function = agg::function(kind);
        let same = |p: &Part| p.function == function && p.args == args;
        match self.list.iter().position(same) {
            Some(found) => found,
            None => {
                self.list.push(Part { function, args });
                self.list.len() - 1
            }
        }
    }
}

/// How a call's result comes from the parts.
pub(super) enum Finish {
    Part(usize),
    /// The constant when the part is NULL.
    PartOr(usize, ScalarValue),
    /// A double that may have become infinite, and the function for the error.
    Double(usize, &'static str),
    /// Sum and count; scale of the sum.
    Average(usize, usize, u8),
    DoubleAverage(usize, usize),
}

impl Lowerer<'_> {
    /// Takes a call apart. `scope`: of the input.
    pub(super) fn call_parts(&self, call: &AggregateCall, scope: &Scope, parts: &mut Parts) -> Result<Finish> {
        let compiler = self.compiler(scope);
        let arg = || call.args.first().ok_or_else(|| SqlError::internal("aggregate without argument"));
        Ok(match &call.function {
            AggregateFunction::Count => {
                let part = self.count(&call.args, call.distinct, scope, parts)?;
                Finish::PartOr(part, ScalarValue::Int64(Some(0)))
            }
            AggregateFunction::Sum | AggregateFunction::Avg => {
                let arg = arg()?;
                let (sum, scale) = self.sum(arg, call, scope, parts)?;
                match (&call.function, scale) {
                    (AggregateFunction::Sum, Some(_)) => Finish::Part(sum),
                    (AggregateFunction::Sum, None) => Finish::Double(sum, "sum"),
                    (_, Some(scale)) => {
                        Finish::Average(sum, self.count(&call.args, call.distinct, scope, parts)?, scale)
                    }
                    (_, None) => Finish::DoubleAverage(sum, self.count(&call.args, call.distinct, scope, parts)?),
                }
            }
            AggregateFunction::Min | AggregateFunction::Max => {
                let largest = call.function == AggregateFunction::Max;
                let ty = arg()?.ty(&self.columns);
                // Truth values are ordered as the numbers that they are.
                let physical = match ty {
                    SqlType::Bool => compiler.compile_as(arg()?, SqlType::TINYINT)?,
                    _ => compiler.compile(arg()?)?,
                };
                let kind = match ty {
                    SqlType::Text { collation, .. }
                        if !scope.text_traits(arg()?).is_some_and(|t| t.bytes_decide_order(collation)) =>
                    {
                        Kind::CollatedExtreme { collation, largest }
                    }
                    SqlType::Null => Kind::AnyValue(DataType::Null),
                    _ => Kind::Extreme { ty: df(physical.data_type(&scope.schema))?, largest },
                };
                Finish::Part(parts.add(kind, vec![physical]))
            }
            AggregateFunction::AnyValue => {
                let physical = compiler.compile(arg()?)?;
                let ty = df(physical.data_type(&scope.schema))?;
                Finish::Part(parts.add(Kind::AnyValue(ty), vec![physical]))
            }
            AggregateFunction::GroupConcat { .. } => Finish::Part(self.group_concat(call, scope, parts)?),
            AggregateFunction::JsonArrayAgg | AggregateFunction::JsonObjectAgg => {
                let objects = call.function == AggregateFunction::JsonObjectAgg;
                Finish::Part(parts.add(Kind::Documents { objects }, vec![compiler.compile_as(arg()?, SqlType::Json)?]))
            }
            AggregateFunction::StdDevPop
            | AggregateFunction::StdDevSamp
            | AggregateFunction::VarPop
            | AggregateFunction::VarSamp => self.spread(call, arg()?, scope, parts)?,
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
                self.bits(call, arg()?, scope, parts)?
            }
        })
    }

    /// A variance or standard deviation.
    fn spread(&self, call: &AggregateCall, arg: &Expr, scope: &Scope, parts: &mut Parts) -> Result<Finish> {
        if call.distinct {
            return Err(SqlError::unsupported("DISTINCT in a standard deviation beside other aggregates"));
        }
        let spread = Spread {
            sample: matches!(call.function, AggregateFunction::StdDevSamp | AggregateFunction::VarSamp),
            deviation: matches!(call.function, AggregateFunction::StdDevPop | AggregateFunction::StdDevSamp),
        };
        let name = match (spread.deviation, spread.sample) {
            (true, false) => "std",
            (true, true) => "stddev_samp",
            (false, false) => "variance",
            (false, true) => "var_samp",
        };
        let argument = self.compiler(scope).compile_as(arg, SqlType::Double)?;
        Ok(Finish::Double(parts.add(Kind::Spread(spread), vec![argument]), name))
    }

    /// GROUP_CONCAT of texts or of byte strings.
    fn group_concat(&self, call: &AggregateCall, scope: &Scope, parts: &mut Parts) -> Result<usize> {
        let compiler = self.compiler(scope);
        let AggregateFunction::GroupConcat { separator, order, bytes_max } = &call.function else {
            return Err(SqlError::internal("no GROUP_CONCAT"));
        };
        let is_binary = call.ty.is_bytes();
        let ty = match is_binary {
            true => SqlType::Bytes { kind: BytesKind::LongBlob, length: u32::MAX },
            false => SqlType::varchar(u32::MAX, call.ty.collation().unwrap_or(Collation::DEFAULT)),
        };
        let text = match call.args.as_slice() {
            [one] => compiler.compile_as(one, ty)?,
            several => {
                let args = several.to_vec();
                compiler.compile(&Expr::Call { function: ScalarFunction::Concat, args, ty })?
            }
        };
        let keys = order.iter().map(|k| compiler.ordering_key(&k.expr)).collect::<Result<Vec<_>>>()?;
        let options =
            order.iter().map(|k| SortOptions { descending: k.descending, nulls_first: !k.descending }).collect();
        let kernel = RowKey { options, null_if_any_null: false };
        let key = KernelExpr::build(kernel, keys, DataType::BinaryView, false);
        let mut values = vec![text, key];
        if call.distinct {
            let equal = call.args.iter().map(|a| Ok(compiler.grouping_key(a)?.0)).collect::<Result<Vec<_>>>()?;
            let options = vec![SortOptions::default(); equal.len()];
            let kernel = RowKey { options, null_if_any_null: false };
            values.push(KernelExpr::build(kernel, equal, DataType::BinaryView, false));
        }
        let cuts = Cuts::new(self.context.warnings.clone());
        let (separator, distinct, is_ordered) = (separator.clone(), call.distinct, !order.is_empty());
        let settings = GroupConcat { separator, bytes_max: *bytes_max, is_binary, distinct, is_ordered, cuts };
        Ok(parts.add(Kind::GroupConcat(settings), values))
    }

    /// BIT_AND, BIT_OR and BIT_XOR of integers or of byte strings.
    fn bits(&self, call: &AggregateCall, arg: &Expr, scope: &Scope, parts: &mut Parts) -> Result<Finish> {
        let op = match call.function {
            AggregateFunction::BitAnd => BitOp::And,
            AggregateFunction::BitOr => BitOp::Or,
            _ => BitOp::Xor,
        };
        let compiler = self.compiler(scope);
        // The result of no values.
        let none = if op == BitOp::And { u64::MAX } else { 0 };
        Ok(match call.ty {
            SqlType::Bytes { length, .. } => {
                let part = parts.add(Kind::ByteBits(op), vec![compiler.compile_as(arg, call.ty)?]);
                Finish::PartOr(part, ScalarValue::BinaryView(Some(vec![none as u8; length as usize])))
            }
            _ => {
                let physical = compiler.compile_as(arg, SqlType::BIGINT_UNSIGNED)?;
                Finish::PartOr(parts.add(Kind::Bits(op), vec![physical]), ScalarValue::UInt64(Some(none)))
            }
        })
    }

    /// COUNT of rows in which no argument is NULL.
    fn count(&self, args: &[Expr], distinct: bool, scope: &Scope, parts: &mut Parts) -> Result<usize> {
        let compiler = self.compiler(scope);
        let nullable = |e: &Physical| e.nullable(&scope.schema).unwrap_or(true);
        if distinct {
            let keys = args.iter().map(|a| Ok(compiler.grouping_key(a)?.0)).collect::<Result<Vec<_>>>()?;
            let key = match keys.as_slice() {
                [one] => one.clone(),
                _ => {
                    let kernel = RowKey { options: vec![SortOptions::default(); keys.len()], null_if_any_null: true };
                    KernelExpr::build(kernel, keys, DataType::BinaryView, true)
                }
            };
            let ty = df(key.data_type(&scope.schema))?;
            return Ok(parts.add(Kind::Distinct(Box::new(Kind::CountRows), ty), vec![key]));
        }
        let mut tested: Vec<Physical> = Vec::new();
        for arg in args {
            let physical = compiler.compile(arg)?;
            if nullable(&physical) {
                tested.push(physical);
            }
        }
        let counted = match tested.len() {
            // An array of NULLs has no values that would have to be made.
            0 => return Ok(parts.add(Kind::CountRows, vec![Arc::new(Literal::new(ScalarValue::Null))])),
            1 => tested.remove(0),
            _ => {
                let mut any: Option<Physical> = None;
                for arg in tested {
                    let null = df(is_null(arg))?;
                    any = Some(match any {
                        None => null,
                        Some(any) => Arc::new(BinaryExpr::new(any, Operator::Or, null)),
                    });
                }
                let value = |v: Option<i64>| Arc::new(Literal::new(ScalarValue::Int64(v))) as Physical;
                match any {
                    Some(any) => df(case(None, vec![(any, value(None))], Some(value(Some(1)))))?,
                    None => value(Some(1)),
                }
            }
        };
        Ok(parts.add(Kind::Count, vec![counted]))
    }

    /// The sum, and its scale if it is exact.
    fn sum(&self, arg: &Expr, call: &AggregateCall, scope: &Scope, parts: &mut Parts) -> Result<(usize, Option<u8>)> {
        let compiler = self.compiler(scope);
        let exact = |scale: u8| {
            Kind::ExactSum(match call.ty {
                SqlType::Decimal { precision, .. } if precision > DECIMAL128_MAX_PRECISION => {
                    DataType::Decimal256(DECIMAL_MAX_PRECISION, scale as i8)
                }
                _ => DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale as i8),
            })
        };
        let mut add = |kind: Kind, arg: Physical| -> Result<usize> {
            let kind = match call.distinct {
                true => Kind::Distinct(Box::new(kind), df(arg.data_type(&scope.schema))?),
                false => kind,
            };
            Ok(parts.add(kind, vec![arg]))
        };
        let decimal = |ty: SqlType| matches!(ty, SqlType::Decimal { .. } | SqlType::Int { .. });
        Ok(match arg.ty(&self.columns) {
            SqlType::Decimal { scale, .. } if decimal(call.ty) => {
                // Distinct values are told apart by DataFusion, which takes one width.
                let physical = if call.distinct { compiler.compile(arg)? } else { compiler.compile_adaptive(arg)? };
                (add(exact(scale), physical)?, Some(scale))
            }
            ty @ (SqlType::Int { .. } | SqlType::Bool | SqlType::Null) if decimal(call.ty) => {
                let wide = if ty.is_unsigned() { SqlType::decimal(20, 0) } else { SqlType::BIGINT };
                (add(exact(0), compiler.compile_as(arg, wide)?)?, Some(0))
            }
            _ => (add(Kind::DoubleSum, compiler.compile_as(arg, SqlType::Double)?)?, None),
        })
    }

    /// The call's result over the aggregated rows. `scope`: of them; `column(i)`: the column of part i.
    pub(super) fn finish(
        &self,
        finish: &Finish,
        ty: SqlType,
        scope: &Scope,
        column: impl Fn(usize) -> Column,
    ) -> Result<Physical> {
        let compiler = self.compiler(scope);
        let part = |i: usize| Arc::new(column(i)) as Physical;
        let result = match finish {
            Finish::Part(i) => part(*i),
            Finish::Double(i, name) => finite(part(*i), name),
            Finish::PartOr(i, value) => {
                if !df(part(*i).nullable(&scope.schema))? {
                    part(*i)
                } else {
                    let result = value.data_type();
                    let args = vec![part(*i), Arc::new(Literal::new(value.clone())) as Physical];
                    KernelExpr::build(Coalesce { result: result.clone() }, args, result, false)
                }
            }
            Finish::Average(sum, count, sum_scale) => {
                let result = crate::arrow_value::arrow_type(&ty);
                let (scale, result) = match scale_of(&result) {
                    Some(scale) => (scale, result),
                    None => {
                        (sum_scale.saturating_add(4).min(30), DataType::Decimal128(38, (sum_scale + 4).min(30) as i8))
                    }
                };
                let kernel = AverageOf { sum_scale: *sum_scale, scale, result: result.clone() };
                KernelExpr::build(kernel, vec![part(*sum), part(*count)], result, true)
            }
            Finish::DoubleAverage(sum, count) => {
                let count = KernelExpr::build(
                    ArrowCast { result: DataType::Float64 },
                    vec![part(*count)],
                    DataType::Float64,
                    false,
                );
                finite(Arc::new(BinaryExpr::new(part(*sum), Operator::Divide, count)), "avg")
            }
        };
        compiler.retype(result, ty)
    }
}

/// Error 1690 for an infinity or NaN.
fn finite(double: Physical, function: &'static str) -> Physical {
    KernelExpr::build(Finite { function }, vec![double], DataType::Float64, true)
}
