//! What MySQL 8.0.33 tells clients of the columns of SHOW: the tables of `information_schema` and `performance_schema`
//! that it reads, and lengths and flags of their columns.

use crate::{ColumnInfo, Outcome, ToldColumn};
use muster_sql::{Show, VariableScope};

/// A line for each column: the words of the statement; the column's name, or how it begins, with `*`; its database,
/// table, the table's own name and the column's own name, `=` for the same one; the number of its type in the protocol,
/// its length in bytes, `-` if that depends on the rows; decimals, flags and character set.
const COLUMNS: &str = include_str!("told_columns.txt");

/// The words behind SHOW that the lines of a statement begin with; `None` for one whose columns are told as they are.
pub fn words_of(show: &Show) -> Option<&str> {
    let is_global = |scope: &Option<VariableScope>| *scope == Some(VariableScope::Global);
    Some(match show {
        Show::Databases { .. } => "DATABASES",
        Show::Tables { .. } => "TABLES",
        Show::TableStatus { .. } => "TABLE STATUS",
        Show::Columns { .. } => "COLUMNS",
        Show::Index { .. } => "INDEX",
        Show::Variables { scope, .. } if is_global(scope) => "GLOBAL VARIABLES",
        Show::Variables { .. } => "VARIABLES",
        Show::Status { scope, .. } if is_global(scope) => "GLOBAL STATUS",
        Show::Status { .. } => "STATUS",
        Show::Processlist { full: true } => "FULL PROCESSLIST",
        Show::Processlist { full: false } => "PROCESSLIST",
        Show::CreateTable(_) => "CREATE TABLE",
        Show::CreateView(_) => "CREATE VIEW",
        Show::CreateDatabase { .. } => "CREATE DATABASE",
        Show::Engines => "ENGINES",
        Show::EngineStatus => "ENGINE STATUS",
        Show::Collation { .. } => "COLLATION",
        Show::CharacterSet { .. } => "CHARACTER SET",
        Show::Grants { .. } => "GRANTS",
        Show::Plugins => "PLUGINS",
        Show::Privileges => "PRIVILEGES",
        Show::Empty { what } => what.as_str(),
        Show::CreateUser(_) | Show::Warnings { .. } | Show::Errors { .. } => return None,
    })
}

/// The names of the columns of a statement.
pub fn names(words: &str) -> impl Iterator<Item = &'static str> {
    lines(words).filter_map(|mut line| line.next())
}

/// The outcome of a statement with what MySQL tells of its columns.
pub fn described(mut outcome: Outcome, words: Option<&str>) -> Outcome {
    if let (Outcome::Rows(result), Some(words)) = (&mut outcome, words) {
        result.columns.iter_mut().for_each(|column| describe(column, words));
    }
    outcome
}

fn describe(column: &mut ColumnInfo, words: &str) {
    for mut line in lines(words) {
        let name = line.next().unwrap_or_default();
        let is_it = match name.strip_suffix('*') {
            Some(beginning) => column.name.starts_with(beginning),
            None => column.name == name,
        };
        if !is_it {
            continue;
        }
        let mut text = || line.next().unwrap_or_default();
        column.database = text().to_owned();
        column.table = text().to_owned();
        column.org_table = text().to_owned();
        column.org_name = match text() {
            "=" => column.name.clone(),
            other => other.to_owned(),
        };
        let numbers: Vec<Option<u32>> = line.map(|digits| digits.parse().ok()).collect();
        column.told = told(&numbers);
        return;
    }
}

/// Type, length, decimals, flags and character set, of which the length may be missing.
fn told(numbers: &[Option<u32>]) -> Option<ToldColumn> {
    let [column_type, length, decimals, flags, charset] = *numbers else { return None };
    Some(ToldColumn {
        column_type: u8::try_from(column_type?).ok()?,
        length,
        decimals: u8::try_from(decimals?).ok()?,
        flags: u16::try_from(flags?).ok()?,
        charset: u16::try_from(charset?).ok()?,
    })
}

/// The fields behind the words of a statement, line by line.
fn lines(words: &str) -> impl Iterator<Item = std::str::Split<'static, char>> {
    COLUMNS.lines().filter_map(move |line| {
        let mut fields = line.split('\t');
        (fields.next() == Some(words)).then_some(fields)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_all_fields() {
        for line in COLUMNS.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields.len(), 11, "{line}");
            assert!(fields[7] == "-" || fields[7].parse::<u32>().is_ok(), "{line}");
            for number in [6, 8, 9, 10] {
                assert!(fields[number].parse::<u32>().is_ok(), "{line}");
            }
        }
    }
}
