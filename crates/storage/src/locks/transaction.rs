//! The locks of one transaction, and how it waits for those of others.

use super::{Acquired, LockError, LockMode, LockOwner, LockTable, LockWait, Resource, Waits, Wanted};
use crate::primitives::Mutex;
use std::sync::Arc;

/// The locks of one transaction. Whoever ends the transaction releases them ([`LockTable::release_all`]).
#[derive(Debug)]
pub struct TransactionLocks {
    table: Arc<LockTable>,
    owner: Arc<LockOwner>,
    waits: Waits,
    duplicate_mode: LockMode,
    /// The request of a change that met with a lock of another transaction while it held latches.
    blocked: Mutex<Option<(Resource, Wanted)>>,
}

impl TransactionLocks {
    /// The locks of a transaction, which does not wait for those of others yet.
    pub fn new(table: Arc<LockTable>, owner: Arc<LockOwner>) -> TransactionLocks {
        TransactionLocks {
            table,
            owner,
            waits: Waits::Never,
            duplicate_mode: LockMode::Shared,
            blocked: Mutex::new(None),
        }
    }

    pub fn table(&self) -> &Arc<LockTable> {
        &self.table
    }

    pub fn owner(&self) -> &Arc<LockOwner> {
        &self.owner
    }

    pub fn trx_id(&self) -> u64 {
        self.owner.id()
    }

    pub fn set_waits(&mut self, waits: Waits) {
        self.waits = waits;
    }

    /// Returns true if another transaction, which has not ended, has changed the entry that a slot with `trx_id`
    /// belongs to; its lock of the entry is visible then.
    pub fn is_changed_by_other(&self, trx_id: u64, resource: impl FnOnce() -> Resource) -> bool {
        if trx_id == 0 || trx_id == self.trx_id() || !self.table.is_active(trx_id) {
            return false;
        }
        let resource = resource();
        // This one may have got a lock of the entry just after its owner had changed it and made its own lock implicit,
        // when nobody waited yet. That lock is none: the entry is the other's.
        self.table.release_record(&self.owner, &resource);
        self.table.make_explicit(trx_id, &resource)
    }

    /// The mode in which an entry is locked that is in the way of a new one.
    pub fn duplicate_mode(&self) -> LockMode {
        self.duplicate_mode
    }

    pub fn set_duplicate_mode(&mut self, mode: LockMode) {
        self.duplicate_mode = mode;
    }

    /// Acquires a lock if nobody has to be waited for. Latches may be held. Error: `WouldWait`, and
    /// [`TransactionLocks::wait`] waits for it then; `TableFull`.
    pub fn try_acquire(&self, resource: &Resource, wanted: Wanted) -> Result<Acquired, LockError> {
        let acquired = self.table.try_acquire(&self.owner, resource, wanted);
        if acquired == Err(LockError::WouldWait) {
            self.block(resource.clone(), wanted);
        }
        acquired
    }

    /// Looks whether the lock could be acquired at once, and does not acquire it. Error: `WouldWait`, as above.
    pub fn ask(&self, resource: &Resource, wanted: Wanted) -> Result<(), LockError> {
        if self.table.would_wait(&self.owner, resource, wanted) {
            self.block(resource.clone(), wanted);
            return Err(LockError::WouldWait);
        }
        Ok(())
    }

    /// Asks for the addition of an entry to a gap, as [`LockTable::split_gap`] does. Error: `WouldWait`, as above.
    pub fn split_gap(&self, entry: &Resource, successor: &Resource) -> Result<(), LockError> {
        self.table.split_gap(&self.owner, entry, successor).map_err(|(resource, wanted)| {
            self.block(resource, wanted);
            LockError::WouldWait
        })
    }

    fn block(&self, resource: Resource, wanted: Wanted) {
        *self.blocked.lock() = Some((resource, wanted));
    }

    /// Waits for the lock that the latest error `WouldWait` was about, and acquires it. No latch may be held; what was
    /// read before must be read again. Returns the key if the transaction had no lock of it before. Errors: those of
    /// [`LockTable::acquire`].
    pub fn wait(&self) -> Result<Option<Resource>, LockError> {
        let blocked = self.blocked.lock().take();
        let Some((resource, wanted)) = blocked else { return Ok(None) };
        let acquired = self.table.acquire(&self.owner, &resource, wanted, &self.waits);
        if acquired == Err(LockError::WouldWait) {
            self.block(resource, wanted);
            return Err(LockError::WouldWait);
        }
        let acquired = acquired?;
        Ok((acquired == Acquired::New).then_some(resource))
    }

    /// The wait for the lock that the latest error `WouldWait` was about, if there was one since this was asked last.
    pub fn take_wait(&self) -> Option<LockWait> {
        let request = self.blocked.lock().take()?;
        Some(LockWait::new(Arc::clone(&self.table), Arc::clone(&self.owner), request))
    }

    pub fn release(&self, resource: &Resource) {
        self.table.release(&self.owner, resource);
    }
}
