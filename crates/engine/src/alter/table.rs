//! The table as all clauses of a statement leave it.

use super::{
    algorithm::Algorithm,
    columns::{self, AlteredColumn},
    expressions,
    foreign_keys::{self, AlteredForeignKeys},
    keys,
};
use crate::{
    catalog::{TableEntry, TableExtras},
    charset,
    ddl::{check_table_name, create_table, expressions::check as check_expressions, keys::warn_of_duplicates},
    statement::StatementContext,
};
use muster_algebra::{CheckConstraint, ColumnDef, IndexDef, TableDef};
use muster_sql::{AlterAction, CharsetConversion};
use muster_storage::RowLayouts;
use muster_types::{Collation, ErrorCode, Result, SqlError, SqlType, Value, store::implicit_default};
use std::{collections::BTreeMap, sync::Arc};

pub struct AlteredTable {
    /// With the number and, unless it is renamed, the name of the table before.
    pub def: TableDef,
    pub extras: TableExtras,
    pub next_index_id: u32,
    /// For each column the position of the one before that has its values; `None`: it is new.
    pub sources: Vec<Option<usize>>,
    /// For each index the position of the one before that has its entries as long as the rows stay as they are.
    pub index_sources: Vec<Option<usize>>,
    /// Positions of columns, each with whether the order is descending.
    pub order: Vec<(usize, bool)>,
    /// `AUTO_INCREMENT = n`.
    pub auto_increment: Option<u64>,
    /// The algorithm that MySQL would take.
    pub algorithm: Algorithm,
    /// The layouts that rows may have if they stay as they are; `None`: they are copied.
    pub layouts: Option<Arc<RowLayouts>>,
    /// True if the statement asks for all trees anew.
    is_forced: bool,
    pub foreign_keys: AlteredForeignKeys,
}

/// What clauses say of the table itself.
struct Options {
    def: TableDef,
    kept: BTreeMap<String, String>,
    auto_increment: Option<u64>,
    /// `CONVERT TO CHARACTER SET`.
    converted: Option<Collation>,
    is_forced: bool,
}

impl AlteredTable {
    /// Errors: those of the clauses; the table stays as it is.
    pub fn new(context: &Arc<StatementContext>, entry: &TableEntry, actions: &[AlterAction]) -> Result<AlteredTable> {
        let Options { mut def, kept, auto_increment, converted, is_forced } = options(context, entry, actions)?;
        let mut altered = columns::altered(context, entry, actions, def.collation, converted)?;
        let keys = keys::altered(context, entry, actions, &mut altered)?;
        columns::refuse_missing(&entry.def, actions)?;
        let sources: Vec<Option<usize>> = altered.iter().map(|column| column.source).collect();
        let stamped = |(_, column): &(usize, &AlteredColumn)| column.on_update_now;
        let on_update_now = altered.iter().enumerate().filter(stamped).map(|(at, _)| at).collect();
        def.columns = altered.into_iter().map(|column| column.def).collect();
        crate::ddl::columns::check(&def.columns)?;
        def.indexes = keys.keys.indexes;
        crate::ddl::keys::check_auto_increment(&def.columns, &def.indexes)?;
        def.checks = expressions::altered(context, entry, actions, &def)?;
        expressions::refuse_dependents(&entry.def, &def)?;
        check_expressions(context, &def, false)?;
        let is_same = |index: &IndexDef, old: &IndexDef| old.id == index.id && old.parts.len() == index.parts.len();
        let is_new = |index: &IndexDef| !entry.def.indexes.iter().any(|old| is_same(index, old));
        warn_of_duplicates(context, &def, &is_new);
        let order = order(context, &def, actions)?;
        let foreign_keys = foreign_keys::altered(context, entry, actions, (&mut def, &sources))?;
        Ok(AlteredTable {
            extras: TableExtras {
                on_update_now,
                index_comments: keys.keys.comments,
                typed_indexes: keys.keys.typed,
                generated_indexes: keys.keys.generated,
                options: kept,
            },
            next_index_id: keys.keys.next_id,
            sources,
            index_sources: keys.sources,
            order,
            auto_increment,
            algorithm: Algorithm::Instant,
            layouts: None,
            is_forced,
            foreign_keys,
            def,
        })
    }

    /// Returns true if rows have to meet a CHECK that they had not to meet before.
    pub fn must_validate(&self, before: &TableDef) -> bool {
        let is_old = |check: &CheckConstraint| before.checks.iter().any(|old| old.enforced && old.expr == check.expr);
        self.def.checks.iter().any(|check| check.enforced && !is_old(check))
    }

    /// Returns true if a new column has the zero date in rows that are there.
    pub fn adds_zero_date(&self) -> bool {
        let is_date = |ty| matches!(ty, SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. });
        let is_zero = |column: &ColumnDef| !column.nullable && column.default.is_none() && column.generated.is_none();
        let columns = self.sources.iter().zip(&self.def.columns);
        columns.filter(|(source, _)| source.is_none()).any(|(_, column)| is_date(column.ty) && is_zero(column))
    }

    /// Returns true if the statement asks for other trees, or rows are to be in another order, whatever becomes of the
    /// columns.
    pub fn must_copy(&self) -> bool {
        self.is_forced || !self.order.is_empty() || self.index_sources.first() != Some(&Some(0))
    }
}

fn options(context: &StatementContext, entry: &TableEntry, actions: &[AlterAction]) -> Result<Options> {
    let mut options = Options {
        def: TableDef::clone(&entry.def),
        kept: entry.extras.options.clone(),
        auto_increment: None,
        converted: None,
        is_forced: false,
    };
    for action in actions {
        match action {
            AlterAction::Rename(to) => {
                let (database, name) = context.qualify(to)?;
                check_table_name(&name)?;
                (options.def.database, options.def.name) = (database, name);
            }
            AlterAction::Options(given) => {
                create_table::check_options(context, given, &entry.def.name)?;
                if let Some(comment) = &given.comment {
                    options.def.comment.clone_from(comment);
                }
                context.warn_of_charset(given.charset.as_deref(), given.collation.as_deref());
                let collation = charset::resolve(given.charset.as_deref(), given.collation.as_deref())?;
                options.def.collation = collation.unwrap_or(options.def.collation);
                options.auto_increment = given.auto_increment.or(options.auto_increment);
                let kept = create_table::kept_options(&options.kept, given);
                options.is_forced |= given.engine.is_some() || kept.get("ROW_FORMAT") != options.kept.get("ROW_FORMAT");
                options.kept = kept;
            }
            AlterAction::ConvertTo(conversion) => {
                let collation = conversion_of(context, entry, conversion)?;
                (options.converted, options.def.collation) = (Some(collation), collation);
            }
            AlterAction::Force => options.is_forced = true,
            _ => {}
        }
    }
    Ok(options)
}

/// The collation that `CONVERT TO` gives all texts.
fn conversion_of(context: &StatementContext, entry: &TableEntry, to: &CharsetConversion) -> Result<Collation> {
    let database = || Ok::<_, SqlError>(context.tables.definitions().schema(&entry.def.database)?.collation);
    context.warn_of_charset(to.charset.as_deref(), to.collation.as_deref());
    match charset::resolve(to.charset.as_deref(), to.collation.as_deref())? {
        Some(collation) => Ok(collation),
        None => database(),
    }
}

/// ORDER BY. Warning 1105 where the primary key is the order. Error 1054.
fn order(context: &StatementContext, def: &TableDef, actions: &[AlterAction]) -> Result<Vec<(usize, bool)>> {
    let mut order = Vec::new();
    let keys = actions.iter().filter_map(|action| match action {
        AlterAction::OrderBy(keys) => Some(keys),
        _ => None,
    });
    for (name, descending) in keys.flatten() {
        if def.has_primary_key() {
            let message =
                format!("ORDER BY ignored as there is a user-defined clustered index in the table '{}'", def.name);
            context.warn(ErrorCode::Unknown, message);
            return Ok(Vec::new());
        }
        let at = def.column(name).ok_or_else(|| SqlError::unknown_column(name, "order clause"))?;
        order.push((at, *descending));
    }
    Ok(order)
}

/// The value that rows which are there get for a new column without a default.
pub fn value_of_new(column: &ColumnDef) -> Value {
    match column.nullable {
        true => Value::Null,
        false => implicit_default(column.ty).unwrap_or(Value::Null),
    }
}
