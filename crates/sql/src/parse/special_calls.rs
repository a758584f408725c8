//! Calls and operators with a grammar of their own, as calls of the functions that they stand for.
//!
//! ```text
//!   CHAR(n, .. USING cs)           CONVERT(CHAR(n, ..) USING cs)
//!   WEIGHT_STRING(x AS CHAR(n))    WEIGHT_STRING(x, 'CHAR', n), also BINARY
//!   a SOUNDS LIKE b                SOUNDEX(a) = SOUNDEX(b)
//!   a [NOT] REGEXP b, a RLIKE b    sqlparser's node, also for a pattern that is NULL
//!   INSERT(..)                     a call, though the word is a statement's
//! ```

use super::dialect::call;
use sqlparser::{
    ast::{BinaryOperator, Expr, Ident, Value},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{Token, Word},
};

/// Reads `CHAR(n, .. [USING charset])`.
pub(super) fn char_call(parser: &mut Parser) -> Result<Expr, ParserError> {
    let args = opened(parser)?;
    let charset = match parser.parse_keyword(Keyword::USING) {
        true => Some(parser.parse_object_name(false)?),
        false => None,
    };
    parser.expect_token(&Token::RParen)?;
    let bytes = call(Ident::new("CHAR"), Some(args));
    Ok(match charset {
        None => bytes,
        Some(_) => Expr::Convert {
            is_try: false,
            expr: Box::new(bytes),
            data_type: None,
            charset,
            target_before_value: false,
            styles: Vec::new(),
        },
    })
}

/// Reads a name, an opening parenthesis and expressions.
fn opened(parser: &mut Parser) -> Result<Vec<Expr>, ParserError> {
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    parser.parse_comma_separated(Parser::parse_expr)
}

/// Reads `WEIGHT_STRING(x [AS CHAR(n) | AS BINARY(n)])`.
pub(super) fn weight_string(parser: &mut Parser) -> Result<Expr, ParserError> {
    let mut args = opened(parser)?;
    if parser.parse_keyword(Keyword::AS) {
        let kind = match parser.parse_keyword(Keyword::BINARY) {
            true => "BINARY",
            false => {
                parser.expect_keyword_is(Keyword::CHAR)?;
                "CHAR"
            }
        };
        parser.expect_token(&Token::LParen)?;
        let length = parser.parse_number_value()?;
        if matches!(&length.value, Value::Number(number, _) if number.trim_start_matches('0').is_empty()) {
            return Err(ParserError::ParserError("Expected: a length above 0".into()));
        }
        parser.expect_token(&Token::RParen)?;
        args.push(Expr::Value(Value::SingleQuotedString(kind.into()).into()));
        args.push(Expr::Value(length));
    }
    parser.expect_token(&Token::RParen)?;
    Ok(call(Ident::new("WEIGHT_STRING"), Some(args)))
}

/// Reads a call of a function whose name is a word of statements.
pub(super) fn named_call(name: Word, parser: &mut Parser) -> Result<Expr, ParserError> {
    let args = opened(parser)?;
    parser.expect_token(&Token::RParen)?;
    Ok(call(Ident::new(name.value), Some(args)))
}

/// Returns true if `SOUNDS LIKE` comes.
pub(super) fn sounds_like(word: &Word, parser: &Parser) -> bool {
    word.quote_style.is_none()
        && word.value.eq_ignore_ascii_case("SOUNDS")
        && matches!(&parser.peek_nth_token_ref(1).token, Token::Word(next) if next.keyword == Keyword::LIKE)
}

/// Reads `SOUNDS LIKE b` behind a.
pub(super) fn sounds_like_operator(parser: &mut Parser, left: &Expr, precedence: u8) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.advance_token();
    let right = parser.parse_subexpr(precedence)?;
    let soundex = |expr: Expr| Box::new(call(Ident::new("SOUNDEX"), Some(vec![expr])));
    Ok(Expr::BinaryOp { left: soundex(left.clone()), op: BinaryOperator::Eq, right: soundex(right) })
}

/// Returns true if `[NOT] REGEXP` or `[NOT] RLIKE` comes.
pub(super) fn regexp_comes(word: &Word, parser: &Parser) -> bool {
    let is_regexp = |word: &Word| matches!(word.keyword, Keyword::REGEXP | Keyword::RLIKE);
    match word.keyword {
        Keyword::NOT => matches!(&parser.peek_nth_token_ref(1).token, Token::Word(next) if is_regexp(next)),
        _ => is_regexp(word),
    }
}

/// Reads `[NOT] REGEXP b` behind a.
pub(super) fn regexp_operator(parser: &mut Parser, left: &Expr, precedence: u8) -> Result<Expr, ParserError> {
    let negated = parser.parse_keyword(Keyword::NOT);
    parser.advance_token();
    let pattern = Box::new(parser.parse_subexpr(precedence)?);
    Ok(Expr::RLike { negated, expr: Box::new(left.clone()), pattern, regexp: true })
}
