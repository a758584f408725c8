//! INSERT, REPLACE, UPDATE, DELETE.

use super::cursor::Cursor;
use crate::{
    Assignment, Delete, Insert, InsertRows, InsertSource, InsertValue, RowAlias, ScalarExpr, Statement, TableName,
    Update, statement::Written,
};
use muster_types::{Result, SqlError};
use sqlparser::{ast, tokenizer::Token};

/// `INSERT [LOW_PRIORITY | DELAYED | HIGH_PRIORITY] [IGNORE] [INTO] t ..` and `REPLACE ..`.
pub(super) fn insert(c: &mut Cursor) -> Result<Statement> {
    let hints = c.hints();
    let replace = c.accept_any(&["INSERT", "REPLACE"]) == Some("REPLACE");
    c.accept_any(&["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY"]);
    let ignore = !replace && c.accept("IGNORE");
    c.accept("INTO");
    let table = c.table_name()?;
    refuse_partition(c)?;
    let mut insert = Insert {
        table,
        replace,
        ignore,
        columns: None,
        source: InsertSource::Rows(InsertRows::default()),
        row_alias: None,
        on_duplicate: Vec::new(),
        written: written(c, hints),
    };
    if c.accept("SET") {
        let assignments = c.list(assignment)?;
        let (columns, values): (Vec<_>, Vec<_>) = assignments.into_iter().map(|a| (a.column, a.value)).unzip();
        let mut rows = InsertRows { values, ..InsertRows::default() };
        rows.end_row(0);
        (insert.columns, insert.source) = (Some(columns), InsertSource::Rows(rows));
    } else {
        if *c.peek(0) == Token::LParen && !begins_query(c, 1) {
            insert.columns = Some(column_list(c)?);
        }
        insert.source = match begins_rows(c) {
            true => InsertSource::Rows(rows(c)?),
            false => InsertSource::Query(Box::new(c.query()?)),
        };
    }
    if !replace {
        insert.row_alias = row_alias(c)?;
        if c.accept_on_duplicate() {
            insert.on_duplicate = c.list(assignment)?;
        }
    }
    Ok(Statement::Insert(Box::new(insert)))
}

pub(super) fn written(c: &Cursor, hints: Option<String>) -> Written {
    let assigns = c.source.assigns_variables();
    let (items, parameters) = (super::items::select_items(c.source), c.source.parameters);
    Written { hints, items, parameters, assigns, ..Written::default() }
}

fn refuse_partition(c: &Cursor) -> Result<()> {
    if c.at("PARTITION") {
        return Err(SqlError::unsupported("PARTITION"));
    }
    Ok(())
}

/// Returns true if the `n`th token from here begins a query.
fn begins_query(c: &Cursor, n: usize) -> bool {
    *c.peek(n) == Token::LParen || ["SELECT", "WITH", "TABLE", "VALUES"].iter().any(|word| c.at_nth(n, word))
}

/// `(a, t.b)` or `()`.
fn column_list(c: &mut Cursor) -> Result<Vec<Vec<String>>> {
    c.expect_token(&Token::LParen)?;
    if c.accept_token(&Token::RParen) {
        return Ok(Vec::new());
    }
    let columns = c.list(column_name)?;
    c.expect_token(&Token::RParen)?;
    Ok(columns)
}

/// `[[database.]table.]column`.
fn column_name(c: &mut Cursor) -> Result<Vec<String>> {
    let mut parts = vec![c.identifier()?];
    while parts.len() < 3 && c.accept_token(&Token::Period) {
        parts.push(c.identifier()?);
    }
    Ok(parts)
}

/// Returns true if VALUES or VALUE follows; `VALUES ROW(..)` is as good. A query may begin with VALUES, but then it has
/// no DEFAULT.
fn begins_rows(c: &Cursor) -> bool {
    c.at("VALUES") || c.at("VALUE")
}

fn rows(c: &mut Cursor) -> Result<InsertRows> {
    c.advance();
    let mut rows = match c.accept_literal_rows() {
        Some(rows) if !c.accept_token(&Token::Comma) => return Ok(rows),
        Some(rows) => rows,
        None => InsertRows::default(),
    };
    loop {
        c.accept("ROW");
        c.expect_token(&Token::LParen)?;
        let start = rows.values.len();
        if !c.accept_token(&Token::RParen) {
            rows.values.push(value(c)?);
            while c.accept_token(&Token::Comma) {
                rows.values.push(value(c)?);
            }
            c.expect_token(&Token::RParen)?;
        }
        rows.end_row(start);
        if !c.accept_token(&Token::Comma) {
            return Ok(rows);
        }
    }
}

/// An expression or DEFAULT.
fn value(c: &mut Cursor) -> Result<InsertValue> {
    if c.at("DEFAULT") && *c.peek(1) != Token::LParen {
        c.advance();
        return Ok(InsertValue::Default);
    }
    Ok(InsertValue::Expr(Box::new(c.expression()?)))
}

/// `column = value`.
pub(super) fn assignment(c: &mut Cursor) -> Result<Assignment> {
    if matches!(c.peek(0), Token::Word(word) if word.quote_style.is_none() && word.value.starts_with('@')) {
        return Err(c.error());
    }
    let column = column_name(c)?;
    if !c.accept_token(&Token::Eq) && !c.accept_token(&Token::Assignment) {
        return Err(c.error());
    }
    Ok(Assignment { column, value: value(c)? })
}

/// `AS new [(a, b)]`.
fn row_alias(c: &mut Cursor) -> Result<Option<RowAlias>> {
    if !c.accept("AS") {
        return Ok(None);
    }
    let name = c.identifier()?;
    let columns = match c.peek(0) {
        Token::LParen => c.parenthesised(|c| c.identifier())?,
        _ => Vec::new(),
    };
    Ok(Some(RowAlias { name, columns }))
}

/// `WITH .. UPDATE` and `WITH .. DELETE`.
pub(super) fn with(c: &mut Cursor) -> Result<Statement> {
    let with = c.with_clause()?;
    match c.word(0).as_str() {
        "UPDATE" => update(c, Some(with)),
        "DELETE" => delete(c, Some(with)),
        _ => Err(c.error()),
    }
}

/// `UPDATE [LOW_PRIORITY] [IGNORE] tables SET .. [WHERE ..] [ORDER BY ..] [LIMIT n]`.
pub(super) fn update(c: &mut Cursor, with: Option<ast::With>) -> Result<Statement> {
    let hints = c.hints();
    c.expect("UPDATE")?;
    c.accept("LOW_PRIORITY");
    let ignore = c.accept("IGNORE");
    let tables = c.table_references()?;
    c.expect("SET")?;
    let assignments = c.list(assignment)?;
    let condition = condition(c)?;
    let (order_by, limit) = order_and_limit(c)?;
    let written = written(c, hints);
    let update = Update { ignore, with, tables, assignments, condition, order_by, limit, written };
    Ok(Statement::Update(Box::new(update)))
}

/// `DELETE [LOW_PRIORITY] [QUICK] [IGNORE] FROM t ..`, `DELETE t, .. FROM tables ..`, `DELETE FROM t, .. USING tables
/// ..`.
pub(super) fn delete(c: &mut Cursor, with: Option<ast::With>) -> Result<Statement> {
    let hints = c.hints();
    c.expect("DELETE")?;
    c.accept("LOW_PRIORITY");
    c.accept("QUICK");
    let ignore = c.accept("IGNORE");
    let mut targets = None;
    if c.accept("FROM") {
        if names_before_using(c) {
            targets = Some(c.list(target)?);
            c.expect("USING")?;
        }
    } else {
        targets = Some(c.list(target)?);
        c.expect("FROM")?;
    }
    let tables = c.table_references()?;
    if targets.is_none() && (tables.len() > 1 || !tables[0].joins.is_empty()) {
        return Err(c.error());
    }
    if targets.is_none()
        && let [ast::TableWithJoins { relation: ast::TableFactor::Table { index_hints, .. }, .. }] = &tables[..]
        && !index_hints.is_empty()
    {
        return Err(c.error_at_word(&["USE", "FORCE", "IGNORE"]));
    }
    let condition = condition(c)?;
    // Several tables have neither.
    let (order_by, limit) = if targets.is_none() { order_and_limit(c)? } else { (Vec::new(), None) };
    let written = written(c, hints);
    let delete = Delete { ignore, with, targets, tables, condition, order_by, limit, written };
    Ok(Statement::Delete(Box::new(delete)))
}

/// `[database.]t[.*]`.
fn target(c: &mut Cursor) -> Result<TableName> {
    let first = c.identifier()?;
    let mut name = TableName { database: None, name: first };
    while c.accept_token(&Token::Period) {
        if c.accept_token(&Token::Mul) {
            break;
        }
        if name.database.is_some() {
            return Err(c.error());
        }
        name = TableName { database: Some(name.name), name: c.identifier()? };
    }
    Ok(name)
}

/// Returns true if what follows is a list of tables, and then USING.
fn names_before_using(c: &Cursor) -> bool {
    let mut n = 0;
    while let Token::Word(_) | Token::Period | Token::Mul | Token::Comma = c.peek(n) {
        if c.at_nth(n, "USING") {
            return true;
        }
        n += 1;
    }
    false
}

fn condition(c: &mut Cursor) -> Result<Option<ScalarExpr>> {
    if c.accept("WHERE") { c.expression().map(Some) } else { Ok(None) }
}

fn order_and_limit(c: &mut Cursor) -> Result<(Vec<ast::OrderByExpr>, Option<ScalarExpr>)> {
    let order_by = if c.accept("ORDER BY") { c.list(Cursor::order_key)? } else { Vec::new() };
    let limit = if c.accept("LIMIT") { Some(c.expression()?) } else { None };
    Ok((order_by, limit))
}
