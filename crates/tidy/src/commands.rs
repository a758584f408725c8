//! The commands that documents tell readers to type. Those of cargo are checked here; those of `muster` are returned by
//! [`muster`], so that the crate of that command can ask its own parser.

use crate::{Checkout, Finding, source};

/// A command of a document, without variables before it and comments after it.
#[derive(Debug)]
pub struct Command {
    pub file: String,
    pub line: usize,
    pub words: Vec<String>,
}

/// Cargo's own commands that are in use here, and those of tools that the documents tell how to install.
const CARGO: [&str; 9] = ["build", "check", "clippy", "doc", "fmt", "install", "run", "test", "tree"];

pub fn faults(checkout: &Checkout) -> Vec<Finding> {
    let aliases = aliases(checkout);
    let mut faults = Vec::new();
    for command in commands(checkout).filter(|c| c.words[0] == "cargo" && c.words.len() > 1) {
        let mut report = |what: String| faults.push(Finding::new(&command.file, command.line, what));
        let name = command.words[1].as_str();
        let packages = packages(checkout, &command.words);
        if name == "fuzz" {
            if !command.words.iter().any(|word| checkout.exists(&format!("fuzz/targets/{word}.rs"))) {
                report("`cargo fuzz` with a target that does not exist".to_string());
            }
        } else if !CARGO.contains(&name) && !aliases.iter().any(|(alias, _)| *alias == name) {
            report(format!("`cargo {name}` is neither a command nor an alias of .cargo/config.toml"));
        } else if packages.is_empty() {
            report("the package of `-p` does not exist".to_string());
        } else {
            let target = |option: &str| option_of(&command.words, option);
            for (option, folder) in [("--test", "tests"), ("--example", "examples"), ("--bench", "benches")] {
                let Some(file) = target(option) else { continue };
                let exists = |crate_: &String| checkout.exists(&format!("{crate_}/{folder}/{file}.rs"));
                if !packages.iter().any(exists) {
                    report(format!("there is no {option} `{file}`"));
                }
            }
            for filter in filters(&command.words) {
                if !packages.iter().any(|p| has_test(checkout, p, filter)) {
                    report(format!("no test has `{filter}` in its name"));
                }
            }
        }
    }
    faults
}

/// The commands of `muster`: typed as such, through `cargo run --` and through aliases of it. The first word is
/// `muster`.
pub fn muster(checkout: &Checkout) -> Vec<Command> {
    let aliases = aliases(checkout);
    let mut found = Vec::new();
    for mut command in commands(checkout) {
        if command.words[0] == "cargo" {
            let alias =
                |(name, text): &&(&str, &str)| command.words.get(1).is_some_and(|w| w == name) && text.contains("run");
            let arguments = if aliases.iter().find(alias).is_some() {
                2
            } else if command.words.get(1).is_some_and(|word| word == "run") {
                command.words.iter().position(|word| word == "--").map_or(command.words.len(), |at| at + 1)
            } else {
                continue;
            };
            command.words.splice(..arguments, ["muster".to_string()]);
        }
        if command.words[0] == "muster" {
            found.push(command);
        }
    }
    found
}

/// Lines of blocks that are marked as `sh`, and whatever stands between backticks and begins with the name of a
/// program.
fn commands(checkout: &Checkout) -> impl Iterator<Item = Command> {
    let mut found = Vec::new();
    for (path, text) in checkout.documents() {
        let mut block: Option<&str> = None;
        for (i, line) in text.lines().enumerate() {
            let mut add = |text: &str| {
                let text = text.split(" #").next().unwrap_or_default();
                let words = text.split_whitespace().skip_while(|word| word.contains('=')).map(str::to_string);
                let words: Vec<String> = words.collect();
                if words.first().is_some_and(|program| program == "cargo" || program == "muster") {
                    found.push(Command { file: path.to_string(), line: i + 1, words });
                }
            };
            match (line.strip_prefix("```"), block) {
                (Some(language), None) => block = Some(language),
                (Some(_), Some(_)) => block = None,
                (None, Some("sh")) => add(line),
                (None, Some(_)) => {}
                (None, None) => line.split('`').skip(1).step_by(2).for_each(add),
            }
        }
    }
    found.into_iter()
}

/// The names and the texts of the aliases of cargo.
fn aliases(checkout: &Checkout) -> Vec<(&str, &str)> {
    let config = checkout.text(".cargo/config.toml").unwrap_or_default();
    let section =
        config.lines().skip_while(|line| *line != "[alias]").skip(1).take_while(|line| !line.starts_with('['));
    section.filter_map(|line| line.split_once('=')).map(|(name, text)| (name.trim(), text)).collect()
}

/// The folders of the packages that a command is about: that of `-p`, or all.
fn packages(checkout: &Checkout, words: &[String]) -> Vec<String> {
    let wanted = option_of(words, "-p").map(|name| format!("name = \"{name}\""));
    let manifests = checkout.below("crates/").filter(|(path, _)| path.ends_with("/Cargo.toml"));
    let wanted = manifests.filter(|(_, text)| wanted.as_ref().is_none_or(|name| text.lines().any(|line| line == name)));
    wanted.map(|(path, _)| path.trim_end_matches("/Cargo.toml").to_string()).collect()
}

fn option_of<'a>(words: &'a [String], option: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| word == option)?;
    words.get(at + 1).map(String::as_str)
}

/// The words after `--` of a command that runs tests: parts of names of tests.
fn filters(words: &[String]) -> impl Iterator<Item = &str> {
    let runs_tests = !matches!(words[1].as_str(), "run" | "clippy" | "muster");
    let after = words.iter().skip_while(|word| *word != "--").skip(1).filter(move |_| runs_tests);
    after.map(String::as_str).filter(|word| !word.starts_with('-'))
}

/// Returns true if a function, or the module that it stands in, has the filter in its name.
fn has_test(checkout: &Checkout, package: &str, filter: &str) -> bool {
    let last = filter.rsplit("::").find(|part| !part.is_empty()).unwrap_or(filter);
    checkout.below(&format!("{package}/")).filter(|(path, _)| path.ends_with(".rs")).any(|(path, text)| {
        path.contains(last) || source::functions(text).iter().any(|function| function.name.contains(last))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkout(document: &str) -> Checkout {
        let all = [
            ("docs/a.md", document),
            (".cargo/config.toml", "[alias]\nmuster = \"run --release --\"\nchecked = [\"test\", \"--release\"]\n"),
            ("crates/x/Cargo.toml", "[package]\nname = \"muster-x\"\n"),
            ("crates/x/src/lib.rs", "#[test]\nfn rows_are_sorted() {\n    x();\n}\n"),
            ("crates/x/tests/slt.rs", ""),
            ("crates/y/Cargo.toml", "[package]\nname = \"muster-y\"\n"),
            ("fuzz/targets/page_decode.rs", ""),
        ];
        Checkout::of(all)
    }

    #[test]
    fn commands_that_work_are_fine() {
        for command in [
            "cargo checked",
            "cargo test --release --workspace",
            "cargo test -p muster-x --test slt -- --ignored sorted",
            "RUSTC_BOOTSTRAP=1 cargo fuzz run page_decode -- -x=1",
            "cargo run --release -- demo",
            "cargo muster demo",
        ] {
            let found = faults(&checkout(&format!("```sh\n{command}   # why\n```\n`{command}`\n")));
            assert!(found.is_empty(), "{command}: {found:?}");
        }
    }

    #[test]
    fn commands_that_do_not_are_faults() {
        for command in [
            "cargo unchecked",
            "cargo test -p muster-z",
            "cargo test -p muster-y --test slt",
            "cargo test -- mended",
            "cargo test -p muster-y -- sorted",
            "cargo fuzz run packet",
        ] {
            assert_eq!(faults(&checkout(&format!("```sh\n{command}\n```\n"))).len(), 1, "{command}");
            assert_eq!(faults(&checkout(&format!("Type `{command}`.\n"))).len(), 1, "{command}");
        }
        assert!(faults(&checkout("```\ncargo unchecked\n```\n")).is_empty());
    }

    #[test]
    fn commands_of_muster_are_found_in_all_ways_to_type_them() {
        let text = "```sh\ncargo run --release -- sql -D d   # why\ncargo muster sql -D d\n```\n`muster sql -D d`\n";
        let found = muster(&checkout(text));
        assert_eq!(found.len(), 3);
        for command in found {
            assert_eq!(command.words, ["muster", "sql", "-D", "d"]);
        }
    }
}
