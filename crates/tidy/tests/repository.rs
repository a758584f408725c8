//! The rules applied to the checkout that this test stands in.

use muster_tidy::{Checkout, Finding, code_paths, commands, crate_arrows, lengths, links, module_arrows, names, walks};
use std::path::Path;

fn checkout() -> Checkout {
    // Asked for when the test runs: a target folder may have a binary that another checkout has built.
    let crate_folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_string());
    let root = Path::new(&crate_folder).join("../..");
    Checkout::read(&root).expect("the checkout can be read")
}

#[track_caller]
fn none(faults: Vec<Finding>) {
    let list: Vec<String> = faults.iter().map(Finding::to_string).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), list.join("\n"));
}

#[test]
fn files_and_functions_are_short() {
    none(lengths::faults(&checkout()));
    none(lengths::needless_exceptions(&checkout()));
}

#[test]
fn names_say_what_they_name() {
    none(names::faults(&checkout()));
}

#[test]
fn crates_depend_as_the_map_says() {
    none(crate_arrows::faults(&checkout()));
}

#[test]
fn modules_of_the_engine_know_only_what_stands_before_them() {
    none(module_arrows::faults(&checkout(), "engine", module_arrows::ENGINE));
}

#[test]
fn modules_of_storage_know_only_floors_below_them() {
    none(module_arrows::faults(&checkout(), "storage", module_arrows::STORAGE));
}

#[test]
fn modules_of_the_executor_know_only_floors_below_them() {
    none(module_arrows::faults(&checkout(), "exec", module_arrows::EXEC));
}

#[test]
fn modules_of_the_optimizer_know_only_floors_below_them() {
    none(module_arrows::faults(&checkout(), "optimizer", module_arrows::OPTIMIZER));
}

#[test]
fn modules_of_the_parser_and_binder_know_only_floors_below_them() {
    none(module_arrows::faults(&checkout(), "sql", module_arrows::SQL));
}

#[test]
fn comments_are_narrow() {
    none(lengths::comment_faults(&checkout()));
}

#[test]
fn links_of_documents_lead_somewhere() {
    none(links::faults(&checkout()));
}

#[test]
fn code_that_documents_name_exists() {
    none(code_paths::faults(&checkout()));
}

#[test]
fn walks_enter_no_module_twice() {
    none(walks::faults(&checkout()));
}

#[test]
fn commands_in_documents_exist() {
    none(commands::faults(&checkout()));
}
