//! One table of FROM: stored, computed, a view, a WITH table, or a query in parentheses.

use super::{
    binder::{Binder, BoundQuery, TableRead},
    dml::{RelationSource, base_tables},
    from::{Joined, NamedColumn, name_parts},
    json_table::JsonTableCall,
    numbering::BegunExpression,
    scope::{Cte, FromClause, Names, Relation, Scope},
    select::bare_name,
};
use crate::Statement;
use muster_algebra::{
    BlockPlace, ColId, ColumnMeta, ColumnOrigin, Expr, IndexHint, IndexHintKind, IndexHintScope, Rel, ScalarFunction,
    TableDef, ViewDef, Visibility,
};
use muster_types::{ErrorCode, Result, SqlError, SqlModes, SqlType, TextKind, Value, time_zone::TimeZone};
use sqlparser::ast::{self, TableFactor, TableIndexHintForClause, TableIndexHintType};
use std::sync::Arc;

/// How deep views may use views.
const MAX_VIEW_DEPTH: usize = 32;
/// How deep WITH tables may use WITH tables.
const MAX_CTE_DEPTH: usize = 150;

impl Binder<'_> {
    pub fn single_table(&mut self, factor: &TableFactor, names: &Names) -> Result<Joined> {
        match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                with_hints,
                version: None,
                with_ordinality: false,
                partitions,
                json_path: None,
                sample: None,
                index_hints,
            } if with_hints.is_empty() => {
                if !partitions.is_empty() {
                    return Err(SqlError::unsupported("PARTITION"));
                }
                let joined = self.named_table(name, alias.as_ref(), index_hints, names)?;
                self.note_reference(&joined)?;
                Ok(joined)
            }
            // A lateral one here has nothing to its left but what is beside brackets.
            TableFactor::Derived { lateral, subquery, alias, sample: None } => {
                let Some(alias) = alias else {
                    return Err(SqlError::new(
                        ErrorCode::DerivedMustHaveAlias,
                        "Every derived table must have its own alias",
                    ));
                };
                self.count_table()?;
                let reads = self.reads.len();
                let begun = self.begin_derived(&alias.name.value, None);
                let nothing = FromClause::default();
                let around = Scope::within(&nothing, names.seen_by_lateral());
                let inside = names.inside(if *lateral { Some(&around) } else { names.outer });
                let bound = self.query(subquery, &inside, false)?;
                self.end_derived(begun, &bound.rel, &alias.name.value);
                self.shelter(reads, &bound.rel, &alias.name.value);
                self.derived(bound, &alias.name.value, column_names(alias)?)
            }
            TableFactor::NestedJoin { .. } => Err(SqlError::syntax("", 1)),
            _ => match JsonTableCall::of(factor) {
                Some(call) => {
                    let nothing = FromClause::default();
                    let around = Scope::within(&nothing, names.seen_by_lateral());
                    self.json_table(call, &around, &names.inside(Some(&around)))
                }
                None => Err(SqlError::unsupported("this kind of table reference")),
            },
        }
    }

    pub fn named_table(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&ast::TableAlias>,
        hints: &[ast::TableIndexHints],
        names: &Names,
    ) -> Result<Joined> {
        self.count_table()?;
        let (database, table) = name_parts(name)?;
        let alias_name = alias.map_or(Ok(table), |a| bare_name(&a.name))?;
        if alias.is_some_and(|a| !a.columns.is_empty()) {
            return Err(SqlError::syntax(alias_name, 1));
        }
        if database.is_none()
            && let Some(working) = names.working(table)
        {
            let bound = self.working_rows(working)?;
            return self.derived(bound, alias_name, Vec::new());
        }
        if database.is_none()
            && let Some(cte) = names.cte(table)
        {
            let start = name.0.first().and_then(|part| part.as_ident()).map(|ident| ident.span.start);
            return self.cte(&cte, alias_name, start.map(|at| (at.line, at.column)), names);
        }
        let Some(database) = database.or(names.database) else {
            return Err(SqlError::no_database_selected());
        };
        if let Some(def) = self.table_def(database, table, names)? {
            self.mention(&def.database, &def.name, names);
            let joined = self.base_table(def.clone(), alias_name, hints)?;
            // A temporary table is its session's, whatever the rights on a stored one of its name.
            if !def.id.is_temporary() {
                self.guard_columns(&def.database, &def.name, &joined.from, names)?;
            }
            self.note_table(alias_name, Some(def), &joined);
            return Ok(joined);
        }
        if let Some(view) = self.env.catalog.view(database, table, names.definer)? {
            self.mention(&view.database, &view.name, names);
            refuse_index_hints(hints, &view.name)?;
            let joined = self.view(&view, alias_name, names)?;
            self.guard_columns(&view.database, &view.name, &joined.from, names)?;
            return Ok(joined);
        }
        self.env.catalog.check_database(database)?;
        Err(SqlError::no_such_table(database, table))
    }

    /// Notes a reference in a statement to the table that was bound last, if it is one. Error 1137.
    pub(super) fn note_reference(&self, joined: &Joined) -> Result<()> {
        let is_table = matches!(joined.from.relations[0].source, RelationSource::Table);
        match self.reads.last().filter(|_| is_table) {
            Some(read) => self.env.catalog.note_reference(read.table, &read.alias),
            None => Ok(()),
        }
    }

    /// The table of a name, as it is seen where the name stands; `None` if there is none.
    pub(super) fn table_def(&self, database: &str, table: &str, names: &Names) -> Result<Option<Arc<TableDef>>> {
        match names.view_depth {
            0 => self.env.catalog.table(database, table, names.definer),
            _ => self.env.catalog.table_of_view(database, table, names.definer),
        }
    }

    /// Remembers a table for the check of privileges; what a view uses is not the user's to be asked for.
    fn mention(&mut self, database: &str, name: &str, names: &Names) {
        let pair = (database.to_string(), name.to_string());
        self.first_table_again |= self.tables.first() == Some(&pair);
        if names.view_depth > 0 {
            return;
        }
        let list = if self.tables.contains(&pair) { &mut self.tables_again } else { &mut self.tables };
        list.push(pair);
    }

    pub(super) fn base_table(
        &mut self,
        table: Arc<TableDef>,
        alias: &str,
        hints: &[ast::TableIndexHints],
    ) -> Result<Joined> {
        refuse_mixed_hints(hints)?;
        let hints = hints.iter().map(|h| index_hint(&table, alias, h)).collect::<Result<Vec<_>>>()?;
        let mut columns = Vec::with_capacity(table.columns.len());
        for (i, c) in table.columns.iter().enumerate() {
            let origin = ColumnOrigin {
                database: table.database.clone(),
                table: table.name.clone(),
                alias: alias.to_string(),
                column: match &c.generated {
                    // It has no name that is shown.
                    Some(generated) if c.is_hidden() => generated.expr.replace('`', ""),
                    _ => c.name.clone(),
                },
            };
            let decimals = c.digits.map(|d| d.scale);
            let meta =
                ColumnMeta { name: c.name.clone(), ty: c.ty, nullable: c.nullable, origin: Some(origin), decimals };
            let id = self.columns.add(meta);
            // M of FLOAT(M,D).
            self.columns.set_length(id, c.digits.map(|digits| digits.precision.into()));
            columns.push((id, i));
        }
        let stored = columns.clone();
        let read = self.columns_as_read(&mut columns);
        self.dependencies.add_table(&table, &columns);
        // What holds the values of a part of a functional index has no name.
        let named_columns = columns.iter().filter(|(_, i)| !table.columns[*i].is_hidden());
        let named: Vec<NamedColumn> = named_columns.map(|(id, i)| (table.columns[*i].name.clone(), *id)).collect();
        let (database, source) = (Some(table.database.clone()), RelationSource::Table);
        let relation = Relation { database, alias: alias.to_string(), source };
        self.reads.push(TableRead { table: table.id, alias: alias.to_string(), view: None, is_sheltered: false });
        let mut from = FromClause::single(relation, named);
        for (column, def) in from.columns.iter_mut().zip(table.columns.iter().filter(|c| !c.is_hidden())) {
            column.invisible = def.visibility == Visibility::Invisible;
        }
        if table.columns.iter().any(|c| c.generated.is_some()) {
            self.note_generated(&table, &from, &columns);
        }
        let rel = Rel::Get { table, alias: alias.to_string(), columns: stored, hints };
        let rel = match read {
            Some(exprs) => Rel::Project { input: Box::new(rel), exprs },
            None => rel,
        };
        Ok(Joined { rel, from })
    }

    /// TIMESTAMP columns hold UTC; the statement reads them in the session's zone. With PAD_CHAR_TO_FULL_LENGTH it
    /// reads CHAR columns with the spaces that are not stored. Puts the columns that are read in the places of the
    /// stored ones and returns the projection that makes them; `None` when there is nothing to convert.
    fn columns_as_read(&mut self, columns: &mut [(ColId, usize)]) -> Option<Vec<(ColId, Expr)>> {
        let zone = Some(self.env.session.time_zone()).filter(|zone| zone.fixed_seconds() != Some(0));
        let pads = self.env.session.sql_modes().has(SqlModes::PAD_CHAR_TO_FULL_LENGTH);
        if zone.is_none() && !pads {
            return None;
        }
        let mut converted = false;
        let exprs = columns
            .iter_mut()
            .map(|(id, _)| {
                let stored = Expr::Column(*id);
                let meta = self.columns.get(*id).clone();
                let ty = meta.ty;
                let (function, args) = match (ty, zone) {
                    (SqlType::Timestamp { .. }, Some(zone)) => {
                        let name = |zone: TimeZone| self.given(Value::Text(zone.to_string())).expr;
                        (ScalarFunction::ConvertTz, vec![stored, name(TimeZone::UTC), name(zone)])
                    }
                    (SqlType::Text { kind: TextKind::Char, length, collation }, _) if pads => {
                        let (length, space) = (Value::Int(i64::from(length)), Value::Text(" ".into()));
                        let space = Expr::literal(space, SqlType::varchar(1, collation));
                        (ScalarFunction::RPad, vec![stored, Expr::literal(length, SqlType::BIGINT), space])
                    }
                    _ => return (*id, stored),
                };
                converted = true;
                let read = self.columns.add(meta);
                self.stored_columns.insert(read, *id);
                *id = read;
                (*id, Expr::Call { function, args, ty })
            })
            .collect();
        converted.then_some(exprs)
    }

    /// `used_at`: line and column of the name.
    fn cte(&mut self, cte: &Cte, alias: &str, used_at: Option<(u64, u64)>, names: &Names) -> Result<Joined> {
        if names.cte_depth >= MAX_CTE_DEPTH {
            return Err(SqlError::new(
                ErrorCode::TooHighLevelOfNesting,
                format!("Too high level of nesting: more than {MAX_CTE_DEPTH} WITH tables that use each other"),
            ));
        }
        let inside = Names { ctes: cte.before.clone(), cte_depth: names.cte_depth + 1, ..names.inside(cte.outer) };
        let reads = self.reads.len();
        let begun = self.begin_derived(alias, used_at);
        let bound = match cte.is_recursive {
            true => self.recursive(cte, &inside)?,
            false => self.query(&cte.ast.query, &inside, false)?,
        };
        self.end_derived(begun, &bound.rel, alias);
        self.shelter(reads, &bound.rel, alias);
        self.derived(bound, alias, column_names(&cte.ast.alias)?)
    }

    /// A view is bound from its text, with the names its definer saw.
    fn view(&mut self, view: &ViewDef, alias: &str, names: &Names) -> Result<Joined> {
        let invalid = || SqlError::view_invalid(&view.database, &view.name);
        if names.view_depth >= MAX_VIEW_DEPTH {
            return Err(SqlError::new(ErrorCode::TooHighLevelOfNesting, "Too high level of nesting for view"));
        }
        let Statement::Query(query) = crate::parse(&view.query)? else { return Err(invalid()) };
        let inside = Names {
            database: view.current_database.as_deref(),
            definer: view.definer.as_ref().or(names.definer),
            ctes: None,
            working: None,
            outer: None,
            beside: None,
            written: &query.items,
            assigns: false,
            view_depth: names.view_depth + 1,
            cte_depth: names.cte_depth,
        };
        let (reads, outside) = (self.reads.len(), std::mem::take(&mut self.view_checks));
        let denied_outside = self.column_rights.set_aside();
        let begun = self.begin_derived(alias, None);
        let bound = self.query(&query.ast, &inside, false).map_err(|e| match e.code {
            ErrorCode::NoSuchTable
            | ErrorCode::BadField
            | ErrorCode::BadDb
            | ErrorCode::FunctionDoesNotExist
            | ErrorCode::TableAccessDenied
            | ErrorCode::ColumnAccessDenied => invalid(),
            _ => e,
        })?;
        let outputs: Vec<ColId> = bound.outputs.iter().map(|output| output.id).collect();
        let is_merged = is_merged(&bound.rel) && !self.is_kept_apart(alias);
        if !self.column_rights.leave_view(denied_outside, &outputs, is_merged, &invalid()) {
            return Err(invalid());
        }
        self.end_derived(begun, &bound.rel, alias);
        let reads_again = self.reads_again(reads, &bound.rel);
        self.shelter(reads, &bound.rel, alias);
        self.reads[reads..].iter_mut().for_each(|read| read.view = Some(alias.to_string()));
        let mut joined = self.derived(bound, alias, view.columns.clone())?;
        for (id, name) in joined.from.columns.iter().map(|column| (column.id, &column.name)) {
            let shown = ColumnOrigin {
                database: view.database.clone(),
                table: view.name.clone(),
                alias: alias.to_owned(),
                column: name.clone(),
            };
            self.columns.set_shown_origin(id, shown);
        }
        let inner = std::mem::replace(&mut self.view_checks, outside);
        let has_condition = matches!(&*query.ast.body, ast::SetExpr::Select(s) if s.selection.is_some());
        let source = self.view_source(view, &joined, inner, (has_condition, reads_again));
        let relation = &mut joined.from.relations[0];
        (relation.database, relation.source) = (Some(view.database.clone()), RelationSource::View(source));
        Ok(joined)
    }

    fn begin_derived(&mut self, alias: &str, used_at: Option<(u64, u64)>) -> BegunExpression {
        self.begin_expression(BlockPlace::Derived(alias.to_string()), used_at)
    }

    fn end_derived(&mut self, begun: BegunExpression, rel: &Rel, alias: &str) {
        self.expressions.end(begun);
        if is_merged(rel) && !self.is_kept_apart(alias) {
            self.expressions.merge(begun);
        }
    }

    /// Returns true if a subquery, bound since there were `reads` tables that are read, reads a table of the relation
    /// again.
    fn reads_again(&self, reads: usize, rel: &Rel) -> bool {
        let reads = &self.reads[reads..];
        let tables = base_tables(rel, false);
        tables.iter().any(|base| {
            let own = tables.iter().filter(|other| other.table.id == base.table.id).count();
            reads.iter().filter(|read| read.table == base.table.id && !read.is_sheltered).count() > own
        })
    }

    /// Notes that the tables read since there were `reads` of them are read before the statement changes any row, if
    /// the derived table that they are in is not merged into the query around it.
    fn shelter(&mut self, reads: usize, rel: &Rel, alias: &str) {
        if !is_merged(rel) || self.is_kept_apart(alias) {
            self.reads[reads..].iter_mut().for_each(|read| read.is_sheltered = true);
        }
    }

    /// A query under a name, noted for hints; one that is not to be merged gets columns of its own.
    pub(super) fn derived(&mut self, mut bound: BoundQuery, alias: &str, given: Vec<String>) -> Result<Joined> {
        if self.is_kept_apart(alias) {
            let mut exprs = Vec::with_capacity(bound.outputs.len());
            for output in &mut bound.outputs {
                let source = output.id;
                output.id = self.new_column(&output.name, &Expr::Column(source), self.columns.ty(source));
                self.columns_origin(output.id, source);
                self.columns.set_decimals(output.id, self.columns.get(source).decimals);
                self.columns.set_length(output.id, self.columns.length(source));
                self.columns.set_shape(output.id, self.columns.shape(source));
                self.dependencies.add(vec![source], vec![output.id]);
                self.dependencies.add(vec![output.id], vec![source]);
                exprs.push((output.id, Expr::Column(source)));
            }
            bound.rel = Rel::Project { input: Box::new(bound.rel), exprs };
        }
        // A query without tables is not merged in MySQL.
        let stored = !is_merged(&bound.rel) || !has_table(&bound.rel);
        let is_apart = stored || self.is_kept_apart(alias);
        let joined = derived(bound, alias, given)?;
        if is_apart {
            self.kept_apart_columns.extend(joined.from.columns.iter().map(|column| column.id));
        }
        let columns: Vec<_> = joined.from.columns.iter().map(|column| (column.id, column.name.clone())).collect();
        self.set_derived(&columns, alias, stored);
        self.note_table(alias, None, &joined);
        Ok(joined)
    }
}

fn has_table(rel: &Rel) -> bool {
    matches!(rel, Rel::Get { .. } | Rel::Working { .. }) || rel.inputs().into_iter().any(has_table)
}

/// A query under a name. `given`: names of its columns, if they were written. Errors: 1353 for another number of them,
/// 1060 for a name twice.
fn derived(bound: BoundQuery, alias: &str, given: Vec<String>) -> Result<Joined> {
    if !given.is_empty() && given.len() != bound.outputs.len() {
        return Err(SqlError::new(
            ErrorCode::ViewWrongList,
            "In definition of view, derived table or common table expression, SELECT list and column names list have \
             different column counts",
        ));
    }
    let mut columns: Vec<NamedColumn> = Vec::with_capacity(bound.outputs.len());
    for (i, output) in bound.outputs.into_iter().enumerate() {
        let name = given.get(i).cloned().unwrap_or(output.name);
        if columns.iter().any(|(n, _)| n.eq_ignore_ascii_case(&name)) {
            return Err(SqlError::duplicate_column(&name));
        }
        columns.push((name, output.id));
    }
    let relation = Relation::derived(alias);
    Ok(Joined { rel: bound.rel, from: FromClause::single(relation, columns) })
}

/// Returns true if a derived table of these rows becomes part of the query around it.
fn is_merged(rel: &Rel) -> bool {
    match rel {
        Rel::Get { .. } | Rel::Values { .. } => true,
        Rel::Filter { .. } | Rel::Project { .. } | Rel::Join { .. } => rel.inputs().into_iter().all(is_merged),
        _ => false,
    }
}

pub(super) fn column_names(alias: &ast::TableAlias) -> Result<Vec<String>> {
    if alias.columns.iter().any(|c| c.data_type.is_some()) || alias.at.is_some() {
        return Err(SqlError::syntax(&alias.name.value, 1));
    }
    Ok(alias.columns.iter().map(|c| c.name.value.clone()).collect())
}

fn no_such_index(index: &str, table: &str) -> SqlError {
    SqlError::new(ErrorCode::KeyDoesNotExist, format!("Key '{index}' doesn't exist in table '{table}'"))
}

/// Error 1176 for hints of a view, which has no indexes; for `USE INDEX ()` with MySQL's name of no index.
fn refuse_index_hints(hints: &[ast::TableIndexHints], view: &str) -> Result<()> {
    match hints.first() {
        Some(hint) => Err(no_such_index(hint.index_names.first().map_or("(null)", |index| &index.value), view)),
        None => Ok(()),
    }
}

/// Error 1221 for USE INDEX beside FORCE INDEX.
fn refuse_mixed_hints(hints: &[ast::TableIndexHints]) -> Result<()> {
    let has = |kind: TableIndexHintType| hints.iter().any(|hint| hint.hint_type == kind);
    match has(TableIndexHintType::Use) && has(TableIndexHintType::Force) {
        true => Err(SqlError::new(ErrorCode::WrongUsage, "Incorrect usage of USE INDEX and FORCE INDEX")),
        false => Ok(()),
    }
}

/// Error 1176 for an index that the table does not have, which shows its alias.
fn index_hint(table: &TableDef, alias: &str, hint: &ast::TableIndexHints) -> Result<IndexHint> {
    let kind = match hint.hint_type {
        TableIndexHintType::Use => IndexHintKind::Use,
        TableIndexHintType::Force => IndexHintKind::Force,
        TableIndexHintType::Ignore => IndexHintKind::Ignore,
    };
    let scope = match hint.for_clause {
        None => IndexHintScope::All,
        Some(TableIndexHintForClause::Join) => IndexHintScope::Join,
        Some(TableIndexHintForClause::OrderBy) => IndexHintScope::OrderBy,
        Some(TableIndexHintForClause::GroupBy) => IndexHintScope::GroupBy,
    };
    if hint.index_names.is_empty() && kind != IndexHintKind::Use {
        return Err(SqlError::syntax(")", 1));
    }
    let find = |name: &ast::Ident| {
        let is_known = |i: &usize| (*i > 0 || table.has_primary_key()) && !table.indexes[*i].invisible;
        let position = table.index(&name.value).filter(is_known);
        position.ok_or_else(|| no_such_index(&name.value, alias))
    };
    let indexes = hint.index_names.iter().map(find).collect::<Result<Vec<_>>>()?;
    Ok(IndexHint { kind, scope, indexes })
}
