//! Tables and statistics for plan tests, read from the schema files and statistics files of a workload.

use muster_algebra::{
    Catalog, ColumnDef, ColumnStatistics, Columns, Definer, IndexDef, IndexStatistics, KeyRange, Plan, Statistics,
    TableDef, TableId, ViewDef,
};
use muster_optimizer::{Options, optimize, plan::validate};
use muster_sql::{BindEnv, SessionValues, Statement};
use muster_types::{Collation, Decimal, IntWidth, KeyPart, Result, SqlError, SqlType, TextKind, Value, temporal};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub struct Workload {
    tables: HashMap<String, Arc<TableDef>>,
    rows: HashMap<String, f64>,
    columns: HashMap<(String, usize), ColumnStatistics>,
    views: HashMap<String, Arc<ViewDef>>,
}

pub fn dbt3() -> Workload {
    let schema = include_str!("../../../lab/src/dbt3/schema.sql");
    Workload::new(schema, include_str!("statistics-dbt3.txt"))
}

pub fn ssb() -> Workload {
    let schema = include_str!("../../../lab/src/ssb/schema.sql");
    Workload::new(schema, include_str!("statistics-ssb.txt"))
}

/// A table with an index of every kind.
pub fn messages() -> Workload {
    Workload::new(include_str!("schema-messages.sql"), include_str!("statistics-messages.txt"))
}

impl Workload {
    fn new(schema: &str, statistics: &str) -> Workload {
        let tables = read_schema(schema);
        let mut workload = Workload { tables, rows: HashMap::new(), columns: HashMap::new(), views: HashMap::new() };
        workload.read_statistics(statistics);
        workload
    }

    fn read_statistics(&mut self, text: &str) {
        let mut table: Option<Arc<TableDef>> = None;
        for line in text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number: f64 = words[1].parse().expect("a number");
            if let Some(found) = self.tables.get(words[0]) {
                self.rows.insert(words[0].into(), number);
                table = Some(found.clone());
                continue;
            }
            let table = table.as_ref().expect("a table before its columns");
            let column = table.column(words[0]).unwrap_or_else(|| panic!("no column {}", words[0]));
            let ty = table.columns[column].ty;
            let bound = |i: usize| words.get(i).map(|w| value(w, ty));
            let known = ColumnStatistics { distinct: number, null_share: 0.0, min: bound(2), max: bound(3) };
            self.columns.insert((table.name.clone(), column), known);
        }
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
        let mut catalog = Workload {
            tables: self.tables.clone(),
            rows: self.rows.clone(),
            columns: self.columns.clone(),
            views: HashMap::new(),
        };
        for piece in muster_sql::split(sql) {
            let lower = piece.trim_start().to_ascii_lowercase();
            if let Some(view) = lower.strip_prefix("create view ") {
                catalog.add_view(view);
                continue;
            }
            if lower.starts_with("drop view") {
                continue;
            }
            let Statement::Query(query) = muster_sql::parse(piece)? else {
                return Err(SqlError::internal("not a query"));
            };
            let env = BindEnv { catalog: &catalog, session: &Session, parameters: muster_sql::Parameters::Values(&[]) };
            let start = Instant::now();
            let bound = muster_sql::bind_query(&query, &env)?;
            let mut columns = bound.columns;
            let wanted = bound.rel.output();
            let mut options = options.clone();
            options.hints = bound.hints;
            let plan = optimize(bound.rel, &mut columns, &catalog, &options)?;
            let time = start.elapsed();
            assert_eq!(plan.output, wanted);
            validate::validate(&plan, &Default::default(), &columns)?;
            return Ok(((plan, columns), time));
        }
        Err(SqlError::internal("no query"))
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
        };
        self.views.insert(view.name.clone(), Arc::new(view));
    }
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
                indexes: vec![IndexDef { id: 0, name: "PRIMARY".into(), parts: Vec::new(), unique: true }],
                collation: Collation::DEFAULT,
                comment: String::new(),
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
            table.indexes.push(IndexDef { id, name, parts: parts(table, key), unique: false });
        } else if let Some((name, rest)) = line.split_once(' ') {
            let primary = rest.contains("primary key");
            if primary {
                let column = table.columns.len();
                table.indexes[0].parts = vec![KeyPart { column, prefix: None, descending: false }];
            }
            table.columns.push(ColumnDef {
                name: name.into(),
                ty: sql_type(rest),
                nullable: !primary && !rest.contains("not null"),
                default: None,
                auto_increment: false,
                digits: None,
                comment: String::new(),
            });
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

fn value(text: &str, ty: SqlType) -> Value {
    match ty {
        SqlType::Date => Value::Date(temporal::parse_date(text).expect("a date")),
        SqlType::Decimal { .. } => Value::Decimal(Decimal::parse(text).expect("a decimal")),
        _ => Value::Int(text.parse().expect("an integer")),
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
        self.rows.get(&table.name).copied()
    }

    fn column(&self, table: &TableDef, column: usize) -> Option<ColumnStatistics> {
        self.columns.get(&(table.name.clone(), column)).cloned()
    }

    fn index(&self, _table: &TableDef, _index: usize) -> Option<IndexStatistics> {
        None
    }

    fn range_rows(&self, _table: &TableDef, _index: usize, _ranges: &[KeyRange]) -> Option<f64> {
        None
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

    fn now_micros(&self) -> i64 {
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
