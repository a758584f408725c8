//! Options of the redo log and of how pages are written, by MySQL's names.

use crate::size::Size;
use clap::{Args, ValueEnum};
use muster_engine::{FlushAtCommit, LogSettings};

/// MySQL's bounds.
const CAPACITY: std::ops::RangeInclusive<u64> = 8 << 20..=128 << 30;
const BUFFER: std::ops::RangeInclusive<u64> = 256 << 10..=(4 << 30) - 1;

#[derive(Args, Clone, Debug)]
pub struct LogArguments {
    /// What a commit waits for: 1 the disk, 2 the operating system, 0 nothing; at 0 and 2 a power cut may take a second
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub innodb_flush_log_at_trx_commit: u8,
    /// Bytes of the redo log from which on changes wait for pages to be written, 8M to 128G
    #[arg(long, default_value = "100M", value_name = "SIZE")]
    pub innodb_redo_log_capacity: Size,
    /// Bytes of the log buffer, 256K to 4G
    #[arg(long, default_value = "16M", value_name = "SIZE")]
    pub innodb_log_buffer_size: Size,
    /// Whether pages are saved in the doublewrite file before they are written to their places; OFF only where the disk
    /// never tears a page
    #[arg(long, value_enum, ignore_case = true, default_value = "ON")]
    pub innodb_doublewrite: Doublewrite,
}

/// MySQL's values but DETECT_ONLY, which would find torn pages and not mend them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Doublewrite {
    #[value(name = "ON", aliases = ["1", "DETECT_AND_RECOVER"])]
    On,
    #[value(name = "OFF", aliases = ["0"])]
    Off,
}

impl LogArguments {
    pub fn settings(&self) -> LogSettings {
        LogSettings {
            capacity: within("innodb-redo-log-capacity", self.innodb_redo_log_capacity, CAPACITY),
            buffer_bytes: within("innodb-log-buffer-size", self.innodb_log_buffer_size, BUFFER),
            flush_at_commit: FlushAtCommit::from_number(self.innodb_flush_log_at_trx_commit).unwrap_or_default(),
            ..LogSettings::default()
        }
    }

    pub fn doublewrite(&self) -> bool {
        self.innodb_doublewrite == Doublewrite::On
    }
}

/// The size, cut to its bounds with a warning, as in MySQL.
fn within(name: &str, given: Size, bounds: std::ops::RangeInclusive<u64>) -> u64 {
    let bytes = given.0 as u64;
    let taken = bytes.clamp(*bounds.start(), *bounds.end());
    if taken != bytes {
        eprintln!("muster: --{name}: {bytes} is out of bounds, {taken} is taken");
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        log: LogArguments,
    }

    fn parse(arguments: &[&str]) -> Result<LogArguments, clap::Error> {
        Ok(Command::try_parse_from([&["muster"], arguments].concat())?.log)
    }

    #[test]
    fn defaults_are_safe() {
        let log = parse(&[]).unwrap();
        let settings = log.settings();
        assert_eq!((settings.flush_at_commit, log.doublewrite()), (FlushAtCommit::Durable, true));
        assert_eq!((settings.capacity, settings.buffer_bytes), (100 << 20, 16 << 20));
    }

    #[test]
    fn values_and_bounds() {
        for (value, on) in [("off", false), ("0", false), ("ON", true), ("1", true), ("DETECT_AND_RECOVER", true)] {
            assert_eq!(parse(&["--innodb-doublewrite", value]).unwrap().doublewrite(), on, "{value}");
        }
        let log = parse(&["--innodb-redo-log-capacity=1M", "--innodb-flush-log-at-trx-commit=2"]).unwrap();
        assert_eq!((log.settings().capacity, log.settings().flush_at_commit), (8 << 20, FlushAtCommit::Written));
        assert!(parse(&["--innodb-flush-log-at-trx-commit", "3"]).is_err());
        assert!(parse(&["--innodb-doublewrite", "DETECT_ONLY"]).is_err());
    }
}
