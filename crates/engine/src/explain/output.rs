//! What EXPLAIN gives back: a table, or one text.

use super::named_format;
use crate::{
    ColumnInfo, Outcome,
    rows::{self, text_column},
    statement::StatementContext,
};
use muster_sql::ExplainFormat;
use muster_types::{Collation, IntWidth, Result, SqlError, SqlType, TextKind, Value};

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Traditional,
    /// `explain_json_format_version` = 1.
    JsonFirst,
    JsonSecond,
    Tree,
}

/// The form that a statement asks for, by itself or through the session's variables.
pub fn form(context: &StatementContext, analyze: bool, given: Option<ExplainFormat>) -> Form {
    match named_format(context, analyze, given) {
        ExplainFormat::Traditional => Form::Traditional,
        ExplainFormat::Tree => Form::Tree,
        ExplainFormat::Json => match context.session.variables.unsigned("explain_json_format_version") {
            2 => Form::JsonSecond,
            _ => Form::JsonFirst,
        },
    }
}

/// Error 1235 for `EXPLAIN .. INTO` in another format than JSON, as in MySQL 8.1 and later.
pub fn check_into(variable: Option<&str>, form: Form) -> Result<()> {
    match (variable, form) {
        (None, _) | (_, Form::JsonFirst | Form::JsonSecond) => Ok(()),
        (Some(_), Form::Traditional | Form::Tree) => {
            Err(SqlError::unsupported("EXPLAIN INTO with a format other than JSON"))
        }
    }
}

/// Characters of the names of partitions, for clients to be told what MySQL tells them.
const PARTITIONS_LENGTH: u32 = 2_105_344;

/// An answer of EXPLAIN.
pub enum Explained {
    Text(String),
    /// Lines of the traditional table.
    Table(Vec<Vec<Value>>),
}

impl Explained {
    /// The text, which a user variable takes.
    pub fn into_text(self) -> Result<Value> {
        match self {
            Explained::Text(text) => Ok(Value::Text(text)),
            Explained::Table(_) => Err(SqlError::internal("a table has no text")),
        }
    }

    /// The answer as a result, its columns as MySQL declares them.
    pub fn outcome(self) -> Result<Outcome> {
        match self {
            Explained::Text(text) => {
                let column = text_column("EXPLAIN", u32::MAX / 4);
                rows::outcome(vec![column], &[vec![Value::Text(text)]])
            }
            Explained::Table(lines) => table(&lines),
        }
    }
}

fn table(lines: &[Vec<Value>]) -> Result<Outcome> {
    let big = SqlType::Int { width: IntWidth::Big, unsigned: true };
    let number = |name, ty, nullable, length| {
        let mut column = rows::column(name, ty, nullable);
        (column.length, column.shape.length) = (Some(length), Some(length));
        column
    };
    let given = |name, length| ColumnInfo { nullable: false, ..text_column(name, length) };
    let mut filtered = number("filtered", SqlType::Double, true, 4);
    filtered.decimals = Some(2);
    let partitions =
        SqlType::Text { kind: TextKind::MediumText, length: PARTITIONS_LENGTH, collation: Collation::SYSTEM };
    let columns = vec![
        number("id", big, false, 4),
        given("select_type", 19),
        text_column("table", 64),
        rows::column("partitions", partitions, true),
        text_column("type", 10),
        text_column("possible_keys", 4096),
        text_column("key", 64),
        text_column("key_len", 4096),
        text_column("ref", 1024),
        number("rows", big, true, 11),
        filtered,
        given("Extra", 255),
    ];
    rows::outcome(columns, lines)
}
