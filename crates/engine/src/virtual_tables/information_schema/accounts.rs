//! The rows of the tables of accounts and rights. Who may not read the schema `mysql` sees the own ones only.

use super::{account_tables::COLUMN_PRIVILEGES, account_tables::TABLE_PRIVILEGES, optional, text, yes_no};
use crate::{
    accounts::{AccountEntry, AccountKey, Level, Privilege, Privileges, TableRights, Tls, with_inherited},
    statement::StatementContext,
    system_schema,
};
use muster_types::{Value, json, temporal::EpochMicros};

type TableRows = Vec<Vec<Value>>;

/// `N` or `Y`, by its position in the column's type.
fn flag(on: bool) -> Value {
    Value::UInt(if on { 2 } else { 1 })
}

/// A JSON object; NULL for an empty text.
fn json(text: &str) -> Value {
    json::parse_to_bytes(text).map_or(Value::Null, Value::Json)
}

/// A moment in microseconds of UTC as a TIMESTAMP column of whole seconds stores it.
fn at(micros: i64) -> Value {
    const SECOND: i64 = 1_000_000;
    Value::DateTime(EpochMicros(micros).datetime().div_euclid(SECOND) * SECOND)
}

/// A moment; NULL where none was noted.
fn moment(micros: i64) -> Value {
    if micros == 0 { Value::Null } else { at(micros) }
}

/// The columns `.._priv` of mysql.db, in their order.
const OF_DATABASES: [Privilege; 19] = {
    use Privilege::*;
    [
        Select,
        Insert,
        Update,
        Delete,
        Create,
        Drop,
        GrantOption,
        References,
        Index,
        Alter,
        CreateTemporaryTables,
        LockTables,
        CreateView,
        ShowView,
        CreateRoutine,
        AlterRoutine,
        Execute,
        Event,
        Trigger,
    ]
};

/// The columns `.._priv` of mysql.user but the last two, in their order.
const OF_USERS: [Privilege; 29] = {
    use Privilege::*;
    [
        Select,
        Insert,
        Update,
        Delete,
        Create,
        Drop,
        Reload,
        Shutdown,
        Process,
        File,
        GrantOption,
        References,
        Index,
        Alter,
        ShowDatabases,
        Super,
        CreateTemporaryTables,
        LockTables,
        Execute,
        ReplicationSlave,
        ReplicationClient,
        CreateView,
        ShowView,
        CreateRoutine,
        AlterRoutine,
        CreateUser,
        Event,
        Trigger,
        CreateTablespace,
    ]
};

/// The privileges of a SET column: the bits of its words.
fn set_of(set: Privileges, words: &[&str]) -> Value {
    let has = |word: &str| match word {
        "Grant" => set.has(Privilege::GrantOption),
        word => Privileges::named(&word.to_uppercase()).is_some_and(|(p, _)| set.has(p)),
    };
    let bits = words.iter().enumerate().filter(|(_, word)| has(word)).map(|(bit, _)| 1u64 << bit);
    Value::UInt(bits.sum())
}

fn sorted(context: &StatementContext) -> Vec<AccountEntry> {
    let mut all = context.database.accounts().list().to_vec();
    all.sort_by_key(|entry| (entry.host.clone(), entry.user.clone()));
    all
}

/// mysql.user.
pub(super) fn user(context: &StatementContext) -> TableRows {
    sorted(context).iter().map(user_row).collect()
}

fn user_row(entry: &AccountEntry) -> Vec<Value> {
    let bytes = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    let (tls, subject, issuer, cipher) = match &entry.tls {
        Tls::None => (1, "", "", ""),
        Tls::Ssl => (2, "", "", ""),
        Tls::X509 => (3, "", "", ""),
        Tls::Certificate { subject, issuer, cipher } => (4, subject.as_str(), issuer.as_str(), cipher.as_str()),
    };
    let rules = &entry.password;
    let small = |n: Option<u16>| optional(n, |n| Value::UInt(n.into()));
    let mut row = vec![text(&entry.host), text(&entry.user)];
    row.extend(OF_USERS.iter().map(|p| flag(entry.global.has(*p))));
    row.extend([Value::UInt(tls), bytes(cipher), bytes(issuer), bytes(subject)]);
    row.extend([0, 0, 0, u64::from(entry.connections_max)].map(Value::UInt));
    row.extend([
        text(&entry.plugin),
        text(&entry.authentication_string),
        flag(rules.expired),
        moment(rules.changed),
        small(rules.lifetime),
        flag(entry.locked),
        flag(entry.global.has(Privilege::CreateRole)),
        flag(entry.global.has(Privilege::DropRole)),
        small(rules.history),
        small(rules.reuse_days),
        optional(rules.requires_current, flag),
        user_attributes(entry),
    ]);
    row
}

/// The parts of an account that MySQL keeps as JSON.
fn user_attributes(entry: &AccountEntry) -> Value {
    let rules = &entry.password;
    let mut members = Vec::new();
    if !entry.attribute.is_empty() {
        members.push(format!("\"metadata\": {}", entry.attribute));
    }
    if rules.failed_logins_max > 0 || rules.lock_days != 0 {
        members.push(format!(
            "\"Password_locking\": {{\"failed_login_attempts\": {}, \"password_lock_time_days\": {}}}",
            rules.failed_logins_max, rules.lock_days
        ));
    }
    if members.is_empty() { Value::Null } else { json(&format!("{{{}}}", members.join(", "))) }
}

/// mysql.db.
pub(super) fn db(context: &StatementContext) -> TableRows {
    let row = |entry: &AccountEntry, pattern: &str, set: Privileges| {
        let names = [text(&entry.host), text(pattern), text(&entry.user)];
        names.into_iter().chain(OF_DATABASES.iter().map(|p| flag(set.has(*p)))).collect()
    };
    let all = sorted(context);
    all.iter().flat_map(|entry| entry.patterns.iter().map(move |(pattern, set)| row(entry, pattern, *set))).collect()
}

/// Each account with its rights on tables: database, table, rights.
fn tables_of(entry: &AccountEntry) -> impl Iterator<Item = (&str, &str, &TableRights)> {
    let tables = entry.tables.iter();
    tables.flat_map(|(database, tables)| tables.iter().map(move |(table, rights)| (&**database, &**table, rights)))
}

/// mysql.tables_priv.
pub(super) fn tables_priv(context: &StatementContext) -> TableRows {
    let mut rows = Vec::new();
    for entry in sorted(context) {
        for (database, table, rights) in tables_of(&entry) {
            let mut row: Vec<Value> = [&*entry.host, database, &entry.user, table, &rights.grantor].map(text).to_vec();
            row.push(moment(rights.changed));
            row.push(set_of(rights.privileges, &TABLE_PRIVILEGES));
            row.push(set_of(rights.of_columns(), &COLUMN_PRIVILEGES));
            rows.push(row);
        }
    }
    rows
}

/// mysql.columns_priv.
pub(super) fn columns_priv(context: &StatementContext) -> TableRows {
    let mut rows = Vec::new();
    for entry in sorted(context) {
        for (database, table, rights) in tables_of(&entry) {
            for (column, set) in &rights.columns {
                let mut row: Vec<Value> = [&*entry.host, database, &entry.user, table, column].map(text).to_vec();
                row.extend([moment(rights.changed), set_of(*set, &COLUMN_PRIVILEGES)]);
                rows.push(row);
            }
        }
    }
    rows
}

/// mysql.global_grants.
pub(super) fn global_grants(context: &StatementContext) -> TableRows {
    let row = |entry: &AccountEntry, name: &str, grants: bool| {
        vec![text(&entry.user), text(&entry.host), text(name), flag(grants)]
    };
    let all = sorted(context);
    all.iter().flat_map(|entry| entry.dynamic.iter().map(move |(name, grants)| row(entry, name, *grants))).collect()
}

/// mysql.role_edges.
pub(super) fn role_edges(context: &StatementContext) -> TableRows {
    let mut rows = Vec::new();
    for entry in sorted(context) {
        for granted in &entry.roles {
            let names = [&granted.role.host, &granted.role.user, &entry.host, &entry.user].map(text);
            rows.push(names.into_iter().chain([flag(granted.admin_option)]).collect::<Vec<Value>>());
        }
    }
    rows.sort_by_key(|row| row.iter().map(|value| value.to_text(0)).collect::<Vec<_>>());
    rows
}

/// mysql.default_roles.
pub(super) fn default_roles(context: &StatementContext) -> TableRows {
    let row =
        |entry: &AccountEntry, role: &AccountKey| [&entry.host, &entry.user, &role.host, &role.user].map(text).to_vec();
    let all = sorted(context);
    all.iter().flat_map(|entry| entry.default_roles.iter().map(move |role| row(entry, role))).collect()
}

/// mysql.password_history.
pub(super) fn password_history(context: &StatementContext) -> TableRows {
    let mut rows = Vec::new();
    for entry in sorted(context) {
        for used in &entry.password.used {
            let moment = at(used.at);
            let password = text(&used.authentication_string);
            rows.push(vec![text(&entry.host), text(&entry.user), moment, password]);
        }
    }
    rows
}

/// The accounts whose rights the session may see: all, or its own.
fn visible(context: &StatementContext) -> Vec<AccountEntry> {
    let rights = &context.rights;
    let sees_all = rights.on_database(system_schema::MYSQL).has(Privilege::Select);
    sorted(context).into_iter().filter(|entry| sees_all || entry.is_key(&rights.account)).collect()
}

/// The names of privileges, `USAGE` for none.
fn privilege_types(set: Privileges) -> Vec<&'static str> {
    let names = set.names();
    if names.is_empty() { vec!["USAGE"] } else { names }
}

/// USER_PRIVILEGES.
pub(super) fn user_privileges(context: &StatementContext) -> TableRows {
    let mut rows = Vec::new();
    for entry in visible(context) {
        let grantee = entry.key().in_quotes();
        let grants = entry.global.has(Privilege::GrantOption);
        let fixed = privilege_types(entry.global).into_iter().map(|name| (name, grants));
        for (name, grants) in fixed.chain(entry.dynamic.iter().map(|(name, grants)| (name.as_str(), *grants))) {
            rows.push(vec![text(&grantee), text("def"), text(name), yes_no(grants)]);
        }
    }
    rows
}

/// A row of who has which privilege on what, and whether it may be granted on.
fn granted<const N: usize>(names: [&str; N], grants: &Value) -> Vec<Value> {
    names.map(text).into_iter().chain([grants.clone()]).collect()
}

/// SCHEMA_PRIVILEGES.
pub(super) fn schema_privileges(context: &StatementContext) -> TableRows {
    let mut rows = Vec::new();
    for entry in visible(context) {
        for (pattern, set) in &entry.patterns {
            let grants = yes_no(set.has(Privilege::GrantOption));
            for name in privilege_types(*set) {
                rows.push(granted([&*entry.key().in_quotes(), "def", pattern, name], &grants));
            }
        }
    }
    rows
}

/// TABLE_PRIVILEGES.
pub(super) fn table_privileges(context: &StatementContext) -> TableRows {
    let mut rows = Vec::new();
    for entry in visible(context) {
        for (database, table, rights) in tables_of(&entry) {
            let grants = yes_no(rights.privileges.has(Privilege::GrantOption));
            let whole = rights.privileges.without_grant_option();
            if whole.is_empty() && !rights.columns.is_empty() {
                continue;
            }
            for name in privilege_types(whole) {
                rows.push(granted([&*entry.key().in_quotes(), "def", database, table, name], &grants));
            }
        }
    }
    rows
}

/// COLUMN_PRIVILEGES.
pub(super) fn column_privileges(context: &StatementContext) -> TableRows {
    let mut rows = Vec::new();
    for entry in visible(context) {
        for (database, table, rights) in tables_of(&entry) {
            let grants = yes_no(rights.privileges.has(Privilege::GrantOption));
            for (p, name, _) in Privileges::known().filter(|(.., level)| *level == Level::Column) {
                for (column, _) in rights.columns.iter().filter(|(_, set)| set.has(p)) {
                    rows.push(granted([&*entry.key().in_quotes(), "def", database, table, column, name], &grants));
                }
            }
        }
    }
    rows
}

/// USER_ATTRIBUTES.
pub(super) fn attributes(context: &StatementContext) -> TableRows {
    let row = |entry: &AccountEntry| vec![text(&entry.user), text(&entry.host), json(&entry.attribute)];
    visible(context).iter().map(row).collect()
}

/// APPLICABLE_ROLES: the roles that the account has been granted, be it through others. `admin_only`:
/// ADMINISTRABLE_ROLE_AUTHORIZATIONS.
pub(super) fn applicable_roles(context: &StatementContext, admin_only: bool) -> TableRows {
    let (own, list) = (&context.rights.account, context.database.accounts().list());
    let mandatory = context.database.mandatory_roles();
    let Some(entry) = context.rights.entry() else { return Vec::new() };
    let granted: Vec<AccountKey> = entry.roles.iter().map(|granted| granted.role.clone()).collect();
    let reached: Vec<AccountKey> = granted.into_iter().chain(mandatory.iter().cloned()).collect();
    let grantees = std::iter::once(entry).chain(with_inherited(&list, &reached));
    let mut rows = Vec::new();
    for grantee in grantees {
        let edges = grantee.roles.iter().map(|granted| (&granted.role, granted.admin_option, false));
        let of_all = mandatory.iter().filter(|_| grantee.is_key(own)).map(|role| (role, false, true));
        for (role, admin, is_mandatory) in edges.chain(of_all).filter(|(_, admin, _)| *admin || !admin_only) {
            let names = [&own.user, &own.host, &grantee.user, &grantee.host, &role.user, &role.host].map(text);
            let is_default = yes_no(entry.default_roles.contains(role));
            rows.push(names.into_iter().chain([yes_no(admin), is_default, yes_no(is_mandatory)]).collect());
        }
    }
    rows
}

/// ENABLED_ROLES.
pub(super) fn enabled_roles(context: &StatementContext) -> TableRows {
    let mandatory = context.database.mandatory_roles();
    let defaults = context.rights.entry().map_or_else(Vec::new, |entry| entry.default_roles.clone());
    let roles = context.rights.counting_roles().iter();
    let row = |role: &AccountKey| {
        let (is_default, is_mandatory) = (defaults.contains(role), mandatory.contains(role));
        vec![text(&role.user), text(&role.host), yes_no(is_default), yes_no(is_mandatory)]
    };
    roles.map(row).collect()
}

/// The first values of rows of ROLE_TABLE_GRANTS and ROLE_COLUMN_GRANTS.
fn granted_by(role: &AccountEntry, rights: &TableRights, database: &str, table: &str) -> Vec<Value> {
    let (grantor, host) = rights.grantor.rsplit_once('@').unwrap_or((&rights.grantor, ""));
    [grantor, host, &role.user, &role.host, "def", database, table].map(text).to_vec()
}

/// ROLE_TABLE_GRANTS: the rights of active roles on tables.
pub(super) fn role_table_grants(context: &StatementContext) -> TableRows {
    let mut rows = Vec::new();
    for role in context.rights.active_entries() {
        for (database, table, rights) in tables_of(role).filter(|(.., rights)| !rights.privileges.is_empty()) {
            let mut row = granted_by(role, rights, database, table);
            row.push(set_of(rights.privileges, &TABLE_PRIVILEGES));
            row.push(yes_no(rights.privileges.has(Privilege::GrantOption)));
            rows.push(row);
        }
    }
    rows
}

/// ROLE_COLUMN_GRANTS: the rights of active roles on columns.
pub(super) fn role_column_grants(context: &StatementContext) -> TableRows {
    let mut rows = Vec::new();
    for role in context.rights.active_entries() {
        for (database, table, rights) in tables_of(role) {
            for (column, set) in &rights.columns {
                let mut row = granted_by(role, rights, database, table);
                row.extend([text(column), set_of(*set, &COLUMN_PRIVILEGES)]);
                row.push(yes_no(rights.privileges.has(Privilege::GrantOption)));
                rows.push(row);
            }
        }
    }
    rows
}
