//! Roles: made, dropped, granted, made default, activated.

use super::{
    AccountEntry, AccountKey, AccountList, Accounts, GrantedRole, Privilege, Rights, failed, resolve,
    users::{add, check_lengths, check_may_change},
};
use muster_sql::{RoleGrant, RoleSet, Statement, UserName};
use muster_types::{ErrorCode, Result, SqlError};

/// The roles that a text names, as `mandatory_roles` does. Error 1064.
pub fn role_names(text: &str) -> Result<Vec<AccountKey>> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    match muster_sql::parse(&format!("SET ROLE {text}"))? {
        Statement::SetRole(RoleSet::Listed(names)) => {
            let nobody = AccountKey { user: String::new(), host: String::new() };
            Ok(names.iter().map(|name| resolve(name, &nobody)).collect())
        }
        _ => Err(SqlError::syntax(text, 1)),
    }
}

fn unknown(key: &AccountKey) -> SqlError {
    SqlError::new(ErrorCode::UnknownAuthorization, format!("Unknown authorization ID {}", key.in_backticks()))
}

fn not_granted(role: &AccountKey, account: &AccountKey) -> SqlError {
    let message = format!("{} is not granted to {}", role.in_backticks(), account.in_backticks());
    SqlError::new(ErrorCode::RoleNotGranted, message)
}

/// A warning about a name that was passed over.
pub type Passed = (ErrorCode, String);

impl Accounts {
    /// Returns the names that existed. Errors: 1227; 1396 unless `if_not_exists`.
    pub fn create_roles(&self, rights: &Rights, roles: &[UserName], if_not_exists: bool) -> Result<Vec<String>> {
        if !rights.global().has(Privilege::CreateUser) && !rights.global().has(Privilege::CreateRole) {
            return Err(super::lacking("CREATE USER, CREATE ROLE"));
        }
        self.change(|list| {
            let mut existing = Vec::new();
            for role in roles {
                let name = resolve(role, &rights.account);
                check_lengths(&name)?;
                if list.iter().any(|a| a.is_key(&name)) {
                    existing.push(name.in_quotes());
                    continue;
                }
                let mut account = AccountEntry { locked: true, ..AccountEntry::new(&name) };
                account.password.expired = true;
                add(list, account)?;
            }
            match existing.is_empty() || if_not_exists {
                true => Ok(existing),
                false => Err(failed("CREATE ROLE", &existing)),
            }
        })
    }

    /// Returns the names that did not exist. Errors: 1227; 1396 unless `if_exists`; 3628 for a mandatory role.
    pub fn drop_roles(
        &self,
        rights: &Rights,
        roles: &[UserName],
        mandatory: &[AccountKey],
        if_exists: bool,
    ) -> Result<Vec<String>> {
        if !rights.global().has(Privilege::CreateUser) && !rights.global().has(Privilege::DropRole) {
            return Err(super::lacking("CREATE USER, DROP ROLE"));
        }
        refuse_mandatory(rights, roles, mandatory)?;
        self.remove(rights, roles, "DROP ROLE", if_exists)
    }

    /// Errors: 1227; 3523 for names that do not exist; 4027 for a circle.
    pub fn grant_roles(&self, rights: &Rights, grant: &RoleGrant) -> Result<()> {
        check_admin(rights, &grant.roles)?;
        self.change(|list| {
            for user in &grant.users {
                let account = resolve(user, &rights.account);
                for role in &grant.roles {
                    let role = resolve(role, &rights.account);
                    let known = |key: &AccountKey| list.iter().any(|a| a.is_key(key));
                    if let Some(missing) = [&role, &account].into_iter().find(|key| !known(key)) {
                        return Err(unknown(missing));
                    }
                    if leads_to(list, &role, &account) {
                        let message = format!(
                            "User account {} is directly or indirectly granted to the role {}. The GRANT would create a \
                             loop",
                            account.in_backticks(),
                            role.in_backticks()
                        );
                        return Err(SqlError::new(ErrorCode::RoleWouldLoop, message));
                    }
                    let Some(entry) = list.iter_mut().find(|a| a.is_key(&account)) else { continue };
                    match entry.roles.iter_mut().find(|granted| granted.role == role) {
                        Some(granted) => granted.admin_option |= grant.admin_option,
                        None => entry.roles.push(GrantedRole { role, admin_option: grant.admin_option }),
                    }
                }
            }
            Ok(())
        })
    }

    /// Returns warnings about what was passed over. Errors: 1227; 3523 for names that do not exist; 3628 for a
    /// mandatory role.
    pub fn revoke_roles(&self, rights: &Rights, grant: &RoleGrant, mandatory: &[AccountKey]) -> Result<Vec<Passed>> {
        check_admin(rights, &grant.roles)?;
        refuse_mandatory(rights, &grant.roles, mandatory)?;
        self.change(|list| {
            let mut passed: Vec<Passed> = Vec::new();
            for user in &grant.users {
                let account = resolve(user, &rights.account);
                if !list.iter().any(|a| a.is_key(&account)) {
                    if !grant.ignore_unknown {
                        return Err(unknown(&account));
                    }
                    let message = format!("Authorization ID {} does not exist.", account.user);
                    passed.push((ErrorCode::UserDoesNotExist, message));
                    continue;
                }
                for role in &grant.roles {
                    let role = resolve(role, &rights.account);
                    if !list.iter().any(|a| a.is_key(&role)) {
                        if !grant.if_exists {
                            return Err(unknown(&role));
                        }
                        passed.push((ErrorCode::UnknownAuthorization, unknown(&role).message));
                        continue;
                    }
                    if let Some(entry) = list.iter_mut().find(|a| a.is_key(&account)) {
                        check_may_change(rights, entry)?;
                        entry.roles.retain(|granted| granted.role != role);
                        entry.default_roles.retain(|known| *known != role);
                    }
                }
            }
            Ok(passed)
        })
    }

    /// Errors: 1227; 3530 for a role that an account has not been granted; 1396 for an account that does not exist,
    /// unless `if_exists`. Returns the names of those that did not.
    pub fn set_default_roles(
        &self,
        rights: &Rights,
        roles: &RoleSet,
        users: &[UserName],
        mandatory: &[AccountKey],
        if_exists: bool,
    ) -> Result<Vec<String>> {
        if users.iter().any(|user| resolve(user, &rights.account) != rights.account) {
            rights.check_global(Privilege::CreateUser)?;
        }
        self.change(|list| {
            let mut missing = Vec::new();
            for user in users {
                let name = resolve(user, &rights.account);
                let Some(entry) = list.iter_mut().find(|a| a.is_key(&name)) else {
                    if let (RoleSet::Listed(roles), false) = (roles, if_exists) {
                        let first = roles.first().map(|role| resolve(role, &rights.account));
                        return Err(first.map_or_else(|| unknown(&name), |role| not_granted(&role, &name)));
                    }
                    missing.push(name.in_quotes());
                    continue;
                };
                check_may_change(rights, entry)?;
                entry.default_roles = chosen(Some(entry), &name, roles, mandatory, &rights.account)?;
            }
            match missing.is_empty() || if_exists {
                true => Ok(missing),
                false => Err(failed("SET DEFAULT ROLE", &missing)),
            }
        })
    }

    /// The roles that SET ROLE activates for the account. Error 3530.
    pub fn activated(&self, rights: &Rights, roles: &RoleSet, mandatory: &[AccountKey]) -> Result<Vec<AccountKey>> {
        chosen(rights.entry(), &rights.account, roles, mandatory, &rights.account)
    }
}

/// The roles of an account that a statement names. Error 3530.
pub(super) fn chosen(
    entry: Option<&AccountEntry>,
    name: &AccountKey,
    roles: &RoleSet,
    mandatory: &[AccountKey],
    own: &AccountKey,
) -> Result<Vec<AccountKey>> {
    let granted = entry.into_iter().flat_map(|entry| &entry.roles).map(|granted| &granted.role);
    let mut all: Vec<AccountKey> = granted.chain(mandatory).cloned().collect();
    all.sort();
    all.dedup();
    match roles {
        RoleSet::None => Ok(Vec::new()),
        RoleSet::Default => Ok(entry.map_or_else(Vec::new, |entry| entry.default_roles.clone())),
        RoleSet::AllExcept(except) => {
            let except: Vec<AccountKey> = except.iter().map(|role| resolve(role, own)).collect();
            all.retain(|role| !except.contains(role));
            Ok(all)
        }
        RoleSet::Listed(listed) => {
            let mut found = Vec::with_capacity(listed.len());
            for role in listed {
                let role = resolve(role, own);
                if !all.contains(&role) {
                    return Err(not_granted(&role, name));
                }
                found.push(role);
            }
            found.sort();
            found.dedup();
            Ok(found)
        }
    }
}

/// Returns true if the role is the account, or has been granted it, be it through others.
fn leads_to(list: &AccountList, role: &AccountKey, account: &AccountKey) -> bool {
    super::with_inherited(list, std::slice::from_ref(role)).iter().any(|entry| entry.is_key(account))
}

/// Error 1227 unless the account may give the roles away.
pub(super) fn check_admin(rights: &Rights, roles: &[UserName]) -> Result<()> {
    if rights.global().has(Privilege::Super) || rights.has_dynamic("ROLE_ADMIN") {
        return Ok(());
    }
    let has_admin_option = |role: &UserName| {
        let role = resolve(role, &rights.account);
        let granted = |entry: &AccountEntry| entry.roles.iter().any(|g| g.role == role && g.admin_option);
        rights.entry().is_some_and(granted) || rights.active_entries().iter().any(|entry| granted(entry))
    };
    match roles.iter().all(has_admin_option) {
        true => Ok(()),
        false => Err(super::lacking("WITH ADMIN, ROLE_ADMIN, SUPER")),
    }
}

/// Error 3628.
fn refuse_mandatory(rights: &Rights, roles: &[UserName], mandatory: &[AccountKey]) -> Result<()> {
    match roles.iter().map(|role| resolve(role, &rights.account)).find(|role| mandatory.contains(role)) {
        Some(role) => {
            let message = format!(
                "The role {} is a mandatory role and can't be revoked or dropped. The restriction can be lifted by \
                 excluding the role identifier from the global variable mandatory_roles.",
                role.in_backticks()
            );
            Err(SqlError::new(ErrorCode::MandatoryRole, message))
        }
        None => Ok(()),
    }
}
