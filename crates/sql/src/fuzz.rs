//! Parses and binds any text that a client sends as SQL; the worst outcome is an error. Called by the suite with random
//! statements, and by `fuzz/`.

use muster_types::{SqlModes, charset::Charset};

/// Reads the bytes as a client's statements, in the character sets that differ, and parses each of them in the default
/// `sql_mode` and under the modes of the parser.
pub fn sql_parser(bytes: &[u8]) {
    for charset in [Charset::Utf8mb4, Charset::Latin1, Charset::Gbk, Charset::Sjis] {
        for modes in [SqlModes::NONE, SqlModes::OF_PARSING] {
            let Ok(text) = crate::statement_text(charset, bytes, modes) else { continue };
            for statement in crate::split_under(&text, modes) {
                let _ = crate::parse_under(statement, modes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The pieces that random statements are made of, so that some of them parse.
    const PIECES: &[&str] = &[
        "SELECT ",
        "FROM ",
        "WHERE ",
        "GROUP BY ",
        "ORDER BY ",
        "LIMIT ",
        "UNION ",
        "WITH ",
        "AS ",
        "JOIN ",
        "ON ",
        "IN ",
        "INTO ",
        "SET ",
        "SHOW ",
        "CREATE ",
        "TABLE ",
        "LOAD DATA ",
        "INFILE ",
        "FIELDS ",
        "EXPLAIN ",
        "CASE ",
        "WHEN ",
        "END ",
        "INSERT ",
        "REPLACE ",
        "UPDATE ",
        "DELETE ",
        "USING ",
        "DEFAULT ",
        "ON DUPLICATE KEY UPDATE ",
        "FOR UPDATE ",
        "INTERVAL ",
        "DAY ",
        "NOT ",
        "NULL ",
        "BETWEEN ",
        "AND ",
        "|| ",
        "COUNT ",
        "LIKE ",
        "_binary ",
        "_latin1 ",
        "VALUES ",
        "ROW",
        "t ",
        "a ",
        "`b` ",
        "@x ",
        "@@y ",
        "1 ",
        "1.5e3 ",
        "'s' ",
        "'",
        "\"",
        "`",
        "x'0F' ",
        "0x1F ",
        "(",
        ")",
        ",",
        ".",
        ";",
        "*",
        "+",
        "-",
        "=",
        "<=>",
        ":=",
        "?",
        "--",
        "/*",
        "/*!50000 ",
        "/*+ ",
        "*/",
        "#",
        "\n",
        "\\",
        "\u{e9}",
    ];

    proptest! {
        #[test]
        fn any_statement_is_parsed_or_refused(pieces in proptest::collection::vec(0..PIECES.len(), 0..40)) {
            let text: String = pieces.into_iter().map(|i| PIECES[i]).collect();
            sql_parser(text.as_bytes());
        }

        #[test]
        fn any_bytes(bytes: Vec<u8>) {
            sql_parser(&bytes);
        }
    }
}
