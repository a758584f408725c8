//! Functions whose value is the statement's or the session's: they become literals.

use super::ExprContext;
use crate::{
    bind::{MomentValue, SessionValues, binder::Binder},
    typing::{Derivation, Item},
};
use muster_algebra::{Expr, ScalarFunction};
use muster_types::{
    Collation, ErrorCode, Result, SqlError, SqlType, Value,
    temporal::{EpochMicros, MICROS_PER_SECOND, datetime_parts},
};
use sqlparser::ast;

/// Digits behind the point that PI() shows.
const PI_DECIMALS: u8 = 6;

/// The names of these functions.
pub(super) const NAMES: &[&str] = &[
    "NOW",
    "CURRENT_TIMESTAMP",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "SYSDATE",
    "UTC_TIMESTAMP",
    "CURDATE",
    "CURRENT_DATE",
    "UTC_DATE",
    "CURTIME",
    "CURRENT_TIME",
    "UTC_TIME",
    "DATABASE",
    "SCHEMA",
    "USER",
    "SESSION_USER",
    "SYSTEM_USER",
    "CURRENT_USER",
    "CURRENT_ROLE",
    "ROLES_GRAPHML",
    "VERSION",
    "CONNECTION_ID",
    "FOUND_ROWS",
    "LAST_INSERT_ID",
    "ROW_COUNT",
    "PI",
    "PS_CURRENT_THREAD_ID",
];

impl Binder<'_> {
    /// `None` when it is no such function.
    pub fn session_function(&mut self, name: &str, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Option<Item>> {
        let session = self.env.session;
        let text = |s: Option<String>| s.map_or(Value::Null, Value::Text);
        let value = match name {
            "NOW" | "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" => return self.now(args, cx),
            // Its precision is checked as that of NOW().
            "SYSDATE" => {
                self.fsp("sysdate", args, cx)?;
                return Ok(None);
            }
            "UTC_TIMESTAMP" => return self.datetime(session.utc_datetime(), args, cx),
            "CURDATE" | "CURRENT_DATE" if args.is_empty() => {
                return Ok(Some(self.of_moment(MomentValue::Today, SqlType::Date, |s| date(s.now_datetime()))));
            }
            "CURDATE" | "CURRENT_DATE" => Value::Null,
            "UTC_DATE" => date(session.utc_datetime()),
            "CURTIME" | "CURRENT_TIME" => return self.time(session.now_datetime(), args, cx),
            "UTC_TIME" => return self.time(session.utc_datetime(), args, cx),
            "UNIX_TIMESTAMP" if args.is_empty() => {
                Value::Int(EpochMicros::of_datetime(session.utc_datetime()).0.div_euclid(MICROS_PER_SECOND))
            }
            "DATABASE" | "SCHEMA" => text(session.database()),
            "USER" | "SESSION_USER" | "SYSTEM_USER" => Value::Text(session.user()),
            "CURRENT_USER" => Value::Text(session.current_user()),
            "CURRENT_ROLE" => Value::Text(session.current_role()),
            "ROLES_GRAPHML" => Value::Text(session.roles_graph()),
            "VERSION" => Value::Text(session.version()),
            // A thread has the number of its connection.
            "CONNECTION_ID" | "PS_CURRENT_THREAD_ID" => Value::UInt(session.connection_id() as u64),
            "LAST_INSERT_ID" if !args.is_empty() => return self.new_last_insert_id(args, cx),
            "LAST_INSERT_ID" => {
                let (value, ty) = (MomentValue::LastInsertId, SqlType::BIGINT_UNSIGNED);
                return Ok(Some(self.of_moment(value, ty, |s| Value::UInt(s.last_insert_id()))));
            }
            "FOUND_ROWS" => {
                let rows = Value::Int(session.found_rows());
                self.warn(
                    ErrorCode::DeprecatedSyntax,
                    "FOUND_ROWS() is deprecated and will be removed in a future release. Consider using COUNT(*) instead.",
                );
                rows
            }
            "ROW_COUNT" => Value::Int(session.row_count()),
            "PI" if args.is_empty() => {
                let pi = self.given(Value::Double(std::f64::consts::PI));
                return Ok(Some(Item { decimals: Some(PI_DECIMALS), ..pi }));
            }
            "PI" => Value::Null,
            _ => return Ok(None),
        };
        if !args.is_empty() {
            return Err(super::function::wrong_count(name));
        }
        let mut item = self.system_text(value);
        if item.ty == SqlType::Null {
            item = self.convert(item, SqlType::varchar(64, Collation::SYSTEM));
            item.derivation = Derivation::System;
        }
        Ok(Some(item))
    }

    /// `LAST_INSERT_ID(id)`.
    fn new_last_insert_id(&mut self, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Option<Item>> {
        let [id] = args else { return Err(super::function::wrong_count("LAST_INSERT_ID")) };
        let ty = SqlType::BIGINT_UNSIGNED;
        let id = self.expr(id, cx)?;
        let args = vec![self.convert(id, ty).expr];
        Ok(Some(Item::new(Expr::Call { function: ScalarFunction::LastInsertId, args, ty }, ty)))
    }

    fn now(&mut self, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Option<Item>> {
        let fsp = self.fsp("now", args, cx)?;
        let value = |session: &dyn SessionValues| Value::DateTime(cut(session.now_datetime(), fsp));
        Ok(Some(self.of_moment(MomentValue::Now { fsp }, SqlType::DateTime { fsp }, value)))
    }

    /// A value of the moment: a parameter in a statement that is bound once for all executions, else what it is now.
    fn of_moment(&self, value: MomentValue, ty: SqlType, now: impl FnOnce(&dyn SessionValues) -> Value) -> Item {
        let literal = |value| Item::literal(value, ty);
        match self.env.session.moment_parameter(value) {
            // Traits of the item are those of a literal.
            Some(index) => Item { expr: Expr::parameter(index, ty), ..literal(Value::Null) },
            None => literal(now(self.env.session)),
        }
    }

    fn datetime(&mut self, datetime: i64, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Option<Item>> {
        let fsp = self.fsp("now", args, cx)?;
        Ok(Some(Item::literal(Value::DateTime(cut(datetime, fsp)), SqlType::DateTime { fsp })))
    }

    fn time(&mut self, datetime: i64, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<Option<Item>> {
        let fsp = self.fsp("now", args, cx)?;
        Ok(Some(Item::literal(Value::Time(datetime_parts(cut(datetime, fsp)).1), SqlType::Time { fsp })))
    }

    fn fsp(&mut self, name: &str, args: &[&ast::Expr], cx: &mut ExprContext) -> Result<u8> {
        let Some(arg) = args.first() else { return Ok(0) };
        match self.expr(arg, cx)?.as_literal() {
            Some(Value::Int(n @ 0..=6)) if args.len() == 1 => Ok(*n as u8),
            Some(Value::Int(n)) if args.len() == 1 => Err(SqlError::precision_too_big(n, name, 6)),
            _ => Err(SqlError::syntax(arg, 1)),
        }
    }
}

fn date(datetime: i64) -> Value {
    Value::Date(datetime_parts(datetime).0)
}

/// Cuts off the digits behind `fsp`.
fn cut(micros: i64, fsp: u8) -> i64 {
    let unit = 10i64.pow(6 - fsp as u32);
    micros.div_euclid(unit) * unit
}
