//! The accounts that may log in: locked accounts, failed logins, passwords that have expired.

use super::{AccountEntry, AccountKey, Accounts, Tls, most_specific, passwords::DAY};
use muster_storage::mutex::Mutex;
use muster_types::{ErrorCode, Result, SqlError};
use std::collections::HashMap;

/// Accounts whose failed logins are remembered; the server forgets all of them when there are more.
const REMEMBERED_MAX: usize = 100_000;

/// A client that has said who it is.
#[derive(Debug, Clone, Copy)]
pub struct LoginAttempt<'a> {
    pub user: &'a str,
    pub host: &'a str,
    /// True if it has proved that.
    pub proved: bool,
    /// True if it gave a password.
    pub with_password: bool,
    pub encrypted: bool,
    /// True if it knows what to do when its password has expired.
    pub knows_expiry: bool,
}

/// A client that may log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admitted {
    /// True if it has to change its password before anything else.
    pub must_change_password: bool,
    /// Most connections of the account at a time; 0: no limit of its own.
    pub connections_max: u32,
}

/// The failed logins of an account since its last login.
#[derive(Debug, Clone, Copy, Default)]
struct Failures {
    count: u16,
    /// When they became too many, in microseconds of UTC.
    blocked_at: Option<i64>,
}

#[derive(Debug, Default)]
pub struct FailedLogins(Mutex<HashMap<AccountKey, Failures>>);

impl FailedLogins {
    /// Forgets the failed logins of an account.
    pub fn forget(&self, key: &AccountKey) {
        self.0.lock().remove(key);
    }

    /// Counts a login. Error 3955 if the account is blocked, with the days that it stays so.
    fn note(&self, entry: &AccountEntry, attempt: &LoginAttempt<'_>, now: i64) -> Result<()> {
        let (most, days) = (entry.password.failed_logins_max, entry.password.lock_days);
        if most == 0 || days == 0 {
            return Ok(());
        }
        let mut all = self.0.lock();
        if all.len() >= REMEMBERED_MAX {
            all.clear();
        }
        let known = all.entry(entry.key()).or_default();
        let length = i64::from(days).saturating_mul(DAY);
        if known.blocked_at.is_some_and(|at| days > 0 && now >= at.saturating_add(length)) {
            *known = Failures::default();
        }
        if known.blocked_at.is_none() {
            match attempt.proved {
                true => *known = Failures::default(),
                false => known.count = known.count.saturating_add(1),
            }
            if known.count < most {
                return Ok(());
            }
            known.blocked_at = Some(now);
        }
        let left = known.blocked_at.map_or(0, |at| at.saturating_add(length).saturating_sub(now));
        let shown = |days: i64| if entry.password.lock_days < 0 { "unlimited".into() } else { days.to_string() };
        let message = format!(
            "Access denied for user '{}'@'{}'. Account is blocked for {} day(s) ({} day(s) remaining) due to {} \
             consecutive failed logins.",
            attempt.user,
            attempt.host,
            shown(days.into()),
            shown((left + DAY - 1) / DAY),
            most
        );
        Err(SqlError::new(ErrorCode::AccountIsBlocked, message))
    }
}

impl Accounts {
    /// Forgets the failed logins of all accounts.
    pub fn forget_failed_logins(&self) {
        self.failed_logins.0.lock().clear();
    }

    /// Decides about a client whose proof has been checked. `lifetime_days`: `default_password_lifetime`; `now`:
    /// microseconds of UTC. Errors: 1045, 1862 for an expired password, 3118 for a
    /// locked account, 3955 for one that is blocked.
    pub fn admit(&self, attempt: &LoginAttempt<'_>, lifetime_days: u64, now: i64) -> Result<Admitted> {
        let list = self.list();
        let entry = most_specific(&list, attempt.user, attempt.host);
        let denied = || {
            let (user, host) = (attempt.user, attempt.host);
            let using = if attempt.with_password { "YES" } else { "NO" };
            let message = format!("Access denied for user '{user}'@'{host}' (using password: {using})");
            SqlError::new(ErrorCode::AccessDenied, message)
        };
        let Some(entry) = entry else { return Err(denied()) };
        self.failed_logins.note(entry, attempt, now)?;
        if !attempt.proved || !is_encrypted_enough(&entry.tls, attempt.encrypted) {
            return Err(denied());
        }
        if entry.locked {
            let message = format!("Access denied for user '{}'@'{}'. Account is locked.", attempt.user, attempt.host);
            return Err(SqlError::new(ErrorCode::AccountIsLocked, message));
        }
        let must_change_password = has_expired(entry, lifetime_days, now);
        if must_change_password && !attempt.knows_expiry {
            let message = "Your password has expired. To log in you must change it using a client that supports expired \
                           passwords.";
            return Err(SqlError::new(ErrorCode::MustChangePasswordLogin, message));
        }
        Ok(Admitted { must_change_password, connections_max: entry.connections_max })
    }
}

/// Clients have no certificates here, so what asks for one is never met.
fn is_encrypted_enough(wanted: &Tls, encrypted: bool) -> bool {
    match wanted {
        Tls::None => true,
        Tls::Ssl => encrypted,
        Tls::X509 | Tls::Certificate { .. } => false,
    }
}

fn has_expired(entry: &AccountEntry, default_days: u64, now: i64) -> bool {
    let rules = &entry.password;
    let days = rules.lifetime.map_or(default_days, u64::from);
    let end = |days: i64| rules.changed.saturating_add(days.saturating_mul(DAY));
    rules.expired || rules.changed > 0 && days > 0 && now >= end(i64::try_from(days).unwrap_or(i64::MAX))
}
