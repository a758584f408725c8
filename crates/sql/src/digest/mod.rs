//! STATEMENT_DIGEST and STATEMENT_DIGEST_TEXT: a statement without its values (manual 27.10 "Performance Schema
//! Statement Digests and Sampling").
//!
//! ```text
//!   lexer    the text as lexemes: words, names, values, symbols
//!   words    the numbers and printed forms of words and symbols
//!   tokens   the lexemes as tokens; values and lists of values become `?`, `(...)` and the like
//! ```
//!
//! The digest is the SHA-256 of the bytes of the tokens. A token is its number in two bytes, little endian; a name is
//! followed by its length in two bytes and its bytes. So the digest is MySQL's as long as the numbers are. They are
//! those of MySQL 8.0.33, and were found by asking a server: for a statement with one unknown token, all numbers are
//! tried until the hash is that of the server. Words that are in no statement which MySQL accepts have none.

mod lexer;
mod tokens;
mod words;

use crate::parse::{parse_under, uncover};
use lexer::{Lexeme, Lexer};
use muster_types::{ErrorCode, Result, SqlError, SqlModes};
use tokens::Tokens;

/// A statement without its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementDigest {
    /// The statement as text: words in upper case, names in backticks.
    pub text: String,
    /// The tokens that the hash of the statement is made of; at most `max_digest_length` (1,024) bytes.
    pub tokens: Vec<u8>,
}

/// The digest of a statement under the modes of a session. Error 3676: it is not one statement; 3677, which does not
/// tell why, if the text `is_constant` in its statement.
pub fn statement_digest(sql: &str, modes: SqlModes, is_constant: bool) -> Result<StatementDigest> {
    let readable = uncover(sql, modes);
    let parsed = parse_under(sql, modes).and_then(|_| no_parameters(sql, &readable, modes));
    if let Err(error) = parsed {
        return Err(match is_constant {
            true => {
                let message = format!("Could not parse argument to digest function: \"{}\".", error.message);
                SqlError::new(ErrorCode::DigestParseError, message)
            }
            false => {
                let message = "Could not parse argument to digest function.";
                SqlError::new(ErrorCode::UndisclosedDigestParseError, message)
            }
        });
    }
    let mut tokens = Tokens::default();
    let mut context = NullContext::default();
    for (_, lexeme) in Lexer::new(&readable, modes) {
        let is_value = lexeme == Lexeme::Word("NULL") && context.null_is_value();
        context.pass(&lexeme);
        tokens.add(if is_value { Lexeme::Value } else { lexeme });
    }
    Ok(StatementDigest { text: tokens.text(), tokens: tokens.bytes() })
}

/// Error 1064: `?` stands for a value in prepared statements only.
fn no_parameters(sql: &str, readable: &str, modes: SqlModes) -> Result<()> {
    match Lexer::new(readable, modes).find(|(_, lexeme)| *lexeme == Lexeme::Symbol("?")) {
        Some((at, _)) => {
            let line = 1 + sql[..at].matches('\n').count() as u64;
            Err(SqlError::syntax(&sql[at..], line))
        }
        None => Ok(()),
    }
}

/// What stands in front of a NULL: that decides whether it is a value, or belongs to IS NULL, to an attribute of a
/// column or to an action of a foreign key.
#[derive(Default)]
struct NullContext {
    /// The words so far, as many as are needed.
    count: usize,
    is_change_of_definitions: bool,
    /// The attributes of columns may come: a CREATE TABLE or ALTER TABLE in front of its query.
    defines_table: bool,
    last: Option<Lexeme>,
    second_last: Option<Lexeme>,
}

impl NullContext {
    fn pass(&mut self, lexeme: &Lexeme) {
        self.count += 1;
        match lexeme {
            Lexeme::Word("CREATE" | "ALTER") if self.count == 1 => self.is_change_of_definitions = true,
            // `CREATE TABLE` and `CREATE TEMPORARY TABLE`.
            Lexeme::Word("TABLE") if self.count <= 3 => self.defines_table = self.is_change_of_definitions,
            Lexeme::Word("SELECT") => self.defines_table = false,
            _ => {}
        }
        self.second_last = self.last.replace(lexeme.clone());
    }

    fn null_is_value(&self) -> bool {
        match &self.last {
            Some(Lexeme::Word("IS" | "SET")) => false,
            Some(Lexeme::Word("NOT")) if self.second_last == Some(Lexeme::Word("IS")) => false,
            _ if !self.defines_table => true,
            Some(Lexeme::Symbol(symbol)) => *symbol != ")",
            Some(Lexeme::Word("THEN" | "ELSE")) => true,
            Some(Lexeme::Word(word)) => *word != "NOT" && tokens::begins_expression(word),
            _ => false,
        }
    }
}
