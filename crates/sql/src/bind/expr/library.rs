//! Functions of the table in `muster_functions`: arguments are converted as their entries say.

use super::{ExprContext, function::wrong_count, json::truth_value, text_arguments::text_result};
use crate::{
    bind::binder::Binder,
    typing::{Derivation, Item, bytes_of_length, display_length, fold, numeric_type, text_of_length},
};
use muster_algebra::{CompareOp, Expr, IntervalUnit, ScalarFunction};
use muster_functions::{ArgumentType, LibraryFunction, ResultType, SessionValue, Takes, Typing};
use muster_types::{
    Collation, ErrorCode, MemberList, Result, SqlError, SqlType, TextKind, Value,
    sql_type::DECIMAL_MAX_PRECISION,
    temporal::{FSP_MAX, datetime_parts},
};
use sqlparser::ast;

/// What a text is read as where a function takes seconds.
const EXACT_SECONDS: SqlType = SqlType::Decimal { precision: 38, scale: 9 };

impl Binder<'_> {
    /// A call of a function. Errors: 1582 for a wrong number of arguments; 1267 for texts without a common collation.
    pub(super) fn library_call(
        &mut self,
        function: LibraryFunction,
        args: &[&ast::Expr],
        cx: &mut ExprContext,
    ) -> Result<Item> {
        if !function.takes_count(args.len()) {
            return Err(wrong_count(function.name));
        }
        if function.name == "JSON_MERGE" {
            self.deprecated("'JSON_MERGE'", "JSON_MERGE_PRESERVE/JSON_MERGE_PATCH");
        }
        let mut items = Vec::with_capacity(args.len() + function.session.len());
        for (i, arg) in args.iter().enumerate() {
            items.push(match function.takes_at(i) {
                Takes::Keyword(words) => self.keyword(arg, words)?,
                Takes::JsonScalar => match truth_value(arg) {
                    Some(truth) => truth,
                    None => self.expr(arg, cx)?,
                },
                _ => self.expr(arg, cx)?,
            });
        }
        if function.is_of_one_charset {
            let texts: Vec<&Item> =
                (0..items.len()).filter(|i| function.takes_at(*i) == Takes::Text).map(|i| &items[i]).collect();
            let others = texts.iter().skip(1);
            others
                .map(|other| [texts[0], *other])
                .try_for_each(|pair| check_one_charset(&pair, &function.printed_name()))?;
        }
        if matches!(function.name, "EXTRACTVALUE" | "UPDATEXML") {
            let path = std::mem::replace(&mut items[1], Item::null());
            items[1] = self.with_xpath_variables(path);
        }
        if function.name == "WEIGHT_STRING"
            && let Some(weights) = self.weights_of_member(&items[0])
        {
            return Ok(weights);
        }
        // A number is no address, nor is NULL that would be one.
        let is_number = items.first().is_some_and(|item| item.ty.is_numeric());
        if is_number && matches!(function.name, "IS_IPV4" | "IS_IPV4_COMPAT" | "IS_IPV4_MAPPED" | "IS_IPV6") {
            return Ok(Item::bool(Expr::bool(false)));
        }
        let items = match (function.name, self.declared_type(items.get(1).unwrap_or(&Item::null()))) {
            ("FIND_IN_SET", Some(SqlType::Set(members))) => return self.place_in_set(function, items, members),
            ("CONV", _) => self.literal_in_its_base(function, items)?,
            _ => items,
        };
        let chosen = match args {
            [arg] if function.name == "UNIX_TIMESTAMP" && is_choice(arg) => Some(items[0].clone()),
            _ => None,
        };
        let result = self.library_call_of(function, items)?;
        Ok(match chosen {
            Some(chosen) => self.null_without_date(chosen, result),
            None => result,
        })
    }

    /// FIND_IN_SET of a SET column: the place is that of the member among all of them.
    fn place_in_set(&mut self, function: LibraryFunction, items: Vec<Item>, members: MemberList) -> Result<Item> {
        let names = self.given(Value::Text(members.names().join(",")));
        let collation = items[1].ty.collation().unwrap_or(self.default_collation());
        let names = Item { derivation: items[1].derivation, ..self.convert_to_text(names, collation) };
        let place = self.library_call_of(function, vec![items[0].clone(), names])?;
        let found = self.library_call_of(function, items)?;
        let zero = Expr::literal(Value::Int(0), found.ty);
        let branches = vec![(Expr::compare(CompareOp::Gt, found.expr.clone(), zero), place.expr)];
        let expr = Expr::Case { branches, otherwise: Some(Box::new(found.expr)), ty: found.ty };
        Ok(Item::new(expr, found.ty))
    }

    /// The arguments of CONV: a hexadecimal or bit literal is a number, whatever base it is said to have, and so the
    /// digits of that number in this base.
    fn literal_in_its_base(&mut self, function: LibraryFunction, mut items: Vec<Item>) -> Result<Vec<Item>> {
        if items[0].hexadecimal {
            let (number, base) = (items[0].clone(), items[1].clone());
            let ten = self.given(Value::Int(10));
            items[0] = self.library_call_of(function, vec![number, ten, base])?;
        }
        Ok(items)
    }

    /// The result, or NULL if what CASE or IF has chosen is no date (MySQL: `Item_func_case::get_date` tells that it is
    /// NULL then, where other values are the zero date).
    fn null_without_date(&mut self, chosen: Item, result: Item) -> Item {
        let year = self.extracted(IntervalUnit::Year, chosen, false).expr;
        if result.expr.has_subquery() {
            return result;
        }
        let is_no_date = Expr::IsNull { arg: Box::new(year), negated: false };
        let branches = vec![(is_no_date, Expr::null(result.ty))];
        let expr = Expr::Case { branches, otherwise: Some(Box::new(result.expr)), ty: result.ty };
        Item::new(expr, result.ty)
    }

    /// The call of a function with these arguments.
    fn library_call_of(&mut self, function: LibraryFunction, items: Vec<Item>) -> Result<Item> {
        let of_first = items.first().map(|item| item.derivation);
        let given: Vec<(SqlType, u32)> = items.iter().map(|item| (item.ty, self.given_characters(item))).collect();
        let (items, (collation, derivation)) = self.library_arguments(function, items)?;
        let args = items.iter().zip(given).map(|(item, given)| self.argument_type(item, given)).collect();
        let is_moved = |(i, item): (usize, &Item)| i64::from(self.is_moved_text(&item.expr)) << i;
        let is_constant = items.iter().all(|item| is_constant(&item.expr));
        let moved: i64 = items.iter().enumerate().map(is_moved).sum();
        let asked = function.session.iter().map(|value| match value {
            SessionValue::MovedArguments => self.given(Value::Int(moved)),
            SessionValue::ConstantArguments => Item::bool(Expr::bool(is_constant)),
            other => self.session_value(*other),
        });
        let asked: Vec<Item> = asked.collect();
        let session = asked.iter().map(|item| item.as_literal().cloned().unwrap_or(Value::Null)).collect();
        let returned = (function.returns)(&Typing { args, collation, session });
        let exprs: Vec<Expr> = items.into_iter().chain(asked).map(|item| item.expr).collect();
        Ok(self.library_result(function, returned, exprs, (collation, derivation), of_first))
    }

    /// A call with a result of this type. `model`: the collation and derivation of its texts; `of_first`: the
    /// derivation of its first argument.
    fn library_result(
        &self,
        function: LibraryFunction,
        returned: ResultType,
        args: Vec<Expr>,
        model: (Collation, Derivation),
        of_first: Option<Derivation>,
    ) -> Item {
        let (collation, of_texts) = model;
        let has_weights = function.name == "WEIGHT_STRING";
        let (ty, derivation) = match returned {
            ResultType::Of(ty) => (ty, None),
            ResultType::Text(length) => (text_result(length, collation), Some(of_texts)),
            ResultType::ConnectionText(length) if matches!(function.name, "ADDTIME" | "SUBTIME") => {
                let (length, collation) = (u32::try_from(length).unwrap_or(u32::MAX), self.default_collation());
                (SqlType::Text { kind: TextKind::Char, length, collation }, Some(Derivation::Literal))
            }
            ResultType::ConnectionText(length) => {
                (text_of_length(length, self.default_collation()), Some(Derivation::Literal))
            }
            ResultType::SystemText(length) => (text_of_length(length, Collation::SYSTEM), Some(Derivation::Literal)),
            ResultType::Bytes(length) if has_weights => (bytes_of_length(length), of_first),
            ResultType::Bytes(length) => (bytes_of_length(length), Some(Derivation::Literal)),
        };
        let item = Item::new(Expr::Call { function: ScalarFunction::Library(function), args, ty }, ty);
        if matches!(function.name, "REGEXP_INSTR" | "REGEXP_LIKE") {
            return Item { text_collation: Some(collation), derivation: of_texts, ..item };
        }
        match derivation {
            // The weights of a number are weaker than any text.
            Some(Derivation::Numeric) if !has_weights => Item { derivation: Derivation::Literal, ..item },
            Some(derivation) => Item { derivation, ..item },
            None => item,
        }
    }

    /// The weights of a column of ENUM or SET: its number in eight bytes, with the sign bit that puts negative numbers
    /// first. `None` for other values.
    fn weights_of_member(&mut self, item: &Item) -> Option<Item> {
        const SIGN: u64 = 1 << 63;
        const BYTES: u64 = 8;
        let Some(SqlType::Enum(_) | SqlType::Set(_)) = self.declared_type(item) else { return None };
        let bits = SqlType::BIGINT_UNSIGNED;
        let number = self.convert(item.clone(), bits).expr;
        let args = vec![number, Expr::literal(Value::UInt(SIGN), bits)];
        let signed = Expr::Call { function: ScalarFunction::BitXor, args, ty: bits };
        let text = text_of_length(2 * BYTES, self.default_collation());
        let call = |name: &str, arg: Expr, ty: SqlType| {
            let function = ScalarFunction::Library(LibraryFunction::by_name(name)?);
            Some(Expr::Call { function, args: vec![arg], ty })
        };
        let ty = bytes_of_length(BYTES);
        Some(Item::new(call("UNHEX", call("HEX", signed, text)?, ty)?, ty))
    }

    /// One of these words, as a literal in upper case. Error: 1064 for anything else.
    fn keyword(&mut self, arg: &ast::Expr, words: &[&str]) -> Result<Item> {
        let word = arg.to_string().to_ascii_uppercase();
        match words.iter().find(|known| **known == word) {
            Some(known) => Ok(self.given(Value::Text((*known).into()))),
            None => Err(SqlError::syntax(arg, 1)),
        }
    }

    /// The arguments as the function takes them, and the collation of those that are text.
    fn library_arguments(
        &mut self,
        function: LibraryFunction,
        items: Vec<Item>,
    ) -> Result<(Vec<Item>, (Collation, Derivation))> {
        let is_text = |i: usize| function.takes_at(i) == Takes::Text;
        let texts: Vec<Item> =
            items.iter().enumerate().filter(|(i, _)| is_text(*i)).map(|(_, item)| item.clone()).collect();
        let (texts, model) = match function.is_like_first {
            true => self.texts_like_first(texts, function.name)?,
            false => self.texts(texts, function.name)?,
        };
        let mut texts = texts.into_iter();
        let compared: Vec<Item> = (items.iter().enumerate())
            .filter(|(i, _)| function.takes_at(*i) == Takes::Compared)
            .map(|(_, item)| item.clone())
            .collect();
        let mut common = self.compared(compared, function.name)?.into_iter();
        let mut taken = Vec::with_capacity(items.len());
        for (i, item) in items.into_iter().enumerate() {
            taken.push(match function.takes_at(i) {
                Takes::Text => texts.next().unwrap_or(item),
                Takes::Compared => common.next().unwrap_or(item),
                takes => self.argument(function, takes, item),
            });
        }
        Ok((taken, model))
    }

    /// An argument as the function takes it. Texts and what is compared depend on each other, and stay as they are.
    fn argument(&mut self, function: LibraryFunction, takes: Takes, item: Item) -> Item {
        let default = self.default_collation();
        match takes {
            Takes::AsIs | Takes::Keyword(_) | Takes::Text | Takes::Compared => item,
            Takes::JsonScalar => self.with_bits(item),
            Takes::Whole => match (item.ty, &item.expr) {
                (SqlType::Float | SqlType::Double, Expr::Case { .. }) => {
                    self.computed_integer(&item, SqlType::BIGINT).unwrap_or(item)
                }
                (SqlType::Float | SqlType::Double, _) => self.convert(item, SqlType::BIGINT),
                _ => item,
            },
            Takes::Exact => self.exact_argument(item),
            Takes::Moment if is_of_whole_days(function) => {
                let item = self.of_whole_day(item);
                self.dated(item)
            }
            Takes::Moment => self.dated(item),
            Takes::Temporal => {
                let item = self.moment_argument(item);
                let is_counted = matches!(function.name, "TIME_TO_SEC" | "TIME_FORMAT");
                let time = SqlType::Time { fsp: item.ty.fsp() };
                let mut as_time = |binder: &mut Self, moment: Item| binder.convert(moment, time).expr;
                match is_counted.then(|| self.of_each_moment(&item, time, &mut as_time)).flatten() {
                    Some(time) => time,
                    None => self.moved_unless_known(function, item),
                }
            }
            Takes::Clock => {
                let item = self.moment_argument(item);
                let item = self.moved_unless_known(function, item);
                self.without_day(item)
            }
            // No digits are no number.
            Takes::DigitText if matches!(item.as_literal(), Some(Value::Bytes(bytes)) if bytes.is_empty()) => {
                self.convert_to_text(item, default)
            }
            Takes::DigitText => match self.number_of_bytes(item) {
                item if item.ty.is_bytes() => item,
                item => {
                    let item = self.bits_as_digits(item);
                    self.convert_to_text(item, default)
                }
            },
            Takes::Bytes => self.bytes_argument(item),
            Takes::Int => {
                let item = self.number_of_bytes(item);
                self.count(item)
            }
            Takes::Bits => {
                let item = self.number_of_bytes(item);
                Item::new(self.bits_of(item), SqlType::BIGINT_UNSIGNED)
            }
            Takes::Double => {
                let item = self.number_of_bytes(item);
                self.convert(item, SqlType::Double)
            }
            Takes::Number => {
                let item = self.number_of_bytes(item);
                let ty = match numeric_type(item.ty) {
                    SqlType::Null => SqlType::Double,
                    // Fractional seconds are those of a double.
                    SqlType::Decimal { .. } if item.ty.is_temporal() => SqlType::Double,
                    ty => ty,
                };
                self.convert(item, ty)
            }
        }
    }

    /// A byte string, a text or a value as its text; of a BIT its bytes.
    fn bytes_argument(&mut self, item: Item) -> Item {
        match self.bits_as_bytes(item) {
            item if item.ty.is_bytes() || item.ty.is_text() => item,
            item => self.convert_to_text(item, self.default_collation()),
        }
    }

    /// A number with all its digits, of a date or time the seconds.
    fn exact_argument(&mut self, item: Item) -> Item {
        let item = match self.declared_type(&item) {
            Some(SqlType::Enum(_) | SqlType::Set(_)) => {
                let number = self.convert(item, SqlType::BIGINT);
                self.convert(number, EXACT_SECONDS)
            }
            _ => self.number_of_bytes(item),
        };
        let mut as_seconds = |binder: &mut Self, moment: Item| binder.convert(moment, EXACT_SECONDS).expr;
        if let Some(seconds) = self.of_each_moment(&item, EXACT_SECONDS, &mut as_seconds) {
            return seconds;
        }
        let item = self.number_of_text(&item, EXACT_SECONDS).unwrap_or(item);
        self.cut_beyond_micros(item)
    }

    /// A date or time that a function reads itself.
    fn moment_argument(&mut self, item: Item) -> Item {
        let item = self.bits_as_bytes(item);
        let item = self.zero_for_null(item);
        let item = self.numbers_as_times(item);
        self.cut_beyond_micros(item)
    }

    /// The text of a date that was moved by an interval as a moment, for a function that does not ask for such texts.
    fn moved_unless_known(&mut self, function: LibraryFunction, item: Item) -> Item {
        match function.session.contains(&SessionValue::MovedArguments) {
            true => item,
            false => self.moved_as_moment(item),
        }
    }

    /// LAST_DAY where a whole day is wanted, which is asked of its argument, too (MySQL: `Item_func_last_day::get_date`
    /// hands on the flags that it gets). Other values as they are.
    pub(super) fn of_whole_day(&self, item: Item) -> Item {
        match item.expr {
            Expr::Call { function: ScalarFunction::LastDay, mut args, ty } if args.len() < 3 => {
                args.resize_with(2, || self.date_modes());
                args.push(Expr::literal(Value::Int(1), SqlType::BIGINT));
                Item::new(Expr::Call { function: ScalarFunction::LastDay, args, ty }, ty)
            }
            expr => Item { expr, ..item },
        }
    }

    /// A floating-point number that CAST has made, with 0 for NULL: MySQL reads dates and times of it without a look at
    /// whether it is NULL (`Item_typecast_real::get_date`). NULLIF is an integer where it reads them.
    pub(super) fn zero_for_null(&self, item: Item) -> Item {
        if let Some((_, number)) = self.null_if_numbers.iter().find(|(null_if, _)| *null_if == item.expr) {
            return Item { ty: self.type_of(number), expr: number.clone(), ..item };
        }
        let is_cast = match &item.expr {
            Expr::Cast { ty, .. } => matches!(ty, SqlType::Float | SqlType::Double) && *ty == item.ty,
            _ => false,
        };
        if !is_cast || self.declared_type(&item).is_some() {
            return item;
        }
        let zero = match item.ty {
            SqlType::Float => Value::Float(0.0),
            _ => Value::Double(0.0),
        };
        let args = vec![item.expr, Expr::literal(zero, item.ty)];
        let expr = Expr::Call { function: ScalarFunction::Coalesce, args, ty: item.ty };
        Item { expr, ..Item::new(Expr::null(item.ty), item.ty) }
    }

    /// Values as the type under which all of them are compared: texts as texts, integers and decimals as such, else
    /// doubles.
    fn compared(&mut self, items: Vec<Item>, name: &str) -> Result<Vec<Item>> {
        let is_text = |item: &Item| !item.ty.is_numeric();
        if items.iter().all(is_text) {
            // Beside a text, byte strings are texts; beside a byte string, texts are byte strings.
            let own = items.first().and_then(|item| item.ty.collation()).filter(|own| *own != Collation::Binary);
            return match own {
                Some(own) if items.iter().any(|item| item.ty.is_bytes()) => {
                    items.into_iter().map(|item| self.text_or_bytes(item, own)).collect()
                }
                _ => Ok(self.texts(items, name)?.0),
            };
        }
        let digits: Option<Vec<(u8, u8)>> = items.iter().map(|item| item.ty.decimal_digits()).collect();
        let ty = match digits {
            // By their bits, whether they have a sign or not (MySQL: `Item_func_field::val_int`).
            Some(_) if items.iter().all(|i| i.ty.is_integer()) => SqlType::BIGINT,
            Some(digits) => {
                let whole = digits.iter().map(|(p, s)| u32::from(p - s)).max().unwrap_or(0);
                let scale = digits.iter().map(|(_, s)| u32::from(*s)).max().unwrap_or(0);
                if whole + scale <= u32::from(DECIMAL_MAX_PRECISION) {
                    SqlType::decimal(whole + scale, scale)
                } else {
                    SqlType::Double
                }
            }
            None => SqlType::Double,
        };
        Ok(items
            .into_iter()
            .map(|item| {
                let item = self.number_of_bytes(item);
                self.convert(item, ty)
            })
            .collect())
    }

    /// Most characters of an argument as the statement has it.
    fn given_characters(&self, item: &Item) -> u32 {
        match self.declared_type(item) {
            Some(declared) => display_length(declared),
            None => item.text_length(),
        }
    }

    fn argument_type(&self, item: &Item, (given, given_characters): (SqlType, u32)) -> ArgumentType {
        ArgumentType {
            ty: item.ty,
            given,
            characters: display_length(item.ty),
            datetime_fsp: self.fraction_digits(item, false),
            time_fsp: self.fraction_digits(item, true),
            given_characters,
            decimals: item.shown_decimals().or(item.ty.is_temporal().then(|| item.ty.fsp())),
            value: fold::constant(&item.expr).filter(|_| item.expr.columns().is_empty()),
            is_null: item.is_null_literal(),
        }
    }

    /// A value of the session as a literal.
    fn session_value(&mut self, value: SessionValue) -> Item {
        let session = self.env.session;
        let value = match value {
            SessionValue::TimeZone => Value::Text(session.time_zone().to_string()),
            SessionValue::DateModes => Value::Int(session.date_modes().bits()),
            SessionValue::MovedArguments => Value::Int(0),
            SessionValue::ConstantArguments => Value::Bool(false),
            SessionValue::ReadsFiles => Value::Bool(session.may_read_files()),
            SessionValue::Variable(name) => session.kept_variable(name),
        };
        self.given(value)
    }

    /// A TIME as a datetime of today; other values as they are, those of a BIT column as bytes.
    pub(in crate::bind) fn dated(&mut self, item: Item) -> Item {
        let item = self.bits_as_bytes(item);
        if item.ty == SqlType::Json {
            return self.convert(item, SqlType::DateTime { fsp: FSP_MAX });
        }
        let item = self.zero_for_null(item);
        let item = self.cut_beyond_micros(item);
        let item = self.added_as_moment(item);
        if let Some(dated) = self.with_dated_results(&item) {
            return dated;
        }
        let SqlType::Time { fsp } = item.ty else { return item };
        let Some(function) = LibraryFunction::by_name("TIMESTAMP") else { return item };
        let today = datetime_parts(self.env.session.now_datetime()).0;
        let today = Expr::literal(Value::Date(today), SqlType::Date);
        let ty = SqlType::DateTime { fsp };
        let asked = function.session.iter().map(|value| self.session_value(*value).expr).collect::<Vec<_>>();
        let args = [today, item.expr].into_iter().chain(asked).collect();
        Item::new(Expr::Call { function: ScalarFunction::Library(function), args, ty }, ty)
    }

    /// The mode of WEEK() without one.
    pub(super) fn default_week_mode(&mut self) -> Item {
        let mode = self.env.session.kept_variable("default_week_format");
        self.given(mode)
    }
}

/// Returns true for an expression of literals and parameters that has one value.
fn is_constant(expr: &Expr) -> bool {
    let mut is_constant = true;
    expr.visit(&mut |part| {
        is_constant &= match part {
            Expr::Column(_) | Expr::Subquery(_) | Expr::Subplan(_) => false,
            Expr::Call { function, .. } => function.is_deterministic(),
            _ => true,
        }
    });
    is_constant
}

/// Error 3995 for a text next to a byte string.
fn check_one_charset(items: &[&Item], name: &str) -> Result<()> {
    let (Some(first), Some(second)) = (items[0].ty.collation(), items[1].ty.collation()) else { return Ok(()) };
    if (first == Collation::Binary) == (second == Collation::Binary) {
        return Ok(());
    }
    let message = format!(
        "Character set '{}' cannot be used in conjunction with '{}' in call to {name}.",
        first.name(),
        second.name()
    );
    Err(SqlError::new(ErrorCode::CharacterSetMismatch, message))
}

/// Returns true for CASE and IF.
fn is_choice(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Nested(inner) => is_choice(inner),
        ast::Expr::Case { .. } => true,
        ast::Expr::Function(function) => function.name.to_string().eq_ignore_ascii_case("if"),
        _ => false,
    }
}

/// Returns true for functions that count days.
fn is_of_whole_days(function: LibraryFunction) -> bool {
    matches!(function.name, "TO_DAYS" | "TO_SECONDS" | "TIMESTAMPDIFF" | "DAYNAME")
}
