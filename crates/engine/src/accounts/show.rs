//! SHOW GRANTS and SHOW CREATE USER.

use super::{
    AccountEntry, AccountKey, AccountList, Accounts, EffectivePrivileges, GrantedRole, Level, Privilege, Privileges,
    TableRights, Tls, failed, resolve, roles,
};
use muster_sql::{RoleSet, UserName};
use muster_types::{Result, SqlError};

fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn text(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

impl Accounts {
    /// The lines of SHOW GRANTS with these roles. Errors: 1141 without the account, 3530 for a role that it has not
    /// been granted.
    pub fn show_grants(
        &self,
        account: &AccountKey,
        using: &[UserName],
        mandatory: &[AccountKey],
    ) -> Result<Vec<String>> {
        let list = self.list();
        let entry = found(&list, account)?;
        let using = roles::chosen(Some(entry), account, &RoleSet::Listed(using.to_vec()), mandatory, account)?;
        Ok(lines(&list, entry, &using, mandatory))
    }

    /// The lines of SHOW GRANTS with active roles. Error 1141 without the account.
    pub fn show_own_grants(
        &self,
        account: &AccountKey,
        active: &[AccountKey],
        mandatory: &[AccountKey],
    ) -> Result<Vec<String>> {
        let list = self.list();
        Ok(lines(&list, found(&list, account)?, active, mandatory))
    }

    /// The statement of SHOW CREATE USER. Error 1396 without the account.
    pub fn show_create_user(&self, name: &UserName, own: &AccountKey) -> Result<(AccountKey, String)> {
        let account = resolve(name, own);
        let list = self.list();
        let entry = list.iter().find(|a| a.is_key(&account));
        let entry = entry.ok_or_else(|| failed("SHOW CREATE USER", &[account.in_quotes()]))?;
        Ok((entry.key(), create_user(entry)))
    }
}

fn found<'l>(list: &'l AccountList, account: &AccountKey) -> Result<&'l AccountEntry> {
    let entry = list.iter().find(|a| a.is_key(account));
    entry.ok_or_else(|| SqlError::no_such_grant(&account.user, &account.host))
}

fn lines(list: &AccountList, entry: &AccountEntry, roles: &[AccountKey], mandatory: &[AccountKey]) -> Vec<String> {
    let all = EffectivePrivileges::of(list, Some(entry), roles);
    let name = entry.key().in_backticks();
    let option = |set: Privileges| if set.has(Privilege::GrantOption) { " WITH GRANT OPTION" } else { "" };
    let mut lines =
        vec![format!("GRANT {} ON *.* TO {name}{}", all.global.describe(Level::Global), option(all.global))];
    for grants in [false, true] {
        let names: Vec<&str> =
            all.dynamic.iter().filter(|(_, g)| **g == grants).map(|(name, _)| name.as_str()).collect();
        if !names.is_empty() {
            let option = if grants { " WITH GRANT OPTION" } else { "" };
            lines.push(format!("GRANT {} ON *.* TO {name}{option}", names.join(",")));
        }
    }
    for (pattern, set) in &all.patterns {
        let described = set.describe(Level::Database);
        lines.push(format!("GRANT {described} ON {}.* TO {name}{}", identifier(pattern), option(*set)));
    }
    for (database, tables) in &all.tables {
        for (table, rights) in tables {
            let on = format!("{}.{}", identifier(database), identifier(table));
            lines.push(format!("GRANT {} ON {on} TO {name}{}", on_table(rights), option(rights.privileges)));
        }
    }
    let mandatory = mandatory.iter().map(|role| GrantedRole { role: role.clone(), admin_option: false });
    let mut granted: Vec<GrantedRole> = entry.roles.iter().cloned().chain(mandatory).collect();
    granted.sort_by(|a, b| a.role.cmp(&b.role));
    granted.dedup_by(|a, b| a.role == b.role);
    for admin in [false, true] {
        let of_kind = granted.iter().filter(|granted| granted.admin_option == admin);
        let roles: Vec<String> = of_kind.map(|granted| granted.role.in_backticks()).collect();
        if !roles.is_empty() {
            let option = if admin { " WITH ADMIN OPTION" } else { "" };
            lines.push(format!("GRANT {} TO {name}{option}", roles.join(",")));
        }
    }
    lines
}

/// The privileges on a table and on its columns, in MySQL's order.
fn on_table(rights: &TableRights) -> String {
    if rights.columns.is_empty() || rights.privileges.without_grant_option() == Privileges::all(Level::Table) {
        return rights.privileges.describe(Level::Table);
    }
    let mut words = Vec::new();
    for (p, name, _) in Privileges::known().filter(|(p, ..)| *p != Privilege::GrantOption) {
        if rights.privileges.has(p) {
            words.push(name.to_owned());
        }
        let with: Vec<String> =
            rights.columns.iter().filter(|(_, set)| set.has(p)).map(|(column, _)| identifier(column)).collect();
        if !with.is_empty() {
            words.push(format!("{name} ({})", with.join(", ")));
        }
    }
    words.join(", ")
}

fn create_user(entry: &AccountEntry) -> String {
    let mut sql = format!("CREATE USER {} IDENTIFIED WITH '{}'", entry.key().in_backticks(), entry.plugin);
    if !entry.authentication_string.is_empty() {
        sql += &format!(" AS {}", text(&entry.authentication_string));
    }
    if !entry.default_roles.is_empty() {
        let roles: Vec<String> = entry.default_roles.iter().map(AccountKey::in_backticks).collect();
        sql += &format!(" DEFAULT ROLE {}", roles.join(","));
    }
    match &entry.tls {
        Tls::None => sql += " REQUIRE NONE",
        Tls::Ssl => sql += " REQUIRE SSL",
        Tls::X509 => sql += " REQUIRE X509",
        Tls::Certificate { subject, issuer, cipher } => {
            sql += " REQUIRE";
            for (word, value) in [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)] {
                if !value.is_empty() {
                    sql += &format!(" {word} {}", text(value));
                }
            }
        }
    }
    if entry.connections_max > 0 {
        sql += &format!(" WITH MAX_USER_CONNECTIONS {}", entry.connections_max);
    }
    let rules = &entry.password;
    sql += &match (rules.expired, rules.lifetime) {
        (true, _) => " PASSWORD EXPIRE".to_owned(),
        (false, None) => " PASSWORD EXPIRE DEFAULT".to_owned(),
        (false, Some(0)) => " PASSWORD EXPIRE NEVER".to_owned(),
        (false, Some(days)) => format!(" PASSWORD EXPIRE INTERVAL {days} DAY"),
    };
    sql += if entry.locked { " ACCOUNT LOCK" } else { " ACCOUNT UNLOCK" };
    sql += &rules.history.map_or(" PASSWORD HISTORY DEFAULT".into(), |n| format!(" PASSWORD HISTORY {n}"));
    sql += &rules
        .reuse_days
        .map_or(" PASSWORD REUSE INTERVAL DEFAULT".into(), |n| format!(" PASSWORD REUSE INTERVAL {n} DAY"));
    sql += match rules.requires_current {
        None => " PASSWORD REQUIRE CURRENT DEFAULT",
        Some(true) => " PASSWORD REQUIRE CURRENT",
        Some(false) => " PASSWORD REQUIRE CURRENT OPTIONAL",
    };
    if rules.failed_logins_max > 0 {
        sql += &format!(" FAILED_LOGIN_ATTEMPTS {}", rules.failed_logins_max);
    }
    sql += &match rules.lock_days {
        0 => String::new(),
        days if days < 0 => " PASSWORD_LOCK_TIME UNBOUNDED".to_owned(),
        days => format!(" PASSWORD_LOCK_TIME {days}"),
    };
    if !entry.attribute.is_empty() {
        sql += &format!(" ATTRIBUTE {}", text(&entry.attribute));
    }
    sql
}
