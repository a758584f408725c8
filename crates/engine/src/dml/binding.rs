//! Names and types of a statement that changes rows, with the locks of its tables and its privileges.

use crate::{
    accounts::Privilege,
    metadata_locks::TableUse,
    statement::{BindEnvironment, StatementContext, StatementTables},
};
use muster_sql::{
    BindEnv,
    bind::{self, Surroundings},
};
use muster_types::{Result, Value};
use std::sync::Arc;

/// A statement whose names are known, on tables that stay as they are until its transaction ends.
pub struct Binding<B> {
    pub bound: B,
    pub tables: Arc<StatementTables>,
}

/// Binds a statement and locks its tables: those that `targets` names to be written, the others to be read. Once more
/// if one of them has changed before it was locked.
pub fn bind<B>(
    context: &Arc<StatementContext>,
    parameters: &[Value],
    bind: impl Fn(&BindEnv) -> Result<B>,
    targets: impl Fn(&B) -> Vec<&bind::ChangeTarget>,
) -> Result<Binding<B>> {
    loop {
        let (bound, tables) = StatementTables::resolve(context, StatementTables::to_change, |tables| {
            bind(&BindEnvironment::new(context).with(tables, parameters.into()))
        })?;
        for target in targets(&bound) {
            context.lock_table(target.table.id, &target.table.name, TableUse::Write)?;
        }
        tables.lock_families(targets(&bound).iter().map(|target| target.table.id))?;
        // Whoever has waited to write, or has just not had to, may have bound a table that is another one by now.
        if tables.lock_to_read()? && tables.are_current() {
            return Ok(Binding { bound, tables });
        }
    }
}

/// Checks the privileges of a statement: those on its targets by the names that it gives them, and SELECT on all other
/// tables. Errors 1142.
pub fn check_privileges(
    context: &StatementContext,
    surroundings: &Surroundings,
    targets: &[&bind::ChangeTarget],
    needed: &[(Privilege, &str)],
) -> Result<()> {
    for (database, name) in &surroundings.tables {
        let is_target = targets.iter().any(|t| t.named == (database.clone(), name.clone()));
        let needed = if is_target { needed } else { &[(Privilege::Select, "SELECT")] };
        for (privilege, command) in needed {
            context.check_table(database, name, *privilege, command)?;
        }
    }
    Ok(())
}
