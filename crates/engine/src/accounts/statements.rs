//! CREATE, ALTER and DROP USER, SET PASSWORD, GRANT, REVOKE, SHOW GRANTS, SHOW CREATE USER.

use super::{AccountEntry, AccountKey, AccountList, Accounts, Privilege, Privileges, Rights, password};
use muster_sql::{Authentication, Grant, GrantScope, UserName, UserSpec};
use muster_types::{ErrorCode, Result, SqlError};

/// Most accounts of a data directory: they are held and written as one list.
const MAX_ACCOUNTS: usize = 100_000;
/// MySQL's limits on names (manual 6.2.4).
const MAX_USER_CHARS: usize = 32;
const MAX_HOST_CHARS: usize = 255;

fn failed(operation: &str, users: &[String]) -> SqlError {
    SqlError::new(ErrorCode::CannotUser, format!("Operation {operation} failed for {}", users.join(",")))
}

fn quoted(user: &str, host: &str) -> String {
    format!("'{user}'@'{host}'")
}

/// A name's account: the session's own for CURRENT_USER.
pub fn resolve(name: &UserName, own: &AccountKey) -> AccountKey {
    if name.current {
        return own.clone();
    }
    let host = if name.host.is_empty() { "%" } else { &name.host };
    AccountKey { user: name.user.clone(), host: host.to_ascii_lowercase() }
}

fn authenticate(account: &mut AccountEntry, how: &Authentication) -> Result<()> {
    let check_plugin = |plugin: &str| match plugin {
        password::CACHING_SHA2 | password::NATIVE => Ok(()),
        other => Err(SqlError::plugin_not_loaded(other)),
    };
    match how {
        Authentication::Password { plugin, password } => {
            let plugin = plugin.as_deref().unwrap_or(password::CACHING_SHA2);
            check_plugin(plugin)?;
            account.authentication_string = password::hash(plugin, password)?;
            account.plugin = plugin.into();
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
    Ok(())
}

fn check_lengths(name: &AccountKey) -> Result<()> {
    for (what, text, max) in [("user name", &name.user, MAX_USER_CHARS), ("host name", &name.host, MAX_HOST_CHARS)] {
        if text.chars().count() > max {
            let message = format!("String '{text}' is too long for {what} (should be no longer than {max})");
            return Err(SqlError::new(ErrorCode::WrongStringLength, message));
        }
    }
    Ok(())
}

impl Accounts {
    /// The names that already existed, for notes, when `if_not_exists`.
    pub fn create_users(&self, rights: &Rights, users: &[UserSpec], if_not_exists: bool) -> Result<Vec<String>> {
        rights.check_global(Privilege::CreateUser)?;
        self.change(|list| {
            let mut existing = Vec::new();
            for spec in users {
                let name = resolve(&spec.name, &rights.account);
                check_lengths(&name)?;
                if list.iter().any(|a| a.is(&name.user, &name.host)) {
                    existing.push(quoted(&name.user, &name.host));
                    continue;
                }
                if list.len() >= MAX_ACCOUNTS {
                    let message = format!("too many accounts (at most {MAX_ACCOUNTS})");
                    return Err(SqlError::new(ErrorCode::CapacityExceeded, message));
                }
                let mut account = AccountEntry::new(&name.user, &name.host);
                if let Some(how) = &spec.authentication {
                    authenticate(&mut account, how)?;
                }
                list.push(account);
            }
            match existing.is_empty() || if_not_exists {
                true => Ok(existing),
                false => Err(failed("CREATE USER", &existing)),
            }
        })
    }

    /// The names that are missing, for notes, when `if_exists`.
    pub fn alter_users(&self, rights: &Rights, users: &[UserSpec], if_exists: bool) -> Result<Vec<String>> {
        // Everybody may change the own password.
        let only_own = users.iter().all(|u| {
            let name = resolve(&u.name, &rights.account);
            name == rights.account
        });
        if !only_own {
            rights.check_global(Privilege::CreateUser)?;
        }
        self.change(|list| {
            let mut missing = Vec::new();
            for spec in users {
                let name = resolve(&spec.name, &rights.account);
                match list.iter_mut().find(|a| a.is(&name.user, &name.host)) {
                    Some(account) => {
                        check_may_change(rights, account)?;
                        if let Some(how) = &spec.authentication {
                            // ALTER USER .. IDENTIFIED BY keeps the account's plugin (manual 13.7.1.1).
                            let how = match how {
                                Authentication::Password { plugin: None, password } => Authentication::Password {
                                    plugin: Some(account.plugin.clone()),
                                    password: password.clone(),
                                },
                                other => other.clone(),
                            };
                            authenticate(account, &how)?;
                        }
                    }
                    None => missing.push(quoted(&name.user, &name.host)),
                }
            }
            match missing.is_empty() || if_exists {
                true => Ok(missing),
                false => Err(failed("ALTER USER", &missing)),
            }
        })
    }

    pub fn drop_users(&self, rights: &Rights, users: &[UserName], if_exists: bool) -> Result<Vec<String>> {
        rights.check_global(Privilege::CreateUser)?;
        self.change(|list| {
            let mut missing = Vec::new();
            for user in users {
                let name = resolve(user, &rights.account);
                match list.iter().position(|a| a.is(&name.user, &name.host)) {
                    Some(at) => {
                        check_may_change(rights, &list[at])?;
                        list.remove(at);
                    }
                    None => missing.push(quoted(&name.user, &name.host)),
                }
            }
            match missing.is_empty() || if_exists {
                true => Ok(missing),
                false => Err(failed("DROP USER", &missing)),
            }
        })
    }

    pub fn grant(&self, rights: &Rights, database: Option<&str>, grant: &Grant) -> Result<()> {
        self.change_privileges(rights, database, grant, "GRANT", |set, given| set.union(given))
    }

    pub fn revoke(&self, rights: &Rights, database: Option<&str>, grant: &Grant) -> Result<()> {
        self.change_privileges(rights, database, grant, "REVOKE", |set, taken| set.without(taken))
    }

    fn change_privileges(
        &self,
        rights: &Rights,
        database: Option<&str>,
        grant: &Grant,
        operation: &str,
        change: impl Fn(Privileges, Privileges) -> Privileges,
    ) -> Result<()> {
        let scope = match &grant.scope {
            GrantScope::Global => None,
            GrantScope::Database(Some(name)) => Some(plain_database_name(name)?),
            GrantScope::Database(None) => {
                let current = database.map(str::to_owned);
                Some(current.ok_or_else(SqlError::no_database_selected)?)
            }
            GrantScope::Table(_) => return Err(SqlError::unsupported(format!("{operation} for a single table"))),
        };
        let mut set = Privileges::parse(&grant.privileges, scope.is_none())?;
        if grant.grant_option {
            set = set.with(Privilege::GrantOption);
        }
        let holds = scope.as_deref().map_or(rights.global(), |db| rights.on_database(db));
        // Nobody hands out what he does not have.
        if !holds.has(Privilege::GrantOption) || !holds.contains(set) {
            return Err(match &scope {
                Some(db) => rights.database_denied(db),
                None => rights.denied(),
            });
        }
        self.change(|list| {
            for user in &grant.users {
                let name = resolve(user, &rights.account);
                let account = find(list, &name, operation, grant.if_exists)?;
                let Some(account) = account else { continue };
                match &scope {
                    None => account.global = change(account.global, set),
                    Some(db) => {
                        let old = account.databases.get(db).copied();
                        if operation == "REVOKE" && old.is_none() && !grant.if_exists && grant.privileges != ["ALL"] {
                            return Err(SqlError::no_such_grant(&name.user, &name.host));
                        }
                        let new = change(old.unwrap_or_default(), set);
                        match new.is_empty() {
                            true => account.databases.remove(db),
                            false => account.databases.insert(db.clone(), new),
                        };
                    }
                }
            }
            Ok(())
        })
    }

    /// The lines of SHOW GRANTS. Error 1141 without the account.
    pub fn show_grants(&self, user: &str, host: &str) -> Result<Vec<String>> {
        let list = self.list();
        let account = list.iter().find(|a| a.is(user, host)).ok_or_else(|| SqlError::no_such_grant(user, host))?;
        let line = |set: Privileges, on: String, global: bool| {
            let option = if set.has(Privilege::GrantOption) { " WITH GRANT OPTION" } else { "" };
            let (user, host) = (identifier(&account.user), identifier(&account.host));
            format!("GRANT {} ON {on} TO {user}@{host}{option}", set.describe(global))
        };
        let mut lines = vec![line(account.global, "*.*".into(), true)];
        lines.extend(account.databases.iter().map(|(db, set)| line(*set, format!("{}.*", identifier(db)), false)));
        Ok(lines)
    }
}

/// An account with more privileges than the session's own must not fall to it (CREATE USER alone would then be all).
fn check_may_change(rights: &Rights, account: &AccountEntry) -> Result<()> {
    let own = rights.user == account.user;
    if own || rights.global().contains(account.global) {
        return Ok(());
    }
    rights.check_global(Privilege::Super)
}

fn find<'a>(
    list: &'a mut AccountList,
    name: &AccountKey,
    operation: &str,
    if_exists: bool,
) -> Result<Option<&'a mut AccountEntry>> {
    match list.iter_mut().find(|a| a.is(&name.user, &name.host)) {
        Some(account) => Ok(Some(account)),
        None if if_exists => Ok(None),
        None if operation == "GRANT" => {
            Err(SqlError::new(ErrorCode::CantCreateUserWithGrant, "You are not allowed to create a user with GRANT"))
        }
        None => Err(SqlError::no_such_grant(&name.user, &name.host)),
    }
}

/// A database name in GRANT: `\_` and `\%` stand for themselves, a bare `%` would be a pattern.
fn plain_database_name(name: &str) -> Result<String> {
    let mut plain = String::with_capacity(name.len());
    let mut chars = name.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => plain.extend(chars.next()),
            '%' => return Err(SqlError::unsupported("wildcards in the database name of GRANT")),
            c => plain.push(c),
        }
    }
    Ok(plain)
}

fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
