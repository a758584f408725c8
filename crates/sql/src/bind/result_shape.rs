//! What clients are told of a select item where the type of its values does not say it (MySQL: `Item::max_length`,
//! `decimals`): the lengths of literals, variables and what the session answers, and what temporary tables make of
//! types.

use super::{
    binder::Binder,
    expr::plain_args,
    select::column_name,
    written_type::{is_arithmetic, results},
};
use crate::{
    VariableScope,
    typing::{Item, length, text_of_length},
};
use muster_algebra::{AggregateCall, AggregateFunction, ArithmeticOp, ColId, Expr, ResultShape, ScalarFunction};
use muster_types::{
    BytesKind, SqlType, TextKind, Value,
    sql_type::{DECIMAL_MAX_PRECISION, DECIMAL_MAX_SCALE},
};
use sqlparser::ast::{self, BinaryOperator, DataType, UnaryOperator};

/// Characters of an integer of which nothing is known.
const INTEGER: u32 = 21;
/// Characters of an account: a name of 32, `@`, a host of 255.
const ACCOUNT: u32 = 288;
/// Characters of the name of a database.
const DATABASE: u32 = 34;
/// Characters of the name of a character set or collation.
const CHARSET: u32 = 64;
/// Characters of a system variable that is a text.
const VARIABLE: u32 = 21_845;
/// Bytes of a user variable that is NULL.
const USER_VARIABLE: u32 = 65_532;
/// Characters of a parameter that is a text.
const PARAMETER: u32 = 16_383;
/// Bytes of the longest text that is declared as MEDIUMTEXT.
const MEDIUM: u32 = 1 << 24;
/// Characters of a double in a column of a table, and of a computed one.
const COMPUTED_DOUBLE: u32 = 23;
/// Bytes of the weight of what is no text.
const NUMBER_WEIGHT: u32 = 8;
/// Characters of CAST .. AS YEAR.
const COMPUTED_YEAR: u32 = 5;

/// Functions that move a date: of a text they give a CHAR.
const MOVES: &[&str] = &["ADDDATE", "ADDTIME", "DATE_ADD", "DATE_SUB", "SUBDATE", "SUBTIME", "TIMESTAMPADD"];

fn of_length(length: u32) -> ResultShape {
    ResultShape { length: Some(length), ..ResultShape::default() }
}

impl Binder<'_> {
    /// The shape of a select item, by how it is written.
    pub(super) fn result_shape(&self, written: &ast::Expr, item: &Item) -> ResultShape {
        let nullable = column_name(written).is_none().then(|| self.is_written_nullable(written));
        ResultShape { nullable, ..self.own_shape(written, item) }
    }

    fn own_shape(&self, written: &ast::Expr, item: &Item) -> ResultShape {
        use ast::Expr as E;
        match written {
            E::Nested(inner) => self.own_shape(inner, item),
            E::Value(value) => literal(&value.value, item),
            E::UnaryOp { op: UnaryOperator::Minus, expr } => self.negated(expr, item),
            E::BinaryOp { op: BinaryOperator::Assignment, right, .. } => self.assigned(right, item),
            E::Identifier(name) => self.variable(&[name], item),
            E::CompoundIdentifier(names) => self.variable(&names.iter().collect::<Vec<_>>(), item),
            E::Cast { data_type, .. } | E::Convert { data_type: Some(data_type), .. } if is_year(data_type) => {
                ResultShape { ty: Some(SqlType::Year), length: Some(COMPUTED_YEAR), ..ResultShape::default() }
            }
            E::Convert { data_type: None, .. } => ResultShape { ty: of_kept_length(item), ..ResultShape::default() },
            E::Cast { .. } | E::Convert { .. } => cast(item),
            E::Subquery(_) | E::Case { .. } => {
                let length = self.double_of(&item.expr);
                let shape = self.chosen_shape(item);
                let shape = ResultShape { length: shape.length.or(length), ..shape };
                match results(written) {
                    Some(parts) => self.merged(shape, item, &parts),
                    None => shape,
                }
            }
            E::BinaryOp { op: BinaryOperator::MyIntegerDivide, left, right } => {
                match self.quotient_length(left, right, item) {
                    Some(length) => of_length(length),
                    None => ResultShape::default(),
                }
            }
            E::BinaryOp { op: BinaryOperator::Modulo, left, .. } => self.remainder(left, item),
            E::Collate { .. } => ResultShape { ty: of_kept_length(item), ..ResultShape::default() },
            E::Substring { substring_from, substring_for, .. } => {
                let length = self.substring(item, substring_from.as_deref(), substring_for.as_deref());
                ResultShape { length, ..ResultShape::default() }
            }
            E::BinaryOp { left, right, .. } if is_interval(left) || is_interval(right) => moved(item),
            E::BinaryOp { left, op, right } if is_arithmetic(op) && matches!(item.ty, SqlType::Decimal { .. }) => {
                self.exact_arithmetic(left, right, item)
            }
            E::BinaryOp { .. } => match integer_length(written) {
                Some(length) if item.ty.is_integer() && item.as_literal().is_some() => of_length(length),
                _ => ResultShape::default(),
            },
            E::Function(function) => match plain_args(function) {
                Ok(args) => {
                    let shape = self.function_shape(&function.name.to_string().to_ascii_uppercase(), &args, item);
                    match results(written) {
                        Some(parts) => self.merged(shape, item, &parts),
                        None => shape,
                    }
                }
                Err(_) => ResultShape::default(),
            },
            _ => ResultShape::default(),
        }
    }

    fn function_shape(&self, name: &str, args: &[&ast::Expr], item: &Item) -> ResultShape {
        let fraction = match item.ty {
            SqlType::Time { fsp: fsp @ 1.. } => u32::from(fsp) + 1,
            _ => 0,
        };
        match name {
            "USER" | "SESSION_USER" | "SYSTEM_USER" | "CURRENT_USER" => of_length(ACCOUNT),
            "DATABASE" | "SCHEMA" => of_length(DATABASE),
            "CHARSET" | "COLLATION" => of_length(CHARSET),
            "FOUND_ROWS" | "LAST_INSERT_ID" | "ROW_COUNT" | "CONNECTION_ID" => of_length(INTEGER),
            "MICROSECOND" | "PS_CURRENT_THREAD_ID" => of_length(INTEGER),
            "UNIX_TIMESTAMP" if args.is_empty() => of_length(INTEGER),
            "PI" => of_length(8),
            "CURTIME" | "CURRENT_TIME" | "UTC_TIME" => of_length(8 + fraction),
            "COERCIBILITY" | "BIT_LENGTH" => of_length(10),
            "GET_LOCK" | "RELEASE_LOCK" | "IS_FREE_LOCK" | "BENCHMARK" => of_length(1),
            "REGEXP_REPLACE" | "UNCOMPRESS" => of_length(MEDIUM),
            "IF" | "IFNULL" | "COALESCE" | "NULLIF" | "ANY_VALUE" => self.one_of(name, item),
            "CONCAT" | "CONCAT_WS" => match item.ty {
                SqlType::Text { length, .. } if length >= MEDIUM - 1 => of_length(MEDIUM),
                SqlType::Bytes { length, .. } if length >= MEDIUM => of_length(MEDIUM),
                _ => ResultShape::default(),
            },
            "MOD" => args.first().map_or_else(ResultShape::default, |left| self.remainder(left, item)),
            "ABS" => match args.first().and_then(|arg| self.part_length(arg)) {
                Some(length) if item.ty.is_integer() => of_length(length),
                _ => self.absolute(args, item),
            },
            "WEIGHT_STRING" => match (item.ty, args.first().and_then(|arg| self.part_type(arg))) {
                (_, Some(ty)) if !ty.is_text() && !ty.is_bytes() => of_length(NUMBER_WEIGHT),
                (SqlType::Bytes { length, .. }, Some(SqlType::Text { .. })) => of_length(length.saturating_mul(2)),
                _ => ResultShape::default(),
            },
            "AES_DECRYPT" => match self.first_argument(item) {
                Some(SqlType::Text { length, .. }) => of_length(length),
                _ => ResultShape::default(),
            },
            "REPEAT" | "SPACE" | "LPAD" | "RPAD" => {
                let count = args.get(usize::from(name != "SPACE")).and_then(|count| constant(count));
                filled(item.ty, count, matches!(name, "LPAD" | "RPAD"))
            }
            // A number that is declared as a YEAR.
            "MIN" | "MAX" if self.is_of_year(&item.expr) => {
                ResultShape { ty: Some(SqlType::Year), unsigned: true, ..of_length(4) }
            }
            "STATEMENT_DIGEST_TEXT" => of_length(MEDIUM * 4),
            "REPLACE" => ResultShape { length: replaced(item, self), ..ResultShape::default() },
            "SUBSTRING" | "SUBSTR" | "MID" => {
                let length = self.substring(item, args.get(1).copied(), args.get(2).copied());
                ResultShape { length, ..ResultShape::default() }
            }
            _ if MOVES.contains(&name) => moved(item),
            _ => ResultShape { length: self.double_of(&item.expr), ..ResultShape::default() },
        }
    }

    /// The shape with what the parts that an item is one of say of strings.
    fn merged(&self, shape: ResultShape, item: &Item, parts: &[&ast::Expr]) -> ResultShape {
        let merged = self.merged_string(item.ty, parts);
        ResultShape { ty: merged.ty.or(shape.ty), unsigned: shape.unsigned || merged.unsigned, ..shape }
    }

    /// The shape of a decimal that arithmetic gives: UNSIGNED, without a place for a sign, if both operands are.
    fn exact_arithmetic(&self, left: &ast::Expr, right: &ast::Expr, item: &Item) -> ResultShape {
        match item.ty {
            SqlType::Decimal { precision, scale }
                if self.is_declared_unsigned(left) && self.is_declared_unsigned(right) =>
            {
                ResultShape { unsigned: true, ..of_length(u32::from(precision) + u32::from(scale > 0)) }
            }
            _ => ResultShape::default(),
        }
    }

    /// The shape of a function that gives one of its arguments.
    fn one_of(&self, name: &str, item: &Item) -> ResultShape {
        let length = self.double_of(&item.expr);
        let shape = match (name, item.ty, self.declared_or_own(item)) {
            // These give the column itself.
            ("IF" | "ANY_VALUE", _, ty @ (SqlType::Enum(_) | SqlType::Set(_))) => {
                ResultShape { ty: Some(ty), ..ResultShape::default() }
            }
            ("NULLIF", _, SqlType::Enum(_) | SqlType::Set(_)) => match item.ty {
                SqlType::Text { length, collation, .. } => {
                    let ty = Some(SqlType::Text { kind: TextKind::Char, length, collation });
                    ResultShape { ty, ..ResultShape::default() }
                }
                _ => ResultShape::default(),
            },
            ("ANY_VALUE", _, ty) => {
                let shape = self.shape_of_types(item.ty, &[ty]);
                ResultShape { ty: shape.ty.or_else(|| self.long_type(&item.expr, item.ty)), ..shape }
            }
            ("NULLIF", SqlType::Int { .. }, _) => ResultShape::default(),
            _ => self.chosen_shape(item),
        };
        ResultShape { length: shape.length.or(length), ..shape }
    }

    /// Characters of what DIV gives: digits of what is divided in front of the point, and as many as the other side has
    /// behind it. A text counts with all its characters.
    fn quotient_length(&self, left: &ast::Expr, right: &ast::Expr, item: &Item) -> Option<u32> {
        let (dividend, divisor) = (self.part_type(left)?, self.part_type(right)?);
        let text = |ty| match ty {
            SqlType::Text { length, .. } => Some(length),
            _ => None,
        };
        if text(dividend).is_none() && text(divisor).is_none() && !dividend.is_bytes() {
            return None;
        }
        let whole = match (text(dividend), dividend) {
            (Some(length), _) | (None, SqlType::Bytes { length, .. }) => length,
            (None, SqlType::Int { .. } | SqlType::Bool) => {
                self.part_length(left)?.saturating_sub(!dividend.is_unsigned() as u32).max(1)
            }
            (None, SqlType::Date) => 8,
            (None, SqlType::DateTime { .. } | SqlType::Timestamp { .. }) => 14,
            (None, SqlType::Time { .. }) => 7,
            (None, ty) => ty.decimal_digits().map(|(precision, scale)| u32::from(precision - scale))?,
        };
        let fraction = match (text(divisor), divisor) {
            (Some(length), _) => length,
            (None, SqlType::Float | SqlType::Double) => return None,
            (None, ty) if ty.is_temporal() => ty.fsp().into(),
            (None, ty) => ty.decimal_digits().map_or(0, |(_, scale)| scale.into()),
        };
        Some(whole.saturating_add(fraction).min(INTEGER) + !item.ty.is_unsigned() as u32)
    }

    /// The shape of the negative of an operand.
    fn negated(&self, operand: &ast::Expr, item: &Item) -> ResultShape {
        match (operand, self.part_length(operand)) {
            (ast::Expr::Value(value), _) if matches!(item.ty, SqlType::Decimal { .. }) => literal(&value.value, item),
            (_, Some(length)) if item.ty.is_integer() => of_length(length + self.is_part_unsigned(operand) as u32),
            _ => ResultShape::default(),
        }
    }

    /// The shape of what is assigned to a variable.
    fn assigned(&self, value: &ast::Expr, item: &Item) -> ResultShape {
        let ty = if item.ty.is_unsigned() { SqlType::BIGINT_UNSIGNED } else { SqlType::BIGINT };
        match self.part_length(value) {
            Some(length) if item.ty.is_integer() => ResultShape { ty: Some(ty), ..of_length(length) },
            _ => ResultShape::default(),
        }
    }

    /// The shape of a remainder, which is declared as UNSIGNED if `left` is.
    fn remainder(&self, left: &ast::Expr, item: &Item) -> ResultShape {
        let is_fraction = matches!(item.ty, SqlType::Decimal { .. } | SqlType::Double);
        ResultShape { unsigned: is_fraction && self.is_declared_unsigned(left), ..ResultShape::default() }
    }

    /// The shape of the absolute value of a decimal, which is declared as UNSIGNED if the decimal is.
    fn absolute(&self, args: &[&ast::Expr], item: &Item) -> ResultShape {
        match (item.ty, args) {
            (SqlType::Decimal { precision, scale }, [arg]) if self.is_declared_unsigned(arg) => {
                ResultShape { unsigned: true, ..of_length(u32::from(precision) + u32::from(scale > 0)) }
            }
            (SqlType::Double, [arg]) => ResultShape {
                unsigned: self.is_declared_unsigned(arg),
                length: self.double_of(&item.expr),
                ..ResultShape::default()
            },
            _ => ResultShape::default(),
        }
    }

    /// The type of the column that an item is, be it as an operand.
    pub(super) fn declared_or_own(&self, item: &Item) -> SqlType {
        let of = |expr: &Expr| self.declared(expr);
        match &item.expr {
            Expr::Case { branches, otherwise, .. } => {
                let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
                let types: Vec<SqlType> = results.map(of).filter(|ty| *ty != SqlType::Null).collect();
                match types.split_first() {
                    Some((first, rest)) if rest.iter().all(|ty| ty == first) => *first,
                    _ => item.ty,
                }
            }
            expr => of(expr),
        }
    }

    /// Returns true for casts of a YEAR.
    fn is_of_year(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Cast { arg, .. } => self.type_of(arg) == SqlType::Year || self.is_of_year(arg),
            _ => false,
        }
    }

    /// The type of a call's first argument.
    fn first_argument(&self, item: &Item) -> Option<SqlType> {
        let Expr::Call { args, .. } = &item.expr else { return None };
        args.first().map(|arg| self.type_of(arg))
    }

    /// `@x`, `@@x`; nothing for a column.
    fn variable(&self, names: &[&ast::Ident], item: &Item) -> ResultShape {
        let texts: Vec<&str> = names.iter().map(|name| name.value.as_str()).collect();
        if names[0].quote_style.is_some() {
            return ResultShape::default();
        }
        let Some(first) = texts[0].strip_prefix("@@") else {
            let is_null = texts[0].starts_with('@') && item.ty == SqlType::Null;
            let ty = SqlType::Bytes { kind: BytesKind::VarBinary, length: USER_VARIABLE };
            return ResultShape { ty: is_null.then_some(ty), ..ResultShape::default() };
        };
        let (scope, name) = match (first.to_ascii_lowercase().as_str(), &texts[1..]) {
            ("global", rest @ [_, ..]) => (Some(VariableScope::Global), rest.join(".")),
            ("session" | "local", rest @ [_, ..]) => (Some(VariableScope::Session), rest.join(".")),
            (_, rest) => (None, [&[first], rest].concat().join(".")),
        };
        match self.env.session.system_variable(scope, &name.to_ascii_lowercase()) {
            Ok(_) if self.env.session.is_switch(&name) => of_length(1),
            Ok(Value::Text(_)) => of_length(VARIABLE),
            Ok(Value::Int(_) | Value::UInt(_)) => ResultShape { unsigned: true, ..of_length(INTEGER) },
            _ => ResultShape::default(),
        }
    }

    /// Characters of SUBSTRING from a constant position on.
    fn substring(&self, item: &Item, from: Option<&ast::Expr>, count: Option<&ast::Expr>) -> Option<u32> {
        let Expr::Call { function: ScalarFunction::Substring, args, .. } = &item.expr else { return None };
        let length = match self.type_of(args.first()?) {
            SqlType::Text { length, .. } | SqlType::Bytes { length, .. } => length,
            _ => return None,
        };
        let start = constant(from?)?;
        let distance = u32::try_from(start.unsigned_abs()).unwrap_or(u32::MAX);
        let rest = match start {
            ..0 if distance > length => 0,
            ..0 => distance,
            0 => 0,
            _ => length.saturating_sub(distance - 1),
        };
        match count {
            None => Some(rest),
            Some(_) if rest == 0 => Some(0),
            Some(count) => Some(rest.min(u32::try_from(constant(count)?).unwrap_or(0))),
        }
    }

    /// Adds what the argument of MIN or MAX says of the shape of its column: the type of a long string, and whether a
    /// number is UNSIGNED.
    pub(super) fn set_extreme_shape(&mut self, id: ColId, arg: &ast::Expr) {
        let (ty, shape) = (self.columns.ty(id), self.columns.shape(id));
        let merged = self.merged_string(ty, &[arg]);
        let told = merged.ty.filter(SqlType::is_long);
        let shape = ResultShape { ty: told.or(shape.ty), unsigned: shape.unsigned || merged.unsigned, ..shape };
        let shape = match ty {
            SqlType::Decimal { precision, scale } if self.is_declared_unsigned(arg) => {
                let length = Some(u32::from(precision) + u32::from(scale > 0));
                ResultShape { unsigned: true, length, ..shape }
            }
            _ => shape,
        };
        self.columns.set_shape(id, shape);
    }

    /// The shape of MIN, MAX and ANY_VALUE, of type `ty`: of an ENUM or SET the first two are a CHAR.
    pub(super) fn extreme_shape(&self, call: &AggregateCall, ty: SqlType) -> ResultShape {
        use AggregateFunction::{AnyValue, Max, Min};
        let (Min | Max | AnyValue, [arg]) = (&call.function, &call.args[..]) else {
            return ResultShape::default();
        };
        let source = match arg {
            Expr::Cast { arg, .. } => self.type_of(arg),
            _ => SqlType::Null,
        };
        match (source, ty) {
            (SqlType::Enum(_) | SqlType::Set(_), SqlType::Text { length, collation, .. }) => {
                let ty = Some(SqlType::Text { kind: TextKind::Char, length, collation });
                ResultShape { ty, ..ResultShape::default() }
            }
            _ => {
                let source = if source == SqlType::Null { self.type_of(arg) } else { source };
                let shape = self.shape_of_types(ty, &[source]);
                let is_float = matches!(ty.stored_type(), SqlType::Float | SqlType::Double);
                let length = shape.length.or(is_float.then(|| self.number_length(arg)));
                ResultShape { length, ty: shape.ty.or_else(|| self.long_type(arg, ty)), ..shape }
            }
        }
    }
}

/// The shape of a text that is as long as `count` says, if that is known. A number below 0 is a large one where the
/// text `wraps` it.
fn filled(ty: SqlType, count: Option<i64>, wraps: bool) -> ResultShape {
    let is_wrapped = wraps && count.is_some_and(|count| count < 0);
    match ty {
        SqlType::Text { collation, .. } if is_wrapped => {
            ResultShape { ty: Some(text_of_length(u64::MAX, collation)), ..of_length(MEDIUM) }
        }
        SqlType::Text { length, collation, .. }
            if count.is_some() && length.saturating_mul(collation.charset_max_bytes()) > MEDIUM =>
        {
            of_length(MEDIUM)
        }
        SqlType::Text { length: u32::MAX, .. } => of_length(MEDIUM * 4),
        SqlType::Bytes { length, .. } if length > MEDIUM => of_length(MEDIUM),
        _ => ResultShape::default(),
    }
}

fn is_year(ty: &DataType) -> bool {
    matches!(ty, DataType::Custom(name, _) if name.to_string().eq_ignore_ascii_case("year"))
}

/// The shape of a literal.
fn literal(value: &ast::Value, item: &Item) -> ResultShape {
    use ast::Value as V;
    match (value, item.ty) {
        (V::Boolean(_), _) => of_length(1),
        (V::Placeholder(_), ty) => parameter(ty),
        (V::Number(digits, _), SqlType::Double) => of_length(digits.chars().count() as u32),
        (V::Number(digits, _), SqlType::Int { unsigned: true, .. }) => of_length(digits.chars().count() as u32),
        (V::HexStringLiteral(_), _) => ResultShape { decimals: Some(0), unsigned: true, ..ResultShape::default() },
        (V::SingleQuotedByteStringLiteral(_) | V::DoubleQuotedByteStringLiteral(_), _) => {
            ResultShape { decimals: Some(0), ..ResultShape::default() }
        }
        _ => ResultShape::default(),
    }
}

/// The shape of a parameter that has a value of type `ty`.
fn parameter(ty: SqlType) -> ResultShape {
    match ty {
        SqlType::Int { .. } => of_length(INTEGER),
        SqlType::Double => of_length(COMPUTED_DOUBLE),
        SqlType::Decimal { .. } => {
            let length = u32::from(DECIMAL_MAX_PRECISION) + 2;
            ResultShape { decimals: Some(DECIMAL_MAX_SCALE), ..of_length(length) }
        }
        SqlType::Text { .. } => of_length(PARAMETER),
        _ => ResultShape::default(),
    }
}

/// The shape of CAST and CONVERT.
fn cast(item: &Item) -> ResultShape {
    match item.ty {
        SqlType::Int { .. } => of_length(INTEGER),
        SqlType::Float => of_length(COMPUTED_DOUBLE),
        SqlType::Bytes { kind: BytesKind::Binary, length } => {
            ResultShape { ty: Some(SqlType::Bytes { kind: BytesKind::VarBinary, length }), ..ResultShape::default() }
        }
        SqlType::Text { .. } => ResultShape { ty: of_kept_length(item), ..ResultShape::default() },
        _ => ResultShape::default(),
    }
}

/// The type that a conversion of a CHAR or TEXT column gives: it follows from the length, whose bytes are counted
/// again.
fn of_kept_length(item: &Item) -> Option<SqlType> {
    match item.ty {
        SqlType::Text { kind: TextKind::VarChar, .. } => None,
        SqlType::Text { length, collation, .. } => Some(text_of_length(length.into(), collation)),
        _ => None,
    }
}

/// The shape of a date that was moved.
fn moved(item: &Item) -> ResultShape {
    let ty = match item.ty {
        SqlType::Text { length, collation, .. } => Some(SqlType::Text { kind: TextKind::Char, length, collation }),
        _ => None,
    };
    ResultShape { ty, ..ResultShape::default() }
}

/// Characters of REPLACE: MySQL takes each character of the text for one that is replaced.
fn replaced(item: &Item, binder: &Binder) -> Option<u32> {
    let Expr::Call { function: ScalarFunction::Replace, args, .. } = &item.expr else { return None };
    let length = |arg: &Expr| match (arg, binder.type_of(arg)) {
        (Expr::Literal { value: Value::Text(text), .. }, _) => u32::try_from(text.chars().count()).ok(),
        (_, SqlType::Text { length, .. } | SqlType::Bytes { length, .. }) => Some(length),
        _ => None,
    };
    let (text, to) = (length(args.first()?)?, length(args.get(2)?)?);
    Some(text.max(text.saturating_mul(to.saturating_sub(1))))
}

pub(super) fn is_interval(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Interval(_))
}

/// An integer that is written in the statement.
fn constant(expr: &ast::Expr) -> Option<i64> {
    match expr {
        ast::Expr::Nested(inner) => constant(inner),
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        ast::Expr::UnaryOp { op: UnaryOperator::Minus, expr } => constant(expr)?.checked_neg(),
        _ => None,
    }
}

/// Characters of the integer that arithmetic on literals gives, sign included.
fn integer_length(expr: &ast::Expr) -> Option<u32> {
    use ast::Expr as E;
    let op = |op: &BinaryOperator| match op {
        BinaryOperator::Plus => Some(ArithmeticOp::Add),
        BinaryOperator::Minus => Some(ArithmeticOp::Sub),
        BinaryOperator::Multiply => Some(ArithmeticOp::Mul),
        _ => None,
    };
    match expr {
        E::Nested(inner) => integer_length(inner),
        E::Value(value) => match &value.value {
            ast::Value::Boolean(_) => Some(1),
            ast::Value::Placeholder(_) => Some(INTEGER),
            ast::Value::Number(digits, _) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                Some(digits.trim_start_matches('0').len().max(1) as u32 + 1)
            }
            ast::Value::HexStringLiteral(digits) => match digits.len().div_ceil(2).max(1) as u32 {
                bytes @ 1..=8 => Some((u64::MAX >> (64 - 8 * bytes)).ilog10() + 2),
                _ => None,
            },
            _ => None,
        },
        E::UnaryOp { op: UnaryOperator::Minus, expr } => integer_length(expr),
        E::TypedString(typed) => match typed.data_type {
            DataType::Date => Some(length::of_column(SqlType::Date)),
            DataType::Time(..) => Some(length::of_column(SqlType::Time { fsp: 0 })),
            _ => Some(length::of_column(SqlType::DateTime { fsp: 0 })),
        },
        E::BinaryOp { left, op: sign, right } => {
            let digits = |expr| integer_length(expr).map(|length| length.saturating_sub(1).max(1));
            let (left, right) = (digits(left)?, digits(right)?);
            let digits = match op(sign)? {
                ArithmeticOp::Mul => left + right,
                _ => left.max(right) + 1,
            };
            Some((digits + 1).min(INTEGER))
        }
        _ => None,
    }
}
