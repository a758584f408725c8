//! The log as the buffer pool sees it: where it ends, and how far it is durable.

use super::{Lsn, append::Log};
use crate::{Result, buffer_pool::PageLog};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

impl PageLog for Log {
    fn position(&self) -> Lsn {
        self.current()
    }

    fn make_durable(&self, lsn: Lsn) -> Result<()> {
        self.wait_durable(lsn)
    }
}

/// A log that is being repeated. All of it is durable; its position is where the group at hand begins.
#[derive(Debug, Default)]
pub(crate) struct RepeatedLog {
    position: AtomicU64,
}

impl RepeatedLog {
    pub fn set_position(&self, lsn: Lsn) {
        self.position.store(lsn, Relaxed);
    }
}

impl PageLog for RepeatedLog {
    fn position(&self) -> Lsn {
        self.position.load(Relaxed)
    }

    fn make_durable(&self, _lsn: Lsn) -> Result<()> {
        Ok(())
    }
}
