//! SHOW VARIABLES.

use crate::{
    statement::StatementContext,
    variables::definitions::{DEFINITIONS, Definition, Scope},
};
use muster_types::Value;

/// Names and values, sorted by name.
pub fn shown(context: &StatementContext, global: bool) -> Vec<(String, String)> {
    let globals = context.database.globals();
    let shown = |d: &'static Definition| {
        let value = if global || d.scope == Scope::Global {
            globals.shown(d)
        } else {
            match context.system_variable(None, d.name) {
                Ok(Value::Double(x)) => format!("{x:.6}"),
                Ok(Value::Int(_)) | Err(_) => context.session.variables.shown(d),
                Ok(value) => value.to_text(6).unwrap_or_default(),
            }
        };
        (d.name.to_owned(), value)
    };
    let wanted = |d: &&'static Definition| !global || d.scope != Scope::Session;
    DEFINITIONS.iter().filter(wanted).map(shown).collect()
}
