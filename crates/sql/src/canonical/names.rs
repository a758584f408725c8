//! What an expression of a table's definition names: columns, functions, and what it may not have.

/// What an expression has that no definition may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disallowed {
    /// A function, by the name that messages have.
    Function(String),
    Subquery,
    Variable,
}

/// Functions whose value is another one for each row, session or time, which only defaults may have.
const CHANGING: [&str; 32] = [
    "now",
    "current_timestamp",
    "localtime",
    "localtimestamp",
    "sysdate",
    "curdate",
    "current_date",
    "curtime",
    "current_time",
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "unix_timestamp",
    "uuid",
    "uuid_short",
    "rand",
    "random_bytes",
    "connection_id",
    "database",
    "schema",
    "user",
    "session_user",
    "system_user",
    "current_user",
    "version",
    "found_rows",
    "statement_digest",
    "statement_digest_text",
    "current_role",
    "icu_version",
    "master_pos_wait",
    "encrypt",
];

/// Functions that no definition may have.
const REFUSED: [&str; 12] = [
    "sleep",
    "benchmark",
    "get_lock",
    "release_lock",
    "release_all_locks",
    "is_free_lock",
    "is_used_lock",
    "load_file",
    "values",
    "name_const",
    "last_insert_id",
    "row_count",
];

/// The first thing in an expression, as a definition keeps it, that it may not have. `is_default`: it is the default of
/// a column.
pub fn disallowed(text: &str, is_default: bool) -> Option<Disallowed> {
    let is_refused = |word: &str| REFUSED.contains(&word) || !is_default && CHANGING.contains(&word);
    let pieces = pieces(text);
    pieces.iter().enumerate().find_map(|(at, piece)| match piece {
        Piece::Word("select") => Some(Disallowed::Subquery),
        Piece::Word(word) => {
            let is_call = matches!(pieces.get(at + 1), Some(Piece::Other(other)) if other.starts_with('('));
            (is_call && is_refused(word)).then(|| Disallowed::Function(shown(word)))
        }
        Piece::Name(name) if name.starts_with("`@") => Some(Disallowed::Variable),
        _ => None,
    })
}

/// The name of a function in messages.
fn shown(name: &str) -> String {
    match name {
        "current_timestamp" | "localtime" | "localtimestamp" => "now".into(),
        "current_date" => "curdate".into(),
        "current_time" => "curtime".into(),
        "session_user" | "system_user" => "user".into(),
        "schema" => "database".into(),
        "version" => "version()".into(),
        other => other.into(),
    }
}

/// A part of an expression as a definition keeps it.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'t> {
    /// A column, in backticks.
    Name(&'t str),
    /// A word: of an operator, of a function, or the character set of a text.
    Word(&'t str),
    /// A text in quotes, or what stands between the others.
    Other(&'t str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let bytes = text.as_bytes();
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || !b.is_ascii();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let start = at;
        let quote = bytes[at];
        at += 1;
        if matches!(quote, b'`' | b'\'') {
            // A quote of a name is doubled, one of a text has a backslash in front: two names that touch are one.
            while at < bytes.len() && (bytes[at] != quote || quote == b'`' && bytes.get(at + 1) == Some(&b'`')) {
                let is_pair = bytes[at] == quote || quote == b'\'' && bytes[at] == b'\\';
                at += if is_pair { 2 } else { 1 };
            }
            at = (at + 1).min(bytes.len());
            found.push(if quote == b'`' { Piece::Name(&text[start..at]) } else { Piece::Other(&text[start..at]) });
            continue;
        }
        let word = is_word(quote);
        while at < bytes.len() && is_word(bytes[at]) == word && !matches!(bytes[at], b'`' | b'\'') {
            at += 1;
        }
        found.push(if word { Piece::Word(&text[start..at]) } else { Piece::Other(&text[start..at]) });
    }
    found
}

fn is_name_of(piece: &Piece<'_>, column: &str) -> bool {
    matches!(piece, Piece::Name(name) if name[1..name.len() - 1].replace("``", "`").eq_ignore_ascii_case(column))
}

/// The columns that an expression names, as a definition keeps it, each once.
pub fn named_columns(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for piece in pieces(text) {
        let Piece::Name(name) = piece else { continue };
        let name = name[1..name.len() - 1].replace("``", "`");
        if !names.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            names.push(name);
        }
    }
    names
}

/// Returns true if an expression, as a definition keeps it, names a column.
pub fn names_column(text: &str, column: &str) -> bool {
    pieces(text).iter().any(|piece| is_name_of(piece, column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_are_told_apart() {
        let text = "concat(_utf8mb4'`a`\\'now()',`b``c`,lower(`d`))";
        assert_eq!(named_columns(text), ["b`c", "d"]);
        assert!(names_column(text, "B`C") && !names_column(text, "a"));
        assert_eq!(disallowed(text, false), None);
        assert_eq!(disallowed("(now() > `a`)", false), Some(Disallowed::Function("now".into())));
        assert_eq!(disallowed("(`now` > `a`)", false), None);
        assert_eq!(disallowed("(`@a` > 1)", false), Some(Disallowed::Variable));
        assert_eq!(disallowed("uuid()", true), None);
    }
}
