//! Names, types and implicit casts: a parsed query becomes a `Rel`.
//!
//! ```text
//!   binder      the state of one statement; conversions
//!   scope       what names mean
//!   query       WITH, UNION, VALUES          select     one SELECT
//!   json_table  JSON_TABLE
//!   lateral     LATERAL                      multiset   INTERSECT, EXCEPT
//!   from        joins                        table      tables, views, derived tables
//!   aggregate   GROUP BY                     order      ORDER BY, LIMIT
//!   rollup      WITH ROLLUP, GROUPING()
//!   star        what `*` stands for            updatable  views that can be written through
//!   auto_is_null  IS NULL for LAST_INSERT_ID()      cut_fraction  TIME_TRUNCATE_FRACTIONAL
//!   column_rights  the columns that the account may read and write
//!   output      DISTINCT, and the columns that sort keys need
//!   result_shape   what clients are told of a column: lengths
//!   stored_shape   .. of a column of a temporary table
//!   chosen_shape   .. of one of several values      written_null  .. whether it can be NULL
//!   written_type   .. of its type, by how it is written
//!   made_type   the types of columns that CREATE TABLE .. SELECT makes
//!   generated   conditions on expressions that generated columns have the values of
//!   null_dates  the zero date where a WHERE clause asks for NULL
//!   sort_length  max_sort_length             warnings   warnings, and those that are none
//!   dependency  which columns determine which     hints      /*+ .. */
//!   dml         INSERT, UPDATE, DELETE       numbering  the numbers of query blocks
//!   subquery    subqueries in expressions    expr/      expressions
//! ```

mod aggregate;
mod auto_is_null;
mod binder;
mod chosen_shape;
mod column_rights;
mod cut_fraction;
mod declared;
mod declared_name;
mod dependency;
mod dml;
mod expr;
mod from;
mod generated;
mod hints;
mod json_table;
mod lateral;
mod made_type;
mod multiset;
mod null_dates;
mod numbering;
mod order;
mod output;
mod query;
mod recursion;
mod result_shape;
mod rollup;
mod scope;
mod select;
mod sort_length;
mod star;
mod stored_shape;
mod subquery;
mod table;
#[cfg(test)]
mod tests;
mod updatable;
mod warnings;
mod window;
mod written_null;
mod written_type;

use crate::{Locking, Query, ScalarExpr, ShowFilter, VariableScope};
pub use dml::{
    Assignment as BoundAssignment, BoundDelete, BoundInsert, BoundRow, BoundUpdate, ChangeTarget, NewRows, NewValue,
    OnDuplicateUpdate, RowCheck, RowRules, RowSource, Search, Surroundings, TableSearch, ViewCheck, bind_delete,
    bind_insert, bind_row, bind_update, replace_columns, type_of_expression,
};
pub use star::{Star, without_stars};
pub use updatable::updatable_tables;

use binder::Binder;
pub use column_rights::Beneath;
use muster_algebra::{Catalog, ColId, Columns, Expr, Hints, Rel};
use muster_types::{
    Collation, Result, SqlError, SqlModes, SqlType, Value, charset::Charset, temporal::DateModes, time_zone::TimeZone,
};
use scope::{Clause, FromClause, Names, Relation, Scope};
use std::collections::BTreeMap;

/// The values that an expression can ask the session for. Each answer becomes a literal of the statement.
pub trait SessionValues {
    fn database(&self) -> Option<String>;
    /// `@@name`; error 1193 when there is none. `scope`: `None` when not written.
    fn system_variable(&self, scope: Option<VariableScope>, name: &str) -> Result<Value>;
    /// Returns true for a system variable that is on or off.
    fn is_switch(&self, _name: &str) -> bool {
        false
    }
    /// The session's value of a variable that functions depend on. A plan may be kept with it: a session whose
    /// variables change has other plans.
    fn kept_variable(&self, name: &str) -> Value {
        match name {
            "lc_time_names" => Value::Text("en_US".into()),
            "group_concat_max_len" | "max_sort_length" => Value::Int(1024),
            "div_precision_increment" => Value::Int(4),
            _ => Value::Int(0),
        }
    }
    /// `@name`; NULL when never set.
    fn user_variable(&self, name: &str) -> Value;
    /// The collation of the last text that `@name` was set to; `None` if it was set to none.
    fn user_variable_collation(&self, _name: &str) -> Option<Collation> {
        None
    }
    /// The local datetime of the statement's start.
    fn now_datetime(&self) -> i64;
    /// The datetime of the statement's start in UTC.
    fn utc_datetime(&self) -> i64 {
        self.now_datetime()
    }
    /// Which dates that the calendar does not have are taken for one (`sql_mode`).
    fn date_modes(&self) -> DateModes {
        DateModes::DEFAULT
    }
    /// In which TIMESTAMP columns are read.
    fn time_zone(&self) -> TimeZone {
        TimeZone::UTC
    }
    /// The number of the parameter that such a value is in a statement that is bound once for all executions. `None`:
    /// the value itself is bound.
    fn moment_parameter(&self, _value: MomentValue) -> Option<usize> {
        None
    }
    /// Told of each parameter of a statement that is bound once that is a text next to an exact number.
    fn note_beside_number(&self, _parameter: usize, _beside: BesideNumber) {}
    /// `user@host` as the client gave them.
    fn user(&self) -> String;
    /// `user@host` of the account (CURRENT_USER()).
    fn current_user(&self) -> String {
        self.user()
    }
    /// The active roles (CURRENT_ROLE()).
    fn current_role(&self) -> String {
        "NONE".into()
    }
    /// ROLES_GRAPHML().
    fn roles_graph(&self) -> String {
        String::new()
    }
    fn connection_id(&self) -> u32;
    fn last_insert_id(&self) -> u64;
    /// FOUND_ROWS().
    fn found_rows(&self) -> i64 {
        0
    }
    /// Told of rows that a subquery, a derived table or a view locks by a clause of its own. The clause names a table.
    fn lock_rows_of(&self, _locking: Locking) {}
    /// Told that the statement counts all rows of its result for FOUND_ROWS(), though it delivers only `count` of them
    /// behind `offset` others. Returns false if nobody will do so: the rows are cut by the query itself then.
    fn count_all_rows(&self, _offset: u64, _count: Option<u64>) -> bool {
        false
    }
    /// Returns true if the account may read files of the server (the privilege FILE).
    fn may_read_files(&self) -> bool {
        false
    }
    /// ROW_COUNT().
    fn row_count(&self) -> i64 {
        -1
    }
    fn version(&self) -> String;
    /// The collation of text literals (`collation_connection`).
    fn default_collation(&self) -> Collation;
    /// The character set that the statement came in (`character_set_client`).
    fn client_charset(&self) -> Charset {
        Charset::Utf8mb4
    }
    /// The error that the statement ends with, if it has been stopped. Asked for each expression and table that is
    /// bound.
    fn check_interrupt(&self) -> Result<()> {
        Ok(())
    }
    /// The modes of `sql_mode`.
    fn sql_modes(&self) -> SqlModes {
        SqlModes::ONLY_FULL_GROUP_BY
    }
    /// Returns true if `sql_mode` has ONLY_FULL_GROUP_BY.
    fn only_full_group_by(&self) -> bool {
        self.sql_modes().has(SqlModes::ONLY_FULL_GROUP_BY)
    }
}

/// A value that is another one at each execution of a statement that is bound once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MomentValue {
    /// NOW(fsp).
    Now { fsp: u8 },
    /// CURDATE().
    Today,
    /// LAST_INSERT_ID().
    LastInsertId,
}

/// What a text stands next to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BesideNumber {
    /// A column of integers that it is compared with.
    Column,
    /// Another integer or a decimal that it is compared with.
    Number,
    /// The other operand of an arithmetic operator, an integer or a decimal.
    Operand,
}

/// All that binding looks at besides the statement.
pub struct BindEnv<'a> {
    pub catalog: &'a dyn Catalog,
    pub session: &'a dyn SessionValues,
    pub parameters: Parameters<'a>,
}

/// The values of the `?` of a statement.
#[derive(Debug, Clone, Copy)]
pub enum Parameters<'a> {
    /// The values, in order.
    Values(&'a [Value]),
    /// The types, in order: each `?` becomes an [`muster_algebra::Expr::Parameter`], and the query serves for all
    /// values. A text next to dates becomes one of their type, and the query then serves for those texts for which
    /// [`crate::date_of_text`] has a value.
    Types(&'a [SqlType]),
    /// While the statement is prepared: NULL of no type in an expression, some number in LIMIT.
    Unknown,
}

impl<'a> std::convert::From<&'a [Value]> for Parameters<'a> {
    fn from(values: &'a [Value]) -> Parameters<'a> {
        Parameters::Values(values)
    }
}

/// A bound query.
#[derive(Debug, Clone)]
pub struct Bound {
    pub rel: Rel,
    pub columns: Columns,
    /// Result columns in order, with their names.
    pub outputs: Vec<(ColId, String)>,
    /// Base tables and views mentioned, as (database, name), each once: for privileges.
    pub tables: Vec<(String, String)>,
    /// The `*` of the statement's own select lists; those inside views are not among them.
    pub stars: Vec<Star>,
    /// For each result column, true if its name is the text of an expression: nobody has given it.
    pub generated_names: Vec<bool>,
    /// The result columns' names, those of columns as they are written. Empty for a query that begins with no SELECT.
    pub written_names: Vec<String>,
    /// Types of the columns that CREATE TABLE .. SELECT makes of outputs, where they are not those of their values.
    pub made: BTreeMap<ColId, SqlType>,
    /// True if the statement reads or assigns variables.
    pub uses_variables: bool,
    /// True if the first SELECT makes groups.
    pub aggregated: bool,
    /// True if the table or view that is mentioned first is mentioned again, be it inside of a view.
    pub first_table_again: bool,
    /// Number and wording.
    pub warnings: Vec<SqlError>,
    /// What is told as a note.
    pub notes: Vec<SqlError>,
    pub hints: Hints,
}

/// Looks up all names of a query and types it.
pub fn bind_query(query: &Query, env: &BindEnv) -> Result<Bound> {
    bind_query_for(query, env, false)
}

/// As [`bind_query`], for a client: a decimal that is one of several values is a text with the digits that the value
/// has, and its column's [`muster_algebra::ResultShape`] says that it is a decimal.
pub fn bind_result(query: &Query, env: &BindEnv) -> Result<Bound> {
    bind_query_for(query, env, true)
}

fn bind_query_for(query: &Query, env: &BindEnv, is_for_client: bool) -> Result<Bound> {
    let mut binder = Binder::new(env);
    binder.counts_rows = query::counts_rows(&query.ast);
    binder.is_for_client = is_for_client && query::is_single_block(&query.ast);
    let database = env.session.database();
    let names = Names::of_statement(database.as_deref(), &query.items).assigning(query.assigns);
    query::check_clauses(&query.ast)?;
    let bound = match query.ast.locks.is_empty() {
        true => binder.query(&query.ast, &names, true)?,
        // Whoever runs the query locks rows of what its plan reads.
        false => binder.query(&sqlparser::ast::Query { locks: Vec::new(), ..(*query.ast).clone() }, &names, true)?,
    };
    binder.into_bound(bound.rel, bound.outputs.into_iter().map(|o| (o.id, o.name)).collect())
}

/// An expression outside a query: SET, DO, KILL. It mentions no columns; what of it is not known at once (a call, a
/// subquery) is to be computed by running the relation of one row and one column.
pub fn bind_constant(expr: &ScalarExpr, env: &BindEnv) -> Result<Bound> {
    let mut binder = Binder::new(env);
    let database = env.session.database();
    let names = Names::of_statement(database.as_deref(), &[]).assigning(expr.assigns);
    let from = FromClause::default();
    let item = binder.expression(&expr.ast, &Scope::of(&from), &names, Clause::FieldList)?;
    // A quotient that is kept has digits which it does not show.
    let item = item.unrounded(crate::typing::arithmetic::KEPT_DIGITS);
    let id = binder.new_column(&expr.text, &item.expr, item.ty);
    let rel = Rel::Project { input: Box::new(Rel::dual()), exprs: vec![(id, item.expr)] };
    binder.into_bound(rel, vec![(id, expr.text.clone())])
}

impl Binder<'_> {
    /// The end of binding: the relation, to which the hints now refer, and all that was found on the way.
    /// Error 1142 or 1143 if a column that the account may not read is among that.
    fn into_bound(mut self, mut rel: Rel, outputs: Vec<(ColId, String)>) -> Result<Bound> {
        if let Some(denied) = self.column_rights.take_error() {
            return Err(denied);
        }
        let hints = self.resolve_hints(&mut rel);
        for (id, _) in outputs.iter().filter(|(id, _)| self.null_extended.contains(id)) {
            self.columns.set_null_extended(*id);
        }
        Ok(Bound {
            rel,
            outputs,
            columns: self.columns,
            tables: self.tables,
            stars: self.stars,
            generated_names: self.generated_names,
            written_names: self.written_names,
            made: self.made,
            uses_variables: self.uses_variables,
            aggregated: self.aggregated,
            first_table_again: self.first_table_again,
            warnings: self.warnings,
            notes: self.notes,
            hints,
        })
    }
}

impl Bound {
    /// The value of a [`bind_constant`] that is known at once.
    pub fn literal(&self) -> Option<(&Value, SqlType)> {
        match &self.rel {
            Rel::Project { exprs, .. } => match &exprs[..] {
                [(_, Expr::Literal { value, ty })] => Some((value, *ty)),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Rows that the engine has made (SHOW) as a relation, with `WHERE` or `LIKE` (on the first column) applied.
pub fn bind_rows(
    columns: &[(&str, SqlType)],
    rows: Vec<Vec<Value>>,
    filter: Option<&ShowFilter>,
    env: &BindEnv,
) -> Result<Bound> {
    let mut binder = Binder::new(env);
    let named: Vec<(String, ColId)> =
        columns.iter().map(|(name, ty)| (name.to_string(), binder.columns.add_computed(*name, *ty, true))).collect();
    let literals = rows
        .into_iter()
        .map(|row| row.into_iter().zip(columns).map(|(value, (_, ty))| Expr::literal(value, *ty)).collect())
        .collect();
    let mut rel = Rel::Values { columns: named.iter().map(|(_, id)| *id).collect(), rows: literals };
    let database = env.session.database();
    let from = FromClause::single(Relation::derived(""), named.clone());
    let scope = Scope::of(&from);
    let predicates = match filter {
        None => Vec::new(),
        Some(ShowFilter::Where(expr)) => {
            let names = Names::of_statement(database.as_deref(), &[]);
            let item = binder.expression(&expr.ast, &scope, &names, Clause::Where)?;
            binder.condition(item).into_conjuncts()
        }
        Some(ShowFilter::Like(pattern)) => {
            // Names are matched without case, whatever the connection's collation is.
            let collation = Collation::SYSTEM;
            let pattern = binder.given(Value::Text(pattern.clone()));
            let pattern = Box::new(binder.convert_to_text(pattern, collation).expr);
            let first = binder.column_item(named[0].1);
            let arg = Box::new(binder.convert_to_text(first, collation).expr);
            let escape = Some('\\').filter(|_| !binder.env.session.sql_modes().has(SqlModes::NO_BACKSLASH_ESCAPES));
            vec![Expr::Like { arg, pattern, escape, negated: false }]
        }
    };
    if !predicates.is_empty() {
        rel = Rel::Filter { input: Box::new(rel), predicates };
    }
    binder.into_bound(rel, named.into_iter().map(|(name, id)| (id, name)).collect())
}
