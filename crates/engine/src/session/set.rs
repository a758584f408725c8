//! SET.

use super::{state::SessionState, transaction::NextTransaction};
use crate::{
    accounts::Privilege,
    statement::{Done, StatementContext, evaluate_typed},
    transaction::locked_or_in_transaction,
    variables::{self, Variables, definitions::Definition},
};
use muster_sql::{SetItem, SetValue, VariableScope};
use muster_types::{Collation, ErrorCode, Result, SqlError, SqlType, Value};
use std::sync::{Arc, atomic::Ordering::Relaxed};

impl SessionState {
    /// The value as a variable takes it, with warning 1292 when it was cut to the variable's bounds.
    pub fn checked(&self, definition: &Definition, value: Value, current: &Variables) -> Result<Value> {
        let shown = value.to_text(6).unwrap_or_default();
        let checked = variables::check(definition, value, current)?;
        variables::check_supported(definition, &checked.value)?;
        if checked.truncated {
            let message = format!("Truncated incorrect {} value: '{shown}'", definition.name);
            self.conditions.diagnostics.warnings.push(ErrorCode::TruncatedWrongValue, message);
        }
        for warning in variables::warnings_of(definition, &shown, &checked.value) {
            self.conditions.diagnostics.warnings.push(warning.code, warning.message);
        }
        Ok(checked.value)
    }

    /// All assignments, left to right; every name is known and every right side evaluated before the first one counts,
    /// as in MySQL.
    pub fn set(&mut self, context: &Arc<StatementContext>, items: &[SetItem], parameters: &[Value]) -> Result<Done> {
        for item in items {
            if let SetItem::Variable { scope, name, .. } = item {
                variables::check_settable(variables::define(name)?, scope.unwrap_or(VariableScope::Session))?;
            }
        }
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            let expr = match item {
                SetItem::User { value, .. } => Some(value),
                SetItem::Variable { value: SetValue::Expr(expr), .. }
                | SetItem::NextTransaction { value: SetValue::Expr(expr), .. } => Some(expr),
                _ => None,
            };
            values.push(match expr {
                Some(expr) => evaluate_typed(context, expr, parameters)?,
                None => (Value::Null, SqlType::Null),
            });
        }
        for (item, (value, ty)) in items.iter().zip(values) {
            match item {
                SetItem::User { name, .. } => self.set_user_variable(name, value, ty)?,
                SetItem::Variable { scope, persist, name, value: given } => {
                    if *persist {
                        return Err(SqlError::unsupported("SET PERSIST"));
                    }
                    self.set_variable(context, *scope, name, given_value(given, value))?;
                }
                SetItem::NextTransaction { name, value: given } => {
                    self.set_next_transaction(name, given_value(given, value))?;
                }
                SetItem::Names { charset, collation } => self.set_names(charset.as_deref(), collation.as_deref())?,
                SetItem::CharacterSet(charset) => self.set_character_set(charset.as_deref())?,
                SetItem::Transaction { scope, isolation, read_only } => {
                    self.set_transaction(context, *scope, *isolation, *read_only)?
                }
            }
        }
        Ok(Done::default())
    }

    /// Sets a user variable to a value of this type. Moments and members are texts there (manual 11.4).
    pub fn set_user_variable(&mut self, name: &str, value: Value, ty: SqlType) -> Result<()> {
        let of_connection = || Collation::from_name(&self.variables.text("collation_connection"));
        let (value, collation) = match (value, ty) {
            (Value::UInt(at), SqlType::Enum(members)) => {
                (Value::Text(members.enum_text(at).into()), Some(members.collation()))
            }
            (Value::UInt(bits), SqlType::Set(members)) => {
                (Value::Text(members.set_text(bits)), Some(members.collation()))
            }
            (value @ (Value::Date(_) | Value::DateTime(_) | Value::Time(_)), ty) => {
                (value.to_text(ty.fsp()).map_or(Value::Null, Value::Text), of_connection())
            }
            (value, ty) => (value, ty.collation()),
        };
        self.user_variables.set(name, value, collation)
    }

    /// `value`: `None` for DEFAULT.
    fn set_variable(
        &mut self,
        context: &StatementContext,
        scope: Option<VariableScope>,
        name: &str,
        value: Option<Value>,
    ) -> Result<()> {
        let definition = variables::define(name)?;
        let scope = scope.unwrap_or(VariableScope::Session);
        variables::check_settable(definition, scope)?;
        let global = scope == VariableScope::Global;
        if global {
            check_variables_admin(context)?;
        }
        let value = match value {
            Some(value) => {
                variables::check_type(definition, &value)?;
                value
            }
            // The session's default is the global value, the global one's is built in.
            None if global => Value::Text(definition.default.into()),
            None => self.database.globals().get(definition.name),
        };
        let value = match global {
            true => self.checked(definition, value, &self.database.globals())?,
            false => self.checked(definition, value, &self.variables)?,
        };
        if global {
            return self.set_global(definition.name, value);
        }
        if matches!(definition.name, "last_insert_id" | "identity") {
            let id = match &value {
                Value::Int(i) => u64::try_from(*i).unwrap_or(0),
                Value::UInt(u) => *u,
                _ => 0,
            };
            self.process.last_insert_id.store(id, Relaxed);
        }
        if matches!(definition.name, "transaction_isolation" | "transaction_read_only") {
            self.next_transaction = NextTransaction::default();
        }
        self.variables.put(definition.name, value.clone());
        match definition.name {
            "autocommit" => return self.autocommit_set(context),
            "sql_mode" => self.tell_modes(),
            _ => {}
        }
        match &value {
            Value::Text(text) => self.keep_charsets_together(definition.name, text),
            _ => Ok(()),
        }
    }

    /// Sets what a variable says of transactions for the next one only. `value`: `None` for DEFAULT.
    fn set_next_transaction(&mut self, name: &str, value: Option<Value>) -> Result<()> {
        self.check_characteristics_settable(None)?;
        let definition = variables::define(name)?;
        let value = value.unwrap_or_else(|| self.database.globals().get(definition.name));
        let mut variables = self.variables.clone();
        variables.put(definition.name, self.checked(definition, value, &self.variables)?);
        self.next_transaction.take_from(definition.name, &variables);
        Ok(())
    }

    /// Sets a global variable. `super_read_only` takes `read_only` with it, and goes with it. Error 1192: a session
    /// that has locked tables, or a transaction open, would stop itself.
    fn set_global(&mut self, name: &'static str, value: Value) -> Result<()> {
        let on = value == Value::Int(1);
        if matches!(name, "read_only" | "super_read_only") {
            if on && (self.transaction.has_begun() || self.transaction.has_locked_tables()) {
                return Err(locked_or_in_transaction());
            }
            match (name, on) {
                ("super_read_only", true) => self.database.set_global("read_only", Value::Int(1)),
                ("read_only", false) => self.database.set_global("super_read_only", Value::Int(0)),
                _ => {}
            }
        }
        self.database.set_global(name, value);
        Ok(())
    }
}

/// The value of an assignment whose expression has been evaluated; `None` for DEFAULT.
fn given_value(given: &SetValue, evaluated: Value) -> Option<Value> {
    match given {
        SetValue::Default => None,
        SetValue::Word(word) => Some(Value::Text(word.clone())),
        SetValue::Expr(_) => Some(evaluated),
    }
}

/// Error 1227.
pub(super) fn check_variables_admin(context: &StatementContext) -> Result<()> {
    let names = "SUPER or SYSTEM_VARIABLES_ADMIN";
    context.rights.check_global_or(Privilege::Super, "SYSTEM_VARIABLES_ADMIN", names)
}
