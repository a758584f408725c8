//! MySQL's grammar of expressions, as hooks of sqlparser.
//!
//! sqlparser's own MySQL dialect gives its operators other precedences than MySQL does, and lacks some of them. This
//! one passes for it (`dialect`) and answers the same questions, but decides precedence by the manual (14.4.1 "Operator
//! Precedence") and reads some operators itself.

use super::{
    default_text::ModalSyntax,
    encoding::is_introducer,
    json_value::json_value,
    reserved::is_reserved,
    special_calls::{
        cast, cast_with_float, char_call, concatenation, like_comes, named_call, next_token, plain_like, regexp_comes,
        regexp_operator, sounds_like, sounds_like_operator, trim_of_spaces, trims_spaces, weight_string,
    },
};
use muster_types::SqlModes;
use sqlparser::{
    ast::{
        BinaryOperator, CastKind, DataType, DateTimeField, Expr, Function, FunctionArg, FunctionArgExpr,
        FunctionArgumentList, FunctionArguments, Ident, Interval, MemberOf, ObjectName, UnaryOperator,
    },
    dialect::{Dialect, MySqlDialect, Precedence},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{Token, Word},
};
use std::{any::TypeId, cell::Cell};

/// Names of the calls that stand for a flat `a AND b AND c` (and OR). No identifier can be written like them.
pub(crate) const AND_CHAIN: &str = "\u{1}AND";
pub(crate) const OR_CHAIN: &str = "\u{1}OR";
/// The same for chains that are written with `&&` and `||`, which are deprecated.
pub(crate) const AND_SIGN_CHAIN: &str = "\u{1}&&";
pub(crate) const OR_SIGN_CHAIN: &str = "\u{1}||";
/// The words that stand for these signs among the tokens.
pub(super) const AND_SIGN: &str = "&&";
pub(super) const OR_SIGN: &str = "||";

const OR: u8 = 5;
const XOR: u8 = 7;
const AND: u8 = 10;
const NOT: u8 = 15;
/// `=`, `<=>`, `<` .. and IS; also the only place for ANY and ALL.
const COMPARISON: u8 = 20;
/// LIKE, IN, BETWEEN, REGEXP.
const PREDICATE: u8 = 22;
const BIT_OR: u8 = 24;
const BIT_AND: u8 = 25;
const SHIFT: u8 = 26;
const ADD: u8 = 30;
const MULTIPLY: u8 = 40;
const BIT_XOR: u8 = 45;
/// `||` with PIPES_AS_CONCAT.
const CONCAT: u8 = 46;
const UNARY: u8 = 48;
const BANG: u8 = 49;

#[derive(Debug)]
pub(crate) struct MusterDialect {
    modes: SqlModes,
    pub syntax: ModalSyntax,
    /// The token at which the parser asks again for the prefix that this dialect has asked it for.
    asked_again: Cell<Option<usize>>,
    /// The first token of the prefix that the parser has read last.
    prefix_start: Cell<usize>,
}

impl MusterDialect {
    pub fn new(modes: SqlModes) -> MusterDialect {
        let (asked_again, prefix_start) = (Cell::new(None), Cell::new(0));
        MusterDialect { modes, syntax: ModalSyntax::default(), asked_again, prefix_start }
    }
}

static MYSQL: MySqlDialect = MySqlDialect {};

macro_rules! as_mysql {
    ($($name:ident),* $(,)?) => { $(fn $name(&self) -> bool { MYSQL.$name() })* };
}

impl Dialect for MusterDialect {
    fn dialect(&self) -> TypeId {
        TypeId::of::<MySqlDialect>()
    }

    fn is_identifier_start(&self, c: char) -> bool {
        MYSQL.is_identifier_start(c)
    }

    fn is_identifier_part(&self, c: char) -> bool {
        MYSQL.is_identifier_part(c)
    }

    fn is_delimited_identifier_start(&self, c: char) -> bool {
        MYSQL.is_delimited_identifier_start(c) || (c == '"' && self.modes.has(SqlModes::ANSI_QUOTES))
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        MYSQL.identifier_quote_style(identifier)
    }

    fn is_table_factor_alias(&self, _explicit: bool, keyword: &Keyword, _parser: &mut Parser) -> bool {
        is_bare_alias(keyword)
    }

    fn is_column_alias(&self, keyword: &Keyword, _parser: &mut Parser) -> bool {
        is_bare_alias(keyword)
    }

    fn supports_string_literal_backslash_escape(&self) -> bool {
        !self.modes.has(SqlModes::NO_BACKSLASH_ESCAPES)
    }

    as_mysql!(
        ignores_wildcard_escapes,
        supports_string_literal_concatenation,
        supports_numeric_prefix,
        supports_bitwise_shift_operators,
        supports_limit_comma,
        supports_table_hints,
        requires_single_line_comment_whitespace,
        supports_match_against,
        supports_select_modifiers,
        supports_data_type_signed_suffix,
        supports_cross_join_constraint,
        supports_double_ampersand_operator,
        supports_comment_optimizer_hint,
        supports_group_by_with_modifier,
        require_interval_qualifier,
    );

    /// Joins without parentheses associate to the left. All others have been given parentheses by now (`joins`).
    fn supports_left_associative_joins_without_parens(&self) -> bool {
        true
    }

    /// Units such as `DAY_HOUR`; the binder says which it knows.
    fn allow_extract_custom(&self) -> bool {
        true
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        match precedence {
            Precedence::Period => 100,
            Precedence::DoubleColon | Precedence::AtTz | Precedence::Colon | Precedence::PgOther => UNARY,
            Precedence::MulDivModOp => MULTIPLY,
            Precedence::PlusMinus => ADD,
            Precedence::Xor => XOR,
            Precedence::Ampersand => BIT_AND,
            Precedence::Caret => BIT_XOR,
            Precedence::Pipe => BIT_OR,
            Precedence::Between | Precedence::Like => PREDICATE,
            Precedence::Eq | Precedence::Is => COMPARISON,
            Precedence::UnaryNot => NOT,
            Precedence::And => AND,
            Precedence::Or => OR,
        }
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        Some(Ok(match &parser.peek_token_ref().token {
            Token::Word(word) => word_precedence(word, parser),
            Token::Eq | Token::Lt | Token::LtEq | Token::Neq | Token::Gt | Token::GtEq | Token::Spaceship => COMPARISON,
            Token::Pipe => BIT_OR,
            Token::Ampersand => BIT_AND,
            Token::ShiftLeft | Token::ShiftRight => SHIFT,
            Token::Plus | Token::Minus => ADD,
            Token::Mul | Token::Div | Token::Mod => MULTIPLY,
            Token::Caret => BIT_XOR,
            Token::StringConcat => CONCAT,
            Token::Arrow | Token::LongArrow => 100,
            _ => 0,
        }))
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        // A chain of `||` has to know where its first operand begins.
        if self.modes.has(SqlModes::PIPES_AS_CONCAT) {
            let start = next_token(parser);
            if self.asked_again.replace(None) != Some(start) {
                self.asked_again.set(Some(start));
                let prefix = parser.parse_prefix();
                self.prefix_start.set(start);
                return Some(prefix);
            }
        }
        let (token, next) = (parser.peek_nth_token_ref(0), parser.peek_nth_token_ref(1));
        let (operator, precedence) = match (&token.token, &next.token) {
            (Token::Word(w), Token::Assignment) if is_user_variable(w) => return Some(assignment(parser)),
            (Token::ExclamationMark, _) => (UnaryOperator::BangNot, BANG),
            (Token::Minus, _) => (UnaryOperator::Minus, UNARY),
            (Token::Plus, _) => (UnaryOperator::Plus, UNARY),
            (Token::Tilde, _) => (UnaryOperator::BitwiseNot, UNARY),
            (Token::Word(w), _) if w.keyword == Keyword::NOT && self.modes.has(SqlModes::HIGH_NOT_PRECEDENCE) => {
                self.syntax.note_negation(next_token(parser));
                (UnaryOperator::Not, BANG)
            }
            // The NOT of a whole predicate that begins with EXISTS.
            (Token::Word(w), Token::Word(next)) if w.keyword == Keyword::NOT && next.keyword == Keyword::EXISTS => {
                parser.advance_token();
                return Some(parser.parse_subexpr(NOT).map(negated));
            }
            (Token::Word(w), _) if is_word(w, "CAST") && self.modes.has(SqlModes::REAL_AS_FLOAT) => {
                return (next.token == Token::LParen).then(|| cast_with_float(parser, &self.syntax));
            }
            (Token::Word(w), next) if w.quote_style.is_none() => return word_prefix(w.clone(), next.clone(), parser),
            _ => return None,
        };
        parser.advance_token();
        // Operators of one level nest: `- - 1`.
        let arg = parser.parse_subexpr(precedence);
        Some(arg.map(|expr| Expr::UnaryOp { op: operator, expr: Box::new(expr) }))
    }

    fn parse_infix(&self, parser: &mut Parser, left: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
        if parser.peek_token_ref().token == Token::StringConcat {
            return Some(concatenation(parser, left, self.prefix_start.get(), &self.syntax));
        }
        let Token::Word(word) = &parser.peek_token_ref().token else { return None };
        let chain = match word.keyword {
            Keyword::IN | Keyword::NOT if lists_subqueries(parser) => return Some(in_list(parser, left)),
            _ if regexp_comes(word, parser) => return Some(regexp_operator(parser, left, precedence)),
            _ if self.modes.has(SqlModes::NO_BACKSLASH_ESCAPES) && like_comes(word, parser) => {
                return Some(plain_like(parser, left, precedence, &self.syntax));
            }
            _ if sounds_like(word, parser) => return Some(sounds_like_operator(parser, left, precedence)),
            Keyword::AND if word.value == AND_SIGN => AND_SIGN_CHAIN,
            Keyword::AND => AND_CHAIN,
            Keyword::OR if word.value == OR_SIGN => OR_SIGN_CHAIN,
            Keyword::OR => OR_CHAIN,
            Keyword::MEMBER => return Some(member_of(parser, left)),
            Keyword::DIV => return Some(binary(parser, left, BinaryOperator::MyIntegerDivide, precedence)),
            _ if is_word(word, "MOD") => return Some(binary(parser, left, BinaryOperator::Modulo, precedence)),
            _ => return None,
        };
        let (keyword, is_sign) = (word.keyword, matches!(chain, AND_SIGN_CHAIN | OR_SIGN_CHAIN));
        let mut args = vec![left.clone()];
        while is_written_as_sign(parser) == is_sign && parser.parse_keyword(keyword) {
            match parser.parse_subexpr(precedence) {
                Ok(arg) => args.push(arg),
                Err(e) => return Some(Err(e)),
            }
        }
        Some(Ok(call(Ident::new(chain), Some(args))))
    }
}

/// Returns true for a word that may be an alias, also without AS: one that is not reserved.
fn is_bare_alias(keyword: &Keyword) -> bool {
    *keyword == Keyword::NoKeyword || !is_reserved(&format!("{keyword:?}"))
}

fn negated(expr: Expr) -> Expr {
    match expr {
        Expr::Exists { subquery, negated: false } => Expr::Exists { subquery, negated: true },
        expr => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(expr) },
    }
}

/// Returns true for `@name`.
fn is_user_variable(word: &Word) -> bool {
    word.quote_style.is_none() && word.value.starts_with('@') && !word.value.starts_with("@@")
}

/// `@name := expression`. All that follows is assigned.
fn assignment(parser: &mut Parser) -> Result<Expr, ParserError> {
    let variable = parser.parse_identifier()?;
    parser.expect_token(&Token::Assignment)?;
    let right = Box::new(parser.parse_subexpr(0)?);
    Ok(Expr::BinaryOp { left: Box::new(Expr::Identifier(variable)), op: BinaryOperator::Assignment, right })
}

fn is_written_as_sign(parser: &Parser) -> bool {
    matches!(&parser.peek_token_ref().token, Token::Word(w) if w.value == AND_SIGN || w.value == OR_SIGN)
}

fn is_word(word: &Word, text: &str) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text)
}

fn word_precedence(word: &Word, parser: &Parser) -> u8 {
    if word.quote_style.is_some() {
        return 0;
    }
    match word.keyword {
        Keyword::OR => OR,
        Keyword::XOR => XOR,
        Keyword::AND => AND,
        Keyword::IS => COMPARISON,
        Keyword::IN | Keyword::BETWEEN | Keyword::LIKE | Keyword::REGEXP | Keyword::RLIKE => PREDICATE,
        Keyword::MEMBER => PREDICATE,
        Keyword::NOT => match &parser.peek_nth_token_ref(1).token {
            Token::Word(w) => match w.keyword {
                Keyword::IN | Keyword::BETWEEN | Keyword::LIKE | Keyword::REGEXP | Keyword::RLIKE => PREDICATE,
                _ => 0,
            },
            _ => 0,
        },
        Keyword::DIV => MULTIPLY,
        _ if is_word(word, "MOD") => MULTIPLY,
        _ if sounds_like(word, parser) => PREDICATE,
        _ => 0,
    }
}

/// `MEMBER [OF] (array)`: sqlparser wants the OF.
fn member_of(parser: &mut Parser, left: &Expr) -> Result<Expr, ParserError> {
    parser.advance_token();
    if parser.peek_token_ref().token != Token::LParen {
        parser.expect_keyword(Keyword::OF)?;
    }
    parser.expect_token(&Token::LParen)?;
    let array = Box::new(parser.parse_expr()?);
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::MemberOf(MemberOf { value: Box::new(left.clone()), array }))
}

fn binary(parser: &mut Parser, left: &Expr, op: BinaryOperator, precedence: u8) -> Result<Expr, ParserError> {
    parser.advance_token();
    let right = parser.parse_subexpr(precedence)?;
    Ok(Expr::BinaryOp { left: Box::new(left.clone()), op, right: Box::new(right) })
}

/// Returns true if `[NOT] IN (` comes, and then a list whose first item begins with a subquery in parentheses:
/// sqlparser takes that for the query of `IN (query)`.
fn lists_subqueries(parser: &Parser) -> bool {
    let words =
        if matches!(&parser.peek_token_ref().token, Token::Word(w) if w.keyword == Keyword::NOT) { 2 } else { 1 };
    let (mut read, mut depth, mut n) = (0, 0usize, parser.index());
    loop {
        let token = &parser.token_at(n).token;
        n += 1;
        if matches!(token, Token::Whitespace(_)) {
            continue;
        }
        read += 1;
        match token {
            _ if read <= words => {}
            Token::LParen => depth += 1,
            Token::RParen if depth > 2 => depth -= 1,
            // Behind the first item's parentheses; what goes on with it is a query or not.
            Token::RParen if depth == 2 => break,
            Token::Word(w) if read == words + 3 && matches!(w.keyword, Keyword::SELECT | Keyword::WITH) => {}
            _ if read <= words + 3 || *token == Token::EOF => return false,
            _ => {}
        }
    }
    loop {
        match &parser.token_at(n).token {
            Token::Whitespace(_) => n += 1,
            Token::RParen | Token::EOF => return false,
            Token::Word(w) => {
                return !matches!(
                    w.keyword,
                    Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::ORDER | Keyword::LIMIT
                );
            }
            _ => return true,
        }
    }
}

fn in_list(parser: &mut Parser, left: &Expr) -> Result<Expr, ParserError> {
    let negated = parser.parse_keyword(Keyword::NOT);
    parser.expect_keyword_is(Keyword::IN)?;
    parser.expect_token(&Token::LParen)?;
    let list = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::InList { expr: Box::new(left.clone()), list, negated })
}

/// A call as the parser would build it; without parentheses when there is no list.
pub(super) fn call(name: Ident, args: Option<Vec<Expr>>) -> Expr {
    let args = match args {
        None => FunctionArguments::None,
        Some(args) => FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.into_iter().map(|a| FunctionArg::Unnamed(FunctionArgExpr::Expr(a))).collect(),
            clauses: Vec::new(),
        }),
    };
    Expr::Function(Function {
        name: ObjectName::from(vec![name]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args,
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// Expressions that begin with a word of their own grammar.
fn word_prefix(word: Word, next: Token, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let text = word.value.to_ascii_uppercase();
    match (text.as_str(), next) {
        // A cast of what follows, tighter than any binary operator; the kind tells it from CAST.
        ("BINARY", next) if !matches!(next, Token::Comma | Token::RParen | Token::Eq | Token::Period | Token::EOF) => {
            parser.advance_token();
            Some(parser.parse_subexpr(UNARY).map(|expr| Expr::Cast {
                kind: CastKind::DoubleColon,
                expr: Box::new(expr),
                data_type: DataType::Binary(None),
                format: None,
            }))
        }
        ("INTERVAL", next)
            if !matches!(next, Token::Comma | Token::RParen | Token::Eq | Token::Period | Token::EOF) =>
        {
            parser.advance_token();
            Some(if holds_list(parser) { interval_call(word, parser) } else { interval(parser) })
        }
        ("CURRENT_USER" | "UTC_DATE" | "UTC_TIME" | "UTC_TIMESTAMP" | "CURRENT_ROLE", next)
            if !matches!(next, Token::LParen | Token::Period) =>
        {
            let span = parser.next_token().span;
            Some(Ok(call(word.into_ident(span), None)))
        }
        ("CAST", Token::LParen) => Some(cast(parser)),
        ("JSON_VALUE", Token::LParen) => Some(json_value(parser)),
        ("CHAR", Token::LParen) => Some(char_call(parser)),
        ("TRIM", Token::LParen) if trims_spaces(parser) => Some(trim_of_spaces(parser)),
        (text, Token::SingleQuotedByteStringLiteral(_)) if is_introducer(text) => {
            let prefix = word.into_ident(parser.next_token().span);
            Some(parser.parse_value().map(|value| Expr::Prefixed { prefix, value: Box::new(Expr::Value(value)) }))
        }
        ("WEIGHT_STRING", Token::LParen) => Some(weight_string(parser)),
        ("INSERT", Token::LParen) => Some(named_call(word, parser)),
        // The value for a column in ON DUPLICATE KEY UPDATE, and the default of a column.
        ("VALUES" | "DEFAULT", Token::LParen) => Some(call_of_column(word, parser)),
        _ => None,
    }
}

/// `VALUES(column)` and `DEFAULT(column)`.
fn call_of_column(name: Word, parser: &mut Parser) -> Result<Expr, ParserError> {
    let span = parser.next_token().span;
    parser.expect_token(&Token::LParen)?;
    let column = parser.parse_expr()?;
    parser.expect_token(&Token::RParen)?;
    Ok(call(name.into_ident(span), Some(vec![column])))
}

/// Returns true if the next token opens parentheses with a comma in them.
fn holds_list(parser: &Parser) -> bool {
    let (mut depth, mut n) = (0usize, parser.index());
    loop {
        match parser.token_at(n).token {
            Token::LParen => depth += 1,
            Token::RParen if depth > 1 => depth -= 1,
            Token::Comma if depth == 1 => return true,
            Token::Whitespace(_) => {}
            Token::RParen | Token::EOF => return false,
            _ if depth == 0 => return false,
            _ => {}
        }
        n += 1;
    }
}

/// Reads the arguments of the function INTERVAL.
fn interval_call(name: Word, parser: &mut Parser) -> Result<Expr, ParserError> {
    let span = parser.get_current_token().span;
    parser.expect_token(&Token::LParen)?;
    let args = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(call(name.into_ident(span), Some(args)))
}

/// Reads what follows INTERVAL: an expression and a unit.
fn interval(parser: &mut Parser) -> Result<Expr, ParserError> {
    let value = parser.parse_expr()?;
    let leading_field = match parser.parse_date_time_field()? {
        DateTimeField::Custom(unit) if unit.quote_style.is_some() => {
            return Err(ParserError::ParserError("Expected: a unit".into()));
        }
        field => field,
    };
    Ok(Expr::Interval(Interval {
        value: Box::new(value),
        leading_field: Some(leading_field),
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    }))
}
