//! Signs of operators, where sqlparser reads others than MySQL does.

use super::{
    dialect::{AND_SIGN, OR_SIGN},
    source::{ON_DUPLICATE, SourceText},
};
use muster_types::SqlModes;
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Location, Span, Token, TokenWithSpan, Whitespace, Word},
};

/// Cuts operators of PostgreSQL into the signs that MySQL knows: `~~a`, `!~a`, `a<@b`, `a^@b`; `!!a` is `!a`.
pub(super) fn split(source: &mut SourceText) {
    if source.tokens.iter().all(|token| signs(&token.token).is_empty()) {
        return;
    }
    let tokens = std::mem::take(&mut source.tokens);
    let (starts, ends) = (std::mem::take(&mut source.starts), std::mem::take(&mut source.ends));
    let mut push = |token: Token, span: Span, start: usize, end: usize| {
        source.tokens.push(TokenWithSpan { token, span });
        source.starts.push(start);
        source.ends.push(end);
    };
    // The place of the `@` of a variable whose name comes next.
    let mut sign: Option<(Location, usize)> = None;
    for (TokenWithSpan { token, span }, (start, end)) in tokens.into_iter().zip(starts.into_iter().zip(ends)) {
        if let Some((place, at)) = sign.take() {
            if let Token::Word(Word { value, quote_style: None, .. }) = &token {
                let word = Word { value: format!("@{value}"), quote_style: None, keyword: Keyword::NoKeyword };
                push(Token::Word(word), Span::new(place, span.end), at, end);
                continue;
            }
            push(Token::AtSign, Span::new(place, span.start), at, start);
        }
        let signs = signs(&token);
        if signs.is_empty() {
            push(token, span, start, end);
        }
        for (i, one) in signs.iter().enumerate() {
            let place = |i: usize| Location::new(span.start.line, span.start.column + i as u64);
            match one {
                Token::AtSign => sign = Some((place(i), start + i)),
                one => push(one.clone(), Span::new(place(i), place(i + 1)), start + i, start + i + 1),
            }
        }
    }
    if let Some((place, at)) = sign {
        push(Token::AtSign, Span::new(place, place), at, at + 1);
    }
}

/// The signs, of a byte each, that an operator of PostgreSQL is made of.
fn signs(token: &Token) -> &'static [Token] {
    match token {
        // MySQL's lexer skips the second one (`sql_lex.cc`, `MY_LEX_CMP_OP`).
        Token::DoubleExclamationMark => &[Token::ExclamationMark],
        Token::ExclamationMarkTilde => &[Token::ExclamationMark, Token::Tilde],
        Token::ExclamationMarkDoubleTilde => &[Token::ExclamationMark, Token::Tilde, Token::Tilde],
        Token::DoubleTilde => &[Token::Tilde, Token::Tilde],
        Token::ArrowAt => &[Token::Lt, Token::AtSign],
        Token::CaretAt => &[Token::Caret, Token::AtSign],
        _ => &[],
    }
}

/// `||` is OR (without PIPES_AS_CONCAT) and `&&` is AND; `ON DUPLICATE KEY UPDATE` is one token. TOP is a name.
pub(super) fn replace(source: &mut SourceText) {
    let sign = |text: &str, keyword| Token::Word(Word { value: text.into(), quote_style: None, keyword });
    for token in &mut source.tokens {
        match token.token {
            Token::StringConcat if !source.modes.has(SqlModes::PIPES_AS_CONCAT) => {
                token.token = sign(OR_SIGN, Keyword::OR);
            }
            Token::Overlap => token.token = sign(AND_SIGN, Keyword::AND),
            Token::Word(ref mut word) if word.keyword == Keyword::TOP => word.keyword = Keyword::NoKeyword,
            _ => {}
        }
    }
    let significant = source.significant();
    for w in significant.windows(4) {
        let words = w.iter().map(|i| source.keyword(*i));
        if words.eq([Keyword::ON, Keyword::DUPLICATE, Keyword::KEY, Keyword::UPDATE]) {
            source.tokens[w[0]].token = Token::CustomBinaryOperator(ON_DUPLICATE.into());
            w[1..].iter().for_each(|i| source.tokens[*i].token = Token::Whitespace(Whitespace::Space));
        }
    }
}
