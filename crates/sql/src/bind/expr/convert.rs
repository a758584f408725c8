//! CAST, CONVERT, COLLATE.

use super::{ExprContext, function::call, json::truth_value};
use crate::{
    DeprecatedPart,
    bind::{binder::Binder, declared::as_operand},
    deprecated_charset,
    typing::{
        Derivation, Item, arithmetic::KEPT_DIGITS, bytes_of_length, collation, result::byte_length, text_of_length,
    },
};
use muster_algebra::{Decoding, Expr, ScalarFunction};
use muster_types::{
    BytesKind, Collation, ErrorCode, IntWidth, Result, SqlError, SqlType, TextKind, Value,
    sql_type::{DECIMAL_MAX_PRECISION, DECIMAL_MAX_SCALE},
    temporal::{ZERO_DATE, datetime_of},
};
use sqlparser::ast::{self, CharacterLength, DataType, ExactNumberInfo};

impl Binder<'_> {
    pub fn cast(&mut self, expr: &ast::Expr, to: &DataType, cx: &mut ExprContext) -> Result<Item> {
        let item = match expr {
            ast::Expr::AtTimeZone { timestamp, time_zone } => self.in_utc(timestamp, time_zone, cx)?,
            _ => self.expr(expr, cx)?,
        };
        let ty = self.cast_type(to, &item)?;
        let item = if matches!(ty, SqlType::Time { .. }) { self.moved_as_moment(item) } else { item };
        let item = if ty.is_temporal() { self.zero_for_null(item) } else { item };
        let item = match ty {
            SqlType::Date | SqlType::DateTime { .. } => self.of_whole_day(item),
            _ => item,
        };
        if ty == SqlType::Json {
            return Ok(self.cast_to_json(truth_value(expr).unwrap_or(item)));
        }
        let item = match ty.is_numeric() {
            true => item.unrounded(KEPT_DIGITS),
            false => item,
        };
        let item = self.cut_to_text(item, ty);
        // CAST to an integer reads any text as one.
        let converted = match ty {
            SqlType::Int { .. } => {
                let whole = self.of_each_moment(&item, ty, &mut |binder, of| binder.cast_to(of, ty).expr);
                match whole.or_else(|| self.computed_integer(&item, ty)) {
                    Some(integer) => integer,
                    None => self.cast_to(item, ty),
                }
            }
            _ => self.converted_moment(item, ty),
        };
        // What is a number to functions of dates if it is NULL (`zero_for_null`) stays a CAST.
        let converted = match (ty, &converted.expr) {
            (SqlType::Float | SqlType::Double, Expr::Literal { value: Value::Null, .. }) => {
                let expr = Expr::Cast { arg: Box::new(Expr::null(SqlType::Null)), ty };
                Item { expr, ..converted }
            }
            // A cast to the type that the value has already tells it from others: see `computed_integer`.
            (SqlType::Float | SqlType::Double, _) => {
                let expr = Expr::Cast { arg: Box::new(converted.expr), ty };
                Item { expr, ..converted }
            }
            _ => converted,
        };
        let item = as_operand(converted);
        let mut item = Item { hexadecimal: false, decimals: None, shown: None, ..self.no_operand(item) };
        if ty == SqlType::Year {
            // Unlike a column it is signed.
            let ty = SqlType::Int { width: IntWidth::Small, unsigned: false };
            item = Item { ty, expr: Expr::Cast { arg: Box::new(item.expr), ty }, ..item };
        }
        if ty.is_text() || ty.is_bytes() {
            item.derivation = Derivation::Implicit;
        }
        Ok(item)
    }

    /// The value as type `ty`, as CAST, DATE() and TIMESTAMP() have it: where `sql_mode` has no zero dates, that of a
    /// TIMESTAMP or of FROM_DAYS is NULL, though those of other types stay.
    pub(super) fn converted_moment(&mut self, item: Item, ty: SqlType) -> Item {
        let is_moment = matches!(ty, SqlType::Date | SqlType::DateTime { .. });
        let item = if is_moment { self.added_as_moment(item) } else { item };
        let zero = match item.ty {
            SqlType::Date => Value::Date(ZERO_DATE),
            _ => Value::DateTime(datetime_of(ZERO_DATE, 0)),
        };
        let is_of_days = |expr: &Expr| match expr {
            Expr::Call { function: ScalarFunction::Library(function), .. } => function.name == "FROM_DAYS",
            expr => matches!(expr, Expr::Literal { value, .. } if *value == zero),
        };
        let may_be_zero = match item.ty {
            SqlType::Timestamp { .. } => item.as_literal().is_none(),
            SqlType::Date => is_of_days(&item.expr),
            _ => false,
        };
        if !is_moment || !may_be_zero || item.expr.has_subquery() || !self.env.session.date_modes().no_zero_date {
            return self.convert(item, ty);
        }
        if item.as_literal().is_some() {
            return Item::new(Expr::null(ty), ty);
        }
        let zero = Expr::literal(zero, item.ty);
        let is_zero = Expr::eq(item.expr.clone(), zero);
        let moment = self.convert(item, ty);
        let branches = vec![(is_zero, Expr::null(ty))];
        Item {
            expr: Expr::Case { branches, otherwise: Some(Box::new(moment.expr)), ty },
            ..Item::new(Expr::null(ty), ty)
        }
    }

    /// `timestamp AT TIME ZONE zone`: a TIMESTAMP as a datetime of UTC, which is the only zone that there is here.
    /// Errors: 1298 for another zone, 3998 for a value of another type.
    fn in_utc(&mut self, timestamp: &ast::Expr, zone: &ast::Expr, cx: &mut ExprContext) -> Result<Item> {
        let zone = match zone {
            ast::Expr::Value(ast::ValueWithSpan { value: ast::Value::SingleQuotedString(zone), .. }) => zone,
            other => return Err(SqlError::syntax(other, 1)),
        };
        if !matches!(zone.as_str(), "+00:00" | "UTC") {
            let message = format!("Unknown or incorrect time zone: '{zone}'");
            return Err(SqlError::new(ErrorCode::UnknownTimeZone, message));
        }
        let is_literal =
            matches!(timestamp, ast::Expr::TypedString(typed) if matches!(typed.data_type, DataType::Timestamp(..)));
        let item = self.expr(timestamp, cx)?;
        if item.ty == SqlType::Null {
            return Ok(item);
        }
        if !is_literal && !matches!(item.ty, SqlType::Timestamp { .. }) {
            let message = "Cannot cast value to TIMESTAMP WITH TIME ZONE.";
            return Err(SqlError::new(ErrorCode::InvalidCastToZone, message));
        }
        let ty = SqlType::DateTime { fsp: item.ty.fsp() };
        let zones = [self.env.session.time_zone().to_string(), "+00:00".to_owned()];
        let zones = zones.map(|zone| self.given(Value::Text(zone)));
        let args = std::iter::once(self.convert(item, ty)).chain(zones).collect();
        Ok(call(ScalarFunction::ConvertTz, args, ty))
    }

    /// `CAST(x AS JSON)`: a text is read as JSON.
    fn cast_to_json(&self, item: Item) -> Item {
        let item = match self.declared_type(&item) {
            // A member of an ENUM is a string, and no text that is read.
            Some(SqlType::Bit { .. } | SqlType::Enum(_) | SqlType::Set(_)) => self.bare(item),
            _ => item,
        };
        let function = ScalarFunction::ParseJson;
        Item::new(Expr::Call { function, args: vec![item.expr], ty: SqlType::Json }, SqlType::Json)
    }

    /// `CONVERT(x, type)` and `CONVERT(x USING charset)`.
    pub fn convert_call(
        &mut self,
        expr: &ast::Expr,
        to: Option<&DataType>,
        charset: Option<&ast::ObjectName>,
        cx: &mut ExprContext,
    ) -> Result<Item> {
        match (to, charset) {
            (Some(to), None) => self.cast(expr, to, cx),
            (_, Some(charset)) => {
                let mut item = match to {
                    Some(to) => self.cast(expr, to, cx)?,
                    None => self.expr(expr, cx)?,
                };
                let name = charset.to_string();
                let name = name.trim_matches(['`', '\'', '"']);
                deprecated_charset(name).into_iter().for_each(|warning| self.warn_of(warning));
                let collation =
                    Collation::default_of_charset(name).ok_or_else(|| SqlError::unknown_character_set(name))?;
                item = match collation {
                    Collation::Binary => {
                        let length = byte_length(item.ty);
                        self.convert(item, SqlType::Bytes { kind: BytesKind::VarBinary, length })
                    }
                    _ => {
                        let item = self.cut_to_text(item, SqlType::varchar(0, collation));
                        self.convert_to_text(item, collation)
                    }
                };
                if let SqlType::Text { kind: TextKind::Char, length, collation } = item.ty {
                    item = self.convert(item, SqlType::varchar(length, collation));
                }
                (item.derivation, item.decimals) = (Derivation::Implicit, None);
                let item = self.no_operand(item);
                // A column is one no longer, though its values are the same.
                Ok(match &item.expr {
                    Expr::Column(_) => Item { expr: Expr::Cast { arg: Box::new(item.expr), ty: item.ty }, ..item },
                    _ => item,
                })
            }
            (None, None) => Err(SqlError::syntax("CONVERT", 1)),
        }
    }

    /// A byte string that becomes a text of type `to`, up to its first byte that belongs to no character, where
    /// `sql_mode` is not strict: in a strict one it is NULL (MySQL: `Item_str_func::check_well_formed_result`). Other
    /// values as they are.
    fn cut_to_text(&mut self, item: Item, to: SqlType) -> Item {
        let Some(collation) = to.collation().filter(|_| to.is_text() && item.ty.is_bytes()) else { return item };
        if self.env.session.sql_modes().is_strict() {
            return item;
        }
        let function = ScalarFunction::DecodeText(Decoding::Cut);
        let ty = text_of_length(byte_length(item.ty).into(), collation);
        Item::new(Expr::Call { function, args: vec![item.expr], ty }, ty)
    }

    /// `x COLLATE name`.
    pub fn collate(&mut self, expr: &ast::Expr, name: &ast::ObjectName, cx: &mut ExprContext) -> Result<Item> {
        let item = self.expr(expr, cx)?;
        let item = self.json_as_text(item);
        let name = name.to_string();
        let name = name.trim_matches(['`', '\'', '"']);
        let wanted = Collation::from_name(name).ok_or_else(|| SqlError::unknown_collation(name))?;
        let own = match item.ty {
            // NULL is a byte string here, and so is a column of BIT.
            SqlType::Null => Some(Collation::Binary),
            _ if matches!(self.declared_type(&item), Some(SqlType::Bit { .. })) => Some(Collation::Binary),
            _ => item.collation(),
        };
        if let Some(own) = own
            && own.charset() != wanted.charset()
        {
            return Err(SqlError::collation_of_other_charset(wanted.name(), own.charset()));
        }
        let item = match item.ty {
            SqlType::Bytes { .. } => item,
            SqlType::Text { kind, length, .. } => {
                let ty = match kind {
                    TextKind::Char => SqlType::varchar(length, wanted),
                    _ => collation::with_collation(item.ty, wanted),
                };
                let is_short = matches!(kind, TextKind::Char | TextKind::VarChar);
                match self.convert(item, ty) {
                    // A TEXT column, whose numbers are read without a warning, is one no longer.
                    Item { expr: expr @ Expr::Column(_), .. } if !is_short => {
                        Item::new(Expr::Cast { arg: Box::new(expr), ty }, ty)
                    }
                    item => item,
                }
            }
            _ => self.convert_to_text(item, wanted),
        };
        Ok(Item { derivation: Derivation::Explicit, decimals: None, ..self.no_operand(item) })
    }

    pub(super) fn cast_type(&mut self, to: &DataType, item: &Item) -> Result<SqlType> {
        let collation = self.default_collation();
        let default = || collation;
        Ok(match to {
            DataType::Signed | DataType::SignedInteger => SqlType::BIGINT,
            DataType::Unsigned | DataType::UnsignedInteger => SqlType::BIGINT_UNSIGNED,
            DataType::Decimal(info) | DataType::Dec(info) => decimal(info)?,
            DataType::Double(ExactNumberInfo::None) | DataType::DoublePrecision | DataType::Real => SqlType::Double,
            DataType::Float(ExactNumberInfo::None | ExactNumberInfo::Precision(0..=24)) => SqlType::Float,
            DataType::Float(ExactNumberInfo::Precision(25..=53)) => SqlType::Double,
            DataType::Date => SqlType::Date,
            DataType::Datetime(fsp) => SqlType::DateTime { fsp: fraction(*fsp)? },
            DataType::Time(fsp, ast::TimezoneInfo::None) => SqlType::Time { fsp: fraction(*fsp)? },
            DataType::Char(length) | DataType::Character(length) => match length {
                None => text_of_length(self.text_length(item).into(), default()),
                Some(CharacterLength::IntegerLength { length, .. }) => text_of_length(*length, default()),
                Some(CharacterLength::Max) => return Err(SqlError::syntax(to, 1)),
            },
            DataType::Binary(None) if item.ty.is_integer() => bytes_of_length(self.text_length(item).into()),
            DataType::Binary(None) => bytes_of_length(byte_length(item.ty).into()),
            // Shorter values are filled up with zeros.
            DataType::Binary(Some(length)) => match u32::try_from(*length) {
                Ok(length @ 0..=65_535) => SqlType::Bytes { kind: BytesKind::Binary, length },
                _ => return Err(SqlError::unsupported("CAST .. AS BINARY of more than 65535 bytes")),
            },
            DataType::JSON => SqlType::Json,
            DataType::Custom(name, _) if name.to_string().eq_ignore_ascii_case("year") => SqlType::Year,
            DataType::Custom(name, length) if name.to_string().eq_ignore_ascii_case("nchar") => {
                let length = match &length[..] {
                    [] => self.text_length(item).into(),
                    [length] => length.parse().map_err(|_| SqlError::syntax(to, 1))?,
                    _ => return Err(SqlError::syntax(to, 1)),
                };
                self.warn_of(DeprecatedPart::National.warning());
                text_of_length(length, Collation::Utf8mb3GeneralCi)
            }
            other => return Err(SqlError::syntax(other, 1)),
        })
    }
}

fn fraction(fsp: Option<u64>) -> Result<u8> {
    match fsp.unwrap_or(0) {
        n @ 0..=6 => Ok(n as u8),
        n => Err(SqlError::precision_too_big(n, "CAST", 6)),
    }
}

fn decimal(info: &ExactNumberInfo) -> Result<SqlType> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => (10, 0),
        ExactNumberInfo::Precision(p) => (*p, 0),
        ExactNumberInfo::PrecisionAndScale(p, s) => (*p, u64::try_from(*s).unwrap_or(u64::MAX)),
    };
    if scale > DECIMAL_MAX_SCALE as u64 {
        return Err(SqlError::scale_too_big(scale, "cast", DECIMAL_MAX_SCALE));
    }
    if precision > DECIMAL_MAX_PRECISION as u64 {
        return Err(SqlError::precision_too_big(precision, "cast", DECIMAL_MAX_PRECISION));
    }
    if scale > precision {
        return Err(SqlError::scale_above_precision("cast"));
    }
    Ok(SqlType::decimal(precision.max(1) as u32, scale as u32))
}
