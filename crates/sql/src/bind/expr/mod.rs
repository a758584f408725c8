//! Expressions: what each form means, with MySQL's implicit casts made explicit.
//!
//! ```text
//!   literal     numbers, texts, dates, parameters
//!   column      columns, aliases, variables
//!   beside_number  texts for a `?` next to exact numbers
//!   compare     =, <, LIKE
//!   rows        rows of several columns
//!   range       BETWEEN, IN
//!   numbers     numbers of texts that were made of other values
//!   tolerance   floating-point numbers of a fixed number of digits
//!   arithmetic  + - * / DIV %, bits
//!   temporal    INTERVAL, EXTRACT and other functions of dates
//!   case        CASE, IF, COALESCE ..
//!   mixed_moments  dates and times of several types that CASE chooses from
//!   convert     CAST, CONVERT, COLLATE
//!   function    functions of one row
//!   library     those of the table in `muster_functions`
//!   name_const  NAME_CONST
//!   text        SUBSTRING, LPAD .. and their lengths
//!   text_arguments  the collation of texts, and byte strings among them
//!   session_call  locks by name, which the session answers
//!   user_variable  @a, @a := 1
//!   session     NOW(), DATABASE() ..: literals of the statement
//!   json        -> and ->>
//!   aggregate   SUM, COUNT ..
//!   window      functions with OVER
//!   window_frame  the rows that they see
//!   xpath       variables in the expressions of EXTRACTVALUE and UPDATEXML
//! ```

mod aggregate;
mod arithmetic;
mod beside_number;
mod case;
mod column;
mod compare;
mod convert;
mod function;
mod json;
mod json_value;
mod library;
pub(crate) mod literal;
mod mixed_moments;
mod name_const;
mod numbers;
mod range;
mod rows;
mod session;
mod session_call;
mod temporal;
mod text;
mod text_arguments;
mod tolerance;
mod user_variable;
pub(super) mod window;
mod window_frame;
mod xpath;

pub(super) use aggregate::{invalid_use, is_aggregate};

use super::{
    binder::{Aggregates, Binder},
    scope::{Clause, Names, Scope},
    select::Selected,
};
use crate::{
    parse::{AND_CHAIN, AND_SIGN_CHAIN, OR_CHAIN, OR_SIGN_CHAIN, is_function_word},
    typing::Item,
};
use muster_algebra::{CompareOp, Expr, LogicOp, Quantifier};
use muster_types::{ErrorCode, Result, SqlError, SqlType, Value};
use sqlparser::ast::{self, BinaryOperator, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator};
use std::cell::RefCell;

/// The clause that an expression stands in, and what it may refer to there.
pub(crate) struct ExprContext<'x> {
    pub scope: &'x Scope<'x>,
    pub names: &'x Names<'x>,
    pub clause: Clause,
    /// The select list, where its aliases can be used.
    pub selected: &'x [Selected<'x>],
    /// The items of the select list before the one that is being bound, and the others.
    pub listed: (&'x [Selected<'x>], &'x [ast::SelectItem]),
    /// The expressions that are grouped by, for HAVING.
    pub group: &'x [Item],
    /// Takes the aggregates met; `None` where there may be none.
    pub aggregates: Option<&'x RefCell<Aggregates>>,
    pub in_aggregate: bool,
    /// Within the arguments of a window function, or what its window is defined by.
    pub in_window: bool,
    /// Within an operand of arithmetic or of a comparison, where an average keeps more digits than it shows.
    pub in_arithmetic: bool,
    /// Within an operand of OR or XOR: what is true there need not be true of each row.
    pub in_alternative: bool,
}

impl<'x> ExprContext<'x> {
    pub fn new(scope: &'x Scope<'x>, names: &'x Names<'x>, clause: Clause) -> ExprContext<'x> {
        ExprContext {
            scope,
            names,
            clause,
            selected: &[],
            listed: (&[], &[]),
            group: &[],
            aggregates: None,
            in_aggregate: false,
            in_window: false,
            in_arithmetic: false,
            in_alternative: false,
        }
    }
}

impl Binder<'_> {
    /// An expression where no aggregate may stand.
    pub fn expression(&mut self, expr: &ast::Expr, scope: &Scope, names: &Names, clause: Clause) -> Result<Item> {
        self.expr(expr, &mut ExprContext::new(scope, names, clause))
    }

    pub fn expr(&mut self, expr: &ast::Expr, cx: &mut ExprContext) -> Result<Item> {
        let item = self.expr_by_form(expr, cx)?;
        if cx.clause == Clause::FieldList {
            self.note_part(expr, &item);
        }
        Ok(item)
    }

    fn expr_by_form(&mut self, expr: &ast::Expr, cx: &mut ExprContext) -> Result<Item> {
        use ast::Expr as E;
        self.env.session.check_interrupt()?;
        match expr {
            E::Nested(inner) => self.expr(inner, cx),
            E::Identifier(_) | E::CompoundIdentifier(_) => self.name(expr, cx),
            E::Value(value) => self.value(&value.value),
            E::Prefixed { prefix, value } => self.introduced(&prefix.value, value),
            E::TypedString(typed) => self.typed_string(typed),
            E::BinaryOp { left, op, right } => self.binary(left, op, right, cx),
            E::UnaryOp { op, expr } => self.unary(*op, expr, cx),
            E::Function(function) => self.call(function, cx),
            E::IsNull(e) | E::IsUnknown(e) => self.is_null(e, false, cx),
            E::IsNotNull(e) | E::IsNotUnknown(e) => self.is_null(e, true, cx),
            E::IsTrue(e) => self.is_truth(e, true, false, cx),
            E::IsNotTrue(e) => self.is_truth(e, true, true, cx),
            E::IsFalse(e) => self.is_truth(e, false, false, cx),
            E::IsNotFalse(e) => self.is_truth(e, false, true, cx),
            E::InList { expr, list, negated } => self.in_list(expr, list, *negated, cx),
            E::InSubquery { expr, subquery, negated } => self.row_in_subquery(expr, subquery, *negated, cx),
            E::Exists { subquery, negated } => self.exists(subquery, *negated, cx),
            E::Subquery(query) => self.scalar_subquery(query, cx),
            E::AnyOp { left, compare_op, right, .. } => self.any_all(left, compare_op, right, Quantifier::Any, cx),
            E::AllOp { left, compare_op, right } => self.any_all(left, compare_op, right, Quantifier::All, cx),
            E::Between { expr, negated, low, high } => self.between(expr, *negated, low, high, cx),
            E::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_deref(), *negated, cx)
            }
            E::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref(), cx)
            }
            E::Cast { kind: ast::CastKind::DoubleColon, expr, data_type, format: None } => {
                self.deprecated("'BINARY expr'", "CAST");
                self.cast(expr, data_type, cx)
            }
            E::Cast { kind: ast::CastKind::Cast, expr, data_type, format: None } => self.cast(expr, data_type, cx),
            E::Convert { expr, data_type, charset, .. } => {
                self.convert_call(expr, data_type.as_ref(), charset.as_ref(), cx)
            }
            E::Collate { expr, collation } => self.collate(expr, collation, cx),
            other => self.special_call(other, cx),
        }
    }

    /// Functions with a syntax of their own, and what is not supported.
    fn special_call(&mut self, expr: &ast::Expr, cx: &mut ExprContext) -> Result<Item> {
        use ast::Expr as E;
        match expr {
            E::Extract { field, expr, .. } => self.extract(field, expr, cx),
            E::Substring { expr, substring_from, substring_for, .. } => {
                let Some(start) = substring_from else { return Err(SqlError::syntax("SUBSTRING", 1)) };
                let args: Vec<&ast::Expr> = [&**expr, &**start].into_iter().chain(substring_for.as_deref()).collect();
                self.function("SUBSTRING", &args, cx)
            }
            E::Trim { trim_where, trim_what, expr, trim_characters: None } => {
                let name = match trim_where {
                    None | Some(ast::TrimWhereField::Both) => "TRIM",
                    Some(ast::TrimWhereField::Leading) => "LTRIM",
                    Some(ast::TrimWhereField::Trailing) => "RTRIM",
                };
                let args: Vec<&ast::Expr> = [&**expr].into_iter().chain(trim_what.as_deref()).collect();
                self.trim(name, &args, cx)
            }
            E::Position { expr, r#in } => self.function("LOCATE", &[expr, r#in], cx),
            E::Ceil { expr, field: ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) } => {
                self.function("CEIL", &[expr], cx)
            }
            E::Floor { expr, field: ast::CeilFloorKind::DateTimeField(ast::DateTimeField::NoDateTime) } => {
                self.function("FLOOR", &[expr], cx)
            }
            E::Tuple(_) => Err(super::subquery::operand_columns(1)),
            E::RLike { negated, expr, pattern, .. } => {
                let item = self.function("REGEXP_LIKE", &[expr, pattern], cx)?;
                Ok(if *negated { Item::bool(not(item.expr)) } else { item })
            }
            E::MatchAgainst { .. } => Err(SqlError::unsupported("MATCH .. AGAINST")),
            E::MemberOf(member) => self.function("MEMBER OF", &[&member.value, &member.array], cx),
            E::Interval(_) => Err(SqlError::syntax("INTERVAL", 1)),
            other => Err(SqlError::unsupported(other)),
        }
    }

    fn binary(
        &mut self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        use muster_algebra::{ArithmeticOp as A, ScalarFunction as F};
        if let Some(op) = compare_op(op) {
            return self.comparison(op, left, right, cx);
        }
        match op {
            BinaryOperator::Plus => self.add(left, right, false, cx),
            BinaryOperator::Minus => self.add(left, right, true, cx),
            BinaryOperator::Multiply => self.arithmetic_of(A::Mul, left, right, cx),
            BinaryOperator::Divide => self.arithmetic_of(A::Div, left, right, cx),
            BinaryOperator::Modulo => self.arithmetic_of(A::Mod, left, right, cx),
            BinaryOperator::MyIntegerDivide => self.arithmetic_of(A::IntDiv, left, right, cx),
            BinaryOperator::BitwiseAnd => self.bits(F::BitAnd, &[left, right], cx),
            BinaryOperator::BitwiseOr => self.bits(F::BitOr, &[left, right], cx),
            BinaryOperator::BitwiseXor => self.bits(F::BitXor, &[left, right], cx),
            BinaryOperator::PGBitwiseShiftLeft => self.bits(F::ShiftLeft, &[left, right], cx),
            BinaryOperator::PGBitwiseShiftRight => self.bits(F::ShiftRight, &[left, right], cx),
            BinaryOperator::Xor => self.logic(LogicOp::Xor, &[left, right], cx),
            BinaryOperator::And => self.logic(LogicOp::And, &[left, right], cx),
            BinaryOperator::Or => self.logic(LogicOp::Or, &[left, right], cx),
            BinaryOperator::Assignment => self.assignment(left, right, cx),
            BinaryOperator::Arrow | BinaryOperator::LongArrow => {
                self.json_path(left, right, *op == BinaryOperator::LongArrow, cx)
            }
            other => Err(SqlError::syntax(other, 1)),
        }
    }

    fn unary(&mut self, op: UnaryOperator, expr: &ast::Expr, cx: &mut ExprContext) -> Result<Item> {
        match op {
            UnaryOperator::Not | UnaryOperator::BangNot => {
                if op == UnaryOperator::BangNot {
                    self.deprecated("'!'", "NOT");
                }
                let item = self.expr(expr, cx)?;
                let condition = self.condition(item);
                Ok(Item::bool(not(condition)))
            }
            UnaryOperator::Minus => self.negate(expr, cx),
            UnaryOperator::Plus => self.expr(expr, cx),
            UnaryOperator::BitwiseNot => self.bits(muster_algebra::ScalarFunction::BitNot, &[expr], cx),
            other => Err(SqlError::syntax(other, 1)),
        }
    }

    /// Warning 1287.
    pub(super) fn deprecated(&mut self, what: &str, instead: &str) {
        let message =
            format!("{what} is deprecated and will be removed in a future release. Please use {instead} instead");
        self.warn(ErrorCode::DeprecatedSyntax, message);
    }

    fn is_null(&mut self, expr: &ast::Expr, negated: bool, cx: &mut ExprContext) -> Result<Item> {
        let warnings = self.warnings.len();
        let item = self.expr(expr, cx)?;
        let item = self.bare(item);
        if !self.nullable(&item.expr) {
            // An argument that is never NULL is not computed.
            self.forget_conversions(warnings);
        }
        Ok(Item::bool(self.null_test(item, negated)))
    }

    /// `item IS [NOT] NULL`. A comparison of a text with a constant number is NULL if the text is, which needs no
    /// conversion, and nothing is computed of what is never NULL.
    pub(super) fn null_test(&self, item: Item, negated: bool) -> Expr {
        let number_of = |side: &Expr| match side {
            Expr::Cast { arg, ty: SqlType::Double } if self.type_of(arg).is_text() => Some((**arg).clone()),
            _ => None,
        };
        if item.expr.has_subquery() {
            return Expr::IsNull { arg: Box::new(item.expr), negated };
        }
        match &item.expr {
            Expr::Arithmetic { left, right, .. } | Expr::Compare { left, right, .. }
                if !self.nullable(&item.expr) && [left, right].into_iter().any(|side| number_of(side).is_some()) =>
            {
                Expr::bool(negated)
            }
            Expr::Compare { left, right, .. } => {
                let text = match (&**left, &**right) {
                    (Expr::Literal { value, .. }, side) | (side, Expr::Literal { value, .. }) if !value.is_null() => {
                        number_of(side)
                    }
                    _ => None,
                };
                Expr::IsNull { arg: Box::new(text.unwrap_or(item.expr)), negated }
            }
            _ => Expr::IsNull { arg: Box::new(item.expr), negated },
        }
    }

    fn is_truth(&mut self, expr: &ast::Expr, truth: bool, negated: bool, cx: &mut ExprContext) -> Result<Item> {
        let item = self.expr(expr, cx)?;
        let arg = Box::new(self.condition(item));
        Ok(Item::bool(Expr::IsTruth { arg, truth, negated }))
    }

    /// AND, OR, XOR. Chains of one operator are one node.
    fn logic(&mut self, op: LogicOp, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        let mut flat = Vec::with_capacity(args.len());
        let mut is_decided = false;
        let was_alternative = cx.in_alternative;
        for arg in args {
            let warnings = self.warnings.len();
            cx.in_alternative |= op != LogicOp::And;
            let item = self.expr(arg, cx);
            cx.in_alternative = was_alternative;
            let condition = self.condition(item?);
            if is_decided {
                self.forget_conversions(warnings);
            }
            is_decided |= match (&condition, op) {
                (Expr::Literal { value: Value::Bool(truth), .. }, LogicOp::And | LogicOp::Or) => {
                    *truth == (op == LogicOp::Or)
                }
                (Expr::Literal { value: Value::Null, .. }, LogicOp::Xor) => true,
                _ => false,
            };
            match condition {
                Expr::Logic { op: inner, args } if inner == op && op != LogicOp::Xor => flat.extend(args),
                other => flat.push(other),
            }
        }
        Ok(Item::bool(Expr::Logic { op, args: flat }))
    }

    fn call(&mut self, function: &ast::Function, cx: &mut ExprContext) -> Result<Item> {
        let name = function.name.to_string();
        if let Some(op) = chain_operator(&name) {
            let args = plain_args(function)?;
            for _ in 1..args.len() {
                match name.as_str() {
                    AND_SIGN_CHAIN => self.deprecated("'&&'", "AND"),
                    OR_SIGN_CHAIN => self.deprecated("'|| as a synonym for OR'", "OR"),
                    _ => {}
                }
            }
            return self.logic(op, &args, cx);
        }
        if let Some(over) = &function.over {
            return self.window_call(&name.to_ascii_uppercase(), function, over, cx);
        }
        if function.filter.is_some() || !function.within_group.is_empty() || function.null_treatment.is_some() {
            return Err(SqlError::syntax(name, 1));
        }
        let upper = match &function.name.0[..] {
            [ast::ObjectNamePart::Identifier(i)] if i.quote_style.is_some() && is_function_word(&i.value) => {
                // What the grammar takes for these functions only is an error of syntax.
                return Err(match plain_args(function) {
                    Ok(_) => function::no_such_spaced_function(cx, &i.value),
                    Err(e) => e,
                });
            }
            [ast::ObjectNamePart::Identifier(i)] => i.value.to_ascii_uppercase(),
            _ => return Err(function::no_such_function(cx, &name)),
        };
        if window::is_window_function(&upper) {
            return Err(SqlError::syntax(")", 1));
        }
        if upper == "GROUPING" {
            return self.grouping_call(function, cx);
        }
        if aggregate::is_aggregate(&upper) {
            return self.aggregate(&upper, function, cx);
        }
        match upper.as_str() {
            "VALUES" => return self.values_function(&plain_args(function)?),
            "DEFAULT" => return self.default_function(&plain_args(function)?, cx),
            _ => {}
        }
        if !function::is_known(&upper) {
            return Err(function::no_such_function(cx, &name));
        }
        let args = plain_args(function)?;
        self.function(&upper, &args, cx)
    }

    /// The columns of a row: `(a, b)`, `ROW(a, b)`; of any other expression the one it is.
    fn row(&mut self, expr: &ast::Expr, cx: &mut ExprContext) -> Result<Vec<Item>> {
        match row_parts(expr) {
            Some(parts) => parts.into_iter().map(|e| self.expr(e, cx)).collect(),
            None => Ok(vec![self.expr(expr, cx)?]),
        }
    }
}

/// The operator of a chain that the parser has made a call.
fn chain_operator(name: &str) -> Option<LogicOp> {
    match name {
        AND_CHAIN | AND_SIGN_CHAIN => Some(LogicOp::And),
        OR_CHAIN | OR_SIGN_CHAIN => Some(LogicOp::Or),
        _ => None,
    }
}

/// The parts of a row constructor; `None` for anything else.
fn row_parts(expr: &ast::Expr) -> Option<Vec<&ast::Expr>> {
    match expr {
        ast::Expr::Tuple(items) => Some(items.iter().collect()),
        ast::Expr::Nested(inner) => row_parts(inner),
        ast::Expr::Function(f) if f.name.to_string().eq_ignore_ascii_case("row") => {
            plain_args(f).ok().filter(|a| a.len() > 1)
        }
        _ => None,
    }
}

/// Arguments that are nothing but expressions.
pub(super) fn plain_args(function: &ast::Function) -> Result<Vec<&ast::Expr>> {
    let FunctionArguments::List(list) = &function.args else { return Ok(Vec::new()) };
    if list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
        return Err(SqlError::syntax(function.name.to_string(), 1));
    }
    list.args
        .iter()
        .map(|a| match a {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => Ok(e),
            other => Err(SqlError::syntax(other, 1)),
        })
        .collect()
}

fn compare_op(op: &BinaryOperator) -> Option<CompareOp> {
    Some(match op {
        BinaryOperator::Eq => CompareOp::Eq,
        BinaryOperator::NotEq => CompareOp::NotEq,
        BinaryOperator::Lt => CompareOp::Lt,
        BinaryOperator::LtEq => CompareOp::LtEq,
        BinaryOperator::Gt => CompareOp::Gt,
        BinaryOperator::GtEq => CompareOp::GtEq,
        BinaryOperator::Spaceship => CompareOp::NullSafeEq,
        _ => return None,
    })
}

/// The opposite of a condition. Where the node can say it itself, NOT is not needed.
fn not(condition: Expr) -> Expr {
    use muster_algebra::SubqueryKind;
    match condition {
        Expr::Subquery(mut q) => {
            match &mut q.kind {
                SubqueryKind::Exists { negated } | SubqueryKind::In { negated, .. } => *negated = !*negated,
                _ => return Expr::Not(Box::new(Expr::Subquery(q))),
            }
            Expr::Subquery(q)
        }
        Expr::IsNull { arg, negated } => Expr::IsNull { arg, negated: !negated },
        Expr::IsTruth { arg, truth, negated } => Expr::IsTruth { arg, truth, negated: !negated },
        Expr::InList { arg, list, negated } => Expr::InList { arg, list, negated: !negated },
        Expr::Like { arg, pattern, escape, negated } => Expr::Like { arg, pattern, escape, negated: !negated },
        other => Expr::Not(Box::new(other)),
    }
}
