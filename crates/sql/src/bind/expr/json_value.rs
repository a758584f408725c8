//! JSON_VALUE: the type that it returns, and its values for nothing and for an error.

use super::ExprContext;
use crate::{
    bind::{binder::Binder, declared::as_operand},
    parse::json_value::{Fallback, JsonValueCall},
    typing::{Item, text_of_length},
};
use muster_algebra::{Expr, ScalarFunction};
use muster_functions::{
    LibraryFunction,
    json::scalar::{ERROR_ON_EMPTY, ERROR_ON_ERROR, out_of_range},
};
use muster_types::{
    BytesKind, Collation, ErrorCode, Result, SqlError, SqlType, TextKind, Value,
    json::{self, JsonPath},
    store::{StoreFault, StoredType, loses_part, store},
};
use sqlparser::ast::{self, DataType};

const NAME: &str = "json_value";

impl Binder<'_> {
    /// A call of JSON_VALUE as the parser has made it. Errors: 3146 for a document of another type, 3143 for a wrong
    /// path, and those of the values behind DEFAULT.
    pub(super) fn json_value(&mut self, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Item> {
        let no_call = || SqlError::syntax(NAME, 1);
        let written = JsonValueCall::of(args).ok_or_else(no_call)?;
        let document = self.expr(written.document, cx)?;
        let is_document = matches!(document.ty, SqlType::Null | SqlType::Json | SqlType::Text { .. });
        if !is_document && !document.ty.is_bytes() {
            let message = format!(
                "Invalid data type for JSON data in argument 1 to function {NAME}; a JSON string or JSON type is \
                 required."
            );
            return Err(SqlError::new(ErrorCode::InvalidTypeForJson, message));
        }
        let path = self.expr(written.path, cx)?;
        JsonPath::parse(&path.as_literal().and_then(|path| path.to_text(0)).unwrap_or_default())?;
        let (data_type, charset) = written.returned().ok_or_else(no_call)?;
        let ty = self.returned_type(data_type, charset.as_deref())?;
        let on_empty = self.fallback_value(written.on_empty, ty, cx)?;
        let on_error = self.fallback_value(written.on_error, ty, cx)?;
        let mut bits = 0;
        for (said, bit) in [(written.on_empty, ERROR_ON_EMPTY), (written.on_error, ERROR_ON_ERROR)] {
            bits |= if matches!(said, Fallback::Error) { bit } else { 0 };
        }
        let function = LibraryFunction::by_name("JSON_VALUE").ok_or_else(no_call)?;
        let modes = Value::Int(self.env.session.date_modes().bits());
        let args = vec![
            document.expr,
            path.expr,
            Expr::null(ty),
            Expr::literal(on_empty, ty),
            Expr::literal(on_error, ty),
            Expr::int(bits),
            Expr::literal(modes, SqlType::BIGINT),
        ];
        let item = Item::new(Expr::Call { function: ScalarFunction::Library(function), args, ty }, ty);
        // No column's value: a YEAR is a number.
        Ok(self.no_operand(as_operand(item)))
    }

    /// The type behind RETURNING. Texts compare by the codes of their characters if no character set is named.
    fn returned_type(&mut self, data_type: &DataType, charset: Option<&str>) -> Result<SqlType> {
        let collation = match charset {
            None => Collation::Utf8mb4_0900Bin,
            Some(name) => Collation::default_of_charset(name).ok_or_else(|| SqlError::unknown_character_set(name))?,
        };
        let ty = match data_type {
            DataType::Char(None) | DataType::Character(None) => {
                SqlType::Text { kind: TextKind::LongText, length: u32::MAX, collation }
            }
            DataType::Binary(None) => SqlType::Bytes { kind: BytesKind::LongBlob, length: u32::MAX },
            other => self.cast_type(other, &Item::null())?,
        };
        Ok(match (ty, data_type) {
            // NCHAR has a character set of its own.
            (SqlType::Text { length, .. }, DataType::Char(Some(_)) | DataType::Character(Some(_))) => {
                text_of_length(length.into(), collation)
            }
            (SqlType::Bytes { kind: BytesKind::Binary, length }, _) => {
                SqlType::Bytes { kind: BytesKind::VarBinary, length }
            }
            (ty, _) => ty,
        })
    }

    /// The value for nothing or for an error, in the type of the result.
    fn fallback_value(&mut self, said: Fallback, ty: SqlType, cx: &mut ExprContext) -> Result<Value> {
        let Fallback::Default(written) = said else { return Ok(Value::Null) };
        let item = self.expr(written, cx)?;
        let Some(value) = item.as_literal().cloned() else { return Err(SqlError::syntax(written, 1)) };
        let text = value.to_text(item.ty.fsp()).unwrap_or_default();
        let value = match value {
            Value::Bool(truth) => Value::Int(truth.into()),
            // A hexadecimal literal is a text here.
            Value::Bytes(bytes) => Value::Text(String::from_utf8_lossy(&bytes).into_owned()),
            value => value,
        };
        if ty == SqlType::Json {
            return json::parse_to_bytes(&text).map(Value::Json).map_err(|error| error.in_argument(1, NAME));
        }
        let is_short_year = matches!(value, Value::Int(1..=1900) | Value::UInt(1..=1900));
        if ty == SqlType::Year && is_short_year {
            return Err(out_of_range(ty, "value"));
        }
        let column = StoredType { date_modes: self.env.session.date_modes(), ..StoredType::new(ty) };
        match store(&value, column) {
            Ok(stored) if ty.is_text() && text.chars().count() > declared_length(ty) => {
                debug_assert!(!stored.is_null());
                Err(out_of_range(ty, "DEFAULT value"))
            }
            Ok(stored) if matches!(ty, SqlType::Decimal { .. }) && loses_part(ty, &value, &stored) => {
                Err(out_of_range(ty, "DEFAULT value"))
            }
            Ok(stored) if ty.is_integer() && text.contains('.') => {
                debug_assert!(!stored.is_null());
                Err(no_default(ty, &text))
            }
            Ok(stored) => Ok(stored),
            Err(unfit) => Err(match unfit.fault {
                StoreFault::Incorrect(_)
                | StoreFault::NoSuchDate(_)
                | StoreFault::Truncated
                | StoreFault::CutDecimal => no_default(ty, &text),
                _ => out_of_range(ty, "DEFAULT value"),
            }),
        }
    }
}

fn declared_length(ty: SqlType) -> usize {
    match ty {
        SqlType::Text { length, .. } => length as usize,
        _ => usize::MAX,
    }
}

/// 1292: a text behind DEFAULT that is no value of the type.
fn no_default(ty: SqlType, text: &str) -> SqlError {
    let message = match ty {
        SqlType::Int { unsigned: true, .. } => format!("Truncated incorrect INTEGER UNSIGNED value: '{text}'"),
        SqlType::Int { .. } | SqlType::Year => format!("Truncated incorrect INTEGER SIGNED value: '{text}'"),
        SqlType::Decimal { .. } => format!("Truncated incorrect DECIMAL value: '{text}'"),
        SqlType::Float | SqlType::Double => format!("Truncated incorrect DOUBLE value: '{text}'"),
        SqlType::Time { .. } => format!("Incorrect time value: '{text}'"),
        _ => format!("Incorrect datetime value: '{text}'"),
    };
    SqlError::new(ErrorCode::TruncatedWrongValue, message)
}
