//! Node by node from the algebra to physical expressions.

use super::{
    Physical, Scope,
    arithmetic::{Arithmetic, Family},
    columnwise::Columnwise,
    compare::common_type,
    control::{Coalesce, IsTruth},
    convert::{ArrowCast, fast_cast},
    decimal::scale_of,
    kernel::{KernelExpr, is_adaptive, literal_of},
    like::{LikeColumn, LikeConstant},
    numbers::{Negate, Rescale},
    rowwise::RowWise,
    temporal::{DateAdd, Extract},
    text::SubstringAt,
    text_memory::TextMemory,
};
use crate::{
    SaidInsertId, Warnings,
    arrow_value::{arrow_type, scalar},
    error::to_sql,
};
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{BinaryExpr, Column, Literal, case, is_not_null, is_null, not};
use muster_algebra::{ArithmeticOp, ColId, Columns, Expr, LogicOp, ScalarFunction};
use muster_eval::text::lengthens;
use muster_functions::{CallStates, UserVariables};
use muster_types::{Collation, Result, SqlError, SqlType, Value, collation::LikePattern};
use std::sync::Arc;

/// Compiles expressions over one input.
pub struct Compiler<'a> {
    pub columns: &'a Columns,
    pub scope: &'a Scope,
    pub warnings: &'a Arc<Warnings>,
    pub texts: &'a Arc<TextMemory>,
    pub said_insert_id: &'a SaidInsertId,
    pub user_variables: &'a Arc<dyn UserVariables>,
}

fn df<T>(result: datafusion_common::Result<T>) -> Result<T> {
    result.map_err(|e| to_sql(&e, 0))
}

/// Joins all arguments by a binary operator. The tree is as shallow as possible, because whatever walks it recurses;
/// the arguments keep their order.
fn balanced(mut args: Vec<Physical>, operator: Operator) -> Option<Physical> {
    while args.len() > 1 {
        let mut joined = Vec::with_capacity(args.len().div_ceil(2));
        let mut rest = args.into_iter();
        while let Some(left) = rest.next() {
            joined.push(match rest.next() {
                Some(right) => Arc::new(BinaryExpr::new(left, operator, right)) as Physical,
                None => left,
            });
        }
        args = joined;
    }
    args.pop()
}

impl Compiler<'_> {
    /// The expression; its Arrow type is that of its SQL type.
    pub fn compile(&self, expr: &Expr) -> Result<Physical> {
        if expr.children().into_iter().any(|part| self.is_long_text(part)) {
            return self.row_by_row(expr);
        }
        if expr.uses_variables() {
            // A variable's value may be of another type than the one that the statement was bound with.
            let ty = expr.ty(self.columns);
            return self.row_by_row(&Expr::Cast { arg: Box::new(expr.clone()), ty });
        }
        match expr {
            Expr::Column(id) => {
                let position = self.scope.position(*id).ok_or_else(|| {
                    SqlError::internal(format!("column {} '{}' is not in the input", id.0, self.columns.get(*id).name))
                })?;
                Ok(Arc::new(Column::new(self.scope.schema.field(position).name(), position)))
            }
            Expr::Literal { value, ty } => Ok(Arc::new(Literal::new(scalar(value, *ty)?))),
            Expr::Parameter { index, .. } => Err(SqlError::internal(format!("parameter {index} has no value"))),
            Expr::Cast { arg, ty } => self.compile_cast(arg, *ty),
            Expr::Compare { op, left, right } => self.compare(*op, left, right),
            Expr::Logic { op, args } => self.logic(*op, args),
            Expr::Not(arg) => df(not(self.predicate(arg)?)),
            Expr::IsNull { arg, negated } => {
                let arg = self.compile(arg)?;
                df(if *negated { is_not_null(arg) } else { is_null(arg) })
            }
            Expr::IsTruth { arg, truth, negated } => {
                let kernel = IsTruth { truth: *truth, negated: *negated };
                Ok(KernelExpr::build(kernel, vec![self.predicate(arg)?], DataType::Boolean, false))
            }
            Expr::Arithmetic { op, left, right, ty } => self.arithmetic(*op, left, right, *ty, expr, false),
            Expr::Negate { arg, ty } => self.negate(arg, *ty),
            Expr::InList { arg, list, negated } => self.in_list(arg, list, *negated),
            Expr::Like { arg, pattern, escape, negated } => self.like(arg, pattern, *escape, *negated),
            Expr::Case { branches, otherwise, ty } => {
                let when_then = branches
                    .iter()
                    .map(|(c, r)| Ok((self.predicate(c)?, self.compile_as(r, *ty)?)))
                    .collect::<Result<Vec<_>>>()?;
                let otherwise = match otherwise {
                    Some(e) => self.compile_as(e, *ty)?,
                    None => Arc::new(Literal::new(scalar(&Value::Null, *ty)?)),
                };
                if when_then.is_empty() {
                    return Ok(otherwise);
                }
                df(case(None, when_then, Some(otherwise)))
            }
            Expr::Call { function, args, ty } => self.call(*function, args, *ty, expr),
            Expr::Subquery(_) => Err(SqlError::internal("a subquery was left in a physical plan")),
            Expr::Subplan(_) => Err(SqlError::internal("a subplan in a place where none can run")),
        }
    }

    /// The expression as a truth value.
    pub fn predicate(&self, expr: &Expr) -> Result<Physical> {
        self.compile_as(expr, SqlType::Bool)
    }

    /// The expression in the Arrow type of `ty`, converted if it has another.
    pub fn compile_as(&self, expr: &Expr, ty: SqlType) -> Result<Physical> {
        let from = expr.ty(self.columns);
        if from == SqlType::Null || matches!(expr, Expr::Literal { value: Value::Null, .. }) {
            return Ok(Arc::new(Literal::new(scalar(&Value::Null, ty)?)));
        }
        if arrow_type(&from) == arrow_type(&ty) {
            return self.compile(expr);
        }
        self.compile_cast(expr, ty)
    }

    fn nullable(&self, args: &[Physical]) -> bool {
        args.iter().any(|a| a.nullable(&self.scope.schema).unwrap_or(true))
    }

    fn compile_cast(&self, arg: &Expr, to: SqlType) -> Result<Physical> {
        let from = arg.ty(self.columns);
        if from == SqlType::Null {
            return Ok(Arc::new(Literal::new(scalar(&Value::Null, to)?)));
        }
        let cast = || Expr::Cast { arg: Box::new(arg.clone()), ty: to };
        if self.is_long_text(arg) {
            return self.row_by_row(&cast());
        }
        let physical = self.compile(arg)?;
        let nullable = self.nullable(std::slice::from_ref(&physical));
        match fast_cast(&physical, from, to, nullable) {
            Some(fast) => Ok(fast),
            None => self.row_wise(cast(), to),
        }
    }

    /// Returns true if the values may be long texts that a function makes. Such texts are never there for a whole
    /// batch: an expression over them is computed row by row, and those that are results come in small batches.
    pub fn is_long_text(&self, expr: &Expr) -> bool {
        let length = match expr.ty(self.columns) {
            SqlType::Text { length, .. } | SqlType::Bytes { length, .. } => length,
            // Documents are as long as they like.
            SqlType::Json => u32::MAX,
            _ => return false,
        };
        match expr {
            Expr::Call { function, .. } if length > self.texts.long && lengthens(*function).is_some() => true,
            Expr::Subquery(_) | Expr::Subplan(_) => false,
            _ => expr.children().into_iter().any(|part| self.is_long_text(part)),
        }
    }

    /// One node row by row, over the columns of its parts.
    pub(super) fn row_wise(&self, mut node: Expr, ty: SqlType) -> Result<Physical> {
        let (mut args, mut types) = (Vec::new(), Vec::new());
        let all_types: Vec<SqlType> = node.children().into_iter().map(|part| part.ty(self.columns)).collect();
        let is_long = self.is_long_text(&node);
        for part in node.children_mut() {
            // Literals stay: the evaluator may look at them (the format of DATE_FORMAT).
            if matches!(part, Expr::Literal { .. }) {
                continue;
            }
            let part = std::mem::replace(part, Expr::Column(ColId(args.len() as u32)));
            args.push(self.compile(&part)?);
            types.push(part.ty(self.columns));
        }
        let (rows, result) = (self.kernel(node, types, ty), arrow_type(&ty));
        // Long texts are accounted for row by row.
        if is_long {
            return Ok(KernelExpr::build(rows, args, result, true));
        }
        Ok(match Columnwise::of(rows, &all_types) {
            Ok(columnwise) => KernelExpr::build(columnwise, args, result, true),
            Err(rows) => KernelExpr::build(*rows, args, result, true),
        })
    }

    /// The whole expression row by row, over the columns of the input: what is made inside it is there for one row at a
    /// time.
    fn row_by_row(&self, expr: &Expr) -> Result<Physical> {
        let (kernel, args) = self.over_columns(expr)?;
        let result = arrow_type(&kernel.result);
        Ok(KernelExpr::build(kernel, args, result, true))
    }

    /// The whole expression as one kernel, and the columns of the input that are its arguments.
    pub fn over_columns(&self, expr: &Expr) -> Result<(RowWise, Vec<Physical>)> {
        let columns = expr.columns();
        let args = columns.iter().map(|id| self.compile(&Expr::Column(*id))).collect::<Result<_>>()?;
        let types = columns.iter().map(|id| self.columns.ty(*id)).collect();
        let numbered = expr.clone().rewrite(&mut |e| match e {
            Expr::Column(id) => {
                Expr::Column(ColId(columns.iter().position(|c| *c == id).unwrap_or(columns.len()) as u32))
            }
            other => other,
        });
        Ok((self.kernel(numbered, types, expr.ty(self.columns)), args))
    }

    fn kernel(&self, expr: Expr, types: Vec<SqlType>, result: SqlType) -> RowWise {
        let (warnings, texts) = (self.warnings.clone(), self.texts.clone());
        let said_insert_id = self.said_insert_id.clone();
        let states = CallStates::with_variables(self.user_variables.clone());
        RowWise { expr, types, result, warnings, texts, said_insert_id, states }
    }

    fn logic(&self, op: LogicOp, args: &[Expr]) -> Result<Physical> {
        let operator = match op {
            LogicOp::And => Operator::And,
            LogicOp::Or => Operator::Or,
            // XOR is true if the truth values differ, and NULL if one is NULL.
            LogicOp::Xor => Operator::NotEq,
        };
        let args: Vec<Physical> = args.iter().map(|a| self.predicate(a)).collect::<Result<_>>()?;
        Ok(balanced(args, operator)
            .unwrap_or_else(|| Arc::new(Literal::new(ScalarValue::Boolean(Some(op == LogicOp::And))))))
    }

    /// `node`: the whole expression; `adaptive`: whoever reads the result takes decimals of all widths.
    fn arithmetic(
        &self,
        op: ArithmeticOp,
        left: &Expr,
        right: &Expr,
        ty: SqlType,
        node: &Expr,
        adaptive: bool,
    ) -> Result<Physical> {
        let (lt, rt) = (left.ty(self.columns), right.ty(self.columns));
        let is_double = |t: SqlType| !(t.is_integer() || matches!(t, SqlType::Decimal { .. } | SqlType::Null));
        let is_decimal = |t: SqlType| matches!(t, SqlType::Decimal { .. });
        let family = match ty {
            _ if is_double(lt) || is_double(rt) => Family::Double,
            SqlType::Float | SqlType::Double => Family::Double,
            SqlType::Decimal { .. } => Family::Decimal,
            _ if is_decimal(lt) || is_decimal(rt) => Family::Decimal,
            SqlType::Int { unsigned: true, .. } => Family::Unsigned,
            _ => Family::Signed,
        };
        // The quotient of doubles is that of their decimals, which a division of doubles can miss by one.
        if op == ArithmeticOp::IntDiv && family == Family::Double {
            return self.row_wise(node.clone(), ty);
        }
        let (args, scales) = match family {
            Family::Signed => {
                (vec![self.compile_as(left, SqlType::BIGINT)?, self.compile_as(right, SqlType::BIGINT)?], (0, 0, 0))
            }
            Family::Unsigned => {
                let ty = SqlType::BIGINT_UNSIGNED;
                (vec![self.compile_as(left, ty)?, self.compile_as(right, ty)?], (0, 0, 0))
            }
            Family::Double => {
                (vec![self.compile_as(left, SqlType::Double)?, self.compile_as(right, SqlType::Double)?], (0, 0, 0))
            }
            Family::Decimal => {
                let (l, sl) = self.as_decimal(left)?;
                let (r, sr) = self.as_decimal(right)?;
                let scale = if let SqlType::Decimal { scale, .. } = ty { scale } else { 0 };
                (vec![l, r], (sl, sr, scale))
            }
        };
        let divides = matches!(op, ArithmeticOp::Div | ArithmeticOp::IntDiv | ArithmeticOp::Mod);
        let nullable = divides || self.nullable(&args);
        let computed = match (family, ty) {
            (Family::Double, _) => DataType::Float64,
            _ => arrow_type(&ty),
        };
        let adaptive = adaptive
            && family == Family::Decimal
            && matches!(computed, DataType::Decimal128(..) | DataType::Decimal256(..));
        let warnings = self.warnings.clone();
        let kernel = Arithmetic { op, family, scales, result: computed.clone(), adaptive, warnings };
        let result = KernelExpr::build(kernel, args, computed.clone(), nullable);
        Ok(match computed == arrow_type(&ty) {
            true => result,
            false => KernelExpr::build(ArrowCast { result: arrow_type(&ty) }, vec![result], arrow_type(&ty), nullable),
        })
    }

    /// The expression for a reader that takes decimals of all widths: one of fewer bits may come where its type
    /// has more.
    pub fn compile_adaptive(&self, expr: &Expr) -> Result<Physical> {
        match expr {
            Expr::Arithmetic { op, left, right, ty } if !self.is_long_text(left) && !self.is_long_text(right) => {
                self.arithmetic(*op, left, right, *ty, expr, true)
            }
            _ => self.compile(expr),
        }
    }

    /// Compiles as [`Compiler::compile_as`] does. A decimal of 128 or 256 bits is computed as the parts of other
    /// expressions are, so that equal parts are found, and is brought to its type at the end.
    pub fn compile_for_projection(&self, expr: &Expr, ty: SqlType) -> Result<Physical> {
        let result = arrow_type(&ty);
        match (expr, scale_of(&result)) {
            (Expr::Arithmetic { ty: own, .. }, Some(scale)) if arrow_type(own) == result => {
                let adaptive = self.compile_adaptive(expr)?;
                // A constant is narrow already.
                if !is_adaptive(&adaptive) && df(adaptive.data_type(&self.scope.schema))? == result {
                    return Ok(adaptive);
                }
                let nullable = self.nullable(std::slice::from_ref(&adaptive));
                let kernel = Rescale { from: scale, to: scale, result: result.clone() };
                Ok(KernelExpr::build(kernel, vec![adaptive], result, nullable))
            }
            _ => self.compile_as(expr, ty),
        }
    }

    /// The argument as a decimal of any width or a 64-bit integer, and its scale.
    fn as_decimal(&self, expr: &Expr) -> Result<(Physical, u8)> {
        match expr.ty(self.columns) {
            SqlType::Decimal { scale, .. } => Ok((self.compile_adaptive(expr)?, scale)),
            SqlType::Bool | SqlType::Int { unsigned: false, .. } => Ok((self.compile_as(expr, SqlType::BIGINT)?, 0)),
            other => {
                let digits = other.decimal_digits().map_or(20, |d| d.0);
                Ok((self.compile_as(expr, SqlType::decimal(digits as u32, 0))?, 0))
            }
        }
    }

    fn negate(&self, arg: &Expr, ty: SqlType) -> Result<Physical> {
        let physical = match (arg.ty(self.columns), ty) {
            (SqlType::Null, _) => return Ok(Arc::new(Literal::new(scalar(&Value::Null, ty)?))),
            (SqlType::Int { .. } | SqlType::Bool, SqlType::Decimal { .. }) => self.as_decimal(arg)?.0,
            (_, SqlType::Double | SqlType::Float) => self.compile_as(arg, SqlType::Double)?,
            _ => self.compile(arg)?,
        };
        let nullable = self.nullable(std::slice::from_ref(&physical));
        let result = if ty == SqlType::Float { DataType::Float64 } else { arrow_type(&ty) };
        let negated = KernelExpr::build(Negate { result: result.clone() }, vec![physical], result.clone(), nullable);
        Ok(match result == arrow_type(&ty) {
            true => negated,
            false => KernelExpr::build(ArrowCast { result: arrow_type(&ty) }, vec![negated], arrow_type(&ty), nullable),
        })
    }

    fn like(&self, arg: &Expr, pattern: &Expr, escape: Option<char>, negated: bool) -> Result<Physical> {
        let ty = arg.ty(self.columns);
        let mut collation = ty.collation().unwrap_or(Collation::DEFAULT);
        let value = match ty {
            SqlType::Text { .. } | SqlType::Bytes { .. } => self.compile(arg)?,
            _ => self.compile_as(arg, SqlType::varchar(255, collation))?,
        };
        // Values known to be in one case, in which the pattern is too, match byte by byte.
        let traits = self.scope.text_traits(arg).zip(self.scope.text_traits(pattern));
        let merged = traits.map(|(a, b)| muster_types::collation::TextTraits::merge(a, b));
        let by_case = collation.is_binary() || collation.ascii_folds_case();
        if by_case && merged.is_some_and(|t| t.ascii && t.upper & t.lower == 0) {
            collation = Collation::Binary;
        }
        if let Expr::Literal { value: text, .. } = pattern {
            let pattern = match text {
                Value::Null => return Ok(Arc::new(Literal::new(ScalarValue::Boolean(None)))),
                Value::Bytes(bytes) => LikePattern::of_bytes(bytes, escape),
                other => LikePattern::new(&other.to_text(6).unwrap_or_default(), escape, collation),
            };
            let kernel = LikeConstant { pattern, text: format!("{text} {escape:?}"), collation, negated };
            let nullable = self.nullable(std::slice::from_ref(&value));
            return Ok(KernelExpr::build(kernel, vec![value], DataType::Boolean, nullable));
        }
        let pattern = self.compile(pattern)?;
        let kernel = LikeColumn { escape, collation, negated };
        Ok(KernelExpr::build(kernel, vec![value, pattern], DataType::Boolean, true))
    }

    fn call(&self, function: ScalarFunction, args: &[Expr], ty: SqlType, node: &Expr) -> Result<Physical> {
        let types: Vec<SqlType> = args.iter().map(|a| a.ty(self.columns)).collect();
        let result = arrow_type(&ty);
        let temporal = |t: Option<&SqlType>| {
            matches!(t, Some(SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. }))
        };
        match function {
            ScalarFunction::DateAdd(unit) | ScalarFunction::DateSub(unit)
                if types.first() == Some(&SqlType::Date)
                    && ty == SqlType::Date
                    && types.get(1).is_some_and(|t| t.is_integer() && !t.is_unsigned())
                    && DateAdd::handles(unit) =>
            {
                let args = vec![self.compile(&args[0])?, self.compile_as(&args[1], SqlType::BIGINT)?];
                let subtract = matches!(function, ScalarFunction::DateSub(_));
                Ok(KernelExpr::build(
                    DateAdd { unit, subtract, warnings: self.warnings.clone() },
                    args,
                    DataType::Date32,
                    true,
                ))
            }
            ScalarFunction::Extract(unit) if temporal(types.first()) && Extract::handles(unit) => {
                let args = vec![self.compile(&args[0])?];
                let nullable = self.nullable(&args);
                Ok(KernelExpr::build(Extract { unit, result: result.clone() }, args, result, nullable))
            }
            ScalarFunction::Coalesce if !args.is_empty() => {
                let args: Vec<Physical> = args.iter().map(|a| self.compile_as(a, ty)).collect::<Result<_>>()?;
                let nullable = args.iter().all(|a| a.nullable(&self.scope.schema).unwrap_or(true));
                Ok(KernelExpr::build(Coalesce { result: result.clone() }, args, result, nullable))
            }
            ScalarFunction::NullIf if args.len() == 2 => {
                let equal = self.compare_any(&args[0], &args[1])?;
                let null: Physical = Arc::new(Literal::new(scalar(&Value::Null, ty)?));
                df(case(None, vec![(equal, null)], Some(self.compile_as(&args[0], ty)?)))
            }
            ScalarFunction::Substring if types.first().is_some_and(SqlType::is_text) && ty.is_text() => {
                let text = self.compile(&args[0])?;
                let rest: Vec<Physical> =
                    args[1..].iter().map(|a| self.compile_as(a, SqlType::BIGINT)).collect::<Result<_>>()?;
                let int = |e: Option<&Physical>| match e.and_then(literal_of) {
                    Some(ScalarValue::Int64(Some(n))) => Some(*n),
                    _ => None,
                };
                match (int(rest.first()), rest.len()) {
                    (Some(start), 1) => self.substring(text, start, None),
                    (Some(start), 2) if int(rest.get(1)).is_some() => self.substring(text, start, int(rest.get(1))),
                    _ => self.row_wise(node.clone(), ty),
                }
            }
            _ => self.row_wise(node.clone(), ty),
        }
    }

    fn compare_any(&self, left: &Expr, right: &Expr) -> Result<Physical> {
        let (lt, rt) = (left.ty(self.columns), right.ty(self.columns));
        if lt.is_text() == rt.is_text() {
            return self.compare(muster_algebra::CompareOp::Eq, left, right);
        }
        let ty = common_type(lt, rt);
        let cast = |e: &Expr| Expr::Cast { arg: Box::new(e.clone()), ty };
        self.compare(muster_algebra::CompareOp::Eq, &cast(left), &cast(right))
    }

    fn substring(&self, text: Physical, start: i64, length: Option<i64>) -> Result<Physical> {
        let nullable = self.nullable(std::slice::from_ref(&text));
        Ok(KernelExpr::build(SubstringAt { start, length }, vec![text], DataType::Utf8View, nullable))
    }

    /// A physical expression in another decimal or integer type of the same meaning (aggregates deliver their own).
    pub fn retype(&self, physical: Physical, to: SqlType) -> Result<Physical> {
        let from = df(physical.data_type(&self.scope.schema))?;
        let target = arrow_type(&to);
        if from == target {
            return Ok(physical);
        }
        let nullable = self.nullable(std::slice::from_ref(&physical));
        Ok(match (scale_of(&from), scale_of(&target)) {
            (Some(from), Some(to)) => {
                let kernel = Rescale { from, to, result: target.clone() };
                KernelExpr::build(kernel, vec![physical], target, nullable)
            }
            _ => KernelExpr::build(ArrowCast { result: target.clone() }, vec![physical], target, nullable),
        })
    }
}
