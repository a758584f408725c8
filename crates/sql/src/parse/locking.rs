//! Locking clauses of queries, in the form that sqlparser reads: `FOR UPDATE | SHARE [OF table] [NOWAIT | SKIP LOCKED]`.

use super::source::SourceText;
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, Whitespace},
};

/// `LOCK IN SHARE MODE` becomes `FOR SHARE`, and `FOR UPDATE OF a, b NOWAIT` two clauses of one table each.
pub(super) fn rewrite(source: &mut SourceText) {
    let significant = source.significant();
    for w in significant.windows(4) {
        let words = w.iter().map(|i| source.keyword(*i));
        if words.eq([Keyword::LOCK, Keyword::IN, Keyword::SHARE, Keyword::MODE]) {
            let blank = Token::Whitespace(Whitespace::Space);
            let tokens = [Token::make_keyword("FOR"), Token::make_keyword("SHARE"), blank.clone(), blank];
            for (i, token) in w.iter().zip(tokens) {
                source.tokens[*i].token = token;
            }
        }
    }
    // From the end, so that places stay.
    for n in (2..significant.len()).rev() {
        let [kind, of] = [significant[n - 1], significant[n]];
        let locks = matches!(source.keyword(kind), Keyword::UPDATE | Keyword::SHARE);
        if locks && source.keyword(of) == Keyword::OF && source.keyword(significant[n - 2]) == Keyword::FOR {
            split_list(source, &significant[n + 1..], kind);
        }
    }
}

/// Puts the clause's words in place of each comma of the list of tables that begins at `list[0]`.
fn split_list(source: &mut SourceText, list: &[usize], kind: usize) {
    let (mut commas, mut end) = (Vec::new(), 0);
    // Names, with a period or a comma between two of them.
    while let Some(at) = list.get(end) {
        match (&source.tokens[*at].token, end % 2) {
            (Token::Word(_), 0) | (Token::Period, 1) => {}
            (Token::Comma, 1) => commas.push(*at),
            _ => break,
        }
        end += 1;
    }
    let mut words = match list.get(end).map(|i| source.keyword(*i)) {
        Some(Keyword::NOWAIT) => vec![Token::make_keyword("NOWAIT")],
        Some(Keyword::SKIP) => vec![Token::make_keyword("SKIP"), Token::make_keyword("LOCKED")],
        _ => Vec::new(),
    };
    words.extend([Token::make_keyword("FOR"), source.tokens[kind].token.clone(), Token::make_keyword("OF")]);
    for at in commas.into_iter().rev() {
        source.tokens[at].token = words[0].clone();
        for word in words[1..].iter().rev() {
            source.insert(at + 1, word.clone());
        }
    }
}
