//! Changes of passwords, and the rules for them.

use super::{AccountEntry, entry::UsedPassword, password};
use muster_sql::Authentication;
use muster_types::{ErrorCode, Result, SqlError};

/// Microseconds of a day.
pub const DAY: i64 = 86_400_000_000;
/// Characters of a password that the server makes (`generated_random_password_length`).
const GENERATED_CHARS: usize = 20;
/// What it is made of.
const GENERATED: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&*+,-./:;<=>?@^_~";

/// The server's rules for accounts that have none of their own, and the time.
#[derive(Debug, Clone, Copy, Default)]
pub struct PasswordPolicy {
    /// Microseconds of UTC.
    pub now: i64,
    /// `password_history`.
    pub history: u64,
    /// `password_reuse_interval`, in days.
    pub reuse_days: u64,
    /// `password_require_current`.
    pub requires_current: bool,
}

fn check_plugin(plugin: &str) -> Result<()> {
    match plugin {
        password::CACHING_SHA2 | password::NATIVE => Ok(()),
        other => Err(SqlError::plugin_not_loaded(other)),
    }
}

/// A password of the server's making.
fn generated() -> Result<String> {
    let mut bytes = [0u8; GENERATED_CHARS];
    getrandom::fill(&mut bytes).map_err(SqlError::internal)?;
    Ok(bytes.iter().map(|b| char::from(GENERATED[usize::from(*b) % GENERATED.len()])).collect())
}

/// Gives the account what it proves itself by. Returns the password if the server has made it. A password without a
/// plugin keeps the account's. Errors: 1524, 1827, 3638 for a password that was used before.
pub fn authenticate(
    account: &mut AccountEntry,
    how: &Authentication,
    policy: &PasswordPolicy,
) -> Result<Option<String>> {
    let mut made = None;
    match how {
        Authentication::Password { plugin, password } => set(account, plugin.as_deref(), password, policy)?,
        Authentication::Random { plugin } => {
            let password = generated()?;
            set(account, plugin.as_deref(), &password, policy)?;
            made = Some(password);
        }
        Authentication::Hash { plugin, hash } => {
            check_plugin(plugin)?;
            if !hash.is_empty() && !password::is_well_formed(plugin, hash) {
                let message = "The password hash doesn't have the expected format.";
                return Err(SqlError::new(ErrorCode::PasswordFormat, message));
            }
            account.authentication_string = hash.clone();
            account.plugin = plugin.clone();
        }
        Authentication::Plugin(plugin) => {
            check_plugin(plugin)?;
            account.authentication_string = String::new();
            account.plugin = plugin.clone();
        }
    }
    remember(account, policy);
    account.password.expired = false;
    account.password.changed = policy.now;
    Ok(made)
}

fn set(account: &mut AccountEntry, plugin: Option<&str>, password: &str, policy: &PasswordPolicy) -> Result<()> {
    let plugin = plugin.unwrap_or(&account.plugin).to_owned();
    check_plugin(&plugin)?;
    if was_used(account, password, policy) {
        let message = format!(
            "Cannot use these credentials for '{}'@'{}' because they contradict the password history policy",
            account.user, account.host
        );
        return Err(SqlError::new(ErrorCode::CredentialsInHistory, message));
    }
    account.authentication_string = password::hash(&plugin, password)?;
    account.plugin = plugin;
    Ok(())
}

/// Number of passwords, and the days, that a password may not have been used in.
fn history_rules(account: &AccountEntry, policy: &PasswordPolicy) -> (usize, i64) {
    let count = account.password.history.map_or(policy.history, u64::from);
    let days = account.password.reuse_days.map_or(policy.reuse_days, u64::from);
    (usize::try_from(count).unwrap_or(usize::MAX), i64::try_from(days).unwrap_or(i64::MAX))
}

fn was_used(account: &AccountEntry, password: &str, policy: &PasswordPolicy) -> bool {
    let mut kept = account.password.used.iter().enumerate().filter(|(n, used)| is_kept(account, policy, *n, used));
    // An empty password is no password.
    !password.is_empty()
        && kept.any(|(_, used)| password::verify(&account.plugin, &used.authentication_string, password))
}

/// Returns true if the rules forbid a password that was used as the `n`th before.
fn is_kept(account: &AccountEntry, policy: &PasswordPolicy, n: usize, used: &UsedPassword) -> bool {
    let (count, days) = history_rules(account, policy);
    n < count || days > 0 && used.at >= policy.now.saturating_sub(days.saturating_mul(DAY))
}

/// Notes the new password if there are rules about it, and forgets those that no rule asks for. As in MySQL, what was
/// set before there were rules is not known.
fn remember(account: &mut AccountEntry, policy: &PasswordPolicy) {
    if history_rules(account, policy) != (0, 0) && !account.authentication_string.is_empty() {
        let authentication_string = account.authentication_string.clone();
        account.password.used.insert(0, UsedPassword { at: policy.now, authentication_string });
    }
    let used = std::mem::take(&mut account.password.used);
    let kept = used.into_iter().enumerate().filter(|(n, used)| is_kept(account, policy, *n, used));
    account.password.used = kept.map(|(_, used)| used).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_used_again() {
        let key = super::super::AccountKey { user: "u".into(), host: "%".into() };
        let mut account = AccountEntry::new(&key);
        account.plugin = password::NATIVE.into();
        account.password.history = Some(2);
        let mut policy = PasswordPolicy { now: 1, ..PasswordPolicy::default() };
        let mut change = |password: &str| {
            policy.now += DAY;
            let how = Authentication::Password { plugin: None, password: password.into() };
            authenticate(&mut account, &how, &policy).map_err(|e| e.code)
        };
        change("a").unwrap();
        assert_eq!(change("a"), Err(ErrorCode::CredentialsInHistory));
        change("b").unwrap();
        assert_eq!(change("a"), Err(ErrorCode::CredentialsInHistory));
        change("c").unwrap();
        change("a").unwrap();
        assert_eq!(account.password.used.len(), 2);
    }
}
