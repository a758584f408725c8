//! GRANT and REVOKE.

use super::{
    AccountEntry, AccountKey, Accounts, Level, Privilege, Privileges, Rights, lacking, resolve,
    users::check_may_change, wanted::Wanted,
};
use crate::system_schema;
use muster_sql::{Grant, GrantScope, UserName};
use muster_types::{ErrorCode, Result, SqlError};

/// A GRANT or a REVOKE, and what it runs with.
#[derive(Clone, Copy)]
pub struct GrantRequest<'a> {
    pub grant: &'a Grant,
    pub rights: &'a Rights,
    /// The current database.
    pub database: Option<&'a str>,
    /// Microseconds of UTC.
    pub now: i64,
}

/// A table that privileges are given on, with the columns that the statement names.
#[derive(Debug, Clone, Copy)]
pub struct GrantedTable<'a> {
    pub database: &'a str,
    pub table: &'a str,
    pub columns: &'a [String],
    /// True if the table may be made later.
    pub may_be_missing: bool,
}

/// The object that privileges are given on.
#[derive(Debug)]
enum Object {
    Everything,
    /// A pattern of databases' names.
    Databases(String),
    Table(String, String),
}

/// A warning about a grant that was passed over.
type Passed = (ErrorCode, String);

impl GrantRequest<'_> {
    fn object(&self) -> Result<Object> {
        let current = || self.database.map(str::to_owned).ok_or_else(SqlError::no_database_selected);
        Ok(match &self.grant.scope {
            GrantScope::Global => Object::Everything,
            GrantScope::Database(Some(pattern)) => Object::Databases(pattern.clone()),
            GrantScope::Database(None) => Object::Databases(current()?),
            GrantScope::Table(name) => {
                let database = name.database.clone().map_or_else(current, Ok)?;
                Object::Table(database, name.name.clone())
            }
        })
    }

    /// Nobody hands out what he does not have. Errors 1044, 1045, 1142, 1143, 1227.
    fn check_rights(&self, object: &Object, wanted: &Wanted) -> Result<()> {
        let rights = self.rights;
        let needed = wanted.whole.with(Privilege::GrantOption);
        match object {
            Object::Everything => {
                let is_static = !wanted.whole.is_empty() || wanted.dynamic.is_empty();
                if is_static && !rights.global().contains(needed) {
                    return Err(rights.denied());
                }
                let may_grant = |name: &String| rights.all().dynamic.get(name) == Some(&true);
                // ALL stands for what there is to give.
                match wanted.all || wanted.dynamic.iter().all(may_grant) {
                    true => Ok(()),
                    false => Err(lacking("GRANT OPTION")),
                }
            }
            Object::Databases(pattern) => {
                let needed = needed.both(Privileges::of_level(Level::Database));
                let is_closed = system_schema::of_name(pattern) == Some(system_schema::NAME);
                match !is_closed && on_pattern(rights, pattern).contains(needed) {
                    true => Ok(()),
                    false => Err(rights.database_denied(pattern)),
                }
            }
            Object::Table(database, table) => self.check_table_rights(database, table, wanted),
        }
    }

    fn check_table_rights(&self, database: &str, table: &str, wanted: &Wanted) -> Result<()> {
        let rights = self.rights;
        if system_schema::of_name(database) == Some(system_schema::NAME) {
            return Err(rights.database_denied(database));
        }
        let (whole, columns) = (rights.on_table(database, table), rights.on_columns(database, table));
        let wanted_whole = wanted.whole.both(Privileges::of_level(Level::Table));
        let needed = wanted_whole.union(wanted.of_columns()).with(Privilege::GrantOption);
        let missing = needed.without(whole).without(columns.both(Privileges::all(Level::Column)));
        if !missing.is_empty() {
            return Err(rights.table_denied(table, &missing.in_message()));
        }
        let missing = wanted_whole.without(whole);
        if !missing.is_empty() {
            return Err(rights.table_denied(table, &missing.in_message()));
        }
        for (p, names) in &wanted.columns {
            if let Some(name) = names.iter().find(|name| !rights.on_column(database, table, name).has(*p)) {
                let client = format!("'{}'@'{}'", rights.user, rights.host);
                let message =
                    format!("{} command denied to user {client} for column '{name}' in table '{table}'", p.name());
                return Err(SqlError::new(ErrorCode::ColumnAccessDenied, message));
            }
        }
        Ok(())
    }

    fn wanted(&self, object: &Object) -> Result<Wanted> {
        let (level, table) = match object {
            Object::Everything => (Level::Global, ""),
            Object::Databases(_) => (Level::Database, ""),
            Object::Table(_, table) => (Level::Table, table.as_str()),
        };
        let mut wanted = Wanted::of(self.grant, level, table);
        self.check_rights(object, &wanted)?;
        wanted.check(self.grant.if_exists)?;
        if wanted.all {
            // Dynamic privileges that the grantor could not give one by one are left out.
            let all = &self.rights.all().dynamic;
            wanted.dynamic.retain(|name| all.get(name) == Some(&true));
        }
        Ok(wanted)
    }
}

/// The privileges on all databases that a pattern stands for.
fn on_pattern(rights: &Rights, pattern: &str) -> Privileges {
    // More characters than a database's name has.
    const LONGEST: usize = 70;
    let same = rights.all().patterns.get(pattern).copied().unwrap_or_default();
    let (shortest, longest) = (with_any(pattern, 0), with_any(pattern, LONGEST));
    rights.on_database(&shortest).both(rights.on_database(&longest)).union(same)
}

/// A name that a pattern stands for, with so many characters for each `%`. What wildcards stand for is a character that
/// no pattern names, so that it is met by wildcards only.
fn with_any(pattern: &str, characters: usize) -> String {
    const ANY: &str = "\u{1}";
    let mut text = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.extend(chars.next()),
            '_' => text.push_str(ANY),
            '%' => text.push_str(&ANY.repeat(characters)),
            c => text.push(c),
        }
    }
    text
}

impl Accounts {
    /// `find` returns the names of the columns as the table has them. Errors: 1044, 1045, 1142, 1143 and 1227 for who
    /// may not grant that; 1144, 1149, 1221, 3619; 1410 for an account that does not exist; those of `find`.
    pub fn grant(
        &self,
        request: GrantRequest<'_>,
        find: impl Fn(GrantedTable<'_>) -> Result<Vec<String>>,
    ) -> Result<()> {
        let GrantRequest { grant, rights, now, .. } = request;
        let object = request.object()?;
        let mut wanted = request.wanted(&object)?;
        if let Object::Table(database, table) = &object {
            let may_be_missing = wanted.columns.is_empty() && wanted.whole.has(Privilege::Create);
            for (_, columns) in &mut wanted.columns {
                *columns = find(GrantedTable { database, table, columns, may_be_missing })?;
            }
            if wanted.columns.is_empty() {
                find(GrantedTable { database, table, columns: &[], may_be_missing })?;
            }
        }
        let grantor = format!("{}@{}", rights.account.user, rights.account.host);
        self.change(|list| {
            for user in &grant.users {
                let name = resolve(user, &rights.account);
                let Some(account) = list.iter_mut().find(|a| a.is_key(&name)) else {
                    let message = "You are not allowed to create a user with GRANT";
                    return Err(SqlError::new(ErrorCode::CantCreateUserWithGrant, message));
                };
                give(account, &object, &wanted, grant.grant_option, (&grantor, now));
            }
            Ok(())
        })
    }

    /// Returns warnings about what was passed over. Errors: those of rights as of GRANT; 1141 and 1147 for grants that
    /// there are not.
    pub fn revoke(&self, request: GrantRequest<'_>) -> Result<Vec<Passed>> {
        let GrantRequest { grant, rights, .. } = request;
        let object = request.object()?;
        let wanted = request.wanted(&object)?;
        let unregistered = |name: &String| {
            let message = format!("Dynamic privilege '{name}' is not registered with the server.");
            (ErrorCode::DynamicPrivilegeNotRegistered, message)
        };
        let mut passed: Vec<Passed> = wanted.unknown.iter().map(unregistered).collect();
        self.change(|list| {
            for user in &grant.users {
                let name = resolve(user, &rights.account);
                let missing = no_such_grant(&name, &object);
                let Some(account) = list.iter_mut().find(|a| a.is_key(&name)) else {
                    if !grant.ignore_unknown {
                        return Err(missing);
                    }
                    let message = format!("Authorization ID {} does not exist.", name.user);
                    passed.push((ErrorCode::UserDoesNotExist, message));
                    continue;
                };
                check_may_change(rights, account)?;
                if !take(account, &object, &wanted) {
                    match grant.if_exists {
                        true => passed.push((missing.code, missing.message)),
                        false => return Err(missing),
                    }
                }
            }
            Ok(passed)
        })
    }

    /// REVOKE ALL PRIVILEGES, GRANT OPTION. Errors: 1227; 1269 for an account that does not exist.
    pub fn revoke_all(&self, rights: &Rights, users: &[UserName], ignore_unknown: bool) -> Result<Vec<Passed>> {
        rights.check_global(Privilege::CreateUser)?;
        self.change(|list| {
            let mut passed = Vec::new();
            for user in users {
                let name = resolve(user, &rights.account);
                let Some(account) = list.iter_mut().find(|a| a.is_key(&name)) else {
                    if ignore_unknown {
                        let message = format!("Authorization ID {} does not exist.", name.user);
                        passed.push((ErrorCode::UserDoesNotExist, message));
                        continue;
                    }
                    let message = "Can't revoke all privileges for one or more of the requested users";
                    return Err(SqlError::new(ErrorCode::RevokeAllGrants, message));
                };
                check_may_change(rights, account)?;
                account.global = Privileges::NONE;
                account.dynamic.clear();
                account.patterns.clear();
                account.tables.clear();
            }
            Ok(passed)
        })
    }
}

/// Error 1141, for a table 1147.
fn no_such_grant(name: &AccountKey, object: &Object) -> SqlError {
    match object {
        Object::Table(_, table) => {
            let message = format!(
                "There is no such grant defined for user '{}' on host '{}' on table '{table}'",
                name.user, name.host
            );
            SqlError::new(ErrorCode::NonExistingTableGrant, message)
        }
        _ => SqlError::no_such_grant(&name.user, &name.host),
    }
}

fn give(account: &mut AccountEntry, object: &Object, wanted: &Wanted, grants: bool, (grantor, now): (&str, i64)) {
    match object {
        Object::Everything => {
            account.global = account.global.union(wanted.whole);
            for name in &wanted.dynamic {
                *account.dynamic.entry(name.clone()).or_default() |= grants;
            }
        }
        Object::Databases(pattern) if !wanted.whole.is_empty() => {
            let known = account.patterns.entry(pattern.clone()).or_default();
            *known = known.union(wanted.whole);
        }
        Object::Table(database, table) if !wanted.whole.is_empty() || !wanted.columns.is_empty() => {
            let tables = account.tables.entry(database.clone()).or_default();
            let known = tables.entry(table.clone()).or_default();
            known.privileges = known.privileges.union(wanted.whole);
            for (p, columns) in &wanted.columns {
                for column in columns {
                    let set = known.columns.entry(column.clone()).or_default();
                    *set = set.with(*p);
                }
            }
            (known.grantor, known.changed) = (grantor.to_owned(), now);
        }
        Object::Databases(_) | Object::Table(..) => {}
    }
}

/// Returns false if the account has no such grant.
fn take(account: &mut AccountEntry, object: &Object, wanted: &Wanted) -> bool {
    match object {
        Object::Everything => {
            account.global = account.global.without(wanted.whole);
            match wanted.all {
                true => account.dynamic.clear(),
                false => account.dynamic.retain(|name, _| !wanted.dynamic.contains(name)),
            }
            true
        }
        Object::Databases(pattern) => {
            let Some(known) = account.patterns.get_mut(pattern) else { return false };
            *known = known.without(wanted.whole);
            if known.is_empty() {
                account.patterns.remove(pattern);
            }
            true
        }
        Object::Table(database, table) => take_table(account, database, table, wanted),
    }
}

fn take_table(account: &mut AccountEntry, database: &str, table: &str, wanted: &Wanted) -> bool {
    let Some(tables) = account.tables.get_mut(database) else { return false };
    let Some(known) = tables.get_mut(table) else { return false };
    for (p, columns) in &wanted.columns {
        for column in columns {
            let Some((_, set)) = known.columns.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(column)) else {
                return false;
            };
            *set = set.without(Privileges::NONE.with(*p));
        }
    }
    known.privileges = known.privileges.without(wanted.whole);
    // A privilege that is taken from the table is taken from its columns.
    known.columns.values_mut().for_each(|set| *set = set.without(wanted.whole));
    known.columns.retain(|_, set| !set.is_empty());
    if known.is_empty() {
        tables.remove(table);
    }
    if tables.is_empty() {
        account.tables.remove(database);
    }
    true
}
