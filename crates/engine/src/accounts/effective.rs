//! All privileges that an account has together with its active roles.

use super::{AccountEntry, AccountKey, Privileges, TableRights, patterns};
use std::collections::BTreeMap;

/// Privileges of one account, or of an account with roles.
#[derive(Debug, Clone, Default)]
pub struct EffectivePrivileges {
    pub global: Privileges,
    /// Dynamic privileges, each with its GRANT OPTION.
    pub dynamic: BTreeMap<String, bool>,
    pub patterns: BTreeMap<String, Privileges>,
    pub tables: BTreeMap<String, BTreeMap<String, TableRights>>,
    /// True if there are active roles: then all patterns that match a database count (MySQL:
    /// `Security_context::db_acl`), else the most exact one.
    has_roles: bool,
}

impl EffectivePrivileges {
    /// The privileges of an account with these roles, which count with the roles that they have been granted.
    pub fn of(accounts: &[AccountEntry], account: Option<&AccountEntry>, roles: &[AccountKey]) -> EffectivePrivileges {
        let mut all = EffectivePrivileges::default();
        account.into_iter().for_each(|account| all.add(account));
        for role in with_inherited(accounts, roles) {
            all.has_roles = true;
            all.add(role);
        }
        all
    }

    fn add(&mut self, entry: &AccountEntry) {
        self.global = self.global.union(entry.global);
        for (name, grants) in &entry.dynamic {
            *self.dynamic.entry(name.clone()).or_default() |= *grants;
        }
        for (pattern, set) in &entry.patterns {
            let known = self.patterns.entry(pattern.clone()).or_default();
            *known = known.union(*set);
        }
        for (database, tables) in &entry.tables {
            let known = self.tables.entry(database.clone()).or_default();
            for (table, rights) in tables {
                let known = known.entry(table.clone()).or_default();
                known.privileges = known.privileges.union(rights.privileges);
                for (column, set) in &rights.columns {
                    let known = known.columns.entry(column.clone()).or_default();
                    *known = known.union(*set);
                }
            }
        }
    }

    /// The privileges that the patterns of databases give on one.
    pub fn of_patterns(&self, database: &str) -> Privileges {
        if self.has_roles {
            return self.patterns.get(database).copied().unwrap_or_else(|| {
                let matching = self.patterns.iter().filter(|(p, _)| patterns::database_matches(p, database));
                matching.fold(Privileges::NONE, |all, (_, set)| all.union(*set))
            });
        }
        let matching = self.patterns.iter().filter(|(p, _)| patterns::database_matches(p, database));
        let best = matching.max_by_key(|(pattern, _)| patterns::exactness(pattern));
        best.map_or(Privileges::NONE, |(_, set)| *set)
    }

    pub fn table(&self, database: &str, table: &str) -> Option<&TableRights> {
        self.tables.get(database)?.get(table)
    }
}

/// Roles with all roles that they have been granted, each once.
pub fn with_inherited<'a>(accounts: &'a [AccountEntry], roles: &[AccountKey]) -> Vec<&'a AccountEntry> {
    let find = |key: &AccountKey| accounts.iter().find(|account| account.is_key(key));
    let mut found: Vec<&AccountEntry> = Vec::new();
    let mut waiting: Vec<&AccountEntry> = roles.iter().filter_map(find).collect();
    waiting.reverse();
    while let Some(role) = waiting.pop() {
        if !found.iter().any(|known| std::ptr::eq(*known, role)) {
            found.push(role);
            waiting.extend(role.roles.iter().rev().filter_map(|granted| find(&granted.role)));
        }
    }
    found
}
