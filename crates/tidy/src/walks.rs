//! The walks through the code in `docs/design.md`: each is a list of the modules that a statement passes. A walk passes
//! none of them twice, and the code of a module that it has passed before, or that all walks begin with, names each one
//! that it passes: the module itself or something public that the module declares.

use crate::{
    Checkout, Finding,
    source::{code, declared},
};
use std::collections::BTreeSet;

const PAGE: &str = "docs/design.md";
const SECTION: &str = "## Ten walks";
/// A walk that begins with the modules of the first one says so.
const AS_THE_FIRST: &str = "as a SELECT";
/// Names that so many modules declare that they tell nothing.
const COMMON: [&str; 12] =
    ["new", "of", "from", "default", "fmt", "read", "open", "len", "is_empty", "next", "name", "names"];

pub fn faults(checkout: &Checkout) -> Vec<Finding> {
    let text = checkout.text(PAGE).unwrap_or_default();
    let lines = text.lines().enumerate().skip_while(|(_, line)| *line != SECTION).skip(1);
    let mut faults = Vec::new();
    let (mut common, mut first): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut passed: Vec<&str> = Vec::new();
    let (mut number, mut is_as_the_first) = (0, false);
    for (i, line) in lines.take_while(|(_, line)| !line.starts_with("## ")) {
        let is_of_walk = line.starts_with(|c: char| c.is_ascii_digit());
        if is_of_walk {
            if number == 1 {
                first.clone_from(&passed);
            }
            (number, is_as_the_first) = (number + 1, false);
            passed.clear();
        }
        for part in line.split_inclusive('`').collect::<Vec<_>>().chunks(2) {
            is_as_the_first |= part[0].contains(AS_THE_FIRST);
            let Some(module) = part.get(1).and_then(|quoted| quoted.strip_suffix('`')).filter(|m| m.contains("::"))
            else {
                continue;
            };
            if number == 0 {
                common.push(module);
                continue;
            }
            if passed.contains(&module) {
                faults.push(Finding::new(PAGE, i + 1, format!("the walk enters `{module}` twice")));
            }
            let before = common.iter().chain(&passed).chain(first.iter().filter(|_| is_as_the_first));
            if !before.into_iter().any(|caller| calls(checkout, caller, module)) {
                faults.push(Finding::new(PAGE, i + 1, format!("no module of the walk before it names `{module}`")));
            }
            passed.push(module);
        }
    }
    faults
}

/// The code of a module: of its file, and of the files in its folder.
fn texts(checkout: &Checkout, module: &str) -> Vec<String> {
    let (name, path) = module.split_once("::").unwrap_or((module, ""));
    let path = format!("crates/{name}/src/{}", path.replace("::", "/"));
    let file = format!("{path}.rs");
    let own = checkout.text(&file).into_iter();
    own.chain(checkout.below(&format!("{path}/")).map(|(_, text)| text)).map(code).collect()
}

/// Returns true if the code of one module names another one, or something public that the other one declares.
fn calls(checkout: &Checkout, caller: &str, module: &str) -> bool {
    let words: BTreeSet<String> = texts(checkout, caller)
        .iter()
        .flat_map(|text| {
            text.split(|c: char| !(c.is_alphanumeric() || c == '_')).map(str::to_string).collect::<Vec<_>>()
        })
        .collect();
    let declares = texts(checkout, module);
    let last = module.rsplit("::").next().unwrap_or(module);
    words.contains(last)
        || declares.iter().flat_map(|text| text.lines().filter_map(offered)).any(|name| words.contains(name))
}

/// The public name that a line declares, or the trait that it begins to implement.
fn offered(line: &str) -> Option<&str> {
    if let Some((head, _)) = line.strip_prefix("impl").and_then(|rest| rest.split_once(" for ")) {
        return head.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next();
    }
    let is_public = line.trim_start().starts_with("pub");
    declared(line, &["fn", "struct", "enum", "trait", "type"]).filter(|name| is_public && !COMMON.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(walks: &str) -> Vec<String> {
        let text = format!(
            "`a::b` and `a::b`\n\n{SECTION}\n\nAll begin in `a::start`.\n\n{walks}\n## Next\n\n1. `a::b`, `a::b`\n"
        );
        let files = [
            (PAGE, text.as_str()),
            ("crates/a/src/start.rs", "fn f() { first(); }\n"),
            ("crates/a/src/b.rs", "pub fn first() { c::g(); d::h(); }\n"),
            ("crates/a/src/c.rs", "pub fn g() {}\n"),
            ("crates/a/src/d/mod.rs", "pub fn h() {}\n"),
            ("crates/a/src/e.rs", "pub fn i() {}\n"),
        ];
        faults(&Checkout::of(files)).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn two_walks_may_pass_the_same_module() {
        assert_eq!(found("1. `a::b`, `a::c`\n   and `a::d`.\n2. `a::b`, `a`, `a`.\n"), [""; 0]);
    }

    #[test]
    fn one_walk_may_not() {
        assert_eq!(found("1. `a::b`, `a::c`\n   and `a::b`.\n"), ["docs/design.md:8: the walk enters `a::b` twice"]);
    }

    #[test]
    fn a_module_that_nothing_calls_is_a_fault() {
        assert_eq!(found("1. `a::b`, `a::e`.\n"), ["docs/design.md:7: no module of the walk before it names `a::e`"]);
        assert_eq!(found("1. `a::b`.\n2. as a SELECT, then `a::c`.\n"), [""; 0]);
        assert_eq!(found("1. `a::b`.\n2. `a::c`.\n").len(), 1);
    }
}
