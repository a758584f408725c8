//! The forms in which answers are printed: table, vertical, CSV, JSON.

use comfy_table::{CellAlignment, Table, presets};
use std::fmt::Write;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Table,
    Vertical,
    Csv,
    /// An array of objects, one per row
    Json,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub name: String,
    /// Aligned to the right; a JSON number.
    pub numeric: bool,
}

/// The result of a statement, as text. `None` is NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Rows { headers: Vec<Header>, rows: Vec<Vec<Option<String>>> },
    Done { affected_rows: u64, info: String, warnings: usize },
}

pub fn render(answer: &Answer, format: Format) -> String {
    match answer {
        Answer::Done { affected_rows, info, warnings } => match format {
            Format::Table | Format::Vertical => {
                let warnings = if *warnings > 0 { format!(", {warnings} warning(s)") } else { String::new() };
                let info = if info.is_empty() { String::new() } else { format!("\n{info}") };
                format!("Query OK, {affected_rows} row(s) affected{warnings}{info}\n")
            }
            Format::Csv | Format::Json => String::new(),
        },
        Answer::Rows { headers, rows } => match format {
            Format::Table => table(headers, rows),
            Format::Vertical => vertical(headers, rows),
            Format::Csv => csv(headers, rows),
            Format::Json => json(headers, rows),
        },
    }
}

fn shown(cell: &Option<String>) -> &str {
    cell.as_deref().unwrap_or("NULL")
}

fn table(headers: &[Header], rows: &[Vec<Option<String>>]) -> String {
    if rows.is_empty() {
        return "Empty set\n".to_string();
    }
    let mut table = Table::new();
    table.load_preset(presets::ASCII_FULL_CONDENSED);
    table.set_header(headers.iter().map(|h| &h.name));
    for (i, _) in headers.iter().enumerate().filter(|(_, h)| h.numeric) {
        if let Some(column) = table.column_mut(i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in rows {
        table.add_row(row.iter().map(shown));
    }
    format!("{table}\n{} row(s) in set\n", rows.len())
}

fn vertical(headers: &[Header], rows: &[Vec<Option<String>>]) -> String {
    let width = headers.iter().map(|h| h.name.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for (i, row) in rows.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "*************************** {}. row ***************************", i + 1);
        for (header, cell) in headers.iter().zip(row) {
            let _ = writeln!(out, "{:>width$}: {}", header.name, shown(cell));
        }
    }
    out
}

/// NULL is an empty field, an empty text is quoted.
fn csv(headers: &[Header], rows: &[Vec<Option<String>>]) -> String {
    let mut out = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = Option<&str>>| {
        for (i, cell) in cells.enumerate() {
            if i > 0 {
                out.push(',');
            }
            match cell {
                None => {}
                Some(text) if text.is_empty() || text.contains(['"', ',', '\n', '\r']) => {
                    let _ = write!(out, "\"{}\"", text.replace('"', "\"\""));
                }
                Some(text) => out.push_str(text),
            }
        }
        out.push('\n');
    };
    line(&mut headers.iter().map(|h| Some(h.name.as_str())));
    rows.iter().for_each(|row| line(&mut row.iter().map(|c| c.as_deref())));
    out
}

fn json(headers: &[Header], rows: &[Vec<Option<String>>]) -> String {
    use serde_json::{Map, Value};
    let value = |header: &Header, cell: &Option<String>| match cell {
        None => Value::Null,
        // A number keeps its digits when JSON can hold them, else it is a text.
        Some(text) if header.numeric => match text.parse::<serde_json::Number>() {
            Ok(n) if n.to_string() == *text => Value::Number(n),
            _ => Value::String(text.clone()),
        },
        Some(text) => Value::String(text.clone()),
    };
    let objects: Vec<Value> = (rows.iter())
        .map(|row| {
            let cells = headers.iter().zip(row).map(|(h, c)| (h.name.clone(), value(h, c)));
            Value::Object(Map::from_iter(cells))
        })
        .collect();
    serde_json::to_string_pretty(&objects).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Answer {
        let header = |name: &str, numeric| Header { name: name.into(), numeric };
        let text = |t: &str| Some(t.to_string());
        Answer::Rows {
            headers: vec![header("n", true), header("t", false)],
            rows: vec![vec![text("1"), text("a,\"b\"")], vec![None, text("")], vec![text("0.50"), None]],
        }
    }

    #[test]
    fn csv_tells_null_from_empty() {
        assert_eq!(render(&answer(), Format::Csv), "n,t\n1,\"a,\"\"b\"\"\"\n,\"\"\n0.50,\n");
    }

    #[test]
    fn json_keeps_digits() {
        let json: serde_json::Value = serde_json::from_str(&render(&answer(), Format::Json)).unwrap();
        assert_eq!(json[0]["n"], 1);
        assert_eq!(json[2]["n"], "0.50");
        assert!(json[1]["n"].is_null());
    }

    #[test]
    fn vertical_aligns_names() {
        assert!(render(&answer(), Format::Vertical).starts_with("*************************** 1. row"));
    }
}
