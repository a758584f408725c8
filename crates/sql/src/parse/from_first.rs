//! `NTH_VALUE(x, n) FROM FIRST OVER ..`: the words say what holds without them, and are left out. `FROM LAST` is
//! refused, as MySQL does; so is what a frame excludes (manual 14.20.1).

use super::source::SourceText;
use muster_types::{Result, SqlError};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, Whitespace},
};

/// Takes FROM FIRST away between a closing parenthesis and OVER. Error 1235 for FROM LAST.
pub(super) fn rewrite(source: &mut SourceText) -> Result<()> {
    let significant = source.significant();
    if !significant.iter().any(|at| source.keyword(*at) == Keyword::OVER) {
        return Ok(());
    }
    refuse_exclusion(source, &significant)?;
    for four in significant.windows(4) {
        let &[before, from, end, over] = four else { continue };
        let is_call = source.tokens[before].token == Token::RParen && source.keyword(from) == Keyword::FROM;
        if !is_call || !matches!(source.word(over).as_str(), "OVER" | "RESPECT" | "IGNORE") {
            continue;
        }
        match source.word(end).as_str() {
            "LAST" => return Err(SqlError::unsupported("FROM LAST")),
            "FIRST" => {
                for at in [from, end] {
                    source.tokens[at].token = Token::Whitespace(Whitespace::Space);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Error 1235 for `EXCLUDE CURRENT ROW` and its kin at the end of a frame.
fn refuse_exclusion(source: &SourceText, significant: &[usize]) -> Result<()> {
    for three in significant.windows(3) {
        let &[before, exclude, what] = three else { continue };
        let ends_frame = matches!(source.word(before).as_str(), "ROW" | "PRECEDING" | "FOLLOWING");
        if ends_frame
            && source.word(exclude) == "EXCLUDE"
            && matches!(source.word(what).as_str(), "CURRENT" | "GROUP" | "TIES" | "NO")
        {
            return Err(SqlError::unsupported("EXCLUDE"));
        }
    }
    Ok(())
}
