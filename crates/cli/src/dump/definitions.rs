//! The definitions of a dump: what there is, and the statements that make it.

use crate::shell::{backend::Backend, output::Answer};
use anyhow::{Context, bail};
use std::{
    io::{self, Write},
    sync::Arc,
};

pub struct DumpedDatabase {
    pub name: String,
    /// The statement that makes it, if it is not there.
    pub create: String,
    pub tables: Vec<Arc<DumpedTable>>,
    pub views: Vec<DumpedView>,
}

pub struct DumpedTable {
    pub name: String,
    create: String,
    /// The columns that values are given for: not the generated ones.
    pub columns: Vec<DumpedColumn>,
}

pub struct DumpedView {
    name: String,
    create: String,
    columns: Vec<String>,
}

pub struct DumpedColumn {
    pub name: String,
    pub kind: ColumnKind,
}

/// How values of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// As they are shown.
    Number,
    /// With all digits that a FLOAT has, which it does not show.
    Float,
    /// As hexadecimal digits.
    Bytes,
    /// Between quotes.
    Text,
}

impl ColumnKind {
    fn of(data_type: &str) -> ColumnKind {
        match data_type.to_ascii_lowercase().as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "double" | "year" => {
                ColumnKind::Number
            }
            "float" => ColumnKind::Float,
            "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "bit" => ColumnKind::Bytes,
            _ => ColumnKind::Text,
        }
    }
}

/// A name between backticks.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text between quotes, as statements have it.
pub fn quoted_text(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    push_quoted(&mut out, text);
    String::from_utf8_lossy(&out).into_owned()
}

/// Adds a text between quotes.
pub fn push_quoted(out: &mut Vec<u8>, text: &str) {
    out.push(b'\'');
    for byte in text.bytes() {
        let escaped = match byte {
            0 => b'0',
            b'\n' => b'n',
            b'\r' => b'r',
            0x1a => b'Z',
            b'\'' | b'\\' => byte,
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.extend([b'\\', escaped]);
    }
    out.push(b'\'');
}

/// The definitions of these databases, or of all. Errors: one that is not there; those of the statements.
pub async fn read(backend: &mut Backend, wanted: &[String]) -> anyhow::Result<Vec<DumpedDatabase>> {
    let query = "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN \
                 ('information_schema', 'performance_schema', 'mysql', 'sys') ORDER BY SCHEMA_NAME";
    let all = first_cells(rows(backend, query).await?)?;
    if let Some(missing) = wanted.iter().find(|name| !all.contains(name)) {
        bail!("there is no database {missing}");
    }
    let names = if wanted.is_empty() { all } else { wanted.to_vec() };
    let mut databases = Vec::with_capacity(names.len());
    for name in names {
        databases.push(database(backend, name).await?);
    }
    Ok(databases)
}

async fn database(backend: &mut Backend, name: String) -> anyhow::Result<DumpedDatabase> {
    let create = shown(backend, &format!("SHOW CREATE DATABASE IF NOT EXISTS {}", quoted(&name))).await?;
    let query = "SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA";
    let found = rows(backend, &format!("{query} = {} ORDER BY TABLE_NAME", quoted_text(&name))).await?;
    let (mut tables, mut views) = (Vec::new(), Vec::new());
    for row in found {
        let [table, kind] = cells(row)?;
        let full = format!("{}.{}", quoted(&name), quoted(&table));
        let columns = columns(backend, &name, &table).await?;
        if kind == "VIEW" {
            let create = shown(backend, &format!("SHOW CREATE VIEW {full}")).await?;
            let columns = columns.into_iter().map(|(column, _)| column.name).collect();
            views.push(DumpedView { name: table, create, columns });
        } else {
            let create = shown(backend, &format!("SHOW CREATE TABLE {full}")).await?;
            let columns = columns.into_iter().filter(|(_, generated)| !generated).map(|(column, _)| column).collect();
            tables.push(Arc::new(DumpedTable { name: table, create, columns }));
        }
    }
    Ok(DumpedDatabase { name, create, tables, views })
}

/// The columns of a table or a view, each with true if it is generated.
async fn columns(backend: &mut Backend, database: &str, table: &str) -> anyhow::Result<Vec<(DumpedColumn, bool)>> {
    let query = format!(
        "SELECT COLUMN_NAME, DATA_TYPE, GENERATION_EXPRESSION <> '' FROM information_schema.COLUMNS \
         WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} ORDER BY ORDINAL_POSITION",
        quoted_text(database),
        quoted_text(table)
    );
    let column = |row| {
        let [name, data_type, is_generated] = cells(row)?;
        Ok((DumpedColumn { name, kind: ColumnKind::of(&data_type) }, is_generated == "1"))
    };
    rows(backend, &query).await?.into_iter().map(column).collect()
}

/// The second column of the row of a SHOW CREATE.
async fn shown(backend: &mut Backend, statement: &str) -> anyhow::Result<String> {
    let row = rows(backend, statement).await?.into_iter().next();
    let cell = row.and_then(|row| row.into_iter().nth(1)).flatten();
    cell.with_context(|| format!("{statement} says nothing"))
}

async fn rows(backend: &mut Backend, query: &str) -> anyhow::Result<Vec<Vec<Option<String>>>> {
    match backend.run(query).await?.into_iter().next() {
        Some(Answer::Rows { rows, .. }) => Ok(rows),
        _ => bail!("{query} has no rows"),
    }
}

fn first_cells(rows: Vec<Vec<Option<String>>>) -> anyhow::Result<Vec<String>> {
    rows.into_iter().map(|row| cells(row).map(|[cell]| cell)).collect()
}

/// The cells of a row of so many, none of which is NULL.
fn cells<const N: usize>(row: Vec<Option<String>>) -> anyhow::Result<[String; N]> {
    let cells: Option<Vec<String>> = row.into_iter().collect();
    cells.and_then(|cells| cells.try_into().ok()).context("information_schema has other columns")
}

impl DumpedDatabase {
    /// Writes statements that make the tables anew, and tables in the places of views: what reads the views finds names
    /// until they are there.
    pub fn write_definitions(&self, out: &mut impl Write) -> io::Result<()> {
        for table in &self.tables {
            let name = quoted(&table.name);
            writeln!(out, "\nDROP TABLE IF EXISTS {name};\n{};", table.create)?;
        }
        for view in &self.views {
            let (name, columns) = (quoted(&view.name), view.columns.iter());
            let columns: Vec<String> = columns.map(|column| format!("1 AS {}", quoted(column))).collect();
            writeln!(out, "\nDROP TABLE IF EXISTS {name};\nDROP VIEW IF EXISTS {name};")?;
            writeln!(out, "CREATE VIEW {name} AS SELECT {};", columns.join(", "))?;
        }
        writeln!(out)
    }
}

impl DumpedView {
    /// Writes statements that put the view in its place.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\nDROP VIEW IF EXISTS {};\n{};", quoted(&self.name), self.create)
    }
}

/// The views of all databases, each behind those that its text mentions: `WITH CHECK OPTION` wants a view that rows can
/// be written through, which one that stands in its place is not. A name that is no view's may move a view, too.
pub fn views_in_order(databases: &[DumpedDatabase]) -> Vec<(&DumpedDatabase, &DumpedView)> {
    let all: Vec<_> = databases.iter().flat_map(|database| database.views.iter().map(move |v| (database, v))).collect();
    let mentioned = |(at, (_, view)): (usize, &(&DumpedDatabase, &DumpedView))| -> Vec<usize> {
        (0..all.len()).filter(|other| *other != at && mentions(&view.create, &all[*other].1.name)).collect()
    };
    let mentioned: Vec<Vec<usize>> = all.iter().enumerate().map(mentioned).collect();
    let (mut seen, mut ordered) = (vec![false; all.len()], Vec::with_capacity(all.len()));
    for first in 0..all.len() {
        // A view, and the number of those that it mentions which have been looked at.
        let mut path = Vec::new();
        if !std::mem::replace(&mut seen[first], true) {
            path.push((first, 0));
        }
        while let Some((view, looked_at)) = path.last_mut() {
            match mentioned[*view].get(*looked_at) {
                Some(next) => {
                    *looked_at += 1;
                    if !std::mem::replace(&mut seen[*next], true) {
                        path.push((*next, 0));
                    }
                }
                None => {
                    ordered.push(all[*view]);
                    path.pop();
                }
            }
        }
    }
    ordered
}

impl DumpedTable {
    /// The query that reads the rows.
    pub fn query(&self, database: &str) -> String {
        let column = |column: &DumpedColumn| {
            let name = quoted(&column.name);
            match column.kind {
                ColumnKind::Number | ColumnKind::Text => name,
                ColumnKind::Float => format!("CAST({name} AS DOUBLE)"),
                ColumnKind::Bytes => format!("HEX({name})"),
            }
        };
        let mut columns: Vec<String> = self.columns.iter().map(column).collect();
        if columns.is_empty() {
            // All columns are generated: what counts is how many rows there are.
            columns.push("1".to_owned());
        }
        format!("SELECT {} FROM {}.{}", columns.join(", "), quoted(database), quoted(&self.name))
    }

    /// The beginning of each INSERT of its rows.
    pub fn insert(&self) -> String {
        let columns: Vec<String> = self.columns.iter().map(|column| quoted(&column.name)).collect();
        format!("INSERT INTO {} ({}) VALUES\n", quoted(&self.name), columns.join(", "))
    }
}

/// Returns true if a text has a name, between backticks or as a word.
fn mentions(text: &str, name: &str) -> bool {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let is_word = |(at, _): (usize, &str)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
        !before.is_some_and(is_of_word) && !after.is_some_and(is_of_word)
    };
    text.contains(&quoted(name)) || text.match_indices(name).any(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes() {
        assert_eq!(quoted("a`b"), "`a``b`");
        assert_eq!(quoted_text("it's \\ \n\r\0\u{1a} ä"), "'it\\'s \\\\ \\n\\r\\0\\Z ä'");
    }

    #[test]
    fn views_stand_behind_those_that_they_mention() {
        let view = |name: &str, text: &str| DumpedView { name: name.into(), create: text.into(), columns: Vec::new() };
        let database =
            |name: &str, views| DumpedDatabase { name: name.into(), create: String::new(), tables: Vec::new(), views };
        let first = vec![view("a", "`a` .. `c` .. `d`"), view("b", "`b`"), view("c", "`c` .. `two`.`z`")];
        let second = vec![view("d", "`d` .. `one`.`a`"), view("z", "`z` .. `b`")];
        let databases = [database("one", first), database("two", second)];
        let names: Vec<&str> = views_in_order(&databases).iter().map(|(_, view)| view.name.as_str()).collect();
        assert_eq!(names, ["b", "z", "c", "d", "a"]);
    }

    #[test]
    fn names_in_texts() {
        for text in ["FROM `a``b` x", "from v", "v.x", "JOIN d.v,", "(v)"] {
            assert!(mentions(text, "v") || mentions(text, "a`b"), "{text}");
        }
        for text in ["v1", "_v", "äv", "a.vw", ""] {
            assert!(!mentions(text, "v"), "{text}");
        }
    }

    #[test]
    fn statements_of_a_table() {
        let column = |name: &str, data_type: &str| DumpedColumn { name: name.into(), kind: ColumnKind::of(data_type) };
        let columns = vec![column("a", "int"), column("f", "FLOAT"), column("b`", "varbinary"), column("t", "json")];
        let table = DumpedTable { name: "t".into(), create: String::new(), columns };
        assert_eq!(table.query("d"), "SELECT `a`, CAST(`f` AS DOUBLE), HEX(`b```), `t` FROM `d`.`t`");
        assert_eq!(table.insert(), "INSERT INTO `t` (`a`, `f`, `b```, `t`) VALUES\n");
        let generated = DumpedTable { name: "t".into(), create: String::new(), columns: Vec::new() };
        assert_eq!(generated.query("d"), "SELECT 1 FROM `d`.`t`");
        assert_eq!(generated.insert(), "INSERT INTO `t` () VALUES\n");
    }
}
