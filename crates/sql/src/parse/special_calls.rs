//! Calls and operators with a grammar of their own, as calls of the functions that they stand for.
//!
//! ```text
//!   CHAR(n, .. USING cs)           CONVERT(CHAR(n, ..) USING cs)
//!   WEIGHT_STRING(x AS CHAR(n))    WEIGHT_STRING(x, 'CHAR', n), also BINARY
//!   TRIM(BOTH FROM x)              sqlparser's node
//!   a SOUNDS LIKE b                SOUNDEX(a) = SOUNDEX(b)
//!   a [NOT] REGEXP b, a RLIKE b    sqlparser's node, also for a pattern that is NULL
//!   a || b                         CONCAT(a, b), with PIPES_AS_CONCAT
//!   INSERT(..)                     a call, though the word is a statement's
//!   CAST(x AT TIME ZONE z AS ..)   CAST of sqlparser's node
//!   CAST(x AS CHAR ASCII)          CONVERT(CAST(x AS CHAR) USING latin1)
//! ```

use super::{default_text::ModalSyntax, dialect::call};
use sqlparser::{
    ast::{BinaryOperator, CastKind, DataType, ExactNumberInfo, Expr, Ident, ObjectName, Value},
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

/// Reads a name, an opening parenthesis and one expression.
pub(super) fn opened_one(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    parser.parse_expr()
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

/// Returns true if `TRIM(BOTH FROM` comes, or another word for BOTH.
pub(super) fn trims_spaces(parser: &Parser) -> bool {
    let keyword = |n: usize| match &parser.peek_nth_token_ref(n).token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    };
    matches!(keyword(2), Keyword::BOTH | Keyword::LEADING | Keyword::TRAILING) && keyword(3) == Keyword::FROM
}

/// Reads `TRIM(BOTH FROM x)` and its kind, which take off spaces.
pub(super) fn trim_of_spaces(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.expect_token(&Token::LParen)?;
    let trim_where = Some(parser.parse_trim_where()?);
    parser.expect_keyword_is(Keyword::FROM)?;
    let expr = Box::new(parser.parse_expr()?);
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Trim { expr, trim_where, trim_what: None, trim_characters: None })
}

/// Reads a call of a function whose name is a word of statements.
pub(super) fn named_call(name: Word, parser: &mut Parser) -> Result<Expr, ParserError> {
    let args = opened(parser)?;
    parser.expect_token(&Token::RParen)?;
    Ok(call(Ident::new(name.value), Some(args)))
}

/// `CAST(x AS CHAR(n) CHARACTER SET cs)` is `CONVERT(CAST(x AS CHAR(n)) USING cs)`.
pub(super) fn cast(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.expect_keyword_is(Keyword::CAST)?;
    parser.expect_token(&Token::LParen)?;
    let expr = in_time_zone(parser)?;
    parser.expect_keyword_is(Keyword::AS)?;
    if matches!(expr, Expr::AtTimeZone { .. }) && !parser.peek_keyword(Keyword::DATETIME) {
        return parser.expected("DATETIME", parser.peek_token());
    }
    let cast = cast_to_type(expr, parser)?;
    parser.expect_token(&Token::RParen)?;
    Ok(cast)
}

/// Reads a type, perhaps with a character set, to which an expression is cast.
pub(super) fn cast_to_type(expr: Expr, parser: &mut Parser) -> Result<Expr, ParserError> {
    let data_type = parser.parse_data_type()?;
    if matches!(data_type, DataType::Signed | DataType::Unsigned) {
        let _ = parser.parse_keyword(Keyword::INT);
    }
    let charset =
        match parser.parse_keywords(&[Keyword::CHARACTER, Keyword::SET]) || parser.parse_keyword(Keyword::CHARSET) {
            true => Some(parser.parse_object_name(false)?),
            false => charset_word(parser).map(|name| ObjectName::from(vec![Ident::new(name)])),
        };
    let cast = Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, format: None };
    Ok(match charset {
        None => cast,
        Some(_) => Expr::Convert {
            is_try: false,
            expr: Box::new(cast),
            data_type: None,
            charset,
            target_before_value: false,
            styles: Vec::new(),
        },
    })
}

/// Reads a word for the character set of `CAST(.. AS CHAR ASCII)`.
fn charset_word(parser: &mut Parser) -> Option<&'static str> {
    let Token::Word(word) = &parser.peek_token_ref().token else { return None };
    let name = match word.value.to_ascii_uppercase().as_str() {
        "ASCII" => "latin1",
        "UNICODE" => "ucs2",
        _ => return None,
    };
    parser.advance_token();
    Some(name)
}

/// Reads an expression, perhaps with `AT TIME ZONE [INTERVAL] 'zone'` behind it.
fn in_time_zone(parser: &mut Parser) -> Result<Expr, ParserError> {
    let timestamp = Box::new(parser.parse_expr()?);
    if !parser.parse_keywords(&[Keyword::AT, Keyword::TIME, Keyword::ZONE]) {
        return Ok(*timestamp);
    }
    let _ = parser.parse_keyword(Keyword::INTERVAL);
    let time_zone = Box::new(Expr::Value(parser.parse_value()?));
    Ok(Expr::AtTimeZone { timestamp, time_zone })
}

/// Reads CAST where REAL means FLOAT.
pub(super) fn cast_with_float(parser: &mut Parser, syntax: &ModalSyntax) -> Result<Expr, ParserError> {
    let expr = cast(parser)?;
    let Expr::Cast { kind, expr, data_type: DataType::Real, format } = expr else { return Ok(expr) };
    // The word stands in front of the closing parenthesis.
    let is_word = |at: &usize| matches!(parser.token_at(*at).token, Token::Word(_));
    if let Some(at) = (0..parser.index()).rev().find(is_word) {
        syntax.note_real(at);
    }
    Ok(Expr::Cast { kind, expr, data_type: DataType::Float(ExactNumberInfo::None), format })
}

/// The position of the next token that is no space.
pub(super) fn next_token(parser: &Parser) -> usize {
    let mut at = parser.index();
    while matches!(parser.token_at(at).token, Token::Whitespace(_)) {
        at += 1;
    }
    at
}

/// Reads `|| b || ..` behind the first operand, which begins at the token `start`.
pub(super) fn concatenation(
    parser: &mut Parser,
    left: &Expr,
    start: usize,
    syntax: &ModalSyntax,
) -> Result<Expr, ParserError> {
    let precedence = parser.get_next_precedence()?;
    let (mut args, mut operators) = (vec![left.clone()], Vec::new());
    while parser.peek_token_ref().token == Token::StringConcat {
        operators.push(next_token(parser));
        parser.advance_token();
        args.push(parser.parse_subexpr(precedence)?);
    }
    syntax.note_concatenation(start, operators, parser.index());
    Ok(call(Ident::new("CONCAT"), Some(args)))
}

/// Returns true if `[NOT] LIKE` comes.
pub(super) fn like_comes(word: &Word, parser: &Parser) -> bool {
    match word.keyword {
        Keyword::NOT => {
            matches!(&parser.peek_nth_token_ref(1).token, Token::Word(next) if next.keyword == Keyword::LIKE)
        }
        keyword => keyword == Keyword::LIKE,
    }
}

/// Reads `[NOT] LIKE b` behind a where a backslash is a character as others are: without ESCAPE there is no escape
/// character, and one has to be written behind ESCAPE.
pub(super) fn plain_like(
    parser: &mut Parser,
    left: &Expr,
    precedence: u8,
    syntax: &ModalSyntax,
) -> Result<Expr, ParserError> {
    let negated = parser.parse_keyword(Keyword::NOT);
    parser.advance_token();
    let pattern = Box::new(parser.parse_subexpr(precedence)?);
    let escape = match parser.parse_keyword(Keyword::ESCAPE) {
        // Binding refuses an escape of two characters, as MySQL refuses an empty one here.
        true => match parser.parse_subexpr(precedence)? {
            Expr::Value(value) if matches!(&value.value, Value::SingleQuotedString(text) if text.is_empty()) => {
                Expr::Value(Value::SingleQuotedString("''".into()).into())
            }
            escape => escape,
        },
        false => {
            syntax.note_like(parser.index());
            Expr::Value(Value::SingleQuotedString(String::new()).into())
        }
    };
    Ok(Expr::Like { negated, any: false, expr: Box::new(left.clone()), pattern, escape_char: Some(Box::new(escape)) })
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
