//! The lock table: locks never conflict, nobody is forgotten, circles are found.

use super::{
    check,
    locks::{Interruption, LockError, LockMode, LockTable, Resource, Waits, Wanted},
};
use shuttle::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicU64, Ordering::SeqCst},
    },
    thread,
};
use std::{
    future::{Future, pending, ready},
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

const S: Wanted = Wanted { kind: super::locks::LockKind::Record, mode: LockMode::Shared };
const X: Wanted = Wanted { kind: super::locks::LockKind::Record, mode: LockMode::Exclusive };

/// Whether a statement is killed before it waits, or never.
fn killed_already(killed: bool) -> std::sync::Arc<dyn Fn() -> Interruption + Send + Sync> {
    std::sync::Arc::new(move || if killed { Box::pin(ready(())) } else { Box::pin(pending()) })
}

/// A statement that another thread kills.
#[derive(Clone, Default)]
struct Kill(Arc<Mutex<(bool, Option<Waker>)>>);

impl Kill {
    fn kill(&self) {
        let waker = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            state.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Future for Kill {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap();
        if state.0 {
            return Poll::Ready(());
        }
        state.1 = Some(context.waker().clone());
        Poll::Pending
    }
}

struct Shared {
    locks: LockTable,
    /// Who has each of the keys: readers count one, a writer a hundred.
    inside: [AtomicI64; 2],
    victims: AtomicU64,
}

fn key(at: usize) -> Resource {
    Resource::entry(1, &[at as u8])
}

impl Shared {
    fn new() -> Arc<Shared> {
        let inside = [AtomicI64::new(0), AtomicI64::new(0)];
        Arc::new(Shared { locks: LockTable::new(u64::MAX), inside, victims: AtomicU64::new(0) })
    }

    /// Takes locks one after the other, and releases all. A statement that is killed gives up as soon as it has to
    /// wait.
    fn transaction(&self, trx_id: u64, wanted: &[(usize, Wanted)], killed: bool) {
        let owner = self.locks.begin(trx_id);
        let waits = Waits::Until { timeout: Duration::MAX, deadline: None, interruption: killed_already(killed) };
        let mut held = Vec::new();
        for (at, wanted) in wanted {
            match self.locks.acquire(&owner, &key(*at), *wanted, &waits) {
                Ok(_) => {
                    let one = if wanted.mode == LockMode::Shared { 1 } else { 100 };
                    let before = self.inside[*at].fetch_add(one, SeqCst);
                    assert!(before < 100 && (one == 1 || before == 0), "locks that conflict");
                    held.push((*at, one));
                }
                Err(LockError::Deadlock) => {
                    self.victims.fetch_add(1, SeqCst);
                    break;
                }
                Err(e) => {
                    assert!(killed && e == LockError::Interrupted, "{e:?}");
                    break;
                }
            }
            thread::yield_now();
        }
        for (at, one) in held {
            self.inside[at].fetch_sub(one, SeqCst);
        }
        self.locks.release_all(&owner);
    }

    fn run(self: &Arc<Shared>, transactions: Vec<(Vec<(usize, Wanted)>, bool)>) {
        let threads = transactions.into_iter().zip(1..).map(|((wanted, killed), trx_id)| {
            let shared = Arc::clone(self);
            thread::spawn(move || shared.transaction(trx_id, &wanted, killed))
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((self.locks.locks().len(), self.locks.bytes()), (0, 0));
    }
}

#[test]
fn locks_of_one_key_do_not_conflict_and_nobody_is_left_waiting() {
    check(2000, || {
        let shared = Shared::new();
        shared.run(vec![
            (vec![(0, X)], false),
            (vec![(0, S)], false),
            (vec![(0, S)], true),
            (vec![(0, X)], true),
            (vec![(0, X)], false),
        ]);
        assert_eq!(shared.victims.load(SeqCst), 0);
    });
}

/// If the thread that waits could miss that it is killed, it would wait without end, and the model checker would say
/// so.
#[test]
fn a_statement_that_is_killed_while_it_waits_ends() {
    check(2000, || {
        let shared = Shared::new();
        let (holder, kill) = (shared.locks.begin(1), Kill::default());
        let waits = Waits::Until {
            timeout: Duration::MAX,
            deadline: None,
            interruption: {
                let kill = kill.clone();
                std::sync::Arc::new(move || Box::pin(kill.clone()))
            },
        };
        shared.locks.acquire(&holder, &key(0), X, &waits).unwrap();
        let waiter = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let owner = shared.locks.begin(2);
                let acquired = shared.locks.acquire(&owner, &key(0), S, &waits);
                shared.locks.release_all(&owner);
                acquired
            })
        };
        let killer = thread::spawn(move || kill.kill());
        killer.join().unwrap();
        // The holder keeps its lock meanwhile: only the kill ends the wait.
        assert_eq!(waiter.join().unwrap(), Err(LockError::Interrupted));
        shared.locks.release_all(&holder);
        assert!(shared.locks.locks().is_empty());
    });
}

/// If a circle was not found, its threads would wait without end, and the model checker would say so.
#[test]
fn circles_are_found() {
    static VICTIMS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    check(2000, || {
        let shared = Shared::new();
        let ways = [[(0, X), (1, X)], [(1, X), (0, X)], [(1, S), (0, S)]];
        shared.run(ways.iter().map(|way| (way.to_vec(), false)).collect());
        let victims = shared.victims.load(SeqCst);
        assert!(victims <= 2);
        VICTIMS.fetch_add(victims, SeqCst);
    });
    assert!(VICTIMS.load(SeqCst) > 0);
}

/// The lock of a changed row is made visible while its transaction ends: whoever saw it gets it when that has ended.
#[test]
fn a_lock_is_made_visible_or_its_owner_has_ended() {
    check(2000, || {
        let shared = Shared::new();
        let (owner, changes) = (shared.locks.begin(1), Arc::new(AtomicU64::new(0)));
        let other = {
            let (shared, changes) = (Arc::clone(&shared), Arc::clone(&changes));
            thread::spawn(move || {
                let other = shared.locks.begin(2);
                let was_active = shared.locks.make_explicit(1, &key(0));
                let waits = Waits::for_time(Duration::MAX);
                shared.locks.acquire(&other, &key(0), X, &waits).unwrap();
                // The end of the transaction comes before its locks are released.
                assert_eq!(changes.load(SeqCst), 1, "active: {was_active}");
                shared.locks.release_all(&other);
            })
        };
        changes.store(1, SeqCst);
        shared.locks.release_all(&owner);
        other.join().unwrap();
        assert!(shared.locks.locks().is_empty());
    });
}
