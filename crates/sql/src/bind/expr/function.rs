//! Functions of one row: argument counts, argument types, result types.

use super::ExprContext;
use crate::{
    bind::{binder::Binder, subquery::operand_columns},
    typing::{
        Item, arithmetic::KEPT_DIGITS, bytes_of_length, collation, decimal_digits, display_length, fold, numeric_type,
    },
};
use muster_algebra::{ArithmeticOp, CompareOp, Expr, IntervalUnit, ScalarFunction as F, SessionFunction as S};
use muster_functions::{LibraryFunction, mysql};
use muster_types::{Collation, ErrorCode, IntWidth, Result, SqlError, SqlType, Value};
use sqlparser::ast;

/// 1582.
pub(super) fn wrong_count(name: &str) -> SqlError {
    SqlError::new(
        ErrorCode::WrongParamCountToNativeFct,
        format!("Incorrect parameter count in the call to native function '{name}'"),
    )
}

/// 1305, or 1046 without a database that it could be in; 1241 for a row where one value is wanted.
pub(super) fn no_such_function(cx: &ExprContext, name: &str) -> SqlError {
    if name.eq_ignore_ascii_case("ROW") {
        return operand_columns(1);
    }
    let full = match cx.names.database {
        _ if name.contains('.') => name.to_string(),
        Some(database) => format!("{database}.{name}"),
        None => return SqlError::no_database_selected(),
    };
    SqlError::new(ErrorCode::FunctionDoesNotExist, format!("FUNCTION {full} does not exist"))
}

/// 1630: the name of a function that is no word of the grammar here, since a space or quotes keep it from being one.
pub(super) fn no_such_spaced_function(cx: &ExprContext, name: &str) -> SqlError {
    let message = format!(
        "FUNCTION {}.{name} does not exist. Check the 'Function Name Parsing and Resolution' section in the Reference \
         Manual",
        cx.names.database.unwrap_or("")
    );
    SqlError::new(ErrorCode::SpacedFunctionDoesNotExist, message)
}

/// The arguments and the result of a function whose name decides both.
enum Signature {
    /// All arguments text under one collation; the result is text of this many characters, by those of the arguments.
    Text(F, fn(&[u32], &[Item]) -> u64),
    /// All arguments text; the result is an integer.
    TextToInt(F),
    /// All arguments double, the result too.
    Double(F),
    /// One date; the result is an integer.
    DateToInt(F),
    Extract(IntervalUnit),
    /// A part of a TIME without its sign.
    ClockPart(IntervalUnit),
}

/// Signature and number of arguments.
fn signature(name: &str) -> Option<(Signature, std::ops::RangeInclusive<usize>)> {
    use Signature::*;
    fn first(lengths: &[u32], _: &[Item]) -> u64 {
        lengths.first().copied().unwrap_or(0) as u64
    }
    fn sum(lengths: &[u32], _: &[Item]) -> u64 {
        lengths.iter().map(|l| *l as u64).sum()
    }
    /// Separators stand between all but the first two.
    fn with_separators(lengths: &[u32], _: &[Item]) -> u64 {
        let separator = lengths.first().copied().unwrap_or(0) as u64;
        lengths.iter().skip(1).map(|l| *l as u64).sum::<u64>() + separator * lengths.len().saturating_sub(2) as u64
    }
    const MANY: usize = usize::MAX;
    Some(match name {
        "CONCAT" => (Text(F::Concat, sum), 1..=MANY),
        "CONCAT_WS" => (Text(F::ConcatWs, with_separators), 2..=MANY),
        "UPPER" | "UCASE" => (Text(F::Upper, first), 1..=1),
        "LOWER" | "LCASE" => (Text(F::Lower, first), 1..=1),
        "REVERSE" => (Text(F::Reverse, first), 1..=1),
        "CHAR_LENGTH" | "CHARACTER_LENGTH" => (TextToInt(F::CharLength), 1..=1),
        "ASCII" => (TextToInt(F::Ascii), 1..=1),
        "SQRT" => (Double(F::Sqrt), 1..=1),
        "POW" | "POWER" => (Double(F::Pow), 2..=2),
        "EXP" => (Double(F::Exp), 1..=1),
        "LN" => (Double(F::Ln), 1..=1),
        "LOG10" => (Double(F::Log10), 1..=1),
        "LOG2" => (Double(F::Log2), 1..=1),
        "SIN" => (Double(F::Sin), 1..=1),
        "COS" => (Double(F::Cos), 1..=1),
        "TAN" => (Double(F::Tan), 1..=1),
        "DAYOFWEEK" => (DateToInt(F::DayOfWeek), 1..=1),
        "WEEKDAY" => (DateToInt(F::Weekday), 1..=1),
        "DAYOFYEAR" => (DateToInt(F::DayOfYear), 1..=1),
        "YEAR" => (Extract(IntervalUnit::Year), 1..=1),
        "MONTH" => (Extract(IntervalUnit::Month), 1..=1),
        "DAY" | "DAYOFMONTH" => (Extract(IntervalUnit::Day), 1..=1),
        "HOUR" => (ClockPart(IntervalUnit::Hour), 1..=1),
        "MINUTE" => (ClockPart(IntervalUnit::Minute), 1..=1),
        "SECOND" => (ClockPart(IntervalUnit::Second), 1..=1),
        "MICROSECOND" => (ClockPart(IntervalUnit::Microsecond), 1..=1),
        "QUARTER" => (Extract(IntervalUnit::Quarter), 1..=1),
        _ => return None,
    })
}

/// How many arguments the functions of [`Binder::other_function`] take.
fn argument_count(name: &str) -> Option<std::ops::RangeInclusive<usize>> {
    const MANY: usize = usize::MAX;
    Some(match name {
        "IF" => 3..=3,
        "IFNULL" | "NULLIF" | "MOD" | "STRCMP" | "DATEDIFF" | "LEFT" | "RIGHT" | "REPEAT" | "INSTR" => 2..=2,
        "DATE_ADD" | "DATE_SUB" | "ADDDATE" | "SUBDATE" => 2..=2,
        "WEEK" | "YEARWEEK" => 1..=2,
        "WEEKOFYEAR" => 1..=1,
        "COALESCE" => 1..=MANY,
        "INTERVAL" => 2..=MANY,
        "GREATEST" | "LEAST" => 2..=MANY,
        "SUBSTRING" | "SUBSTR" | "MID" => 2..=3,
        "LPAD" | "RPAD" | "REPLACE" | "TIMESTAMPADD" | "CONVERT_TZ" => 3..=3,
        "LOCATE" => 2..=3,
        "ROUND" | "LOG" => 1..=2,
        "TRUNCATE" => 2..=2,
        "ABS" | "SIGN" | "CEIL" | "CEILING" | "FLOOR" | "ISNULL" | "LENGTH" | "OCTET_LENGTH" | "TRIM" => 1..=1,
        "LTRIM" | "RTRIM" | "DATE" | "TIME" | "LAST_DAY" | "SPACE" | "SLEEP" => 1..=1,
        "CHARSET" | "COLLATION" | "COERCIBILITY" | "BIT_LENGTH" | "BIT_COUNT" | "CRC32" => 1..=1,
        "NAME_CONST" | "GET_LOCK" | "BENCHMARK" => 2..=2,
        "RELEASE_LOCK"
        | "IS_FREE_LOCK"
        | "IS_USED_LOCK"
        | "PS_THREAD_ID"
        | "STATEMENT_DIGEST"
        | "STATEMENT_DIGEST_TEXT" => 1..=1,
        "RELEASE_ALL_LOCKS" => 0..=0,
        _ => return None,
    })
}

/// Returns true if MySQL has a function of this name (in upper case).
pub(super) fn is_known(name: &str) -> bool {
    is_answered(name) || mysql::has(name)
}

/// Returns true if Muster has a function of one row of this name (in upper case).
fn is_answered(name: &str) -> bool {
    signature(name).is_some()
        || argument_count(name).is_some()
        || super::session::NAMES.contains(&name)
        || LibraryFunction::by_name(name).is_some()
}

#[cfg(test)]
#[path = "function_tests.rs"]
mod tests;

impl Binder<'_> {
    /// A call by its name in upper case, of a function that MySQL has. Errors: 1582 for a wrong number of arguments,
    /// 1235 for a function that Muster has not.
    pub fn function(&mut self, name: &str, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        let item = self.known_function(name, args, cx)?;
        let writes_ascii = match name {
            "DATE_FORMAT" | "TIME_FORMAT" | "FROM_UNIXTIME" | "DAYNAME" | "MONTHNAME" => {
                let locale = self.env.session.kept_variable("lc_time_names");
                matches!(locale, Value::Text(name) if name.starts_with("en_"))
            }
            "BIN" | "OCT" | "CONV" | "INET_NTOA" | "ELT" | "QUOTE" => true,
            _ => false,
        };
        let is_ascii = item.is_ascii || writes_ascii && collation::are_ascii(&item.expr, &self.columns);
        Ok(Item { is_ascii, ..item })
    }

    fn known_function(&mut self, name: &str, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        if let Some(item) = self.session_function(name, args, cx)? {
            return Ok(item);
        }
        if name == "JSON_VALUE" {
            return self.json_value(args, cx);
        }
        if let Some(function) = LibraryFunction::by_name(name) {
            return self.library_call(function, args, cx);
        }
        if let Some((signature, count)) = signature(name) {
            if !count.contains(&args.len()) {
                return Err(wrong_count(name));
            }
            return self.by_signature(signature, name, args, cx);
        }
        match argument_count(name) {
            Some(count) if count.contains(&args.len()) => self.other_function(name, args, cx),
            Some(_) => Err(wrong_count(name)),
            None => Err(SqlError::unsupported(name)),
        }
    }

    fn by_signature(
        &mut self,
        signature: Signature,
        name: &str,
        args: &[&ast::Expr],
        cx: &mut ExprContext,
    ) -> Result<Item> {
        match signature {
            Signature::Extract(unit) => return self.extract_unit(unit, args[0], cx),
            Signature::ClockPart(unit) => return self.clock_part(unit, args[0], cx),
            _ => {}
        }
        let items = self.items(args, cx)?;
        Ok(match signature {
            Signature::Text(function, length) => {
                let (mut args, model) = self.texts(items, name)?;
                // Byte strings have no letters.
                if matches!(function, F::Upper | F::Lower) && model.0 == Collation::Binary {
                    let bytes = args.remove(0);
                    // Its length varies, whatever that of the argument does.
                    let ty = bytes_of_length(display_length(bytes.ty).into());
                    let expr = if ty == bytes.ty { bytes.expr } else { Expr::Cast { arg: Box::new(bytes.expr), ty } };
                    return Ok(Item { expr, ty, hexadecimal: false, is_bits: false, ..bytes });
                }
                let lengths: Vec<u32> = args.iter().map(|a| display_length(a.ty)).collect();
                self.text_call(function, length(&lengths, &args), args, model)
            }
            Signature::TextToInt(function) => {
                let (args, _) = self.texts(items, name)?;
                call(function, args, SqlType::BIGINT)
            }
            Signature::Double(function) => {
                let args = items.into_iter().map(|i| self.convert(i, SqlType::Double)).collect();
                call(function, args, SqlType::Double)
            }
            Signature::DateToInt(function) => self.of_days(function, items, None),
            Signature::Extract(_) | Signature::ClockPart(_) => return Err(SqlError::internal("handled above")),
        })
    }

    fn items(&mut self, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Vec<Item>> {
        args.iter().map(|a| self.expr(a, cx)).collect()
    }

    fn other_function(&mut self, name: &str, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        match name {
            "IF" => self.if_call(args, cx),
            "NULLIF" => self.null_if(args, cx),
            "IFNULL" | "COALESCE" => self.unify_call(F::Coalesce, name, args, cx),
            "GREATEST" => self.unify_call(F::Greatest, name, args, cx),
            "LEAST" => self.unify_call(F::Least, name, args, cx),
            "DATE_ADD" => self.date_add_call(args, false, false, cx),
            "DATE_SUB" => self.date_add_call(args, true, false, cx),
            "ADDDATE" => self.date_add_call(args, false, true, cx),
            "SUBDATE" => self.date_add_call(args, true, true, cx),
            "TIMESTAMPADD" => self.timestamp_add(args, cx),
            "MOD" => self.arithmetic_of(ArithmeticOp::Mod, args[0], args[1], cx),
            "STRCMP" => self.strcmp(args, cx),
            "INTERVAL" => self.interval_call(args, cx),
            "BIT_COUNT" => {
                let item = self.expr(args[0], cx)?;
                let item = self.number_of_bytes(item);
                let arg = if item.ty.is_bytes() { item.expr } else { self.bits_of(item) };
                let ty = SqlType::BIGINT;
                Ok(Item::new(Expr::Call { function: F::BitCount, args: vec![arg], ty }, ty))
            }
            "CRC32" => {
                let item = self.expr(args[0], cx)?;
                let arg = if item.ty.is_bytes() { item } else { self.texts(vec![item], name)?.0.remove(0) };
                Ok(call(F::Crc32, vec![arg], SqlType::BIGINT_UNSIGNED))
            }
            "WEEK" | "YEARWEEK" | "WEEKOFYEAR" => self.week(name, args, cx),
            "CONVERT_TZ" => self.convert_tz(args, cx),
            "TRIM" | "LTRIM" | "RTRIM" => self.trim(name, args, cx),
            "NAME_CONST" => self.name_const(args, cx),
            "GET_LOCK" => self.session_call(S::GetLock, name, args, SqlType::BIGINT, cx),
            "RELEASE_LOCK" => self.session_call(S::ReleaseLock, name, args, SqlType::BIGINT, cx),
            "IS_FREE_LOCK" => self.session_call(S::IsFreeLock, name, args, SqlType::BIGINT, cx),
            "IS_USED_LOCK" => self.session_call(S::IsUsedLock, name, args, SqlType::BIGINT_UNSIGNED, cx),
            "RELEASE_ALL_LOCKS" => self.session_call(S::ReleaseAllLocks, name, args, SqlType::BIGINT_UNSIGNED, cx),
            "PS_THREAD_ID" => self.session_call(S::PsThreadId, name, args, SqlType::BIGINT_UNSIGNED, cx),
            "STATEMENT_DIGEST" => self.statement_digest(S::StatementDigest, name, args[0], cx),
            "STATEMENT_DIGEST_TEXT" => self.statement_digest(S::StatementDigestText, name, args[0], cx),
            "ABS" | "SIGN" | "CEIL" | "CEILING" | "FLOOR" | "ROUND" | "TRUNCATE" | "LOG" => {
                let items = self.items(args, cx)?;
                Ok(self.numeric_function(name, items))
            }
            "DATEDIFF" | "DATE" | "TIME" | "LAST_DAY" => {
                let items = self.items(args, cx)?;
                Ok(self.date_function(name, items))
            }
            "BENCHMARK" => {
                let mut items = self.items(args, cx)?;
                let count = self.convert(items.remove(0), SqlType::BIGINT);
                Ok(call(F::Benchmark, vec![count, items.remove(0)], SqlType::BIGINT))
            }
            "CHARSET" | "COLLATION" | "COERCIBILITY" => {
                // The value is not asked for.
                let warnings = self.warnings.len();
                let items = self.items(args, cx)?;
                let items = items.into_iter().map(|item| self.json_as_text(item)).collect();
                self.forget_conversions(warnings);
                self.text_function(name, items)
            }
            _ => {
                let items = self.items(args, cx)?;
                self.text_function(name, items)
            }
        }
    }

    /// `TRIM(text [, what])`, LTRIM and RTRIM with the same arguments.
    pub fn trim(&mut self, name: &str, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        let function = match name {
            "LTRIM" => F::LTrim,
            "RTRIM" => F::RTrim,
            _ => F::Trim,
        };
        let items = self.items(args, cx)?;
        let (args, model) = self.texts_like_first(items, name)?;
        let length = display_length(args[0].ty) as u64;
        Ok(self.text_call(function, length, args, model))
    }

    /// `CONVERT_TZ(datetime, from, to)`.
    fn convert_tz(&mut self, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        let mut items = self.items(args, cx)?.into_iter();
        let (Some(time), Some(from), Some(to)) = (items.next(), items.next(), items.next()) else {
            return Err(wrong_count("CONVERT_TZ"));
        };
        let fsp = self.fraction_digits(&time, false);
        let ty = SqlType::DateTime { fsp };
        let collation = self.default_collation();
        let zones = [from, to].map(|zone| self.convert_to_text(zone, collation));
        let args = std::iter::once(self.convert(time, ty)).chain(zones).collect();
        Ok(call(F::ConvertTz, args, ty))
    }

    /// -1, 0 or 1.
    fn strcmp(&mut self, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        let mut tests = Vec::with_capacity(3);
        for op in [CompareOp::Lt, CompareOp::Eq, CompareOp::Gt] {
            let warnings = self.warnings.len();
            let items = self.items(args, cx)?;
            // Beside a date both are compared as texts, but a constant has to be a date.
            let is_constant = |item: &Item| fold::constant(&item.expr).is_some();
            if let ([l, r], true) = (&items[..], tests.is_empty())
                && (l.ty.is_temporal() && is_constant(r) || r.ty.is_temporal() && is_constant(l))
            {
                self.compare_with_clock(CompareOp::Eq, l.clone(), r.clone())?;
            }
            let mut items = self.texts(items, "strcmp")?.0;
            let (Some(r), Some(l)) = (items.pop(), items.pop()) else { return Err(wrong_count("STRCMP")) };
            tests.push(self.compare_with_clock(op, l, r)?.expr);
            if tests.len() > 1 {
                self.forget_conversions(warnings);
            }
        }
        let results = [-1, 0, 1].map(|i| self.given(Value::Int(i))).to_vec();
        self.choice(tests, results, "strcmp")
    }

    /// `INTERVAL(n, a, b, ..)`: how many of the rising numbers `a, b, ..` are not above `n`; -1 for NULL.
    fn interval_call(&mut self, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        let number = |b: &mut Self, e: &ast::Expr, cx: &mut ExprContext| -> Result<Item> {
            let item = b.expr(e, cx)?;
            let item = b.number_of_bytes(item);
            let ty = numeric_type(item.ty);
            Ok(b.convert(item, ty))
        };
        let (mut tests, mut results) = (Vec::new(), vec![self.given(Value::Int(-1))]);
        let before = self.warnings.len();
        let first = number(self, args[0], cx)?;
        let first_warnings = before..self.warnings.len();
        tests.push(Expr::IsNull { arg: Box::new(first.expr), negated: false });
        for (i, bound) in args[1..].iter().enumerate() {
            // Bound for each comparison: a subquery in it may be in a statement only once.
            let again = self.warnings.len();
            let n = number(self, args[0], cx)?;
            self.forget_repeated(&first_warnings, again);
            let bound = number(self, bound, cx)?;
            tests.push(self.compare_exactly(CompareOp::Lt, n, bound)?.expr);
            results.push(self.given(Value::Int(i as i64)));
        }
        results.push(self.given(Value::Int(args.len() as i64 - 1)));
        self.choice(tests, results, "interval")
    }

    /// WEEK with a mode, YEARWEEK, and WEEKOFYEAR, whose mode is 3.
    fn week(&mut self, name: &str, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        let mut items = self.items(args, cx)?.into_iter();
        let (Some(date), mode) = (items.next(), items.next()) else { return Err(wrong_count(name)) };
        let mode = match (mode, name) {
            (Some(mode), _) => mode,
            (None, "WEEKOFYEAR") => self.given(Value::Int(3)),
            (None, "YEARWEEK") => self.given(Value::Int(0)),
            (None, _) => self.default_week_mode(),
        };
        let function = if name == "YEARWEEK" { F::YearWeek } else { F::Week };
        // A mode that is NULL is 0.
        let mode = match mode.as_literal() {
            Some(Value::Null) => self.given(Value::Int(0)),
            Some(_) => self.convert(mode, SqlType::BIGINT),
            None => {
                let mode = self.convert(mode, SqlType::BIGINT);
                call(F::Coalesce, vec![mode, self.given(Value::Int(0))], SqlType::BIGINT)
            }
        };
        Ok(self.of_days(function, vec![date], Some(mode)))
    }

    /// A function of days that can be counted. It reads texts and numbers itself, since it does not take all that CAST
    /// makes a date; what is not stored with all its digits is cut first (TIME_TRUNCATE_FRACTIONAL).
    fn of_days(&mut self, function: F, dates: Vec<Item>, mode: Option<Item>) -> Item {
        let mut modes = None;
        let mut args = Vec::with_capacity(dates.len() + 2);
        for date in dates {
            let date = self.of_whole_day(date);
            let date = self.dated(date);
            args.push(match date.ty.is_temporal() || date.ty == SqlType::Null {
                true => self.convert(date, SqlType::Date).expr,
                false => {
                    modes = modes.or(self.modes_beside(&date));
                    date.expr
                }
            });
        }
        args.extend(mode.map(|mode| mode.expr).into_iter().chain(modes));
        Item::new(Expr::Call { function, args, ty: SqlType::BIGINT }, SqlType::BIGINT)
    }

    fn numeric_function(&mut self, name: &str, mut items: Vec<Item>) -> Item {
        let is_hexadecimal = items.first().is_some_and(|item| item.hexadecimal);
        items = items.into_iter().map(|item| self.number_of_bytes(item)).collect();
        let second = if items.len() > 1 { items.pop() } else { None };
        let Some(first) = items.pop() else { return Item::null() };
        let (shown, decimals) = (first.ty, first.decimals);
        let first = first.unrounded(KEPT_DIGITS);
        let ty = match numeric_type(first.ty) {
            SqlType::Null => SqlType::Double,
            _ if shown.is_temporal() && name != "SIGN" => SqlType::Double,
            _ if is_hexadecimal && name != "SIGN" => SqlType::Double,
            ty => ty,
        };
        let decimals = match name {
            "ABS" if shown.is_temporal() => Some(shown.fsp()),
            "ABS" if is_hexadecimal || shown == SqlType::Null => Some(0),
            _ => decimals,
        };
        let digits = first.decimal_digits().unwrap_or((19, 0));
        let arg = self.convert(first, ty);
        let whole = |ty: SqlType| match ty {
            SqlType::Decimal { precision, scale } if precision - scale + (scale > 0) as u8 <= 18 => SqlType::BIGINT,
            SqlType::Decimal { precision, scale } => SqlType::decimal((precision - scale) as u32 + 1, 0),
            SqlType::Int { unsigned, .. } => SqlType::Int { width: IntWidth::Big, unsigned },
            other => other,
        };
        match name {
            "ABS" if ty.is_integer() => {
                let result = if ty.is_unsigned() { SqlType::BIGINT_UNSIGNED } else { SqlType::BIGINT };
                call(F::Abs, vec![arg], result)
            }
            "ABS" => {
                let item = Item { decimals, ..call(F::Abs, vec![arg], ty) };
                if matches!(shown, SqlType::Decimal { .. }) { self.shown_as(item, shown) } else { item }
            }
            "SIGN" => call(F::Sign, vec![arg], SqlType::BIGINT),
            "CEIL" | "CEILING" => call(F::Ceil, vec![arg], whole(ty)),
            "FLOOR" => call(F::Floor, vec![arg], whole(ty)),
            "LOG" => {
                let ln = |b: &mut Self, x| {
                    let x = b.convert(x, SqlType::Double);
                    call(F::Ln, vec![x], SqlType::Double)
                };
                match second {
                    None => ln(self, arg),
                    Some(x) => {
                        let x = self.convert(x, SqlType::Double);
                        call(F::Log, vec![arg, x], SqlType::Double)
                    }
                }
            }
            _ => {
                let places = second.unwrap_or_else(|| self.given(Value::Int(0)));
                // Digits that a quotient has beyond those it shows do not count.
                let digits = decimal_digits(shown).unwrap_or(digits);
                self.rounded(if name == "ROUND" { F::Round } else { F::Truncate }, arg, places, digits)
            }
        }
    }

    /// ROUND and TRUNCATE of a number of so many digits, in all and behind the point.
    fn rounded(&mut self, function: F, arg: Item, places: Item, digits: (u32, u32)) -> Item {
        let mut places = self.count(places);
        let result = match arg.ty {
            SqlType::Decimal { .. } => {
                let (p, s) = digits;
                // With places known the result has that scale; rounding can carry into a digit more.
                let constant = fold::constant_and_warnings(&places.expr);
                let (scale, carries) = match constant {
                    Some((Value::Int(n), warnings)) => {
                        // A text that is no number warns where it is computed.
                        if warnings.is_empty() {
                            places = self.given(Value::Int(n.min(s.into())));
                        }
                        let scale = n.clamp(0, s.into()) as u32;
                        (scale, scale < s || scale == 0)
                    }
                    _ if places.is_null_literal() => (0, s > 0),
                    _ => (s, true),
                };
                SqlType::decimal(p - s + scale + (function == F::Round && carries) as u32, scale)
            }
            SqlType::Int { unsigned: false, .. } => SqlType::BIGINT,
            SqlType::Int { unsigned: true, .. } => SqlType::BIGINT_UNSIGNED,
            other => other,
        };
        call(function, vec![arg, places], result)
    }

    fn date_function(&mut self, name: &str, items: Vec<Item>) -> Item {
        let mut items = items.into_iter();
        let (Some(first), second) = (items.next(), items.next()) else { return Item::null() };
        let first = self.zero_for_null(first);
        let fsp = self.fraction_digits(&first, name == "TIME");
        match (name, second) {
            ("DATE", _) => {
                let first = self.of_whole_day(first);
                self.converted_moment(first, SqlType::Date)
            }
            ("TIME", _) => {
                let first = self.moved_as_moment(first);
                self.convert(first, SqlType::Time { fsp })
            }
            ("DATEDIFF", Some(second)) => self.of_days(F::DateDiff, vec![first, second], None),
            _ => {
                let date = self.dated(first);
                let modes = self.modes_beside(&date);
                let args = std::iter::once(date.expr).chain(modes).collect();
                Item::new(Expr::Call { function: F::LastDay, args, ty: SqlType::Date }, SqlType::Date)
            }
        }
    }
}

pub(super) fn call(function: F, args: Vec<Item>, ty: SqlType) -> Item {
    let args = args.into_iter().map(|i| i.expr).collect();
    Item::new(Expr::Call { function, args, ty }, ty)
}
