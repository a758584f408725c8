//! Decides whether a session may wait on the thread that polls it. To block there is cheaper than to be woken through
//! the thread's events, but whoever shares the thread would be kept waiting too.

use std::{cell::RefCell, sync::Weak};

thread_local! {
    static SESSIONS: RefCell<Weak<()>> = const { RefCell::new(Weak::new()) };
}

/// Says that this thread polls sessions and nothing else. Each of them holds a reference of `sessions`, and whoever
/// counts them holds one more. The thread has the timer of a `tokio` runtime. A session that is alone on the thread
/// then waits on it for the disk.
pub fn serve_sessions(sessions: Weak<()>) {
    SESSIONS.set(sessions);
}

/// Returns true if this thread polls sessions of a server, with a timer.
pub(crate) fn serves_here() -> bool {
    SESSIONS.with_borrow(Weak::strong_count) > 0
}

/// Returns true if nobody but the session that asks lives on this thread.
pub(crate) fn is_alone() -> bool {
    SESSIONS.with_borrow(Weak::strong_count) == 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_session_is_alone_until_there_is_another() {
        std::thread::spawn(|| {
            assert!(!is_alone(), "this thread may do other things");
            let counted = Arc::new(());
            serve_sessions(Arc::downgrade(&counted));
            let first = counted.clone();
            assert!(is_alone());
            let second = counted.clone();
            assert!(!is_alone());
            drop(first);
            assert!(is_alone());
            drop(second);
        })
        .join()
        .unwrap();
    }
}
