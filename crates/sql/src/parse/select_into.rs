//! The clause `INTO @a, @b`, `INTO OUTFILE ..` or `INTO DUMPFILE ..` of a query, which MySQL takes behind the select
//! list, in front of a locking clause and at the end.

use super::source::SourceText;
use crate::{FileFormat, OutFile};
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, Whitespace, Word},
};

/// The destination of a query's result.
#[derive(Debug, Clone)]
pub(crate) enum IntoTarget {
    /// Names of user variables, in lower case.
    Variables(Vec<String>),
    File(OutFile),
}

#[derive(Debug, Clone)]
pub(crate) struct IntoClause {
    pub target: IntoTarget,
    /// True in front of a locking clause, where MySQL does not want it any more.
    pub precedes_lock: bool,
}

/// Takes the INTO clause out of a query. Error 1327 for the variables of stored programs. An INTO in front of UNION is
/// left in its place, and so refused.
pub(super) fn take(source: &mut SourceText) -> Result<()> {
    let significant = source.significant();
    let is_query = significant.first().is_some_and(|i| {
        let begins = matches!(source.keyword(*i), Keyword::SELECT | Keyword::WITH | Keyword::VALUES);
        source.tokens[*i].token == Token::LParen || begins
    });
    let mut depth = 0usize;
    let mut outside = significant.iter().enumerate().filter(|(_, i)| {
        match source.tokens[**i].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    let Some((first, _)) = outside.find(|(_, i)| is_query && source.keyword(**i) == Keyword::INTO) else {
        return Ok(());
    };
    if outside.any(|(_, i)| matches!(source.keyword(*i), Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT)) {
        return Ok(());
    }
    let mut words = Words { source, significant: &significant, next: first + 1 };
    let target = words.target()?;
    let next = words.next;
    let locks = |at: &usize| matches!(source.keyword(*at), Keyword::FOR | Keyword::LOCK);
    let precedes_lock = significant.get(next).is_some_and(locks);
    for i in &significant[first..next] {
        source.tokens[*i].token = Token::Whitespace(Whitespace::Space);
    }
    source.into = Some(IntoClause { target, precedes_lock });
    Ok(())
}

/// The tokens of the clause, one after the other.
struct Words<'t, 's> {
    source: &'t SourceText<'s>,
    significant: &'t [usize],
    next: usize,
}

impl Words<'_, '_> {
    fn token(&self, n: usize) -> Option<&Token> {
        self.significant.get(self.next + n).map(|at| &self.source.tokens[*at].token)
    }

    fn error(&self) -> SqlError {
        let at = self.significant.get(self.next);
        self.source.error_at(at.map_or(self.source.text.len(), |at| self.source.starts[*at]))
    }

    /// Takes the words if they all follow.
    fn accept(&mut self, words: &str) -> bool {
        let count = words.split(' ').count();
        let is = |(n, word): (usize, &str)| match self.token(n) {
            Some(Token::Word(Word { value, quote_style: None, .. })) => value.eq_ignore_ascii_case(word),
            _ => false,
        };
        let follow = words.split(' ').enumerate().all(is);
        self.next += if follow { count } else { 0 };
        follow
    }

    fn text(&mut self) -> Result<String> {
        let text = match self.token(0) {
            Some(Token::SingleQuotedString(text) | Token::DoubleQuotedString(text)) => text.clone(),
            _ => return Err(self.error()),
        };
        self.next += 1;
        Ok(text)
    }

    /// A text of one character or none. Error 1083.
    fn character(&mut self) -> Result<Option<char>> {
        let text = self.text()?;
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (first, None) => Ok(first),
            _ => {
                let message = "Field separator argument is not what is expected; check the manual";
                Err(SqlError::new(ErrorCode::WrongFieldTerminators, message))
            }
        }
    }

    fn target(&mut self) -> Result<IntoTarget> {
        if self.accept("DUMPFILE") {
            return Ok(IntoTarget::File(OutFile { path: self.text()?, charset: None, format: None }));
        }
        if self.accept("OUTFILE") {
            return self.out_file().map(IntoTarget::File);
        }
        let mut variables = vec![self.variable()?];
        while self.token(0) == Some(&Token::Comma) {
            self.next += 1;
            variables.push(self.variable()?);
        }
        Ok(IntoTarget::Variables(variables))
    }

    fn out_file(&mut self) -> Result<OutFile> {
        let path = self.text()?;
        let mut charset = None;
        if self.accept("CHARACTER SET") || self.accept("CHARSET") {
            charset = match self.token(0) {
                Some(Token::Word(word)) => Some(word.value.clone()),
                Some(Token::SingleQuotedString(text) | Token::DoubleQuotedString(text)) => Some(text.clone()),
                _ => return Err(self.error()),
            };
            self.next += 1;
        }
        let mut format = FileFormat::default();
        if self.accept("FIELDS") || self.accept("COLUMNS") {
            self.fields(&mut format)?;
        }
        if self.accept("LINES") {
            self.lines(&mut format)?;
        }
        Ok(OutFile { path, charset, format: Some(format) })
    }

    fn fields(&mut self, format: &mut FileFormat) -> Result<()> {
        let mut any = false;
        loop {
            if self.accept("TERMINATED BY") {
                format.fields_terminated_by = self.text()?;
            } else if self.accept("OPTIONALLY ENCLOSED BY") {
                format.optionally_enclosed = true;
                format.fields_enclosed_by = self.character()?;
            } else if self.accept("ENCLOSED BY") {
                format.fields_enclosed_by = self.character()?;
            } else if self.accept("ESCAPED BY") {
                format.fields_escaped_by = self.character()?;
            } else {
                return if any { Ok(()) } else { Err(self.error()) };
            }
            any = true;
        }
    }

    fn lines(&mut self, format: &mut FileFormat) -> Result<()> {
        let mut any = false;
        loop {
            if self.accept("STARTING BY") {
                format.lines_starting_by = self.text()?;
            } else if self.accept("TERMINATED BY") {
                format.lines_terminated_by = self.text()?;
            } else {
                return if any { Ok(()) } else { Err(self.error()) };
            }
            any = true;
        }
    }

    /// A user variable, in lower case: `@a`, @'a b'.
    fn variable(&mut self) -> Result<String> {
        let quoted = |words: &Self| match words.token(1) {
            Some(Token::SingleQuotedString(s) | Token::DoubleQuotedString(s)) => Ok((s.to_lowercase(), 2)),
            Some(Token::Word(w)) => Ok((w.value.to_lowercase(), 2)),
            _ => Err(words.error()),
        };
        let (name, taken) = match self.token(0) {
            Some(Token::AtSign) => quoted(self)?,
            Some(Token::Word(Word { value, quote_style: None, .. })) => match value.strip_prefix('@') {
                Some("") => quoted(self)?,
                Some(name) if !name.starts_with('@') => (name.to_lowercase(), 1),
                Some(_) => return Err(self.error()),
                None => {
                    return Err(SqlError::new(ErrorCode::SpUndeclaredVar, format!("Undeclared variable: {value}")));
                }
            },
            _ => return Err(self.error()),
        };
        self.next += taken;
        Ok(name)
    }
}
