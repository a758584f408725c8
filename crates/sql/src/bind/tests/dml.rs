//! INSERT, UPDATE and DELETE: targets, values, and how the rows are found.

use super::{print::expr, *};
use muster_types::time_zone::TimeZone;

fn value(v: &NewValue, columns: &Columns) -> String {
    match v {
        NewValue::Value(value) => value.to_string(),
        NewValue::Default => "DEFAULT".into(),
        NewValue::Expr(e) => expr(e, columns),
    }
}

fn assignments(list: &[BoundAssignment], targets: &[&ChangeTarget], columns: &Columns) -> String {
    let shown = list.iter().map(|a| {
        let target = targets[a.target];
        format!("set {}.{} = {}\n", target.alias, target.table.columns[a.column].name, value(&a.value, columns))
    });
    shown.collect()
}

fn check_text(check: Option<&ViewCheck>, columns: &Columns) -> String {
    check.map_or(String::new(), |check| {
        let conditions: Vec<String> = check.conditions.iter().map(|c| expr(c, columns)).collect();
        format!("check {}: {}\n", check.view, conditions.join(", "))
    })
}

fn search_text(search: &Search, surroundings: &Surroundings) -> String {
    let columns = &surroundings.columns;
    match search {
        Search::Table(search) => {
            let list = |es: Vec<&Expr>| es.iter().map(|e| expr(e, columns)).collect::<Vec<_>>().join(", ");
            let mut out = format!("table where {}", list(search.conditions.iter().collect()));
            if !search.order.is_empty() {
                out += &format!(" order {}", list(search.order.iter().map(|k| &k.expr).collect()));
            }
            if let Some(limit) = search.limit {
                out += &format!(" limit {limit}");
            }
            out + "\n"
        }
        Search::Query(rel) => {
            let bound = surroundings.bound(rel.clone());
            check(&bound, "");
            print(&bound)
        }
    }
}

fn rows_text(insert: &BoundInsert) -> String {
    let columns = &insert.surroundings.columns;
    let names: Vec<&str> = insert.given.iter().map(|i| insert.target.table.columns[*i].name.as_str()).collect();
    let mut out = format!("into {} ({})\n", insert.target.table.name, names.join(", "));
    match &insert.source {
        RowSource::Rows(rows) => {
            let shown: Vec<String> = rows.values.iter().map(|v| value(v, columns)).collect();
            out += &format!("{} rows: {}\n", rows.rows, shown.join(", "));
        }
        RowSource::Query(bound) => {
            check(bound, "");
            out += &print(bound);
        }
    }
    if let Some(duplicate) = &insert.on_duplicate {
        out += &assignments(&duplicate.assignments, &[&insert.target], columns);
        out += &check_text(duplicate.check.as_ref(), columns);
    }
    if let Some(constants) = &insert.surroundings.constants {
        out += &format!("constants {}\n", constants.output().len());
    }
    out
}

fn show_in(sql: &str, session: &TestSession) -> Result<String> {
    let env = BindEnv { catalog: TestCatalog::shared(), session, parameters: Parameters::Unknown };
    Ok(match parse(sql)? {
        Statement::Insert(insert) => {
            let bound = bind_insert(&insert, &env)?;
            rows_text(&bound) + &check_text(bound.target.check.as_ref(), &bound.surroundings.columns)
        }
        Statement::Update(update) => {
            let bound = bind_update(&update, &env)?;
            let columns = &bound.surroundings.columns;
            let checks: String = bound.targets.iter().map(|t| check_text(t.check.as_ref(), columns)).collect();
            assignments(&bound.assignments, &bound.targets.iter().collect::<Vec<_>>(), columns)
                + &checks
                + &search_text(&bound.search, &bound.surroundings)
        }
        Statement::Delete(delete) => {
            let bound = bind_delete(&delete, &env)?;
            let names: Vec<&str> = bound.targets.iter().map(|t| t.alias.as_str()).collect();
            format!("delete {}\n", names.join(", ")) + &search_text(&bound.search, &bound.surroundings)
        }
        other => panic!("{other:?}"),
    })
}

/// What became of each statement of the file. With `UPDATE_DML=1` the file is written anew, to be read before it is
/// committed. A statement behind `zone +02:00` is bound by a session of that zone.
#[test]
fn statements() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/bind/tests/dml.txt");
    let wanted = std::fs::read_to_string(file).unwrap();
    let mut found = Vec::new();
    for case in wanted.trim_end().split("\n\n") {
        let written = case.split("\n----\n").next().unwrap_or_default();
        let (zone, sql) = match written.strip_prefix("zone ").and_then(|rest| rest.split_once('\n')) {
            Some((zone, sql)) => (TimeZone::from_name(zone).unwrap(), sql),
            None => (TimeZone::UTC, written),
        };
        let session = TestSession { zone, ..TestSession::default() };
        let outcome = show_in(sql, &session).unwrap_or_else(|e| format!("ERROR {}: {}", e.code.number(), e.message));
        found.push(format!("{written}\n----\n{}", outcome.trim_end()));
    }
    let found = found.join("\n\n") + "\n";
    if std::env::var_os("UPDATE_DML").is_some() {
        std::fs::write(file, &found).unwrap();
    }
    for (found, wanted) in found.split("\n\n").zip(wanted.split("\n\n")) {
        assert_eq!(found.trim_end(), wanted.trim_end());
    }
}
