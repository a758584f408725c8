//! Locks that sessions take by name: GET_LOCK and its kin (MySQL manual 14.14 "Locking Functions").
//!
//! A lock belongs to a session, which may take it several times and has to release it as often; it ends with the
//! session. Sessions that wait for a lock get it in the order in which they came. Each session waits for at most one
//! lock, so a circle of sessions is found by following the owners: the session that would close it gets error 3058 at
//! once.

use crate::processes::SessionShared;
use muster_algebra::SessionFunction;
use muster_exec::SessionCalls;
use muster_sql::digest::statement_digest;
use muster_storage::mutex::Mutex;
use muster_types::{ErrorCode, Result, SqlError, SqlModes, Value};
use sha2::{Digest, Sha256};
use std::{
    collections::{HashMap, VecDeque},
    future::Future,
    pin::Pin,
    sync::Arc,
    time::Duration,
};
use tokio::sync::Notify;

/// The state of a session that waits, as SHOW PROCESSLIST shows it.
const WAITING: &str = "User lock";

/// Most characters of a name.
const NAME_CHARACTERS_MAX: usize = 64;

/// A session that waits for a lock.
struct Waiter {
    session: u32,
    woken: Arc<Notify>,
}

/// A lock that somebody has.
struct UserLock {
    owner: u32,
    /// How often the owner has taken it.
    count: u64,
    waiters: VecDeque<Waiter>,
}

/// All locks, by names in lower case.
#[derive(Default)]
pub struct UserLocks {
    locks: Mutex<HashMap<String, UserLock>>,
}

/// A lock, or a wish for one, for `performance_schema.metadata_locks`.
pub struct UserLockReport {
    pub name: String,
    pub session: u32,
    pub is_granted: bool,
}

/// The outcome of asking for a lock.
enum Asked {
    Granted,
    /// It belongs to another session; the notification says that it has been handed over.
    Waits(Arc<Notify>),
}

impl UserLocks {
    /// Asks for a lock; `waits`: whether to get in line for it. Error 3058: the session would wait for itself.
    fn ask(&self, name: &str, session: u32, waits: bool) -> Result<Asked> {
        let mut locks = self.locks.lock();
        if let Some(lock) = locks.get_mut(name) {
            if lock.owner == session {
                lock.count += 1;
                return Ok(Asked::Granted);
            }
        } else {
            locks.insert(name.to_owned(), UserLock { owner: session, count: 1, waiters: VecDeque::new() });
            return Ok(Asked::Granted);
        }
        if waits && closes_circle(&locks, name, session) {
            let message = "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing locks \
                           and restarting lock acquisition.";
            return Err(SqlError::new(ErrorCode::UserLockDeadlock, message));
        }
        let woken = Arc::new(Notify::new());
        if waits && let Some(lock) = locks.get_mut(name) {
            lock.waiters.push_back(Waiter { session, woken: woken.clone() });
        }
        Ok(Asked::Waits(woken))
    }

    /// Takes a session out of the line for a lock. Returns true if the lock has been handed to it meanwhile.
    fn stop_waiting(&self, name: &str, session: u32) -> bool {
        let mut locks = self.locks.lock();
        let Some(lock) = locks.get_mut(name) else { return false };
        lock.waiters.retain(|waiter| waiter.session != session);
        lock.owner == session
    }

    /// Releases a lock once: 1; 0 if another session has it; `None` if nobody has.
    fn release(&self, name: &str, session: u32) -> Option<i64> {
        let mut locks = self.locks.lock();
        let lock = locks.get_mut(name)?;
        if lock.owner != session {
            return Some(0);
        }
        lock.count -= 1;
        if lock.count == 0 {
            hand_over(&mut locks, name);
        }
        Some(1)
    }

    /// Releases all locks of a session, and returns how often it had taken them.
    pub fn release_all(&self, session: u32) -> u64 {
        let mut locks = self.locks.lock();
        let own: Vec<String> =
            locks.iter().filter(|(_, lock)| lock.owner == session).map(|(name, _)| name.clone()).collect();
        let mut released = 0;
        for name in own {
            released += locks[&name].count;
            hand_over(&mut locks, &name);
        }
        released
    }

    /// The session that has a lock.
    fn owner(&self, name: &str) -> Option<u32> {
        self.locks.lock().get(name).map(|lock| lock.owner)
    }

    /// All locks and who waits for them, by name.
    pub fn report(&self) -> Vec<UserLockReport> {
        let locks = self.locks.lock();
        let mut reports = Vec::new();
        for (name, lock) in locks.iter() {
            let report = |session, is_granted| UserLockReport { name: name.clone(), session, is_granted };
            reports.push(report(lock.owner, true));
            reports.extend(lock.waiters.iter().map(|waiter| report(waiter.session, false)));
        }
        reports.sort_by(|a, b| a.name.cmp(&b.name));
        reports
    }
}

/// Gives a lock to the session that has waited longest, or removes it.
fn hand_over(locks: &mut HashMap<String, UserLock>, name: &str) {
    let Some(lock) = locks.get_mut(name) else { return };
    match lock.waiters.pop_front() {
        Some(next) => {
            (lock.owner, lock.count) = (next.session, 1);
            next.woken.notify_one();
        }
        None => {
            locks.remove(name);
        }
    }
}

/// Returns true if the owner of a lock waits, through others or at once, for a lock of the session.
fn closes_circle(locks: &HashMap<String, UserLock>, name: &str, session: u32) -> bool {
    let awaited = |session: u32| locks.values().find(|lock| lock.waiters.iter().any(|w| w.session == session));
    let mut owner = locks.get(name).map(|lock| lock.owner);
    // Each session waits for one lock, so there are no more steps than locks.
    for _ in 0..=locks.len() {
        match owner {
            Some(owner) if owner == session => return true,
            Some(waiting) => owner = awaited(waiting).map(|lock| lock.owner),
            None => return false,
        }
    }
    false
}

/// A place in the line for a lock, which is given up when the statement ends.
struct Place<'a> {
    locks: &'a UserLocks,
    name: &'a str,
    session: u32,
    is_over: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // A lock that came too late goes to the next one.
        if !self.is_over && self.locks.stop_waiting(self.name, self.session) {
            self.locks.release(self.name, self.session);
        }
    }
}

/// The session as its statements' functions ask it.
pub struct CallsOfSession {
    pub locks: Arc<UserLocks>,
    pub process: Arc<SessionShared>,
    /// The numbers of all connections.
    pub has_connection: Arc<dyn Fn(u32) -> bool + Send + Sync>,
}

impl CallsOfSession {
    /// GET_LOCK: 1, or 0 when the time is over.
    async fn get_lock(&self, name: &str, seconds: i64) -> Result<Value> {
        let session = self.process.id;
        let woken = match self.locks.ask(name, session, seconds != 0)? {
            Asked::Granted => return Ok(Value::Int(1)),
            Asked::Waits(_) if seconds == 0 => return Ok(Value::Int(0)),
            Asked::Waits(woken) => woken,
        };
        let mut place = Place { locks: &self.locks, name, session, is_over: false };
        let state = self.process.state();
        self.process.set_state(WAITING);
        let is_granted = match u64::try_from(seconds) {
            Ok(seconds) => tokio::time::timeout(Duration::from_secs(seconds), woken.notified()).await.is_ok(),
            // A negative time is without end.
            Err(_) => {
                woken.notified().await;
                true
            }
        };
        self.process.set_state(state);
        // The lock may have come in the moment in which the time was over.
        let is_granted = is_granted || self.locks.stop_waiting(name, session);
        place.is_over = true;
        Ok(Value::Int(is_granted.into()))
    }
}

/// The lock's name in lower case. Error 3057 for NULL, for an empty name and for a long one.
fn lock_name(value: Option<&Value>) -> Result<String> {
    let name = value.and_then(|value| value.to_text(6));
    match &name {
        Some(name) if (1..=NAME_CHARACTERS_MAX).contains(&name.chars().count()) => Ok(name.to_lowercase()),
        _ => {
            let shown = name.as_deref().unwrap_or("NULL");
            Err(SqlError::new(ErrorCode::UserLockWrongName, format!("Incorrect user-level lock name '{shown}'.")))
        }
    }
}

impl SessionCalls for CallsOfSession {
    fn call(
        &self,
        function: SessionFunction,
        args: Vec<Value>,
    ) -> Pin<Box<dyn Future<Output = Result<Value>> + Send + '_>> {
        Box::pin(async move {
            let session = self.process.id;
            let number = |n: Option<u32>| n.map_or(Value::Null, |n| Value::UInt(n.into()));
            Ok(match function {
                SessionFunction::GetLock => {
                    let seconds = match args.get(1) {
                        Some(Value::Int(seconds)) => *seconds,
                        _ => 0,
                    };
                    return self.get_lock(&lock_name(args.first())?, seconds).await;
                }
                SessionFunction::ReleaseLock => {
                    self.locks.release(&lock_name(args.first())?, session).map_or(Value::Null, Value::Int)
                }
                SessionFunction::ReleaseAllLocks => Value::UInt(self.locks.release_all(session)),
                SessionFunction::IsFreeLock => Value::Int(self.locks.owner(&lock_name(args.first())?).is_none().into()),
                SessionFunction::IsUsedLock => number(self.locks.owner(&lock_name(args.first())?)),
                SessionFunction::PsThreadId => {
                    let id = match args.first() {
                        Some(Value::Int(id)) => u32::try_from(*id).ok(),
                        _ => None,
                    };
                    number(id.filter(|id| (self.has_connection)(*id)))
                }
                SessionFunction::StatementDigest | SessionFunction::StatementDigestText => digest_of(function, &args)?,
            })
        })
    }
}

/// STATEMENT_DIGEST and STATEMENT_DIGEST_TEXT of `(statement, modes, 1 if the statement is constant)`.
fn digest_of(function: SessionFunction, args: &[Value]) -> Result<Value> {
    let (Some(sql), Some(Value::Int(modes)), Some(Value::Int(is_constant))) =
        (args.first().and_then(|sql| sql.to_text(6)), args.get(1), args.get(2))
    else {
        return Ok(Value::Null);
    };
    let modes = SqlModes::from_number(u64::try_from(*modes).unwrap_or(0)).unwrap_or(SqlModes::NONE);
    let digest = statement_digest(&sql, modes, *is_constant == 1)?;
    Ok(Value::Text(match function {
        SessionFunction::StatementDigest => {
            Sha256::digest(&digest.tokens).iter().map(|byte| format!("{byte:02x}")).collect()
        }
        _ => digest.text,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(asked: Result<Asked>) -> bool {
        matches!(asked, Ok(Asked::Granted))
    }

    #[test]
    fn a_lock_is_released_as_often_as_it_was_taken_and_handed_on() {
        let locks = UserLocks::default();
        assert!(granted(locks.ask("a", 1, true)) && granted(locks.ask("a", 1, true)));
        assert!(!granted(locks.ask("a", 2, true)) && !granted(locks.ask("a", 3, true)));
        assert_eq!((locks.release("a", 2), locks.release("b", 1)), (Some(0), None));
        assert_eq!((locks.release("a", 1), locks.owner("a")), (Some(1), Some(1)));
        assert_eq!((locks.release("a", 1), locks.owner("a")), (Some(1), Some(2)));
        // The third session gives up before its turn comes.
        assert!(!locks.stop_waiting("a", 3));
        assert_eq!((locks.release_all(2), locks.owner("a")), (1, None));
    }

    #[test]
    fn a_circle_of_sessions_is_refused() {
        let locks = UserLocks::default();
        for (name, session) in [("a", 1), ("b", 2), ("c", 3)] {
            assert!(granted(locks.ask(name, session, true)));
        }
        assert!(!granted(locks.ask("b", 1, true)) && !granted(locks.ask("c", 2, true)));
        assert!(matches!(locks.ask("a", 3, true), Err(e) if e.code == ErrorCode::UserLockDeadlock));
        // Without waiting there is no circle.
        assert!(matches!(locks.ask("a", 3, false), Ok(Asked::Waits(_))));
    }
}
