//! `JSON_VALUE(document, path [RETURNING type] [.. ON EMPTY] [.. ON ERROR])`, as a call whose arguments sqlparser's
//! tree can hold:
//!
//! ```text
//!   JSON_VALUE(document, path, CAST(NULL AS type), on empty, on error)
//! ```
//!
//! The last two are lists in parentheses, which no call has otherwise: `()` where nothing is said, `(NULL)` for NULL,
//! `(NULL, NULL)` for ERROR, and `(x)` for DEFAULT x, which is never NULL.

use super::{
    dialect::call,
    special_calls::{cast_to_type, opened_one},
};
use sqlparser::{
    ast::{CastKind, CharLengthUnits, CharacterLength, DataType, Expr, Ident, Value},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};

/// Characters of the result without RETURNING.
const DEFAULT_LENGTH: u64 = 512;

/// The answer of JSON_VALUE where there is no value, or none that it can give.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fallback<'a> {
    /// NULL, since the statement says nothing.
    Unsaid,
    Null,
    Error,
    Default(&'a Expr),
}

/// The arguments of a call as it was written.
pub(crate) struct JsonValueCall<'a> {
    pub document: &'a Expr,
    pub path: &'a Expr,
    /// A cast to the type of the result, perhaps within a conversion to a character set.
    pub target: &'a Expr,
    pub on_empty: Fallback<'a>,
    pub on_error: Fallback<'a>,
}

impl<'a> JsonValueCall<'a> {
    /// The call that these are the arguments of; `None` for what the parser has not made.
    pub fn of(args: &[&'a Expr]) -> Option<JsonValueCall<'a>> {
        let &[document, path, target, on_empty, on_error] = args else { return None };
        Some(JsonValueCall { document, path, target, on_empty: fallback(on_empty)?, on_error: fallback(on_error)? })
    }

    /// The type of the result and the name of its character set, as far as they were written.
    pub fn returned(&self) -> Option<(&'a DataType, Option<String>)> {
        match self.target {
            Expr::Cast { data_type, .. } => Some((data_type, None)),
            Expr::Convert { expr, charset: Some(charset), .. } => match &**expr {
                Expr::Cast { data_type, .. } => {
                    Some((data_type, Some(charset.to_string().trim_matches(['`', '\'', '"']).to_owned())))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

fn fallback(expr: &Expr) -> Option<Fallback<'_>> {
    let Expr::Tuple(parts) = expr else { return None };
    Some(match parts.as_slice() {
        [] => Fallback::Unsaid,
        [one] if is_null(one) => Fallback::Null,
        [one] => Fallback::Default(one),
        _ => Fallback::Error,
    })
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}

/// Reads the call.
pub(super) fn json_value(parser: &mut Parser) -> Result<Expr, ParserError> {
    let document = opened_one(parser)?;
    parser.expect_token(&Token::Comma)?;
    let path = text_literal(parser)?;
    let null = Expr::Value(Value::Null.into());
    let target = match parser.parse_keyword(Keyword::RETURNING) {
        true => cast_to_type(null, parser)?,
        false => {
            let length = CharacterLength::IntegerLength { length: DEFAULT_LENGTH, unit: None::<CharLengthUnits> };
            let data_type = DataType::Char(Some(length));
            Expr::Cast { kind: CastKind::Cast, expr: Box::new(null), data_type, format: None }
        }
    };
    let (mut on_empty, mut on_error) = (Expr::Tuple(Vec::new()), Expr::Tuple(Vec::new()));
    let mut takes_empty = true;
    while let Some(said) = on_what(parser)? {
        parser.expect_keyword_is(Keyword::ON)?;
        if takes_empty && parser.parse_keyword(Keyword::EMPTY) {
            on_empty = said;
            takes_empty = false;
            continue;
        }
        parser.expect_keyword_is(Keyword::ERROR)?;
        on_error = said;
        break;
    }
    parser.expect_token(&Token::RParen)?;
    Ok(call(Ident::new("JSON_VALUE"), Some(vec![document, path, target, on_empty, on_error])))
}

/// Reads `NULL`, `ERROR` or `DEFAULT literal`, if one of them comes.
fn on_what(parser: &mut Parser) -> Result<Option<Expr>, ParserError> {
    let null = || Expr::Value(Value::Null.into());
    Ok(if parser.parse_keyword(Keyword::NULL) {
        Some(Expr::Tuple(vec![null()]))
    } else if parser.parse_keyword(Keyword::ERROR) {
        Some(Expr::Tuple(vec![null(), null()]))
    } else if parser.parse_keyword(Keyword::DEFAULT) {
        if parser.peek_keyword(Keyword::NULL) {
            return parser.expected("a value", parser.peek_token());
        }
        Some(Expr::Tuple(vec![literal(parser)?]))
    } else {
        None
    })
}

/// Reads a literal, perhaps with a sign.
fn literal(parser: &mut Parser) -> Result<Expr, ParserError> {
    let is_literal = match &parser.peek_token_ref().token {
        Token::Plus | Token::Minus => matches!(parser.peek_nth_token_ref(1).token, Token::Number(..)),
        Token::Word(word) => {
            word.value.starts_with('_')
                || matches!(
                    word.keyword,
                    Keyword::TRUE | Keyword::FALSE | Keyword::DATE | Keyword::TIME | Keyword::TIMESTAMP
                )
        }
        Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::NationalStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::SingleQuotedByteStringLiteral(_) => true,
        _ => false,
    };
    match is_literal {
        true => parser.parse_prefix(),
        false => parser.expected("a literal", parser.peek_token()),
    }
}

/// Reads a text, perhaps with its character set in front of it.
fn text_literal(parser: &mut Parser) -> Result<Expr, ParserError> {
    let is_text = match &parser.peek_token_ref().token {
        Token::SingleQuotedString(_) | Token::DoubleQuotedString(_) | Token::NationalStringLiteral(_) => true,
        Token::Word(word) => word.quote_style.is_none() && word.value.starts_with('_'),
        _ => false,
    };
    match is_text {
        true => parser.parse_prefix(),
        false => parser.expected("a text", parser.peek_token()),
    }
}
