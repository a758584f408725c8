//! Names of functions that are words of the grammar only in front of an opening parenthesis (manual 11.2.5 "Function
//! Name Parsing and Resolution"). Without IGNORE_SPACE nothing may stand between the two: `COUNT (*)` calls a stored
//! function, and `CREATE TABLE count (i INT)` names a table.

use super::source::SourceText;
use muster_types::SqlModes;
use sqlparser::tokenizer::{Token, Word};

/// In lower case, in order.
const FUNCTION_WORDS: &[&str] = &[
    "adddate",
    "bit_and",
    "bit_or",
    "bit_xor",
    "cast",
    "count",
    "curdate",
    "curtime",
    "date_add",
    "date_sub",
    "extract",
    "group_concat",
    "json_arrayagg",
    "json_objectagg",
    "max",
    "mid",
    "min",
    "now",
    "position",
    "session_user",
    "st_collect",
    "std",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "subdate",
    "substr",
    "substring",
    "sum",
    "sysdate",
    "system_user",
    "trim",
    "var_pop",
    "var_samp",
    "variance",
];

/// Returns true if the word, in any case, is one of these names.
pub(crate) fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.binary_search(&&*word.to_ascii_lowercase()).is_ok()
}

/// Puts quotes around the names that call nothing of the grammar though a parenthesis follows them: they are names of
/// tables, columns and stored functions. MID is another word for SUBSTRING.
pub(super) fn quote_spaced(source: &mut SourceText, modes: SqlModes) {
    let significant = source.significant();
    for pair in significant.windows(2) {
        let (at, next) = (pair[0], pair[1]);
        if source.tokens[next].token != Token::LParen {
            continue;
        }
        if source.starts[next] == source.ends[at] || modes.has(SqlModes::IGNORE_SPACE) {
            if source.word(at) == "MID" {
                let keyword = sqlparser::keywords::Keyword::SUBSTRING;
                source.tokens[at].token = Token::Word(Word { value: "SUBSTRING".into(), quote_style: None, keyword });
            }
            continue;
        }
        if let Token::Word(word @ Word { quote_style: None, .. }) = &mut source.tokens[at].token
            && is_function_word(&word.value)
        {
            *word = Word { value: std::mem::take(&mut word.value), quote_style: Some('`'), keyword: NO_KEYWORD };
        }
    }
}

const NO_KEYWORD: sqlparser::keywords::Keyword = sqlparser::keywords::Keyword::NoKeyword;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found() {
        assert!(FUNCTION_WORDS.is_sorted());
        assert!(is_function_word("Count") && is_function_word("TRIM") && !is_function_word("concat"));
    }
}
