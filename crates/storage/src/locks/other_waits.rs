//! Waits of sessions for something else than keys, such as whole tables. They are in one graph with the waits for keys:
//! a circle may lead through both.

/// Who waits, or is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Party {
    /// A transaction, by its id.
    Transaction(u64),
    /// A session, by its number ([`super::LockOwner::session`]).
    Session(u64),
}

/// The waits of sessions for something else than keys.
pub trait OtherWaits: Send + Sync {
    /// Returns true if a session waits, or is about to.
    fn is_any(&self) -> bool;

    /// Stops all such waits from beginning and ending. The caller has those for keys stopped already.
    fn stop(&self) -> Box<dyn StoppedWaits + '_>;
}

/// The waits as they stay while this is held.
pub trait StoppedWaits {
    /// Those that a session waits for; nobody if it does not wait for something else than a key.
    fn blockers(&self, session: u64) -> Vec<Party>;

    /// Returns true if the wait of this session is ended only where there is no other one in the circle: it waits to
    /// have something for itself, for which much was done maybe, and statements that came later are cheaper to repeat.
    fn is_spared(&self, session: u64) -> bool;

    /// Ends the wait of a session, which is told of a deadlock.
    fn end(&mut self, session: u64);
}
