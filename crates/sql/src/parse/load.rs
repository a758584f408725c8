//! LOAD DATA.

use super::{cursor::Cursor, dml, session};
use crate::{FileFormat, LoadColumn, LoadData, OnDuplicate, Statement};
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::tokenizer::Token;

pub(super) fn load_data(c: &mut Cursor) -> Result<Statement> {
    c.expect("LOAD")?;
    if c.at("XML") || c.at("INDEX") {
        return Err(SqlError::unsupported(format!("LOAD {}", c.word(0))));
    }
    c.expect("DATA")?;
    c.accept_any(&["LOW_PRIORITY", "CONCURRENT"]);
    let local = c.accept("LOCAL");
    c.expect("INFILE")?;
    let path = c.string()?;
    let on_duplicate = match c.accept_any(&["REPLACE", "IGNORE"]) {
        Some("REPLACE") => OnDuplicate::Replace,
        Some(_) => OnDuplicate::Ignore,
        None => OnDuplicate::Error,
    };
    c.expect("INTO TABLE")?;
    let table = c.table_name()?;
    if c.at("PARTITION") {
        return Err(SqlError::unsupported("LOAD DATA .. PARTITION"));
    }
    let charset = if c.accept("CHARACTER SET") { Some(c.name_or_string()?) } else { None };
    let mut load = LoadData {
        local,
        path,
        on_duplicate,
        table,
        charset,
        format: FileFormat::default(),
        ignore_lines: 0,
        columns: Vec::new(),
        assignments: Vec::new(),
        written: dml::written(c, None),
    };
    if c.accept_any(&["FIELDS", "COLUMNS"]).is_some() {
        fields(c, &mut load.format)?;
    }
    if c.accept("LINES") {
        lines(c, &mut load.format)?;
    }
    if c.accept("IGNORE") {
        load.ignore_lines = c.unsigned()?;
        if c.accept_any(&["LINES", "ROWS"]).is_none() {
            return Err(c.error());
        }
    }
    if *c.peek(0) == Token::LParen {
        load.columns = c.parenthesised(column)?;
    }
    if c.accept("SET") {
        load.assignments = c.list(dml::assignment)?;
    }
    Ok(Statement::LoadData(Box::new(load)))
}

fn fields(c: &mut Cursor, format: &mut FileFormat) -> Result<()> {
    let mut any = false;
    loop {
        if c.accept("TERMINATED BY") {
            format.fields_terminated_by = c.string()?;
        } else if let Some(words) = c.accept_any(&["OPTIONALLY ENCLOSED BY", "ENCLOSED BY"]) {
            format.optionally_enclosed = words.starts_with("OPTIONALLY");
            format.fields_enclosed_by = character(c)?;
        } else if c.accept("ESCAPED BY") {
            format.fields_escaped_by = character(c)?;
        } else if any {
            return Ok(());
        } else {
            return Err(c.error());
        }
        any = true;
    }
}

fn lines(c: &mut Cursor, format: &mut FileFormat) -> Result<()> {
    let mut any = false;
    loop {
        if c.accept("STARTING BY") {
            format.lines_starting_by = c.string()?;
        } else if c.accept("TERMINATED BY") {
            format.lines_terminated_by = c.string()?;
        } else if any {
            return Ok(());
        } else {
            return Err(c.error());
        }
        any = true;
    }
}

/// One character or none.
fn character(c: &mut Cursor) -> Result<Option<char>> {
    let text = c.string()?;
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (first, None) => Ok(first),
        _ => Err(SqlError::new(
            ErrorCode::WrongFieldTerminators,
            "Field separator argument is not what is expected; check the manual",
        )),
    }
}

fn column(c: &mut Cursor) -> Result<LoadColumn> {
    Ok(match session::user_variable(c)? {
        Some(name) => LoadColumn::Variable(name),
        None => LoadColumn::Column(c.identifier()?),
    })
}
