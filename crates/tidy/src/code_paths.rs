//! What documents put between backticks exists if it looks like a place in this repository: `crates/storage/src/io`, or
//! `storage::reserve`, a module or an item of a crate.

use crate::{Checkout, Finding, source};

/// The keywords that declare items of a module.
const ITEMS: [&str; 9] = ["fn", "struct", "enum", "trait", "mod", "type", "const", "static", "macro_rules"];

pub fn faults(checkout: &Checkout) -> Vec<Finding> {
    let mut faults = Vec::new();
    for (path, text) in checkout.documents() {
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with("```")) {
            for quoted in line.split('`').skip(1).step_by(2) {
                let there = if is_file(checkout, quoted) {
                    checkout.exists(quoted)
                } else if let Some(path) = module_path(checkout, quoted) {
                    is_declared(checkout, &path)
                } else {
                    continue;
                };
                if !there {
                    faults.push(Finding::new(path, i + 1, format!("`{quoted}` does not exist")));
                }
            }
        }
    }
    faults
}

/// Returns true if the text is a path that begins with a folder of this repository.
fn is_file(checkout: &Checkout, quoted: &str) -> bool {
    let plain = quoted.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
    plain && quoted.split_once('/').is_some_and(|(first, _)| !first.is_empty() && checkout.exists(first))
}

/// The segments of `crate::module::item`, if the first is a crate of the workspace.
fn module_path<'a>(checkout: &Checkout, quoted: &'a str) -> Option<Vec<&'a str>> {
    let path: Vec<&str> = quoted.trim_end_matches("()").split("::").collect();
    let name = path[0].strip_prefix("muster_").unwrap_or(path[0]);
    let known = path.len() > 1 && checkout.exists(&format!("crates/{name}/src"));
    let plain = path.iter().all(|s| !s.is_empty() && s.chars().all(|c| c.is_alphanumeric() || c == '_'));
    (known && plain).then(|| [&[name], &path[1..]].concat())
}

/// Follows the path through folders and files; what is left must be declared, or exported, in the module that was
/// reached.
fn is_declared(checkout: &Checkout, path: &[&str]) -> bool {
    let mut folder = format!("crates/{}/src", path[0]);
    let mut file = format!("{folder}/lib.rs");
    for segment in &path[1..] {
        folder = format!("{folder}/{segment}");
        if let Some(next) =
            [format!("{folder}.rs"), format!("{folder}/mod.rs")].into_iter().find(|f| checkout.exists(f))
        {
            file = next;
            continue;
        }
        let code = source::code(checkout.text(&file).unwrap_or_default());
        let exported = |line: &str| {
            let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            words.any(|word| word == *segment)
        };
        let exports = code.split(';').filter(|statement| statement.contains("pub use ")).any(exported);
        return exports || code.lines().any(|line| source::declared(line, &ITEMS) == Some(*segment));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(quoted: &str) -> usize {
        let files = [
            ("docs/a.md", &*format!("See `{quoted}`.")),
            ("crates/x/src/lib.rs", "pub use y::{Z, W};\npub struct S;\n"),
            ("crates/x/src/y/mod.rs", "pub(crate) fn f() {}\n// fn g()\n"),
        ];
        faults(&Checkout::of(files)).len()
    }

    #[test]
    fn places_that_exist_are_fine() {
        for quoted in
            ["crates/x/src/y", "x::y", "x::y::f", "x::S::new", "x::Z", "a / b", "none::here", "docs/", "a::b()"]
        {
            assert_eq!(found(quoted), 0, "{quoted}");
        }
    }

    #[test]
    fn places_that_do_not_exist_are_faults() {
        for quoted in ["crates/x/src/z", "x::z", "x::y::g", "muster_x::y::none", "docs/b.md"] {
            assert_eq!(found(quoted), 1, "{quoted}");
        }
    }
}
