//! The variants that are compared, as data.

use crate::target::{Result, TargetError};
use muster_engine::{DatabaseOptions, FlushAtCommit};

/// One way to set up a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    pub name: &'static str,
    /// Global variables by MySQL's names; those of all variants of a comparison are the same.
    pub settings: &'static [(&'static str, &'static str)],
    /// What stands behind each CREATE TABLE.
    pub table_options: &'static str,
}

/// Variants of one question.
#[derive(Debug, Clone, Copy)]
pub struct Comparison {
    pub name: &'static str,
    pub title: &'static str,
    /// The first one is what the others are compared with.
    pub variants: &'static [Variant],
}

impl Comparison {
    pub const ALL: [Comparison; 2] = [DURABILITY, COMPRESSED_LOG];

    pub fn find(name: &str) -> Option<Comparison> {
        Comparison::ALL.into_iter().find(|comparison| comparison.name == name)
    }

    /// Returns true if the tables differ from variant to variant, so that each has to be loaded.
    pub fn loads_each(&self) -> bool {
        self.variants.iter().any(|variant| !variant.table_options.is_empty())
    }
}

macro_rules! log_settings {
    ($flush:literal, $doublewrite:literal, $capacity:literal) => {
        &[(FLUSH_AT_COMMIT, $flush), (DOUBLEWRITE, $doublewrite), (LOG_CAPACITY, $capacity)]
    };
}

const FLUSH_AT_COMMIT: &str = "innodb_flush_log_at_trx_commit";
const DOUBLEWRITE: &str = "innodb_doublewrite";
pub(super) const LOG_CAPACITY: &str = "innodb_redo_log_capacity";

const fn log(name: &'static str, settings: &'static [(&'static str, &'static str)]) -> Variant {
    Variant { name, settings, table_options: "" }
}

/// Tuned against unsafe: what a commit waits for, torn pages, how much log there may be. 8388608 bytes are the least
/// that MySQL takes, 104857600 the default.
const DURABILITY: Comparison = Comparison {
    name: "durability",
    title: "tuned against unsafe settings of the log",
    variants: &[
        log("default", log_settings!("1", "ON", "104857600")),
        log("smallest log", log_settings!("1", "ON", "8388608")),
        log("tuned: large log", log_settings!("1", "ON", "1073741824")),
        log("commit waits for the system", log_settings!("2", "ON", "104857600")),
        log("commit waits for nothing", log_settings!("0", "ON", "104857600")),
        log("no doublewrite", log_settings!("1", "OFF", "104857600")),
        log("all unsafe, large log", log_settings!("0", "OFF", "1073741824")),
    ],
};

const LOG_COMPRESSED_PAGES: &str = "innodb_log_compressed_pages";

/// Compressed tables write a page that is compressed anew into the log, or leave that out and rely on the same zlib at
/// recovery.
const COMPRESSED_LOG: Comparison = Comparison {
    name: "compressed-log",
    title: "compressed pages in the log or not",
    variants: &[
        Variant { name: "no compression", settings: &[(LOG_COMPRESSED_PAGES, "ON")], table_options: "" },
        Variant {
            name: "compressed, pages in the log",
            settings: &[(LOG_COMPRESSED_PAGES, "ON")],
            table_options: "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8",
        },
        Variant {
            name: "compressed, pages not in the log",
            settings: &[(LOG_COMPRESSED_PAGES, "OFF")],
            table_options: "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8",
        },
    ],
};

impl Variant {
    /// Changes the options with which a data directory is opened. Error 1193: Muster has no such setting.
    pub fn apply(&self, options: &mut DatabaseOptions) -> Result<()> {
        for (name, value) in self.settings {
            let unusable = || TargetError::Answer(format!("{name} = {value} is no setting"));
            match *name {
                FLUSH_AT_COMMIT => {
                    let number = value.parse().ok().and_then(FlushAtCommit::from_number);
                    options.log.flush_at_commit = number.ok_or_else(unusable)?;
                }
                DOUBLEWRITE => options.doublewrite = *value == "ON",
                LOG_CAPACITY => options.log.capacity = value.parse().map_err(|_| unusable())?,
                _ => {
                    let message = format!("Unknown system variable '{name}'");
                    return Err(TargetError::Statement { number: 1193, message });
                }
            }
        }
        Ok(())
    }

    /// The settings as options of a server's command.
    pub fn command_line(&self) -> Vec<String> {
        self.settings.iter().map(|(name, value)| format!("--{}={value}", name.replace('_', "-"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_of_a_comparison_set_the_same_variables() {
        for comparison in Comparison::ALL {
            let names = |variant: &Variant| variant.settings.iter().map(|(name, _)| *name).collect::<Vec<_>>();
            let first = names(&comparison.variants[0]);
            assert!(comparison.variants.iter().all(|variant| names(variant) == first), "{}", comparison.name);
        }
    }

    #[test]
    fn settings_become_options() {
        let unsafe_one = DURABILITY.variants.last().unwrap();
        let mut options = DatabaseOptions::default();
        unsafe_one.apply(&mut options).unwrap();
        assert_eq!(options.log.flush_at_commit, FlushAtCommit::from_number(0).unwrap());
        assert_eq!((options.doublewrite, options.log.capacity), (false, 1 << 30));
        assert_eq!(unsafe_one.command_line()[0], "--innodb-flush-log-at-trx-commit=0");
        let error = COMPRESSED_LOG.variants[1].apply(&mut options).unwrap_err();
        assert!(matches!(error, TargetError::Statement { number: 1193, .. }), "{error}");
    }
}
