//! CREATE, ALTER, DROP and RENAME USER.

use super::{
    AccountEntry, AccountKey, AccountList, Accounts, Privilege, Rights, Tls, attribute, failed, password,
    passwords::{PasswordPolicy, authenticate},
    resolve,
    roles::check_admin,
};
use crate::system_schema;
use muster_sql::{
    AccountOptions, Authentication, OrDefault, PasswordExpiry, TlsRequirement, UserAttribute, UserName, UserSpec,
};
use muster_types::{ErrorCode, Result, SqlError};

/// Most accounts of a data directory: they are held and written as one list.
pub(super) const MAX_ACCOUNTS: usize = 100_000;
/// MySQL's limits on names (manual 6.2.4).
const MAX_USER_CHARS: usize = 32;
const MAX_HOST_CHARS: usize = 255;
/// Characters of a name that is too long which the error shows.
const SHOWN_CHARS: usize = 70;

/// The result of a change of users.
#[derive(Debug, Default)]
pub struct ChangedUsers {
    /// Users that already existed, or that did not, as messages show them.
    pub skipped: Vec<String>,
    /// Accounts with the passwords that the server has made for them.
    pub generated: Vec<(AccountKey, String)>,
}

/// The account that changes others, and the rules for that.
#[derive(Clone, Copy)]
pub struct AccountChange<'a> {
    pub rights: &'a Rights,
    pub policy: PasswordPolicy,
}

pub(super) fn check_lengths(name: &AccountKey) -> Result<()> {
    for (what, text, max) in [("user name", &name.user, MAX_USER_CHARS), ("host name", &name.host, MAX_HOST_CHARS)] {
        if text.chars().count() > max {
            let text: String = text.chars().take(SHOWN_CHARS).collect();
            let message = format!("String '{text}' is too long for {what} (should be no longer than {max})");
            return Err(SqlError::new(ErrorCode::WrongStringLength, message));
        }
    }
    Ok(())
}

/// Adds an account. Error 1712 if there are too many.
pub(super) fn add(list: &mut AccountList, account: AccountEntry) -> Result<()> {
    if list.len() >= MAX_ACCOUNTS {
        let message = format!("too many accounts (at most {MAX_ACCOUNTS})");
        return Err(SqlError::new(ErrorCode::CapacityExceeded, message));
    }
    list.push(account);
    Ok(())
}

/// Error 1227 if the account has SYSTEM_USER and whoever changes it does not.
pub(super) fn check_may_change(rights: &Rights, account: &AccountEntry) -> Result<()> {
    let is_own = account.is_key(&rights.account);
    match account.dynamic.contains_key("SYSTEM_USER") && !is_own && !rights.has_dynamic("SYSTEM_USER") {
        true => Err(super::lacking("SYSTEM_USER")),
        false => Ok(()),
    }
}

fn own<T>(value: OrDefault<T>) -> Option<T> {
    match value {
        OrDefault::Default => None,
        OrDefault::Own(value) => Some(value),
    }
}

/// Sets what the clauses of CREATE USER and ALTER USER say. Error 3982.
fn apply(account: &mut AccountEntry, options: &AccountOptions) -> Result<()> {
    if let Some(tls) = &options.tls {
        account.tls = match tls.clone() {
            TlsRequirement::None => Tls::None,
            TlsRequirement::Ssl => Tls::Ssl,
            TlsRequirement::X509 => Tls::X509,
            TlsRequirement::Certificate { subject, issuer, cipher } => Tls::Certificate {
                subject: subject.unwrap_or_default(),
                issuer: issuer.unwrap_or_default(),
                cipher: cipher.unwrap_or_default(),
            },
        };
    }
    let rules = &mut account.password;
    match options.expiry {
        None => {}
        Some(PasswordExpiry::Now) => rules.expired = true,
        Some(PasswordExpiry::Default) => rules.lifetime = None,
        Some(PasswordExpiry::Never) => rules.lifetime = Some(0),
        Some(PasswordExpiry::Days(days)) => rules.lifetime = Some(days),
    }
    rules.history = options.history.map_or(rules.history, own);
    rules.reuse_days = options.reuse_days.map_or(rules.reuse_days, own);
    rules.requires_current = options.requires_current.map_or(rules.requires_current, own);
    rules.failed_logins_max = options.failed_login_attempts.unwrap_or(rules.failed_logins_max);
    rules.lock_days = options.lock_days.unwrap_or(rules.lock_days);
    account.connections_max = options.connections_max.unwrap_or(account.connections_max);
    account.locked = options.locked.unwrap_or(account.locked);
    match &options.attribute {
        None => {}
        Some(UserAttribute::Comment(text)) => account.attribute = attribute::with_comment(&account.attribute, text)?,
        Some(UserAttribute::Json(text)) => account.attribute = attribute::merged(&account.attribute, text)?,
    }
    Ok(())
}

impl Accounts {
    /// Errors: 1227, also for a default role that the account may not grant; 1396 for users that exist, unless
    /// `if_not_exists`; 3162 for a default role that does not.
    pub fn create_users(
        &self,
        change: AccountChange<'_>,
        users: &[UserSpec],
        options: &AccountOptions,
        if_not_exists: bool,
    ) -> Result<ChangedUsers> {
        let rights = change.rights;
        rights.check_global(Privilege::CreateUser)?;
        check_admin(rights, &options.default_roles)?;
        self.change(|list| {
            let mut changed = ChangedUsers::default();
            for spec in users {
                let name = resolve(&spec.name, &rights.account);
                check_lengths(&name)?;
                if list.iter().any(|a| a.is_key(&name)) {
                    changed.skipped.push(name.in_quotes());
                    continue;
                }
                let mut account = AccountEntry::new(&name);
                if let Some(how) = &spec.authentication {
                    let made = authenticate(&mut account, how, &change.policy)?;
                    changed.generated.extend(made.map(|password| (name, password)));
                }
                account.password.changed = change.policy.now;
                apply(&mut account, options)?;
                add(list, account)?;
                self.give_default_roles(list, rights, options)?;
            }
            match changed.skipped.is_empty() || if_not_exists {
                true => Ok(changed),
                false => Err(failed("CREATE USER", &changed.skipped)),
            }
        })
    }

    /// Grants the last account the roles of `DEFAULT ROLE`, which are its default roles.
    fn give_default_roles(&self, list: &mut AccountList, rights: &Rights, options: &AccountOptions) -> Result<()> {
        let mut roles: Vec<AccountKey> = Vec::new();
        for role in &options.default_roles {
            let role = resolve(role, &rights.account);
            if !list.iter().any(|a| a.is_key(&role)) {
                let message = format!("Authorization ID {} does not exist.", role.in_backticks());
                return Err(SqlError::new(ErrorCode::UserDoesNotExist, message));
            }
            roles.push(role);
        }
        if let Some(account) = list.last_mut() {
            let granted = roles.iter().map(|role| super::GrantedRole { role: role.clone(), admin_option: false });
            account.roles.extend(granted);
            account.default_roles = roles;
        }
        Ok(())
    }

    /// Errors: 1227, 1396 for users that do not exist, unless `if_exists`; those of changes of passwords.
    pub fn alter_users(
        &self,
        change: AccountChange<'_>,
        users: &[UserSpec],
        options: &AccountOptions,
        if_exists: bool,
    ) -> Result<ChangedUsers> {
        let rights = change.rights;
        let is_own = |u: &UserSpec| resolve(&u.name, &rights.account) == rights.account;
        // Everybody may change the own password.
        if !users.iter().all(is_own) || *options != AccountOptions::default() {
            rights.check_global(Privilege::CreateUser)?;
        }
        let changed = self.change(|list| {
            let mut changed = ChangedUsers::default();
            for spec in users {
                let name = resolve(&spec.name, &rights.account);
                let Some(account) = list.iter_mut().find(|a| a.is_key(&name)) else {
                    changed.skipped.push(name.in_quotes());
                    continue;
                };
                check_may_change(rights, account)?;
                if let Some(how) = &spec.authentication {
                    check_current(change, account, spec.replaced.as_deref())?;
                    let made = authenticate(account, how, &change.policy)?;
                    changed.generated.extend(made.map(|password| (name, password)));
                }
                apply(account, options)?;
            }
            match changed.skipped.is_empty() || if_exists {
                true => Ok(changed),
                false => Err(failed("ALTER USER", &changed.skipped)),
            }
        })?;
        if options.locked == Some(false) || options.failed_login_attempts.is_some() || options.lock_days.is_some() {
            users.iter().for_each(|spec| self.failed_logins.forget(&resolve(&spec.name, &rights.account)));
        }
        Ok(changed)
    }

    /// SET PASSWORD; `None`: one that the server makes. Errors as of ALTER USER, 1044 for another account's without
    /// CREATE USER and UPDATE on the schema `mysql`, and 1133 without the account.
    pub fn set_password_of(
        &self,
        change: AccountChange<'_>,
        user: &UserName,
        password: Option<&str>,
        replaced: Option<&str>,
    ) -> Result<ChangedUsers> {
        let rights = change.rights;
        let name = resolve(user, &rights.account);
        if name != rights.account && !rights.on_database(system_schema::MYSQL).has(Privilege::Update) {
            return Err(rights.database_denied(system_schema::MYSQL));
        }
        let authentication = Some(match password {
            Some(password) => Authentication::Password { plugin: None, password: password.to_owned() },
            None => Authentication::Random { plugin: None },
        });
        let spec = UserSpec { name: user.clone(), authentication, replaced: replaced.map(str::to_owned) };
        self.alter_users(change, &[spec], &AccountOptions::default(), false).map_err(|e| match e.code {
            ErrorCode::CannotUser if !self.list().iter().any(|a| a.is_key(&name)) => {
                SqlError::new(ErrorCode::PasswordNoMatch, "Can't find any matching row in the user table")
            }
            _ => e,
        })
    }

    /// Errors: 1227; 1396 for users that do not exist, unless `if_exists`.
    pub fn drop_users(&self, rights: &Rights, users: &[UserName], if_exists: bool) -> Result<Vec<String>> {
        rights.check_global(Privilege::CreateUser)?;
        self.remove(rights, users, "DROP USER", if_exists)
    }

    /// Removes accounts, and them from the roles of others. Returns the names of those that there were not.
    pub(super) fn remove(
        &self,
        rights: &Rights,
        users: &[UserName],
        operation: &str,
        if_exists: bool,
    ) -> Result<Vec<String>> {
        self.change(|list| {
            let mut missing = Vec::new();
            for user in users {
                let name = resolve(user, &rights.account);
                let Some(at) = list.iter().position(|a| a.is_key(&name)) else {
                    missing.push(name.in_quotes());
                    continue;
                };
                check_may_change(rights, &list[at])?;
                list.remove(at);
                for account in list.iter_mut() {
                    account.roles.retain(|granted| granted.role != name);
                    account.default_roles.retain(|role| *role != name);
                }
            }
            match missing.is_empty() || if_exists {
                true => Ok(missing),
                false => Err(failed(operation, &missing)),
            }
        })
    }

    /// Errors: 1227; 1396 for a user that does not exist, or a new name that is taken; 3532 for a role that somebody
    /// has.
    pub fn rename_users(&self, rights: &Rights, pairs: &[(UserName, UserName)]) -> Result<()> {
        rights.check_global(Privilege::CreateUser)?;
        self.change(|list| {
            for (from, to) in pairs {
                let (from, to) = (resolve(from, &rights.account), resolve(to, &rights.account));
                check_lengths(&to)?;
                let known = list.iter().position(|a| a.is_key(&from));
                let Some(at) = known.filter(|_| !list.iter().any(|a| a.is_key(&to))) else {
                    return Err(failed("RENAME USER", &[from.in_quotes()]));
                };
                check_may_change(rights, &list[at])?;
                if list.iter().flat_map(|account| &account.roles).any(|granted| granted.role == from) {
                    let message = "Renaming of a role identifier is forbidden";
                    return Err(SqlError::new(ErrorCode::RenameRole, message));
                }
                (list[at].user, list[at].host) = (to.user, to.host);
            }
            Ok(())
        })
    }
}

/// Checks what REPLACE says of a password. Errors 3891, 3892, 3893.
fn check_current(change: AccountChange<'_>, account: &AccountEntry, replaced: Option<&str>) -> Result<()> {
    let AccountChange { rights, policy } = change;
    let wrong = |code, message: &str| Err(SqlError::new(code, message));
    match replaced {
        Some(_) if !account.is_key(&rights.account) => wrong(
            ErrorCode::CurrentPasswordNotRequired,
            "Do not specify the current password while changing it for other users.",
        ),
        Some(current) if !password::verify(&account.plugin, &account.authentication_string, current) => wrong(
            ErrorCode::IncorrectCurrentPassword,
            "Incorrect current password. Specify the correct password which has to be replaced.",
        ),
        Some(_) => Ok(()),
        None => {
            let is_required = account.password.requires_current.unwrap_or(policy.requires_current);
            match is_required && account.is_key(&rights.account) && !rights.global().has(Privilege::CreateUser) {
                true => wrong(
                    ErrorCode::MissingCurrentPassword,
                    "Current password needs to be specified in the REPLACE clause in order to change it.",
                ),
                false => Ok(()),
            }
        }
    }
}
