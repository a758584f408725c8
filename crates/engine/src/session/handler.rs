//! HANDLER: a session opens a table and reads its rows one after the other, in the order of an index.
//!
//! Each READ is a query of its own, in the order of the index and behind the row that was read last, whose key the
//! handler keeps: the values of the parts of the index and of the primary key. A table without a primary key has no key
//! to go on from; of it the handler keeps how many rows it has passed. A READ by another index begins anew, as in
//! MySQL.

use super::state::SessionState;
use crate::{
    Outcome, ResultSet,
    accounts::Privilege,
    catalog::is_view,
    statement::{Done, StatementContext, evaluate, query},
};
use futures::StreamExt;
use muster_algebra::{CompareOp, TableDef, TableId};
use muster_sql::{Handler, HandlerPlace, HandlerRead, Statement, TableName};
use muster_storage::{mutex::Mutex, value_at};
use muster_types::{ErrorCode, Result, SqlError, Value};
use std::sync::Arc;

/// A table that a session has opened.
pub struct OpenHandler {
    name: String,
    database: String,
    table: TableId,
    /// The index that was read last, and how far.
    reading: Option<(Option<usize>, Arc<Mutex<Place>>)>,
}

/// How far a handler has read.
#[derive(Debug, Clone, Default)]
struct Place {
    /// The key of the last row.
    key: Option<Vec<Value>>,
    /// Rows passed, of a table without a primary key.
    passed: u64,
}

/// A number of rows passed that nobody can go on from.
const NOT_COUNTED: u64 = u64::MAX;

/// The columns that rows are ordered by, each with its position in the table and true if it is descending.
type Order = Vec<(usize, bool)>;

fn unknown(name: &str) -> SqlError {
    SqlError::new(ErrorCode::UnknownTable, format!("Unknown table '{name}' in HANDLER"))
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

impl SessionState {
    pub fn handler(&mut self, context: &Arc<StatementContext>, statement: &Handler) -> Result<Outcome> {
        match statement {
            Handler::Open { table, alias } => self.open_handler(context, table, alias.as_deref()),
            Handler::Close { name } => {
                let before = self.handlers.len();
                self.handlers.retain(|handler| !handler.name.eq_ignore_ascii_case(name));
                if self.handlers.len() == before {
                    return Err(unknown(name));
                }
                Done::default().outcome()
            }
            Handler::Read(read) => self.read_handler(context, read),
        }
    }

    /// Errors: 1066 for a name that is open, 1146, 1347 for a view.
    fn open_handler(&mut self, context: &StatementContext, table: &TableName, alias: Option<&str>) -> Result<Outcome> {
        let (database, table_name) = context.qualify(table)?;
        let name = alias.unwrap_or(&table_name).to_owned();
        if self.handlers.iter().any(|handler| handler.name.eq_ignore_ascii_case(&name)) {
            return Err(SqlError::table_not_unique(&name));
        }
        context.check_some_column(&database, &table_name, Privilege::Select, "SELECT")?;
        let definitions = context.tables.definitions();
        let schema = definitions.schema(&database)?;
        let Some(entry) = schema.tables.get(&table_name) else {
            return Err(match schema.has(&table_name) {
                true => {
                    let message = format!("'{database}.{table_name}' is not BASE TABLE");
                    SqlError::new(ErrorCode::WrongObject, message)
                }
                false => SqlError::no_such_table(&database, &table_name),
            });
        };
        debug_assert!(!is_view(entry.def.id));
        self.handlers.push(OpenHandler { name, database, table: entry.def.id, reading: None });
        Done::default().outcome()
    }

    fn read_handler(&mut self, context: &Arc<StatementContext>, read: &HandlerRead) -> Result<Outcome> {
        let handler = self.handlers.iter_mut().find(|handler| handler.name.eq_ignore_ascii_case(&read.name));
        let Some(handler) = handler else { return Err(unknown(&read.name)) };
        // A table that has been dropped or changed is closed, as is one whose name a temporary table has now.
        let definitions = context.tables.definitions();
        let tables = definitions.schemas.get(&handler.database).map(|schema| &schema.tables);
        let found = tables.and_then(|tables| tables.values().find(|entry| entry.def.id == handler.table));
        let Some(table) = found.map(|entry| entry.def.clone()) else { return Err(unknown(&read.name)) };
        // The right may be gone since the table was opened.
        context.check_table(&handler.database, &table.name, Privilege::Select, "SELECT")?;
        let index = match &read.index {
            None => None,
            Some(name) => Some(index_of(&table, name, &handler.name)?),
        };
        let place = match &handler.reading {
            Some((known, place)) if *known == index => place.clone(),
            _ => Arc::default(),
        };
        handler.reading = Some((index, place.clone()));
        let name = handler.name.clone();
        let mut values = Vec::new();
        if let HandlerPlace::Key { values: given, .. } = &read.from {
            let parts = index.map_or(0, |index| table.indexes[index].parts.len());
            if given.len() > parts {
                let message = format!("Too many key parts specified; max {parts} parts allowed");
                return Err(SqlError::new(ErrorCode::TooManyKeyParts, message));
            }
            for value in given {
                values.push(evaluate(context, value, &[])?);
            }
        }
        ReadPlan { table: &table, name: &name, index, read }.run(context, values, place)
    }
}

/// Error 1176.
fn index_of(table: &TableDef, name: &str, handler: &str) -> Result<usize> {
    let found = table.index(name).filter(|index| *index > 0 || table.has_primary_key());
    found.ok_or_else(|| {
        let message = format!("Key '{name}' doesn't exist in table '{handler}'");
        SqlError::new(ErrorCode::KeyDoesNotExist, message)
    })
}

/// One READ.
struct ReadPlan<'a> {
    table: &'a TableDef,
    name: &'a str,
    index: Option<usize>,
    read: &'a HandlerRead,
}

impl ReadPlan<'_> {
    fn run(&self, context: &Arc<StatementContext>, key: Vec<Value>, place: Arc<Mutex<Place>>) -> Result<Outcome> {
        let known = place.lock().clone();
        let has_key = self.table.has_primary_key();
        let order: Order = match has_key || self.index.is_some() {
            true => {
                let parts = self.table.key_parts(self.index.unwrap_or(0)).into_iter();
                parts.filter(|part| part.column < self.table.columns.len()).map(|p| (p.column, p.descending)).collect()
            }
            false => Vec::new(),
        };
        let is_start = known.key.is_none() && known.passed == 0;
        let (backward, conditions, parameters, passed) = match &self.read.from {
            HandlerPlace::First => (false, Vec::new(), Vec::new(), 0),
            HandlerPlace::Last => (true, Vec::new(), Vec::new(), 0),
            HandlerPlace::Next if is_start => (false, Vec::new(), Vec::new(), 0),
            HandlerPlace::Previous if is_start => (true, Vec::new(), Vec::new(), 0),
            from @ (HandlerPlace::Next | HandlerPlace::Previous) => {
                let backward = *from == HandlerPlace::Previous;
                match &known.key {
                    Some(key) => {
                        let (condition, parameters) = self.beyond(&order, key, backward);
                        (backward, vec![condition], parameters, 0)
                    }
                    None if backward || known.passed == NOT_COUNTED => {
                        let message = "HANDLER .. NEXT and PREV from a key of a table without a primary key";
                        return Err(SqlError::unsupported(message));
                    }
                    None => (false, Vec::new(), Vec::new(), known.passed),
                }
            }
            HandlerPlace::Key { op, .. } => {
                let backward = matches!(op, CompareOp::LtEq | CompareOp::Lt);
                let (condition, parameters) = self.at_key(&order, *op, key);
                (backward, vec![condition], parameters, 0)
            }
        };
        let text = self.text(&order, backward, conditions, passed);
        let Statement::Query(query) = muster_sql::parse(&text)? else {
            return Err(SqlError::internal("a READ that is no query"));
        };
        let result = query::select(context, &query, &parameters)?;
        let is_counted = !backward && !matches!(self.read.from, HandlerPlace::Key { .. });
        let start = if is_counted { passed } else { NOT_COUNTED };
        Ok(Outcome::Rows(self.keep_place(result, order, has_key, start, place)))
    }

    /// The query: all columns that `*` stands for, then those of the key.
    fn text(&self, order: &Order, backward: bool, mut conditions: Vec<String>, passed: u64) -> String {
        let TableDef { database, name, .. } = self.table;
        let keys = order.iter().map(|(column, _)| format!(", {}", self.column(*column)));
        let mut text = format!(
            "SELECT {}.*{} FROM {}.{} AS {0}",
            quoted(self.name),
            keys.collect::<String>(),
            quoted(database),
            quoted(name)
        );
        let index = self.index.or(self.table.has_primary_key().then_some(0));
        if let Some(index) = index.filter(|_| !order.is_empty()) {
            text.push_str(&format!(" FORCE INDEX ({})", quoted(&self.table.indexes[index].name)));
        }
        conditions.extend(self.read.condition.as_ref().map(|condition| format!("({})", condition.text)));
        if !conditions.is_empty() {
            text.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
        }
        let sorted = order.iter().map(|(column, descending)| {
            format!("{}{}", self.column(*column), if *descending != backward { " DESC" } else { "" })
        });
        let sorted: Vec<String> = sorted.collect();
        if !sorted.is_empty() {
            text.push_str(&format!(" ORDER BY {}", sorted.join(", ")));
        }
        text.push_str(&format!(" LIMIT {}, {}", self.read.offset.saturating_add(passed), self.read.count));
        text
    }

    fn column(&self, position: usize) -> String {
        format!("{}.{}", quoted(self.name), quoted(&self.table.columns[position].name))
    }

    /// The rows at the values of the first columns of the key.
    fn at_key(&self, order: &Order, op: CompareOp, values: Vec<Value>) -> (String, Vec<Value>) {
        let (sign, or_equal) = match op {
            CompareOp::Eq => {
                let equal = order.iter().zip(&values).map(|((column, _), _)| format!("{} <=> ?", self.column(*column)));
                return (equal.collect::<Vec<_>>().join(" AND "), values);
            }
            CompareOp::GtEq => (false, true),
            CompareOp::Gt => (false, false),
            CompareOp::LtEq => (true, true),
            _ => (true, false),
        };
        let given: Order = order.iter().take(values.len()).copied().collect();
        let (beyond, mut parameters) = self.beyond(&given, &values, sign);
        if !or_equal {
            return (beyond, parameters);
        }
        let (equal, more) = self.at_key(order, CompareOp::Eq, values);
        parameters.extend(more);
        (format!("({beyond} OR ({equal}))"), parameters)
    }

    /// The rows that stand behind a key in the order of the index, or in front of it. NULLs stand first, in descending
    /// parts last.
    fn beyond(&self, order: &Order, key: &[Value], backward: bool) -> (String, Vec<Value>) {
        let (mut ways, mut parameters) = (Vec::new(), Vec::new());
        for (n, ((column, descending), value)) in order.iter().zip(key).enumerate() {
            let name = self.column(*column);
            let step = match (*descending != backward, value.is_null()) {
                (false, true) => format!("{name} IS NOT NULL"),
                (false, false) => format!("{name} > ?"),
                (true, true) => "FALSE".to_owned(),
                (true, false) => format!("({name} < ? OR {name} IS NULL)"),
            };
            let equal = order.iter().take(n).map(|(column, _)| format!("{} <=> ?", self.column(*column)));
            ways.push(equal.chain([step.clone()]).collect::<Vec<_>>().join(" AND "));
            parameters.extend(key[..n].iter().cloned());
            parameters.extend(step.contains('?').then(|| value.clone()));
        }
        (format!("({})", ways.iter().map(|way| format!("({way})")).collect::<Vec<_>>().join(" OR ")), parameters)
    }

    /// The rows without the columns of the key, of which the last ones become the place of the handler.
    fn keep_place(
        &self,
        result: ResultSet,
        order: Order,
        has_key: bool,
        passed: u64,
        place: Arc<Mutex<Place>>,
    ) -> ResultSet {
        let ResultSet { mut columns, rows } = result;
        let shown = columns.len().saturating_sub(order.len());
        columns.truncate(shown);
        let mut passed = passed.saturating_add(self.read.offset);
        let rows = rows.map(move |batch| {
            let batch = batch?;
            if let Some(last) = batch.num_rows().checked_sub(1) {
                passed = passed.saturating_add(batch.num_rows() as u64);
                let key = (shown..batch.num_columns()).map(|at| value_at(batch.column(at), last));
                let key = key.collect::<Result<Vec<Value>>>()?;
                *place.lock() = match has_key {
                    true => Place { key: Some(key), passed: 0 },
                    false => Place { key: None, passed },
                };
            }
            let positions: Vec<usize> = (0..shown).collect();
            batch.project(&positions).map_err(SqlError::internal)
        });
        ResultSet { columns, rows: rows.boxed() }
    }
}
