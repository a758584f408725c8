//! HANDLER.

use super::cursor::Cursor;
use crate::{Handler, HandlerPlace, HandlerRead, Statement};
use muster_algebra::CompareOp;
use muster_types::Result;
use sqlparser::tokenizer::Token;

pub(super) fn handler(c: &mut Cursor) -> Result<Statement> {
    c.expect("HANDLER")?;
    let table = c.table_name()?;
    if c.accept("OPEN") {
        let alias = match c.accept("AS") || !c.at_end() {
            true => Some(c.unreserved()?),
            false => None,
        };
        return Ok(Statement::Handler(Handler::Open { table, alias }));
    }
    let name = table.name;
    if c.accept("CLOSE") {
        return Ok(Statement::Handler(Handler::Close { name }));
    }
    c.expect("READ")?;
    let (index, from) = place(c)?;
    let condition = if c.accept("WHERE") { Some(c.expression()?) } else { None };
    let (mut offset, mut count) = (0, 1);
    if c.accept("LIMIT") {
        count = c.unsigned()?;
        if c.accept_token(&Token::Comma) {
            offset = std::mem::replace(&mut count, c.unsigned()?);
        } else if c.accept("OFFSET") {
            offset = c.unsigned()?;
        }
    }
    Ok(Statement::Handler(Handler::Read(Box::new(HandlerRead { name, index, from, condition, offset, count }))))
}

/// `[index] {FIRST | NEXT | PREV | LAST}`, `index op (values)`. Without an index there are FIRST and NEXT.
fn place(c: &mut Cursor) -> Result<(Option<String>, HandlerPlace)> {
    let is_scan = c.at("FIRST") || c.at("NEXT");
    let follows = |c: &Cursor| ["FIRST", "NEXT", "PREV", "LAST"].iter().any(|word| c.at_nth(1, word));
    if is_scan && !follows(c) && !is_comparison(c.peek(1)) {
        let from = if c.accept("FIRST") { HandlerPlace::First } else { HandlerPlace::Next };
        if from == HandlerPlace::Next {
            c.expect("NEXT")?;
        }
        return Ok((None, from));
    }
    let index = Some(c.identifier()?);
    if let Some(word) = c.accept_any(&["FIRST", "NEXT", "PREV", "LAST"]) {
        let from = match word {
            "FIRST" => HandlerPlace::First,
            "NEXT" => HandlerPlace::Next,
            "PREV" => HandlerPlace::Previous,
            _ => HandlerPlace::Last,
        };
        return Ok((index, from));
    }
    let op = match c.peek(0) {
        Token::Eq => CompareOp::Eq,
        Token::GtEq => CompareOp::GtEq,
        Token::LtEq => CompareOp::LtEq,
        Token::Gt => CompareOp::Gt,
        Token::Lt => CompareOp::Lt,
        _ => return Err(c.error()),
    };
    c.advance();
    Ok((index, HandlerPlace::Key { op, values: c.parenthesised(Cursor::expression)? }))
}

fn is_comparison(token: &Token) -> bool {
    matches!(token, Token::Eq | Token::GtEq | Token::LtEq | Token::Gt | Token::Lt)
}
