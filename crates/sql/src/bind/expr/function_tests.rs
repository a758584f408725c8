//! The list of functions in `docs/sql.md` is that of the code.

use super::is_answered;
use crate::bind::expr::{aggregate::is_aggregate, window::is_window_function};
use muster_functions::mysql::SECTIONS;
use std::fmt::Write;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sql.md");
const BEGIN: &str = "<!-- functions: begin -->\n";
const END: &str = "<!-- functions: end -->\n";

/// Functions that the parser or the binder knows by their syntax.
const OF_THE_SYNTAX: &[&str] = &["DEFAULT", "EXTRACT", "GROUPING", "JSON_TABLE", "POSITION", "TIMESTAMPADD", "VALUES"];

/// A row of the table for each section: the functions that there are, and those that there are not.
fn table() -> String {
    let mut table = String::from("| section | kind | yes | no |\n|---|---|---|---|\n");
    for section in SECTIONS {
        let is_there = |name: &str| {
            let is_called = is_answered(name) || is_aggregate(name) || is_window_function(name);
            is_called || OF_THE_SYNTAX.contains(&name)
        };
        let (yes, no): (Vec<&str>, Vec<&str>) = section.names().partition(|name| is_there(name));
        let list = |names: Vec<&str>| match names.as_slice() {
            [] => String::new(),
            names => format!("`{}`", names.join("`, `")),
        };
        let (title, kind) = (section.title, section.kind.shown());
        writeln!(table, "| {title} | {kind} | {} | {} |", list(yes), list(no))
            .expect("writing to a string cannot fail");
    }
    table
}

/// With `UPDATE_FUNCTIONS=1` the table in the document is written anew.
#[test]
fn the_document_lists_the_functions() {
    let document = std::fs::read_to_string(DOCUMENT).expect("the document can be read");
    let (before, rest) = document.split_once(BEGIN).expect("the table has a beginning");
    let (listed, after) = rest.split_once(END).expect("the table has an end");
    let table = table();
    if std::env::var_os("UPDATE_FUNCTIONS").is_some() {
        std::fs::write(DOCUMENT, format!("{before}{BEGIN}{table}{END}{after}")).expect("the document can be written");
        return;
    }
    assert!(listed == table, "UPDATE_FUNCTIONS=1 cargo test -p muster-sql the_document_lists writes it anew");
}
