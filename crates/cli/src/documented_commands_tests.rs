//! Commands that the documents show are commands that `muster` understands.

use crate::Arguments;
use clap::{CommandFactory, error::ErrorKind};
use muster_tidy::{Checkout, commands};
use std::path::Path;

#[test]
fn documented_commands_are_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let documented = commands::muster(&Checkout::read(&root).expect("the checkout can be read"));
    assert!(documented.len() > 5, "{documented:?}");
    for command in documented {
        let place = format!("{}:{}: {}", command.file, command.line, command.words.join(" "));
        match Arguments::command().try_get_matches_from(&command.words) {
            Ok(_) => {}
            // A document may leave out what is clear from the text around it.
            Err(e) if e.kind() == ErrorKind::MissingRequiredArgument => {}
            Err(e) if e.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {}
            Err(e) => panic!("{place}\n{e}"),
        }
    }
}

#[test]
fn misspelt_commands_are_not_understood() {
    for words in [["muster", "lod", "--dir"], ["muster", "demo", "--scales"]] {
        assert!(Arguments::command().try_get_matches_from(words).is_err());
    }
}
