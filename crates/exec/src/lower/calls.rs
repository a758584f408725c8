//! Aggregate calls, taken apart into what is accumulated and what is computed from it at the end.
//!
//! AVG is a sum and a count, so that a query with SUM(x), AVG(x) and COUNT(*) accumulates two numbers and not four.

use super::{Lowerer, df};
use crate::{
    agg::{self, Cuts, GroupConcat, Kind},
    expr::{
        Physical, Scope, control::Coalesce, convert::ArrowCast, kernel::KernelExpr, numbers::AverageOf, row_key::RowKey,
    },
};
use arrow_schema::{DataType, SortOptions};
use datafusion_common::ScalarValue;
use datafusion_expr::{AggregateUDF, Operator};
use datafusion_functions_aggregate::{
    bit_and_or_xor::{bit_and_udaf, bit_or_udaf, bit_xor_udaf},
    count::count_udaf,
    min_max::{max_udaf, min_udaf},
    stddev::{stddev_pop_udaf, stddev_udaf},
    sum::sum_udaf,
    variance::{var_pop_udaf, var_samp_udaf},
};
use datafusion_physical_expr::expressions::{BinaryExpr, Column, Literal, case, is_null};
use muster_algebra::{AggregateCall, AggregateFunction, Expr, ScalarFunction};
use muster_types::{Collation, Result, SqlError, SqlType};
use std::sync::Arc;

/// Something that is accumulated.
pub(super) struct Part {
    pub function: Arc<AggregateUDF>,
    pub args: Vec<Physical>,
    pub distinct: bool,
}

/// Everything that is accumulated for one node, each thing once.
#[derive(Default)]
pub(super) struct Parts {
    pub list: Vec<Part>,
}

impl Parts {
    /// Position of this part, which is added unless it is there.
    pub fn add(&mut self, function: Arc<AggregateUDF>, args: Vec<Physical>, distinct: bool) -> usize {
        let same = |p: &Part| p.distinct == distinct && p.function == function && p.args == args;
        match self.list.iter().position(same) {
            Some(found) => found,
            None => {
                self.list.push(Part { function, args, distinct });
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
                    (AggregateFunction::Sum, _) => Finish::Part(sum),
                    (_, Some(scale)) => {
                        Finish::Average(sum, self.count(&call.args, call.distinct, scope, parts)?, scale)
                    }
                    (_, None) => Finish::DoubleAverage(sum, self.count(&call.args, call.distinct, scope, parts)?),
                }
            }
            AggregateFunction::Min | AggregateFunction::Max => {
                let largest = call.function == AggregateFunction::Max;
                let ty = arg()?.ty(&self.columns);
                let physical = compiler.compile(arg()?)?;
                let function = match ty {
                    SqlType::Text { collation, .. }
                        if !scope.text_traits(arg()?).is_some_and(|t| t.bytes_decide_order(collation)) =>
                    {
                        agg::function(Kind::Extreme { collation, largest })
                    }
                    SqlType::Null => agg::function(Kind::AnyValue(DataType::Null)),
                    _ if largest => max_udaf(),
                    _ => min_udaf(),
                };
                Finish::Part(parts.add(function, vec![physical], false))
            }
            AggregateFunction::AnyValue => {
                let physical = compiler.compile(arg()?)?;
                let ty = df(physical.data_type(&scope.schema))?;
                Finish::Part(parts.add(agg::function(Kind::AnyValue(ty)), vec![physical], false))
            }
            AggregateFunction::GroupConcat { separator, order } => {
                let texts: Vec<Expr> = call.args.iter().map(|a| as_text(a, a.ty(&self.columns))).collect();
                let ty = SqlType::varchar(
                    u32::MAX,
                    texts.first().and_then(|t| t.ty(&self.columns).collation()).unwrap_or(Collation::DEFAULT),
                );
                let text = match texts.as_slice() {
                    [one] => compiler.compile_as(one, ty)?,
                    _ => compiler.compile(&Expr::Call { function: ScalarFunction::Concat, args: texts, ty })?,
                };
                let keys = order.iter().map(|k| compiler.ordering_key(&k.expr)).collect::<Result<Vec<_>>>()?;
                let options = order
                    .iter()
                    .map(|k| SortOptions { descending: k.descending, nulls_first: !k.descending })
                    .collect();
                let kernel = RowKey { options, null_if_any_null: false };
                let key = KernelExpr::build(kernel, keys, DataType::BinaryView, false);
                let distinct = call.distinct.then(|| ty.collation().unwrap_or(Collation::DEFAULT));
                let cuts = Cuts::new(self.context.warnings.clone());
                let settings = GroupConcat { separator: separator.clone(), distinct, cuts };
                let function = agg::function(Kind::GroupConcat(settings));
                Finish::Part(parts.add(function, vec![text, key], false))
            }
            AggregateFunction::StdDevPop
            | AggregateFunction::StdDevSamp
            | AggregateFunction::VarPop
            | AggregateFunction::VarSamp => {
                if call.distinct {
                    return Err(SqlError::unsupported("DISTINCT in a standard deviation beside other aggregates"));
                }
                let function = match call.function {
                    AggregateFunction::StdDevPop => stddev_pop_udaf(),
                    AggregateFunction::StdDevSamp => stddev_udaf(),
                    AggregateFunction::VarPop => var_pop_udaf(),
                    _ => var_samp_udaf(),
                };
                Finish::Part(parts.add(function, vec![compiler.compile_as(arg()?, SqlType::Double)?], false))
            }
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
                let physical = compiler.compile_as(arg()?, SqlType::BIGINT_UNSIGNED)?;
                let (function, none) = match call.function {
                    AggregateFunction::BitAnd => (bit_and_udaf(), u64::MAX),
                    AggregateFunction::BitOr => (bit_or_udaf(), 0),
                    _ => (bit_xor_udaf(), 0),
                };
                Finish::PartOr(parts.add(function, vec![physical], false), ScalarValue::UInt64(Some(none)))
            }
        })
    }

    /// COUNT of rows in which no argument is NULL.
    fn count(&self, args: &[Expr], distinct: bool, scope: &Scope, parts: &mut Parts) -> Result<usize> {
        let compiler = self.compiler(scope);
        let one: Physical = Arc::new(Literal::new(ScalarValue::Int64(Some(1))));
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
            return Ok(parts.add(count_udaf(), vec![key], true));
        }
        let mut tested: Vec<Physical> = Vec::new();
        for arg in args {
            let physical = compiler.compile(arg)?;
            if nullable(&physical) {
                tested.push(physical);
            }
        }
        let counted = match tested.len() {
            0 => one,
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
                let none: Physical = Arc::new(Literal::new(ScalarValue::Int64(None)));
                match any {
                    Some(any) => df(case(None, vec![(any, none)], Some(one)))?,
                    None => one,
                }
            }
        };
        Ok(parts.add(count_udaf(), vec![counted], false))
    }

    /// The sum, and its scale if it is exact.
    fn sum(&self, arg: &Expr, call: &AggregateCall, scope: &Scope, parts: &mut Parts) -> Result<(usize, Option<u8>)> {
        let compiler = self.compiler(scope);
        let exact = |scale: u8| agg::function(Kind::ExactSum { scale: scale as i8 });
        let decimal = |ty: SqlType| matches!(ty, SqlType::Decimal { .. } | SqlType::Int { .. });
        Ok(match arg.ty(&self.columns) {
            SqlType::Decimal { scale, .. } if decimal(call.ty) => {
                let physical = compiler.compile(arg)?;
                // DataFusion's own distinct sum; ours sees every row.
                let function = if call.distinct { sum_udaf() } else { exact(scale) };
                (parts.add(function, vec![physical], call.distinct), Some(scale))
            }
            ty @ (SqlType::Int { .. } | SqlType::Bool | SqlType::Null) if decimal(call.ty) => {
                let physical = if ty.is_unsigned() || call.distinct {
                    compiler.compile_as(arg, SqlType::decimal(20, 0))?
                } else {
                    compiler.compile_as(arg, SqlType::BIGINT)?
                };
                let function = if call.distinct { sum_udaf() } else { exact(0) };
                (parts.add(function, vec![physical], call.distinct), Some(0))
            }
            _ => {
                let physical = compiler.compile_as(arg, SqlType::Double)?;
                (parts.add(sum_udaf(), vec![physical], call.distinct), None)
            }
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
                let (scale, result) = match crate::arrow_value::arrow_type(&ty) {
                    result @ DataType::Decimal128(_, scale) => (scale as u8, result),
                    _ => (sum_scale.saturating_add(4).min(30), DataType::Decimal128(38, (sum_scale + 4).min(30) as i8)),
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
                Arc::new(BinaryExpr::new(part(*sum), Operator::Divide, count))
            }
        };
        compiler.retype(result, ty)
    }
}

fn as_text(expr: &Expr, ty: SqlType) -> Expr {
    match ty {
        SqlType::Text { .. } => expr.clone(),
        _ => Expr::Cast { arg: Box::new(expr.clone()), ty: SqlType::varchar(u32::MAX, Collation::DEFAULT) },
    }
}
