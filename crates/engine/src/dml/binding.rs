//! Names and types of a statement that changes rows, with the locks of its tables and its privileges.

use crate::{
    accounts::Privilege,
    metadata_locks::TableUse,
    statement::{BindEnvironment, StatementContext, StatementTables},
};
use muster_sql::{
    BindEnv,
    bind::{self, Beneath, ChangeTarget, Surroundings},
};
use muster_types::{Result, SqlError, Value};
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

/// Checks the privileges of a statement: those on its targets by the names that it gives them, SELECT on all other
/// tables, then those on columns. Errors 1142 and 1143, 1356 for what views lead to.
pub fn check_privileges(
    context: &StatementContext,
    surroundings: &Surroundings,
    targets: &[&bind::ChangeTarget],
    needed: &[(Privilege, &str)],
) -> Result<()> {
    for (database, name) in &surroundings.tables {
        let pair = (database.clone(), name.clone());
        let is_target = targets.iter().any(|t| t.named == pair);
        let needed = if is_target { needed } else { &[] };
        for (privilege, command) in needed {
            context.check_some_column(database, name, *privilege, command)?;
        }
        // A temporary table that is being filled is not read: its name is another table's then.
        let is_read = !is_target || surroundings.tables_again.contains(&pair);
        if is_read && !context.tables.is_temporary(database, name) {
            context.rights.check_some_column(database, name, Privilege::Select, "SELECT")?;
        }
    }
    for target in targets {
        check_beneath(context, target, needed)?;
    }
    surroundings.denied.clone().map_or(Ok(()), Err)
}

/// Checks the privileges on the tables through which a view leads to a target. Error 1356.
fn check_beneath(context: &StatementContext, target: &ChangeTarget, needed: &[(Privilege, &str)]) -> Result<()> {
    for Beneath { database, name, definer } in &target.beneath {
        let of_definer = definer.as_ref().map(|definer| context.rights.of_definer(definer)).transpose()?;
        let rights = of_definer.as_ref().unwrap_or(&context.rights);
        let written = needed.iter().filter(|(privilege, _)| *privilege != Privilege::Select);
        for (privilege, command) in written {
            if rights.check_some_column(database, name, *privilege, command).is_err() {
                return Err(SqlError::view_invalid(&target.named.0, &target.named.1));
            }
        }
    }
    Ok(())
}
