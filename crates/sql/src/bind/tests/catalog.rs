//! A catalog made from CREATE TABLE texts, and a session that stands still.

use crate::{ColumnSpec, IndexKind, SessionValues, Statement, VariableScope, parse, split};
use muster_algebra::{Catalog, CheckOption, ColumnDef, Definer, IndexDef, TableDef, TableId, ViewDef};
use muster_types::{Collation, ErrorCode, KeyPart, Result, SqlError, SqlType, Value, temporal, time_zone::TimeZone};
use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

pub struct TestCatalog {
    tables: HashMap<(String, String), Arc<TableDef>>,
    views: Vec<Arc<ViewDef>>,
}

const SMALL: &str = "
create table t (
  id int primary key, a int not null, b int, d decimal(10,2), x double, f float, big bigint unsigned,
  c varchar(20), l varchar(20) character set latin1, g varchar(20) collate utf8mb4_general_ci, v varbinary(10),
  dt date, ts timestamp(3) null, tm time, dtm datetime, u tinyint unsigned,
  unique key ua (a), key kb (b), key kc (c(5)));
create table s (id int, a int, b int, name char(10), unique key ub (b));";

impl TestCatalog {
    pub fn shared() -> &'static TestCatalog {
        static SHARED: LazyLock<TestCatalog> = LazyLock::new(|| {
            let mut catalog = TestCatalog { tables: HashMap::new(), views: Vec::new() };
            catalog.add("test", SMALL);
            catalog.add("test", include_str!("../../../../lab/src/dbt3/schema.sql"));
            catalog.add("ssb", include_str!("../../../../lab/src/ssb/schema.sql"));
            catalog.add("information_schema", "create table words (word varchar(20) not null, n int);");
            for (name, columns, query) in [
                ("simple", vec![], "select id, a + 1 as a1 from t where b > 0"),
                ("named", vec!["k", "total"], "select a, sum(d) from t group by a"),
                ("broken", vec![], "select nothing from t"),
                ("nested", vec![], "select k from named"),
                (
                    "revenue0",
                    vec!["supplier_no", "total_revenue"],
                    "select l_suppkey, sum(l_extendedprice * (1 - l_discount)) from lineitem group by l_suppkey",
                ),
            ] {
                let columns = columns.into_iter().map(str::to_string).collect();
                let view = ViewDef {
                    database: "test".into(),
                    name: name.into(),
                    columns,
                    query: query.into(),
                    current_database: Some("test".into()),
                    definer: None,
                    check_option: None,
                    algorithm: Default::default(),
                };
                catalog.views.push(Arc::new(view));
            }
            for (name, check_option, query) in [
                ("positive", Some(CheckOption::Cascaded), "select id, a, b as bee from t where b > 0"),
                ("local", Some(CheckOption::Local), "select id, a, bee from plain where a > 1"),
                ("plain", None, "select id, a, bee from positive where a > 0"),
                ("joined", None, "select t.id, t.a, s.name, s.b from t join s on t.id = s.id"),
                ("distinct_a", None, "select distinct a from t"),
                ("computed", None, "select id, a + 1 as next, a from t"),
            ] {
                let view = ViewDef {
                    database: "test".into(),
                    name: name.into(),
                    columns: Vec::new(),
                    query: query.into(),
                    current_database: Some("test".into()),
                    definer: None,
                    check_option,
                    algorithm: Default::default(),
                };
                catalog.views.push(Arc::new(view));
            }
            catalog
        });
        &SHARED
    }

    fn add(&mut self, database: &str, sql: &str) {
        for text in split(sql) {
            let Statement::CreateTable(create) = parse(text).unwrap_or_else(|e| panic!("{text}: {e}")) else {
                panic!("{text}")
            };
            let column = |name: &str| create.columns.iter().position(|c| c.name == name).unwrap();
            let inline = create.columns.iter().filter(|c| c.primary_key).map(|c| vec![c.name.clone()]);
            let keyed = create.indexes.iter().filter(|i| i.kind == IndexKind::Primary);
            let primary = inline.chain(keyed.map(|i| i.columns.iter().map(|c| c.name.clone()).collect())).next();
            let primary = primary.unwrap_or_default();
            let part = |name: &str, prefix| KeyPart { column: column(name), prefix, descending: false };
            let mut indexes =
                vec![IndexDef { parts: primary.iter().map(|n| part(n, None)).collect(), ..IndexDef::hidden(0) }];
            for index in create.indexes.iter().filter(|i| i.kind != IndexKind::Primary) {
                indexes.push(IndexDef {
                    id: indexes.len() as u32,
                    name: index.name.clone().unwrap_or_else(|| index.columns[0].name.clone()),
                    parts: index.columns.iter().map(|c| part(&c.name, c.prefix)).collect(),
                    unique: index.kind == IndexKind::Unique,
                    invisible: false,
                });
            }
            let columns = create.columns.iter().map(|c| ColumnDef {
                auto_increment: c.auto_increment,
                digits: c.digits,
                ..ColumnDef::plain(
                    c.name.clone(),
                    collated(c),
                    c.nullable.unwrap_or(true) && !primary.contains(&c.name),
                )
            });
            let table = TableDef {
                id: TableId(self.tables.len() as u64),
                database: database.into(),
                name: create.name.name.clone(),
                columns: columns.collect(),
                indexes,
                collation: Collation::DEFAULT,
                comment: String::new(),
                checks: Vec::new(),
                foreign_keys: Vec::new(),
            };
            self.tables.insert((database.into(), create.name.name.clone()), Arc::new(table));
        }
    }
}

/// The type of a column with the collation that it was given.
fn collated(column: &ColumnSpec) -> SqlType {
    let of_charset = column.charset.as_deref().and_then(Collation::default_of_charset);
    match (column.ty, column.collation.as_deref().and_then(Collation::from_name).or(of_charset)) {
        (SqlType::Text { kind, length, .. }, Some(collation)) => SqlType::Text { kind, length, collation },
        (ty, _) => ty,
    }
}

impl Catalog for TestCatalog {
    fn check_database(&self, database: &str) -> Result<()> {
        match self.tables.keys().any(|(d, _)| d == database) {
            true => Ok(()),
            false => Err(SqlError::new(ErrorCode::BadDb, format!("Unknown database '{database}'"))),
        }
    }

    fn table(&self, database: &str, name: &str, _definer: Option<&Definer>) -> Result<Option<Arc<TableDef>>> {
        Ok(self.tables.get(&(database.to_string(), name.to_string())).cloned())
    }

    fn view(&self, database: &str, name: &str, _definer: Option<&Definer>) -> Result<Option<Arc<ViewDef>>> {
        Ok(self.views.iter().find(|v| v.database == database && v.name == name).cloned())
    }
}

pub struct TestSession {
    pub database: Option<String>,
    pub full_group_by: bool,
    pub zone: TimeZone,
}

impl Default for TestSession {
    fn default() -> Self {
        TestSession { database: Some("test".into()), full_group_by: true, zone: TimeZone::UTC }
    }
}

impl SessionValues for TestSession {
    fn database(&self) -> Option<String> {
        self.database.clone()
    }
    fn system_variable(&self, scope: Option<VariableScope>, name: &str) -> Result<Value> {
        match name {
            "max_allowed_packet" => Ok(Value::Int(64)),
            "group_concat_max_len" => Ok(Value::Int(1024)),
            "version_comment" => Ok(Value::Text(format!("Muster {scope:?}"))),
            _ => Err(SqlError::new(ErrorCode::UnknownSystemVariable, format!("Unknown system variable '{name}'"))),
        }
    }
    fn user_variable(&self, name: &str) -> Value {
        if name == "five" { Value::Int(5) } else { Value::Null }
    }
    fn now_datetime(&self) -> i64 {
        temporal::parse_datetime("2026-11-21 12:34:56.789012").unwrap()
    }
    fn time_zone(&self) -> TimeZone {
        self.zone
    }
    fn user(&self) -> String {
        "root@localhost".into()
    }
    fn connection_id(&self) -> u32 {
        7
    }
    fn last_insert_id(&self) -> u64 {
        0
    }
    fn version(&self) -> String {
        "8.4.0-muster".into()
    }
    fn default_collation(&self) -> Collation {
        Collation::DEFAULT
    }
    fn only_full_group_by(&self) -> bool {
        self.full_group_by
    }
}

/// The type of the first column of `t` that is called so, for comparison in tests.
pub fn column_type(name: &str) -> SqlType {
    let table = TestCatalog::shared().table("test", "t", None).unwrap().unwrap();
    table.columns[table.column(name).unwrap()].ty
}
