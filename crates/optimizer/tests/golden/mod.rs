//! Tables and statistics for plan tests, read from the schema files and statistics files of a workload.

mod statistics;

use muster_algebra::{
    Catalog, ColumnDef, ColumnStatistics, Columns, Definer, Hints, IndexDef, IndexStatistics, KeyRange, Plan, Rel,
    Statistics, TableDef, TableId, ViewDef,
};
use muster_optimizer::{Options, optimize, plan::validate};
use muster_sql::{BindEnv, Search, SessionValues, Statement};
use muster_types::distribution::RowSample;
use muster_types::{Collation, IntWidth, KeyPart, Result, SqlError, SqlType, TextKind, Value};
use statistics::TableStatistics;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub struct Workload {
    tables: HashMap<String, Arc<TableDef>>,
    statistics: HashMap<String, TableStatistics>,
    views: HashMap<String, Arc<ViewDef>>,
}

const DBT3: &str = include_str!("../../../lab/src/dbt3/schema.sql");
const SSB: &str = include_str!("../../../lab/src/ssb/schema.sql");

/// DBT-3 at scale 1.
pub fn dbt3() -> Workload {
    Workload::new(DBT3, &statistics_file("dbt3-1"))
}

/// SSB at scale 1.
pub fn ssb() -> Workload {
    Workload::new(SSB, &statistics_file("ssb-1"))
}

/// DBT-3 at scale 0.1, for which a database has to make the same plans (the tests of the lab compare them).
pub fn small_dbt3() -> Workload {
    Workload::new(DBT3, &statistics_file("dbt3-0.1"))
}

/// SSB at scale 0.1, with the same promise.
pub fn small_ssb() -> Workload {
    Workload::new(SSB, &statistics_file("ssb-0.1"))
}

/// A table with an index of every kind.
pub fn messages() -> Workload {
    Workload::new(include_str!("schema-messages.sql"), &statistics_file("messages"))
}

fn statistics_file(name: &str) -> String {
    let path = format!("{}/tests/golden/statistics-{name}.txt", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

impl Workload {
    fn new(schema: &str, statistics: &str) -> Workload {
        let tables = read_schema(schema);
        let statistics = statistics::read(statistics, &tables);
        Workload { tables, statistics, views: HashMap::new() }
    }

    /// The plan of one SELECT (after any number of CREATE VIEW, separated by `;`).
    pub fn plan(&self, sql: &str) -> Result<(Plan, Columns)> {
        self.plan_with(sql, &Options::default())
    }

    pub fn plan_with(&self, sql: &str, options: &Options) -> Result<(Plan, Columns)> {
        self.plan_timed(sql, options).map(|(planned, _)| planned)
    }

    /// The same, and how long binding and optimizing took.
    pub fn plan_timed(&self, sql: &str, options: &Options) -> Result<((Plan, Columns), Duration)> {
        let (tables, statistics) = (self.tables.clone(), self.statistics.clone());
        let mut catalog = Workload { tables, statistics, views: HashMap::new() };
        for piece in muster_sql::split(sql) {
            let lower = piece.trim_start().to_ascii_lowercase();
            if let Some(view) = lower.strip_prefix("create view ") {
                catalog.add_view(view);
                continue;
            }
            if lower.starts_with("drop view") {
                continue;
            }
            let statement = muster_sql::parse(piece)?;
            let env = BindEnv { catalog: &catalog, session: &Session, parameters: muster_sql::Parameters::Values(&[]) };
            let start = Instant::now();
            let (rel, mut columns, hints) = rows_of(&statement, &env)?;
            let wanted = rel.output();
            let mut options = options.clone();
            options.hints = hints;
            let plan = optimize(rel, &mut columns, &catalog, &options)?;
            let time = start.elapsed();
            assert_eq!(plan.output, wanted);
            validate::validate(&plan, &Default::default(), &columns)?;
            return Ok(((plan, columns), time));
        }
        Err(SqlError::internal("no query"))
    }

    /// The plan by which the rows of an UPDATE or DELETE of one table are found and locked.
    pub fn locking(&self, sql: &str) -> Result<Plan> {
        let env = BindEnv { catalog: self, session: &Session, parameters: muster_sql::Parameters::Values(&[]) };
        let (rel, mut columns, _) = rows_of(&muster_sql::parse(sql)?, &env)?;
        muster_optimizer::optimize_to_lock(rel, &mut columns, self, &Options::default()).map(|optimized| optimized.plan)
    }

    /// `name (columns) as query`.
    fn add_view(&mut self, text: &str) {
        let (head, query) = text.split_once(" as\n").or_else(|| text.split_once(" as ")).expect("AS");
        let (name, columns) = head.split_once('(').unwrap_or((head, ""));
        let columns = columns.trim_end_matches([')', ' ']).split(',').map(|c| c.trim().to_string());
        let view = ViewDef {
            database: "test".into(),
            name: name.trim().into(),
            columns: columns.filter(|c| !c.is_empty()).collect(),
            query: query.into(),
            current_database: Some("test".into()),
            definer: None,
            check_option: None,
            algorithm: Default::default(),
        };
        self.views.insert(view.name.clone(), Arc::new(view));
    }
}

/// The rows of a query, or those that an UPDATE or DELETE changes.
fn rows_of(statement: &Statement, env: &BindEnv) -> Result<(Rel, Columns, Hints)> {
    let (search, targets, surroundings) = match statement {
        Statement::Query(query) => {
            let bound = muster_sql::bind_query(query, env)?;
            return Ok((bound.rel, bound.columns, bound.hints));
        }
        Statement::Update(update) => {
            let bound = muster_sql::bind_update(update, env)?;
            (bound.search, bound.targets, bound.surroundings)
        }
        Statement::Delete(delete) => {
            let bound = muster_sql::bind_delete(delete, env)?;
            (bound.search, bound.targets, bound.surroundings)
        }
        other => return Err(SqlError::internal(format!("no plan for {other:?}"))),
    };
    let rel = match search {
        Search::Table(search) => search.rel(&targets[0]),
        Search::Query(rel) => rel,
    };
    Ok((rel, surroundings.columns, surroundings.hints))
}

/// Reads the CREATE TABLE statements of a schema file: one column or key per line.
fn read_schema(text: &str) -> HashMap<String, Arc<TableDef>> {
    let mut tables = HashMap::new();
    let mut current: Option<TableDef> = None;
    for line in text.lines().map(|l| l.trim().trim_end_matches(',')).filter(|l| !l.starts_with("--")) {
        if let Some(name) = line.strip_prefix("create table ") {
            let name = name.trim_end_matches(['(', ' ']).to_string();
            current = Some(TableDef {
                id: TableId(tables.len() as u64 + 1),
                database: "test".into(),
                name,
                columns: Vec::new(),
                indexes: vec![IndexDef::hidden(0)],
                collation: Collation::DEFAULT,
                comment: String::new(),
                checks: Vec::new(),
                foreign_keys: Vec::new(),
            });
            continue;
        }
        if line.starts_with(')') {
            if let Some(table) = current.take() {
                tables.insert(table.name.clone(), Arc::new(table));
            }
            continue;
        }
        let Some(table) = &mut current else { continue };
        let parts = |table: &TableDef, line: &str| -> Vec<KeyPart> {
            let list = line[line.find('(').expect("a list") + 1..].trim_end_matches(')');
            list.split(',')
                .map(|part| {
                    // `name`, `name(5`, `name desc`
                    let (part, descending) = match part.trim().strip_suffix(" desc") {
                        Some(name) => (name, true),
                        None => (part.trim(), false),
                    };
                    let (name, prefix) = part.split_once('(').unwrap_or((part, ""));
                    KeyPart { column: table.column(name).expect("a column"), prefix: prefix.parse().ok(), descending }
                })
                .collect()
        };
        if line.starts_with("primary key") {
            table.indexes[0].parts = parts(table, line);
        } else if let Some(key) = line.strip_prefix("key ") {
            let (id, name) = (table.indexes.len() as u32, key.split('(').next().unwrap_or_default().trim().to_string());
            table.indexes.push(IndexDef { id, name, parts: parts(table, key), unique: false, invisible: false });
        } else if let Some((name, rest)) = line.split_once(' ') {
            let primary = rest.contains("primary key");
            if primary {
                let column = table.columns.len();
                table.indexes[0].parts = vec![KeyPart { column, prefix: None, descending: false }];
            }
            table.columns.push(ColumnDef::plain(name, sql_type(rest), !primary && !rest.contains("not null")));
        }
    }
    for table in tables.values_mut() {
        let table: &mut TableDef = Arc::get_mut(table).expect("not shared yet");
        for part in table.indexes[0].parts.clone() {
            table.columns[part.column].nullable = false;
        }
    }
    tables
}

fn sql_type(text: &str) -> SqlType {
    let (name, rest) = text.split_at(text.find(['(', ' ']).unwrap_or(text.len()));
    let numbers: Vec<u32> = rest
        .split(')')
        .next()
        .unwrap_or_default()
        .trim_start_matches('(')
        .split(',')
        .filter_map(|n| n.trim().parse().ok())
        .collect();
    let int = |width| SqlType::Int { width, unsigned: false };
    match name {
        "tinyint" => int(IntWidth::Tiny),
        "smallint" => int(IntWidth::Small),
        "int" | "integer" => int(IntWidth::Int),
        "bigint" => int(IntWidth::Big),
        "decimal" => SqlType::decimal(numbers[0], numbers[1]),
        "date" => SqlType::Date,
        "char" => SqlType::Text { kind: TextKind::Char, length: numbers[0], collation: Collation::DEFAULT },
        "varchar" => SqlType::varchar(numbers[0], Collation::DEFAULT),
        other => panic!("no type {other}"),
    }
}

impl Catalog for Workload {
    fn check_database(&self, _database: &str) -> Result<()> {
        Ok(())
    }

    fn table(&self, _database: &str, name: &str, _definer: Option<&Definer>) -> Result<Option<Arc<TableDef>>> {
        Ok(self.tables.get(name).cloned())
    }

    fn view(&self, _database: &str, name: &str, _definer: Option<&Definer>) -> Result<Option<Arc<ViewDef>>> {
        Ok(self.views.get(name).cloned())
    }
}

impl Statistics for Workload {
    fn row_count(&self, table: &TableDef) -> Option<f64> {
        self.statistics.get(&table.name).map(|s| s.rows)
    }

    fn column(&self, table: &TableDef, column: usize) -> Option<ColumnStatistics> {
        self.statistics.get(&table.name)?.columns.get(&column).cloned()
    }

    fn index(&self, table: &TableDef, index: usize) -> Option<IndexStatistics> {
        self.statistics.get(&table.name)?.indexes.get(&index).map(|i| i.known.clone())
    }

    fn sample(&self, table: &TableDef) -> Option<Arc<RowSample>> {
        Some(self.statistics.get(&table.name)?.distribution.as_ref()?.sample.clone())
    }

    fn range_rows(&self, table: &TableDef, index: usize, ranges: &[KeyRange]) -> Option<f64> {
        let statistics = self.statistics.get(&table.name)?;
        statistics.indexes.get(&index)?.range_rows(ranges, statistics.rows)
    }
}

struct Session;

impl SessionValues for Session {
    fn database(&self) -> Option<String> {
        Some("test".into())
    }

    fn system_variable(&self, _scope: Option<muster_sql::VariableScope>, name: &str) -> Result<Value> {
        Err(SqlError::internal(name))
    }

    fn user_variable(&self, _name: &str) -> Value {
        Value::Null
    }

    fn now_datetime(&self) -> i64 {
        0
    }

    fn user(&self) -> String {
        "root@localhost".into()
    }

    fn connection_id(&self) -> u32 {
        1
    }

    fn last_insert_id(&self) -> u64 {
        0
    }

    fn version(&self) -> String {
        "8.0.0".into()
    }

    fn default_collation(&self) -> Collation {
        Collation::DEFAULT
    }
}
