//! INSERT and REPLACE.

use super::{
    Assignment, BoundInsert, ChangeTarget, NewRows, NewValue, OnDuplicateUpdate, RelationSource, RowSource,
    Surroundings,
    replace::replace_columns,
    search::target_is_read,
    target::{base_tables, computed_columns, refuse_virtual, replaced},
    update::not_updatable_column,
};
use crate::{
    Insert, InsertRows, InsertSource, Query, TableName,
    bind::{
        BindEnv,
        binder::{Binder, BoundQuery},
        from::Joined,
        query::is_single_block,
        scope::{Clause, FromClause, Names, Relation, Scope},
    },
};
use muster_algebra::{ColId, ColumnUse, Expr, Rel, TableDef};
use muster_types::{ErrorCode, Result, SqlError, SqlType};
use sqlparser::ast;
use std::collections::{HashMap, HashSet};

/// The table that an INSERT names, bound once: the columns of one row.
struct Destination {
    from: FromClause,
    target: ChangeTarget,
    /// What other columns of the view or table are computed from.
    computed: HashMap<ColId, Expr>,
}

/// The subqueries of values, each under the column that stands for it in the value.
#[derive(Default)]
struct Subqueries {
    /// Those that look at no row of the statement's.
    constants: Vec<(ColId, Expr)>,
    dependent: Vec<(ColId, Expr)>,
}

/// Looks up all names of an INSERT or REPLACE. Errors: 1054, 1093, 1110 for a column given twice, 1136 for another
/// number of values, 1348, 1393, 1394 and 1471 for views that cannot be written so.
pub fn bind_insert(insert: &Insert, env: &BindEnv) -> Result<BoundInsert> {
    let mut binder = Binder::new(env);
    binder.changes_strictly = !insert.ignore && env.session.sql_modes().is_strict();
    let database = env.session.database();
    let names = Names::of_statement(database.as_deref(), &insert.written.items).assigning(insert.written.assigns);
    binder.field_variables = insert.written.field_variables.clone();
    binder.fields_are_bytes = insert.written.fields_are_bytes;
    let (mut row, given) = binder.destination(insert, &names)?;
    row.target.rules = binder.row_rules(&row.target.table, &row.target.columns)?;
    let mut subqueries = Subqueries::default();
    let mut query = None;
    let mut source = RowSource::Rows(NewRows::default());
    let before = binder.reads.len();
    match &insert.source {
        InsertSource::Rows(rows) => {
            source = RowSource::Rows(binder.new_rows(rows, &row, &given, &names, &mut subqueries)?);
        }
        InsertSource::Query(select) => {
            let types: Vec<_> = given.iter().map(|i| row.target.table.columns[*i].ty).collect();
            query = Some(binder.source_query(select, &types, database.as_deref())?);
        }
    }
    let mut on_duplicate = match insert.on_duplicate.is_empty() {
        true => None,
        false => Some(binder.on_duplicate(insert, &row, &given, &names, &mut subqueries)?),
    };
    if query.is_none() {
        binder.refuse_reading_destination(before, &row.target)?;
    }
    if let (Some(update), Some(query)) = (&mut on_duplicate, &mut query) {
        binder.deliver_mentioned(update, &subqueries.dependent, &mut query.rel)?;
    }
    let Subqueries { constants, dependent } = subqueries;
    let constants = (!constants.is_empty()).then(|| Rel::Project { input: Box::new(Rel::dual()), exprs: constants });
    let outputs = |q: &BoundQuery| q.outputs.iter().map(|o| (o.id, o.name.clone())).collect();
    let (rel, outputs) = query.map_or((Rel::dual(), Vec::new()), |q| (q.rel.clone(), outputs(&q)));
    let denied = binder.column_rights.take_error();
    let tables_again = std::mem::take(&mut binder.tables_again);
    let bound = binder.into_bound(rel, outputs)?;
    let surroundings = Surroundings {
        denied,
        columns: bound.columns.clone(),
        tables: bound.tables.clone(),
        tables_again,
        warnings: bound.warnings.iter().chain(&bound.notes).cloned().collect(),
        hints: bound.hints.clone(),
        constants,
        dependent,
    };
    if let InsertSource::Query(_) = insert.source {
        source = RowSource::Query(Box::new(bound));
    }
    refuse_generated(&row.target.table, &given, &source)?;
    let (replace, ignore) = (insert.replace, insert.ignore);
    Ok(BoundInsert { target: row.target, replace, ignore, given, source, on_duplicate, surroundings })
}

impl Binder<'_> {
    /// Errors 1093 and 1443 if a subquery of rows of VALUES reads the table that they come into under its own name, or
    /// through a view. Under another name it may (MySQL: `unique_table`).
    fn refuse_reading_destination(&self, before: usize, target: &ChangeTarget) -> Result<()> {
        let of_view = target.named.1 != target.table.name;
        for read in self.reads[before..].iter().filter(|read| read.table == target.table.id) {
            let prevented = |view: &str| {
                let message =
                    format!("The definition of table '{view}' prevents operation INSERT on table '{}'.", target.alias);
                Err(SqlError::new(ErrorCode::ViewPreventUpdate, message))
            };
            match &read.view {
                Some(_) if of_view => return Err(target_is_read(target)),
                Some(view) => return prevented(view),
                None if read.alias != target.table.name => {}
                None if of_view => return prevented(&target.alias),
                None => return Err(target_is_read(target)),
            }
        }
        Ok(())
    }

    /// The table, and the positions of the columns that values are given for.
    fn destination(&mut self, insert: &Insert, names: &Names) -> Result<(Destination, Vec<usize>)> {
        let joined = self.named_table(&object_name(&insert.table), None, &[], names)?;
        self.note_reference(&joined)?;
        let relation = &joined.from.relations[0];
        let width = match &insert.source {
            InsertSource::Rows(rows) => Some(rows.width),
            InsertSource::Query(_) => None,
        };
        let columns = match &insert.columns {
            Some(columns) => self.listed_columns(columns, &joined)?,
            None if width == Some(0) => Vec::new(),
            None => {
                if let RelationSource::View(view) = &relation.source
                    && view.table_count() > 1
                {
                    let message =
                        format!("Can not insert into join view '{}.{}' without fields list", view.database, view.name);
                    return Err(SqlError::new(ErrorCode::ViewNoInsertFieldList, message));
                }
                let shown = joined.from.columns.iter().filter(|c| !c.invisible);
                shown.map(|c| (c.id, c.name.clone())).collect()
            }
        };
        match &insert.columns {
            Some(listed) if !listed.is_empty() => {
                columns.iter().for_each(|(id, _)| self.use_column(*id, ColumnUse::Insert));
            }
            _ => self.use_unnamed(joined.from.columns.iter().map(|column| &column.id), ColumnUse::Insert),
        }
        let shown: Vec<ColId> = joined.from.columns.iter().map(|column| self.stored_column(column.id)).collect();
        let mut destination = self.destination_table(joined, &columns)?;
        let target = &mut destination.target;
        let number = target.table.columns.iter().position(|column| column.auto_increment);
        target.hides_number = number.is_some_and(|at| !shown.contains(&target.columns[at]));
        let mut given = Vec::with_capacity(columns.len());
        for (id, name) in columns {
            let stored = self.stored_column(id);
            let Some(position) = destination.target.columns.iter().position(|c| *c == stored) else {
                return Err(not_updatable_column(&[name]));
            };
            if given.contains(&position) {
                let message = format!("Column '{name}' specified twice");
                return Err(SqlError::new(ErrorCode::FieldSpecifiedTwice, message));
            }
            given.push(position);
        }
        match &insert.source {
            InsertSource::Rows(rows) if rows.width != given.len() => Err(SqlError::wrong_value_count(1)),
            InsertSource::Rows(InsertRows { uneven: Some(row), .. }) => Err(SqlError::wrong_value_count(row)),
            _ => Ok((destination, given)),
        }
    }

    fn listed_columns(&self, columns: &[Vec<String>], joined: &Joined) -> Result<Vec<(ColId, String)>> {
        let find = |column: &Vec<String>| {
            let parts: Vec<&str> = column.iter().map(String::as_str).collect();
            match joined.from.find(&parts, Clause::FieldList.name())? {
                Some(id) => Ok((id, parts[parts.len() - 1].to_string())),
                None => Err(self.no_such_column(&parts, &joined.from, ColumnUse::Insert, Clause::FieldList.name())),
            }
        };
        columns.iter().map(find).collect()
    }

    /// The base table that rows are inserted into: of a view of several tables, the one whose columns are given.
    fn destination_table(&mut self, joined: Joined, columns: &[(ColId, String)]) -> Result<Destination> {
        let relation = &joined.from.relations[0];
        let not_insertable = || {
            let message = format!("The target table {} of the INSERT is not insertable-into", relation.alias);
            SqlError::new(ErrorCode::NonInsertableTable, message)
        };
        let tables = base_tables(&joined.rel, true);
        let mut base = tables.first().ok_or_else(not_insertable)?;
        if let RelationSource::View(view) = &relation.source {
            if view.table_count() == 0 {
                return Err(not_insertable());
            }
            let mut chosen = None;
            for (id, name) in columns {
                let Some(table) = view.table_of(self.stored_column(*id)) else {
                    return Err(not_updatable_column(std::slice::from_ref(name)));
                };
                if chosen.is_some_and(|other| other != table) {
                    return Err(SqlError::new(
                        ErrorCode::ViewMultiUpdate,
                        format!(
                            "Can not modify more than one base table through a join view '{}.{}'",
                            view.database, view.name
                        ),
                    ));
                }
                chosen = Some(table);
            }
            // Each column of the view has to be another one of its tables (manual 25.5.3).
            let mut stored = HashSet::new();
            let is_own = |id: ColId| view.table_of(id).is_some();
            if !joined.from.columns.iter().map(|c| self.stored_column(c.id)).all(|id| is_own(id) && stored.insert(id)) {
                return Err(not_insertable());
            }
            base = &tables[chosen.unwrap_or(0)];
        }
        refuse_virtual(base.table, "INSERT")?;
        let name = match &relation.source {
            RelationSource::View(view) => view.name.clone(),
            _ => base.table.name.clone(),
        };
        let computed = computed_columns(&joined.rel);
        let mut target = self.target(base, &relation.alias, (relation.database.clone().unwrap_or_default(), name));
        target.check = Self::view_check(&relation.source, &computed);
        Ok(Destination { target, computed, from: joined.from })
    }

    /// The rows of VALUES. Their subqueries become columns of `constants`.
    fn new_rows(
        &mut self,
        rows: &InsertRows,
        row: &Destination,
        given: &[usize],
        names: &Names,
        subqueries: &mut Subqueries,
    ) -> Result<NewRows> {
        let scope = Scope::of(&row.from);
        let types: Vec<_> = given.iter().map(|i| row.target.table.columns[*i].ty).collect();
        let mut values = Vec::with_capacity(rows.values.len());
        for (i, value) in rows.values.iter().enumerate() {
            let mut value = self.new_value(value, types[i % types.len()], &scope, names)?;
            self.make_evaluable(&mut value, &row.computed, subqueries);
            values.push(value);
        }
        Ok(NewRows { values, rows: rows.rows })
    }

    /// Leaves a value without subqueries, in terms of stored columns.
    fn make_evaluable(&mut self, value: &mut NewValue, computed: &HashMap<ColId, Expr>, subqueries: &mut Subqueries) {
        let NewValue::Expr(expr) = value else { return };
        if expr.has_subquery() {
            let mut taken = Vec::new();
            self.take_subqueries(expr, &mut taken);
            for (id, mut subquery) in taken {
                match subquery.columns().is_empty() {
                    true => subqueries.constants.push((id, subquery)),
                    false => {
                        replace_columns(&mut subquery, computed);
                        subqueries.dependent.push((id, subquery));
                    }
                }
            }
        }
        *expr = replaced(std::mem::replace(expr, Expr::bool(true)), computed);
    }

    /// The query whose rows are inserted, its columns as columns of these types take them. Error 1136 for another
    /// number of columns.
    fn source_query(&mut self, query: &Query, given: &[SqlType], database: Option<&str>) -> Result<BoundQuery> {
        let names = Names::of_statement(database, &query.items).assigning(query.assigns);
        self.wants_from = is_single_block(&query.ast);
        if self.wants_from {
            self.stored_texts = given.iter().map(|ty| ty.is_text() || ty.is_bytes()).collect();
        }
        let bound = self.query(&query.ast, &names, true)?;
        if bound.outputs.len() != given.len() {
            return Err(SqlError::wrong_value_count(1));
        }
        Ok(self.for_columns(bound, given))
    }

    /// The query with the values that columns of these types take.
    fn for_columns(&mut self, bound: BoundQuery, types: &[SqlType]) -> BoundQuery {
        let BoundQuery { rel, mut outputs } = bound;
        let mut exprs: Vec<(ColId, Expr)> = rel.output().into_iter().map(|id| (id, Expr::Column(id))).collect();
        let before = exprs.len();
        for (output, ty) in outputs.iter_mut().zip(types) {
            let item = self.copied_from(&rel, output.id, *ty);
            if item.expr != Expr::Column(output.id) {
                let id = self.new_column(&output.name, &item.expr, item.ty);
                output.id = id;
                exprs.push((id, item.expr));
            }
        }
        if exprs.len() == before {
            return BoundQuery { rel, outputs };
        }
        BoundQuery { rel: Rel::Project { input: Box::new(rel), exprs }, outputs }
    }

    fn on_duplicate(
        &mut self,
        insert: &Insert,
        row: &Destination,
        given: &[usize],
        names: &Names,
        subqueries: &mut Subqueries,
    ) -> Result<OnDuplicateUpdate> {
        let reads = self.reads.len();
        let joined = self.named_table(&object_name(&insert.table), None, &[], names)?;
        // This second mention of the target is no read of it; the columns that are read are checked one by one.
        self.tables_again.pop();
        let columns: Vec<(ColId, String)> = match joined.from.relations[0].source {
            // The same table of the view as before.
            RelationSource::View(_) => {
                let same = |c: &(usize, ColId)| given.contains(&c.0);
                let of_row =
                    |i: usize| row.from.columns.iter().position(|c| self.stored_column(c.id) == row.target.columns[i]);
                let positions =
                    row.target.columns.iter().copied().enumerate().filter(same).filter_map(|(i, _)| of_row(i));
                positions.map(|i| (joined.from.columns[i].id, joined.from.columns[i].name.clone())).collect()
            }
            _ => Vec::new(),
        };
        let old = self.destination_table(joined, &columns)?;
        // The row that is there is not read by a subquery.
        self.reads.truncate(reads);
        let mut from = old.from.clone();
        if let Some(alias) = &insert.row_alias {
            if alias.name == insert.table.name {
                return Err(SqlError::table_not_unique(&alias.name));
            }
            from = from.join(self.aliased_row(alias, row, given)?)?;
        }
        if let Some(of_query) = &self.from {
            from = from.beside(of_query.clone());
        }
        let mut computed = old.computed.clone();
        computed.extend(row.computed.clone());
        self.inserted_row = Some(row.from.clone());
        let scope = Scope::of(&from);
        let mut assignments = Vec::with_capacity(insert.on_duplicate.len());
        for assignment in &insert.on_duplicate {
            let parts: Vec<&str> = assignment.column.iter().map(String::as_str).collect();
            let Some(id) = old.from.find(&parts, Clause::FieldList.name())? else {
                return Err(self.no_such_column(&parts, &old.from, ColumnUse::Update, Clause::FieldList.name()));
            };
            // A column that a load assigns to is inserted.
            self.use_column(id, if insert.written.is_load { ColumnUse::Insert } else { ColumnUse::Update });
            let stored = self.stored_column(id);
            let Some(column) = old.target.columns.iter().position(|c| *c == stored) else {
                return Err(not_updatable_column(&assignment.column));
            };
            let ty = old.target.table.columns[column].ty;
            let mut value = self.new_value(&assignment.value, ty, &scope, names)?;
            self.make_evaluable(&mut value, &computed, subqueries);
            assignments.push(Assignment { target: 0, column, value });
        }
        self.inserted_row = None;
        let rules = self.row_rules(&old.target.table, &old.target.columns)?;
        let (old, check) = (old.target.columns, old.target.check);
        Ok(OnDuplicateUpdate { old, assignments, mentioned: Vec::new(), check, rules })
    }

    /// Has the query that rows come from deliver the columns of its tables that assignments mention. Error 1054 for one
    /// of which they have no single value.
    fn deliver_mentioned(
        &self,
        update: &mut OnDuplicateUpdate,
        dependent: &[(ColId, Expr)],
        query: &mut Rel,
    ) -> Result<()> {
        let Some(from) = &self.from else { return Ok(()) };
        let selected = query.output();
        let exprs = update.assignments.iter().filter_map(|assignment| match &assignment.value {
            NewValue::Expr(expr) => Some(expr),
            NewValue::Value(_) | NewValue::Default => None,
        });
        for id in exprs.chain(dependent.iter().map(|(_, expr)| expr)).flat_map(Expr::columns) {
            let Some(column) = from.columns.iter().find(|column| column.id == id) else { continue };
            if selected.contains(&id) || update.mentioned.contains(&id) {
                continue;
            }
            if !delivers(query, id) {
                return Err(SqlError::unknown_column(column.name.clone(), Clause::FieldList.name()));
            }
            update.mentioned.push(id);
        }
        Ok(())
    }

    /// `AS new [(a, b)]`: the row to insert under a name, its columns under other names. Error 1353 for another number.
    fn aliased_row(&self, alias: &crate::RowAlias, row: &Destination, given: &[usize]) -> Result<FromClause> {
        let named: Vec<(String, ColId)> = row.from.columns.iter().map(|c| (c.name.clone(), c.id)).collect();
        let columns = match alias.columns.len() {
            0 => named,
            n if n == given.len() => {
                let column = |i: &usize| {
                    let stored = row.target.columns[*i];
                    named.iter().find(|(_, id)| self.stored_column(*id) == stored).map_or(stored, |(_, id)| *id)
                };
                alias.columns.iter().cloned().zip(given.iter().map(column)).collect()
            }
            _ => {
                return Err(SqlError::new(
                    ErrorCode::ViewWrongList,
                    "In definition of view, derived table or common table expression, SELECT list and column names list \
                     have different column counts",
                ));
            }
        };
        Ok(FromClause::single(Relation::derived(&alias.name), columns))
    }
}

/// Error 3105 for a generated column that is given another value than DEFAULT.
fn refuse_generated(table: &TableDef, given: &[usize], source: &RowSource) -> Result<()> {
    for (at, column) in given.iter().enumerate() {
        let column = &table.columns[*column];
        if column.generated.is_none() {
            continue;
        }
        let is_given = match source {
            RowSource::Rows(rows) => {
                rows.values.iter().skip(at).step_by(given.len()).any(|value| *value != NewValue::Default)
            }
            RowSource::Query(_) => true,
        };
        if is_given {
            return Err(generated_value_given(&column.name, &table.name));
        }
    }
    Ok(())
}

/// Error 3105.
pub(super) fn generated_value_given(column: &str, table: &str) -> SqlError {
    let message = format!("The value specified for generated column '{column}' in table '{table}' is not allowed.");
    SqlError::new(ErrorCode::GeneratedValueGiven, message)
}

/// Passes a column of the tables of a query on to its rows. Returns false if there is no single one for each row.
fn delivers(rel: &mut Rel, id: ColId) -> bool {
    if rel.output().contains(&id) {
        return true;
    }
    match rel {
        Rel::Project { input, exprs } => {
            let delivered = delivers(input, id);
            exprs.extend(delivered.then_some((id, Expr::Column(id))));
            delivered
        }
        // Of a DISTINCT query, whose rows then differ in it, too.
        Rel::Aggregate { input, group, aggregates } if aggregates.is_empty() => {
            let delivered = delivers(input, id);
            group.extend(delivered.then_some(id));
            delivered
        }
        Rel::Filter { input, .. } | Rel::Sort { input, .. } | Rel::Limit { input, .. } => delivers(input, id),
        _ => false,
    }
}

fn object_name(table: &TableName) -> ast::ObjectName {
    let parts = table.database.iter().chain([&table.name]);
    ast::ObjectName::from(parts.map(|part| ast::Ident::with_quote('`', part)).collect::<Vec<_>>())
}
