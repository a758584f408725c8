//! Words that may not be part of a name: they say that something is used, not what it is.

use crate::{Checkout, Finding, source};

pub const BANNED: [&str; 7] = ["util", "utils", "helper", "helpers", "manager", "misc", "stuff"];
/// Words that may not be part of the name of a file, a folder or a module, but of others: a prefix may be common to two
/// keys.
pub const BANNED_OF_MODULES: [&str; 1] = ["common"];

/// Words that may not be the whole name of a type: each crate would have one of them, and a reader could not tell which
/// is meant. A word before them says whose they are: `StatementContext`, `TableAccess`.
pub const BANNED_AS_TYPES: [&str; 4] = ["Access", "Context", "From", "Info"];

/// The keywords that declare a type.
const TYPES: [&str; 4] = ["struct", "enum", "trait", "type"];
/// The keywords that declare a name which others see. Local variables are not looked at.
const KEYWORDS: [&str; 8] = ["fn", "struct", "enum", "trait", "mod", "type", "const", "static"];

pub fn faults(checkout: &Checkout) -> Vec<Finding> {
    let mut faults = Vec::new();
    for (path, text) in checkout.rust() {
        for part in path.split('/').map(|part| part.trim_end_matches(".rs")) {
            let found = [banned(part, &BANNED), banned(part, &BANNED_OF_MODULES)].concat().into_iter();
            faults.extend(found.map(|word| Finding::new(path, 1, format!("the path has `{word}` in it"))));
        }
        for (i, line) in source::code(text).lines().enumerate() {
            let Some(name) = source::declared(line, &KEYWORDS) else { continue };
            let is_module = source::declared(line, &["mod"]).is_some();
            if source::declared(line, &TYPES).is_some_and(|ty| BANNED_AS_TYPES.contains(&ty)) {
                faults.push(Finding::new(path, i + 1, format!("a type is only called `{name}`")));
            }
            let of_modules = if is_module { banned(name, &BANNED_OF_MODULES) } else { Vec::new() };
            let found = banned(name, &BANNED).into_iter().chain(of_modules);
            faults.extend(found.map(|word| Finding::new(path, i + 1, format!("`{name}` has `{word}` in it"))));
        }
    }
    faults
}

/// The banned words among the words of a name.
fn banned(name: &str, list: &[&'static str]) -> Vec<&'static str> {
    let words = words(name);
    list.iter().copied().filter(|banned| words.iter().any(|word| word == banned)).collect()
}

/// The words of `snake_case`, `CamelCase` and `UPPER_CASE` in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower_before = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && lower_before) {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("there is a word from the beginning").extend(c.to_lowercase());
        }
        lower_before = c.is_lowercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        faults(&Checkout::of([(path, text)])).len()
    }

    #[test]
    fn names_that_say_nothing_are_faults() {
        assert_eq!(found("crates/a/src/util.rs", ""), 1);
        assert_eq!(found("crates/a/src/helpers/mod.rs", ""), 1);
        assert_eq!(found("crates/sql-common/src/lib.rs", ""), 1);
        assert_eq!(found("crates/a/src/lib.rs", "pub struct LockManager;\n"), 1);
        assert_eq!(found("crates/a/src/lib.rs", "    pub(crate) fn row_helper() {}\n"), 1);
        assert_eq!(found("crates/a/src/lib.rs", "mod common {}\n"), 1);
    }

    #[test]
    fn types_have_more_than_a_word_that_any_crate_could_have() {
        assert_eq!(found("crates/a/src/lib.rs", "pub struct Context<'a> {\n"), 1);
        assert_eq!(found("crates/a/src/lib.rs", "struct Access;\npub(super) enum From {}\n"), 2);
        assert_eq!(
            found("crates/a/src/lib.rs", "struct RowAccess;\nfn context(c: Context) {}\nimpl From<A> for B {}\n"),
            0
        );
    }

    #[test]
    fn other_names_are_none() {
        assert_eq!(found("crates/a/src/utility.rs", "fn manage() {}\n// fn helper()\nfn common_prefix() {}\n"), 0);
        assert_eq!(found("crates/a/src/lib.rs", "use datafusion_common::Result;\nlet s = \"fn helper()\";\n"), 0);
    }
}
