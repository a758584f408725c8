//! The floors of a crate: each module may know those that stand before it, and no others. So modules form no circle,
//! and a reader can understand them one by one from the ground up.
//!
//! Modules that still know each other stand on one floor. Such floors may lose modules and must not gain any.

use crate::{Checkout, Finding, source};
use std::collections::BTreeMap;

/// The modules of `engine` from the ground up, as docs/design.md explains them.
pub const ENGINE: &[&[&str]] = &[
    &["outcome"],
    &["rows"],
    &["infile"],
    &["charset"],
    &["persist"],
    &["system_schema"],
    &["user_variables"],
    &["threads"],
    &["waiting"],
    &["admission"],
    &["variables"],
    &["command_counters"],
    &["processes"],
    &["estimate_errors"],
    &["metadata_locks", "user_locks"],
    &["transaction"],
    &["catalog"],
    &["accounts"],
    &["tables"],
    &["cost_tables"],
    &["short_path"],
    &["database"],
    &["statement"],
    &["ddl"],
    &["dml"],
    &["explain"],
    &["alter"],
    &["loading"],
    &["virtual_tables"],
    &["session"],
];

/// The modules of `storage` from the ground up, as docs/design.md explains them.
pub const STORAGE: &[&[&str]] = &[
    &["mutex"],
    &["primitives"],
    &["planted"],
    &["processor"],
    &["latch_order"],
    &["locks"],
    &["error"],
    &["counters"],
    &["schema"],
    &["arrow_value"],
    &["key"],
    &["read_view"],
    &["stripes"],
    &["statistics"],
    &["io"],
    &["essential_thread"],
    &["reserve"],
    &["page"],
    &["file"],
    &["buffer_pool"],
    &["checked_file"],
    &["definitions"],
    &["small_file"],
    &["log"],
    &["directory"],
    &["open_files"],
    &["tree"],
    &["transaction"],
    &["table"],
    &["store"],
    &["rows"],
    &["scan"],
    &["lookup"],
    &["row_visit"],
    &["table_check"],
    &["load"],
    &["fuzz"],
];

/// The modules of `exec` from the ground up.
pub const EXEC: &[&[&str]] = &[
    &["error"],
    &["arrow_value"],
    &["counters"],
    &["memory"],
    &["bind"],
    &["expr"],
    &["agg"],
    &["ops", "profile", "runtime"],
    &["first_rows"],
    &["kept_rows"],
    &["lower"],
];

/// The modules of `optimizer` from the ground up.
pub const OPTIMIZER: &[&[&str]] = &[
    &["interrupt"],
    &["trace"],
    &["scope"],
    &["literal"],
    &["intervals"],
    &["substitution"],
    &["copy"],
    &["properties"],
    &["cost"],
    &["fingerprint"],
    &["estimate"],
    &["relation"],
    &["column_classes"],
    &["options"],
    &["index_shape"],
    &["ranges"],
    &["rewrite"],
    &["access_path"],
    &["join_order"],
    &["plan"],
    &["locking"],
    &["unreadable_indexes"],
    &["physical"],
    &["remembered"],
    &["plan_template"],
];

/// The modules of `sql` from the ground up.
pub const SQL: &[&[&str]] =
    &[&["typing"], &["hints"], &["statement"], &["parse"], &["canonical"], &["digest"], &["bind"], &["fuzz"]];

/// Looks at all files below `crates/NAME/src` but the root of the crate and tests.
pub fn faults(checkout: &Checkout, name: &str, floors: &[&[&str]]) -> Vec<Finding> {
    let folder = format!("crates/{name}/src/");
    let root = source::code(checkout.text(&format!("{folder}lib.rs")).unwrap_or_default());
    let exported = exports(&root);
    let mut faults = Vec::new();
    for (path, text) in checkout.below(&folder) {
        let Some(module) = path[folder.len()..].strip_suffix(".rs").filter(|m| *m != "lib" && !is_test(m)) else {
            continue;
        };
        let module: Vec<&str> = module.trim_end_matches("/mod").split('/').collect();
        let Some(place) = floor_of(floors, module[0]) else {
            let what = format!("the floors of `{name}` do not have `{}`", module[0]);
            faults.push(Finding::new(path, 1, what));
            continue;
        };
        for (line, seen) in references(&without_tests(&source::code(text)), module.len()) {
            let seen = exported.get(seen).copied().unwrap_or(seen);
            if floor_of(floors, seen).is_some_and(|other| other > place) {
                let what = format!("`{}` must not know `{seen}`, which stands above it", module[0]);
                faults.push(Finding::new(path, line, what));
            }
        }
    }
    faults
}

fn floor_of(floors: &[&[&str]], module: &str) -> Option<usize> {
    floors.iter().position(|floor| floor.contains(&module))
}

fn is_test(module: &str) -> bool {
    let ends = ["_tests", "_bench", "_soak", "fixtures"];
    module.split('/').any(|part| part == "tests" || part == "testing" || ends.iter().any(|end| part.ends_with(end)))
}

/// Code up to the module of tests, which stands last in a file.
fn without_tests(code: &str) -> String {
    let mut lines = Vec::new();
    let mut before = "";
    for line in code.lines() {
        if before.trim() == "#[cfg(test)]" && source::declared(line, &["mod"]).is_some() && line.ends_with('{') {
            break;
        }
        lines.push(line);
        before = line;
    }
    lines.join("\n")
}

/// The first names of paths that begin at the root of the crate, with their lines: `x` of `crate::x::Y`, `x` and `z` of
/// `crate::{x::Y, z}`, and `x` of `super::x` where `super` is the root. `depth` is how deep the module lies below the
/// root.
fn references(code: &str, depth: usize) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let up = "super::".repeat(depth);
    for start in [String::from("crate::"), up] {
        for (at, _) in code.match_indices(&start) {
            let before = &code[..at];
            if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') || before.ends_with("super::") {
                continue;
            }
            let line = before.matches('\n').count() + 1;
            found.extend(heads(&code[at + start.len()..]).into_iter().map(|name| (line, name)));
        }
    }
    found
}

/// The first names of a path, or of the paths in a group.
fn heads(path: &str) -> Vec<&str> {
    let path = path.trim_start();
    let Some(group) = path.strip_prefix('{') else { return vec![identifier(path)] };
    let mut heads = Vec::new();
    let (mut depth, mut begin) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                heads.push(identifier(group[begin..at].trim_start()));
                begin = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    heads
}

fn identifier(text: &str) -> &str {
    &text[..text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len())]
}

/// The modules of the names that the root of the crate exports: `crate::Session` is a way to `session`, too.
fn exports(root: &str) -> BTreeMap<&str, &str> {
    let mut exports = BTreeMap::new();
    for statement in root.split(';') {
        let Some((_, path)) = statement.split_once("use ") else { continue };
        let path = path.trim();
        let module = identifier(path);
        let rest = path.strip_prefix("crate::").unwrap_or(path);
        for name in rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|n| !n.is_empty() && *n != module) {
            exports.insert(name, module);
        }
    }
    exports
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOORS: &[&[&str]] = &[&["catalog"], &["accounts", "roles"], &["session"]];

    fn found(path: &str, text: &str) -> Vec<String> {
        let root = "mod catalog;\npub use session::{Session, variables::Scope};\npub use muster_types as types;\n";
        let files = [("crates/engine/src/lib.rs", root), (path, text)];
        faults(&Checkout::of(files), "engine", FLOORS).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn arrows_down_are_fine() {
        assert_eq!(found("crates/engine/src/session/mod.rs", "use crate::{accounts::A, catalog};\n"), [""; 0]);
        assert_eq!(found("crates/engine/src/catalog/mod.rs", "use crate::types::Value;\nuse super::*;\n"), [""; 0]);
    }

    #[test]
    fn modules_of_one_floor_may_know_each_other() {
        assert_eq!(found("crates/engine/src/accounts/rights.rs", "use crate::roles::Role;\n"), [""; 0]);
        assert_eq!(found("crates/engine/src/roles.rs", "use crate::{accounts::A, catalog};\n"), [""; 0]);
    }

    #[test]
    fn rights_know_no_session() {
        let fault = "crates/engine/src/accounts/rights.rs:2: `accounts` must not know `session`, which stands above it";
        for way in [
            "use crate::session::Session;",
            "use crate::{\n    catalog::C, session::{A, B}};",
            "fn f(s: &crate::Session) {}",
            "use crate::Scope;",
            "use super::super::session;",
        ] {
            assert_eq!(found("crates/engine/src/accounts/rights.rs", &format!("\n{way}\n")), [fault], "{way}");
        }
    }

    #[test]
    fn what_is_in_comments_and_tests_does_not_count() {
        let text = "//! See crate::session.\n#[cfg(test)]\nmod tests {\n    use crate::session::Session;\n}\n";
        assert_eq!(found("crates/engine/src/catalog/mod.rs", text), [""; 0]);
        assert_eq!(found("crates/engine/src/catalog/stored_tests.rs", "use crate::session;"), [""; 0]);
    }

    #[test]
    fn a_module_without_a_place_is_a_fault() {
        assert_eq!(found("crates/engine/src/status.rs", "").len(), 1);
    }
}
