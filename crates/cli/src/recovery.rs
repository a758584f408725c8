//! What is said while the log of a data directory is repeated.

use muster_engine::RecoveryProgress;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Time between two lines.
const INTERVAL: Duration = Duration::from_secs(2);

/// Writes a line to the log from time to time. A recovery of a moment says nothing.
pub fn reported() -> RecoveryProgress {
    let last = Mutex::new(Instant::now());
    RecoveryProgress(Some(Arc::new(move |done, all| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() >= INTERVAL {
            *last = Instant::now();
            eprintln!("muster: {}", line(done, all));
        }
    })))
}

fn line(done: u64, all: u64) -> String {
    let percent = (100 * u128::from(done)).checked_div(all.into()).unwrap_or(100);
    format!("recovery has repeated {percent} % of the log, {} of {} MiB", done >> 20, all >> 20)
}

#[cfg(test)]
mod tests {
    #[test]
    fn progress_in_percent() {
        let line = super::line;
        assert_eq!(line(300 << 20, 1 << 30), "recovery has repeated 29 % of the log, 300 of 1024 MiB");
        assert_eq!(line(0, 0), "recovery has repeated 100 % of the log, 0 of 0 MiB");
    }
}
