//! Columns, keys and default rows of the two tables.

use super::names::{NamedCost, named_costs};
use crate::{
    catalog::{TableEntry, TableExtras, now_utc_micros},
    system_schema,
};
use muster_algebra::{ColumnDef, DefaultValue, Generated, IndexDef, TableDef, TableId};
use muster_types::{Collation, IntWidth, KeyPart, SqlType, Value, temporal::EpochMicros};
use std::sync::Arc;

pub const SERVER: &str = "server_cost";
pub const ENGINE: &str = "engine_cost";

/// The engine whose costs the rows of `engine_cost` are.
pub const DEFAULT_ENGINE: &str = "default";

/// The two tables as virtual ones, without numbers.
pub fn definitions() -> [TableDef; 2] {
    [ENGINE, SERVER].map(|name| {
        let indexes = vec![IndexDef::hidden(0)];
        TableDef { indexes, ..definition(name) }
    })
}

/// One of the two tables as a stored one, without number and files. `None` for another name.
pub fn entry(name: &str) -> Option<TableEntry> {
    let name = [SERVER, ENGINE].into_iter().find(|known| *known == name)?;
    let def = definition(name);
    let last_update = def.columns.iter().position(|column| column.name == "last_update")?;
    Some(TableEntry {
        def: Arc::new(def),
        extras: TableExtras { on_update_now: vec![last_update], ..TableExtras::default() },
        files: Vec::new(),
        next_index_id: 1,
        created: now_utc_micros(),
        layouts: Arc::default(),
    })
}

fn definition(name: &str) -> TableDef {
    let of_engine = name == ENGINE;
    let varchar = |length| SqlType::varchar(length, Collation::SYSTEM);
    let mut columns = Vec::with_capacity(7);
    if of_engine {
        columns.push(ColumnDef::plain("engine_name", varchar(64), false));
        columns.push(ColumnDef::plain("device_type", SqlType::Int { width: IntWidth::Int, unsigned: false }, false));
    }
    let name_at = columns.len();
    columns.push(ColumnDef::plain("cost_name", varchar(64), false));
    columns.push(ColumnDef::plain("cost_value", SqlType::Float, true));
    columns.push(ColumnDef {
        default: Some(DefaultValue::CurrentTimestamp),
        ..ColumnDef::plain("last_update", SqlType::Timestamp { fsp: 0 }, false)
    });
    columns.push(ColumnDef::plain("comment", varchar(1024), true));
    columns.push(ColumnDef {
        generated: Some(Generated { expr: defaults_by_name(&named_costs(of_engine)), stored: false }),
        ..ColumnDef::plain("default_value", SqlType::Float, true)
    });
    let key = if of_engine { vec![name_at, 0, 1] } else { vec![name_at] };
    let parts = key.into_iter().map(|column| KeyPart { column, prefix: None, descending: false }).collect();
    TableDef {
        id: TableId(0),
        database: system_schema::MYSQL.into(),
        name: name.into(),
        columns,
        indexes: vec![IndexDef { id: 0, name: "PRIMARY".into(), parts, unique: true, invisible: false }],
        collation: Collation::SYSTEM,
        comment: String::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
    }
}

/// The expression of `default_value`, as MySQL prints its own.
fn defaults_by_name(costs: &[NamedCost]) -> String {
    let number = |value: f64| if value.fract() == 0.0 { format!("{value:.1}") } else { value.to_string() };
    let whens: String =
        costs.iter().map(|cost| format!(" when _utf8mb3'{}' then {}", cost.name, number(cost.default))).collect();
    format!("(case `cost_name`{whens} else NULL end)")
}

/// The rows of a table with all defaults in force. `since`: the moment in microseconds since 1970, UTC.
pub fn default_rows(name: &str, since: i64) -> Vec<Vec<Value>> {
    let of_engine = name == ENGINE;
    let seconds = EpochMicros(since - since.rem_euclid(1_000_000));
    let row = |cost: NamedCost| {
        let own = [
            Value::Text(cost.name.into()),
            Value::Null,
            Value::DateTime(seconds.datetime()),
            Value::Text(cost.comment),
            Value::Float(cost.default as f32),
        ];
        let engine = [Value::Text(DEFAULT_ENGINE.into()), Value::Int(0)];
        engine.into_iter().filter(|_| of_engine).chain(own).collect()
    };
    named_costs(of_engine).into_iter().map(row).collect()
}
