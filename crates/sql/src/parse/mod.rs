//! Text to [`Statement`].
//!
//! ```text
//!   footprint  the memory that a statement will take
//!   scan       quotes and comments of the raw text; `split`, version comments
//!   encoding   the bytes that a client sent, as text
//!   source     tokens (sqlparser's tokenizer) and their places; small rewrites between dialects
//!   literal_rows  rows of literals of an INSERT, which become no tokens
//!   explicit_table  `TABLE t`, which is `SELECT * FROM t`
//!   from_first  `FROM FIRST` of NTH_VALUE
//!   digit_names  names that begin with digits, and numbers right next to names
//!   locking    FOR UPDATE and its kin
//!   table_brackets  brackets around tables
//!   joins      which ON belongs to which JOIN
//!   dialect    MySQL's operators, as hooks of sqlparser
//!   refused    forms that MySQL does not have
//!   reserved   words that are no names
//!   function_words  words that are functions in front of a parenthesis only
//!   default_text  a query as the default sql_mode would have it written
//!   special_calls  calls and operators with a grammar of their own
//!   json_table  the columns of JSON_TABLE
//!   json_value  JSON_VALUE
//!   select_into  where the result of a query goes
//!   cursor     reading tokens: words, names, expressions and queries through sqlparser
//!   items      the text of SELECT items, which names result columns
//!   statement  which statement it is; the rest one file per family
//! ```

mod account;
mod alter;
mod column;
mod cursor;
mod ddl;
mod default_text;
mod dialect;
mod digit_names;
mod dml;
#[cfg(test)]
mod dml_tests;
mod encoding;
mod explicit_table;
mod footprint;
mod foreign_key;
mod from_first;
mod function_words;
mod grant;
mod handler;
mod items;
mod joins;
pub(crate) mod json_table;
pub(crate) mod json_value;
mod literal_rows;
mod load;
mod locking;
#[cfg(test)]
mod modes_tests;
mod operators;
#[cfg(test)]
mod parse_tests;
mod refused;
mod reserved;
mod roles;
mod scan;
mod select_into;
mod session;
mod show;
mod source;
mod special_calls;
mod statement;
mod table_brackets;
mod texts;
mod transaction;

pub(crate) use column::{bit_bytes, hex_bytes, number};
pub(crate) use dialect::{AND_CHAIN, AND_SIGN_CHAIN, OR_CHAIN, OR_SIGN_CHAIN};
pub(crate) use encoding::{first_of_literals, is_introducer};
pub use encoding::{literal_text, statement_text};
pub use footprint::footprint;
pub(crate) use function_words::is_function_word;
pub use reserved::is_reserved;
pub(crate) use scan::{has_escapes, uncover};
pub use scan::{split, split_under};
pub(crate) use source::offset_of;

use crate::{ScalarExpr, Statement};
use cursor::Cursor;
use muster_types::{ErrorCode, Result, SqlError, SqlModes};
use source::SourceText;
use sqlparser::{keywords::Keyword, tokenizer::Token};

/// Longest run of operators of one expression without AND, OR or parentheses: what recurses over the tree needs stack
/// in proportion.
const MAX_CHAIN: usize = 600;
/// Most set operations (UNION ..) of one statement.
const MAX_SET_OPERATIONS: usize = 600;

/// Parses one statement (a trailing `;` is allowed) in the default `sql_mode`. Errors: 1064 near the place, 1065 for
/// nothing at all, 1235 for what MySQL has and Muster has not.
pub fn parse(sql: &str) -> Result<Statement> {
    parse_under(sql, SqlModes::NONE)
}

/// Parses as [`parse`] does, under the modes of a session.
pub fn parse_under(sql: &str, modes: SqlModes) -> Result<Statement> {
    with_cursor(sql, modes, |cursor| {
        let statement = statement::statement(cursor)?;
        cursor.finish()?;
        Ok(statement)
    })
}

/// Parses one expression (for tests and tools).
pub fn parse_expression(sql: &str) -> Result<ScalarExpr> {
    with_cursor(sql, SqlModes::NONE, |cursor| {
        let expression = cursor.expression()?;
        cursor.finish()?;
        Ok(expression)
    })
}

fn with_cursor<T>(sql: &str, modes: SqlModes, read: impl FnOnce(&mut Cursor) -> Result<T>) -> Result<T> {
    let readable = scan::uncover(sql, modes);
    let source = SourceText::new(sql, &readable, modes)?;
    if source.significant().iter().all(|i| source.tokens[*i].token == Token::SemiColon) {
        return Err(SqlError::empty_query());
    }
    check_length(&source)?;
    read(&mut Cursor::new(&source))
}

/// Bounds what sqlparser builds without recursion but as deep trees: long chains of operators and of set operations.
fn check_length(source: &SourceText) -> Result<()> {
    let (mut chain, mut set_operations, mut betweens) = (0, 0, 0);
    for at in source.significant() {
        match &source.tokens[at].token {
            Token::Word(_) => match source.keyword(at) {
                Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT => {
                    set_operations += 1;
                    chain = 0;
                }
                // The AND of BETWEEN ends nothing.
                Keyword::AND if betweens > 0 => betweens -= 1,
                Keyword::BETWEEN => {
                    betweens += 1;
                    chain += 1;
                }
                Keyword::AND | Keyword::OR | Keyword::SELECT | Keyword::FROM | Keyword::WHERE => chain = 0,
                Keyword::IS | Keyword::LIKE | Keyword::IN | Keyword::XOR | Keyword::DIV => chain += 1,
                _ => {}
            },
            Token::Comma => chain = 0,
            Token::LParen | Token::RParen | Token::SingleQuotedString(_) | Token::DoubleQuotedString(_) => {}
            Token::Number(..) | Token::Period | Token::SemiColon | Token::Placeholder(_) => {}
            _ => chain += 1,
        }
        if chain > MAX_CHAIN || set_operations > MAX_SET_OPERATIONS {
            return Err(SqlError::new(
                ErrorCode::TooHighLevelOfNesting,
                format!("Too high level of nesting: more than {MAX_CHAIN} operators in a row"),
            ));
        }
    }
    Ok(())
}
