//! Functions that are longer than they should be. The list may only shrink.

/// The file, the name and the lines of each.
pub const LONG_FUNCTIONS: &[(&str, &str, usize)] = &[
    ("crates/engine/src/database.rs", "open_on", 78),
    ("crates/engine/src/session/dispatch.rs", "run", 77),
    ("crates/engine/src/virtual_tables/show/tables.rs", "listing", 86),
    ("crates/eval/src/text.rs", "call", 74),
    ("crates/exec/src/lower/lookup.rs", "lookup_join", 75),
    ("crates/explain/src/tree.rs", "operator", 87),
    ("crates/optimizer/src/join_order/enumerator.rs", "search", 82),
    ("crates/optimizer/src/plan/validate.rs", "check", 138),
    ("crates/optimizer/src/testing/interpreter.rs", "plan", 92),
    ("crates/server/src/connection.rs", "login", 86),
    ("crates/sql/src/bind/tests/constructs.rs", "mutated_statements_never_panic", 78),
    ("crates/sql/src/parse/show.rs", "show", 71),
    ("crates/storage/src/lookup/lookup_bench.rs", "keys_per_second", 83),
    ("crates/storage/src/lookup/tests.rs", "lookups_find_what_the_keys_say", 99),
    ("crates/storage/src/scan/steering_tests.rs", "steered_scans_deliver_what_a_filter_keeps", 104),
    ("crates/storage/src/scan/tests.rs", "scans_deliver_what_was_asked_for", 114),
    ("crates/storage/src/scan/tests.rs", "changes_keep_all_trees_in_step", 86),
    ("crates/storage/src/tree/page/leaf/edit_tests.rs", "changed_leaves_are_read_as_the_model_has_them", 84),
    ("crates/storage/src/tree/page/leaf/read.rs", "stored_column", 72),
    ("crates/storage/src/tree/page/leaf/views.rs", "append", 80),
    ("crates/storage/src/tree/read/prefixes.rs", "read_prefixes", 87),
];
