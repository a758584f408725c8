//! Statements under modes of `sql_mode`.

use super::parse_under;
use crate::{Statement, parse};
use muster_types::SqlModes;

/// The query as the default modes would have it written, which reads as the same query.
fn default_text(sql: &str, modes: &str) -> String {
    let modes = SqlModes::from_text(modes).unwrap();
    let Statement::Query(query) = parse_under(sql, modes).unwrap() else { panic!("{sql}") };
    let Statement::Query(again) = parse(&query.text).unwrap() else { panic!("{sql}") };
    assert_eq!(again.text, query.text);
    query.text
}

#[test]
fn queries_are_written_for_the_default_modes() {
    for (modes, sql, want) in [
        ("ANSI_QUOTES", r#"SELECT "a", 'b' AS "c""d" FROM "x`y""#, r#"SELECT `a`, 'b' AS `c"d` FROM `x``y`"#),
        ("NO_BACKSLASH_ESCAPES", r"SELECT 'a\', 'b''\n'", r"SELECT 'a\\', 'b''\\n'"),
        ("NO_BACKSLASH_ESCAPES", r"SELECT a LIKE '\%' AND b FROM t", r"SELECT a LIKE '\\%' ESCAPE '' AND b FROM t"),
        ("NO_BACKSLASH_ESCAPES", r"SELECT a NOT LIKE '\' ESCAPE '|'", r"SELECT a NOT LIKE '\\' ESCAPE '|'"),
        ("PIPES_AS_CONCAT", "SELECT a||b || c", "SELECT CONCAT(a,b , c)"),
        ("PIPES_AS_CONCAT", "SELECT 1 + -a||(b||c)*2, d", "SELECT 1 + CONCAT(-a,(CONCAT(b,c)))*2, d"),
        ("PIPES_AS_CONCAT", "SELECT a COLLATE utf8mb4_bin||b ^ 2", "SELECT CONCAT(a COLLATE utf8mb4_bin,b) ^ 2"),
        (
            "PIPES_AS_CONCAT",
            "SELECT UPPER(a||b)||CASE 1 WHEN 2||3 THEN 4 END",
            "SELECT CONCAT(UPPER(CONCAT(a,b)),CASE 1 WHEN CONCAT(2,3) THEN 4 END)",
        ),
        ("PIPES_AS_CONCAT", "SELECT 1 WHERE a||b IN (c||d)", "SELECT 1 WHERE CONCAT(a,b) IN (CONCAT(c,d))"),
        (
            "HIGH_NOT_PRECEDENCE",
            "SELECT NOT a BETWEEN 1 AND 2, b NOT IN (1)",
            "SELECT ! a BETWEEN 1 AND 2, b NOT IN (1)",
        ),
        ("IGNORE_SPACE", "SELECT COUNT (*), max  (a), f (b)", "SELECT COUNT(*), max(a), f (b)"),
        ("REAL_AS_FLOAT", "SELECT CAST(a AS REAL)", "SELECT CAST(a AS FLOAT)"),
        (
            "ANSI,NO_BACKSLASH_ESCAPES",
            r#"SELECT "a"||'\' FROM t WHERE "b" LIKE "c"||'x'"#,
            r"SELECT CONCAT(`a`,'\\') FROM t WHERE `b` LIKE CONCAT(`c`,'x') ESCAPE ''",
        ),
    ] {
        assert_eq!(default_text(sql, modes), want, "{modes}");
    }
}

#[test]
fn names_of_functions_stand_in_front_of_parentheses() {
    let modes = SqlModes::IGNORE_SPACE;
    assert!(parse("CREATE TABLE count (i INT)").is_ok() && parse_under("CREATE TABLE count (i INT)", modes).is_err());
    assert!(parse("CREATE TABLE count(i INT)").is_err() && parse("CREATE TABLE t (count INT)").is_ok());
    assert!(parse("SELECT CAST (1 AS CHAR)").is_err() && parse_under("SELECT CAST (1 AS CHAR)", modes).is_ok());
}

#[test]
fn rows_of_literals_are_read_under_the_modes() {
    let insert = |sql: &str, modes: &str| parse_under(sql, SqlModes::from_text(modes).unwrap());
    assert_eq!(
        insert(r"INSERT INTO t VALUES ('a\'),('b')", "NO_BACKSLASH_ESCAPES"),
        insert(r"INSERT INTO t VALUES ('a\\'),('b')", "")
    );
    assert!(insert(r"INSERT INTO t VALUES ('a\'),('b')", "").is_err());
    assert_ne!(insert(r#"INSERT INTO t VALUES ("a")"#, "ANSI_QUOTES"), insert(r#"INSERT INTO t VALUES ("a")"#, ""));
    assert_eq!(
        insert(r#"INSERT INTO "t" ("b") VALUES ('a')"#, "ANSI_QUOTES"),
        insert("INSERT INTO `t` (`b`) VALUES ('a')", "")
    );
}
