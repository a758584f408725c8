//! The tables of accounts and rights in `mysql` and `information_schema`: their columns.

use crate::system_schema::{MYSQL, NAME};
use muster_algebra::ColumnDef;
use muster_types::{BytesKind, Collation, IntWidth, MemberList, SqlType, TextKind};

/// Types that the columns have.
#[derive(Clone, Copy)]
enum Ty {
    /// Exact text of this many characters.
    Char(u32),
    /// Text without case.
    Text(u32),
    Long,
    Json,
    Blob,
    /// `N` or `Y`.
    Flag,
    TlsType,
    TablePrivileges,
    ColumnPrivileges,
    RoutinePrivileges,
    RoutineType,
    Bool,
    UInt,
    USmall,
    Timestamp,
}

use Ty::*;

pub(super) const TLS_TYPES: [&str; 4] = ["", "ANY", "X509", "SPECIFIED"];
/// The words of `tables_priv.Table_priv`, in the order of their bits.
#[rustfmt::skip]
pub(super) const TABLE_PRIVILEGES: [&str; 13] = [
    "Select", "Insert", "Update", "Delete", "Create", "Drop", "Grant", "References", "Index", "Alter", "Create View",
    "Show view", "Trigger",
];
/// The words of `columns_priv.Column_priv`, in the order of their bits.
pub(super) const COLUMN_PRIVILEGES: [&str; 4] = ["Select", "Insert", "Update", "References"];
const ROUTINE_PRIVILEGES: [&str; 3] = ["Execute", "Alter Routine", "Grant"];

/// A `?` at the end of a column's name: nullable.
type Columns = &'static [(&'static str, Ty)];

#[rustfmt::skip]
const TABLES: &[(&str, &str, Columns)] = &[
    (MYSQL, "columns_priv", &[
        ("Host", Char(255)), ("Db", Char(64)), ("User", Char(32)), ("Table_name", Char(64)), ("Column_name", Char(64)),
        ("Timestamp", Timestamp), ("Column_priv", ColumnPrivileges),
    ]),
    (MYSQL, "db", &[
        ("Host", Char(255)), ("Db", Char(64)), ("User", Char(32)), ("Select_priv", Flag), ("Insert_priv", Flag),
        ("Update_priv", Flag), ("Delete_priv", Flag), ("Create_priv", Flag), ("Drop_priv", Flag), ("Grant_priv", Flag),
        ("References_priv", Flag), ("Index_priv", Flag), ("Alter_priv", Flag), ("Create_tmp_table_priv", Flag),
        ("Lock_tables_priv", Flag), ("Create_view_priv", Flag), ("Show_view_priv", Flag), ("Create_routine_priv", Flag),
        ("Alter_routine_priv", Flag), ("Execute_priv", Flag), ("Event_priv", Flag), ("Trigger_priv", Flag),
    ]),
    (MYSQL, "default_roles", &[
        ("HOST", Char(255)), ("USER", Char(32)), ("DEFAULT_ROLE_HOST", Char(255)), ("DEFAULT_ROLE_USER", Char(32)),
    ]),
    (MYSQL, "global_grants", &[
        ("USER", Char(32)), ("HOST", Char(255)), ("PRIV", Char(32)), ("WITH_GRANT_OPTION", Flag),
    ]),
    (MYSQL, "password_history", &[
        ("Host", Char(255)), ("User", Char(32)), ("Password_timestamp", Timestamp), ("Password?", Long),
    ]),
    (MYSQL, "procs_priv", &[
        ("Host", Char(255)), ("Db", Char(64)), ("User", Char(32)), ("Routine_name", Char(64)),
        ("Routine_type", RoutineType), ("Grantor", Text(288)), ("Proc_priv", RoutinePrivileges), ("Timestamp", Timestamp),
    ]),
    (MYSQL, "proxies_priv", &[
        ("Host", Char(255)), ("User", Char(32)), ("Proxied_host", Char(255)), ("Proxied_user", Char(32)),
        ("With_grant", Bool), ("Grantor", Text(288)), ("Timestamp", Timestamp),
    ]),
    (MYSQL, "role_edges", &[
        ("FROM_HOST", Char(255)), ("FROM_USER", Char(32)), ("TO_HOST", Char(255)), ("TO_USER", Char(32)),
        ("WITH_ADMIN_OPTION", Flag),
    ]),
    (MYSQL, "tables_priv", &[
        ("Host", Char(255)), ("Db", Char(64)), ("User", Char(32)), ("Table_name", Char(64)), ("Grantor", Text(288)),
        ("Timestamp", Timestamp), ("Table_priv", TablePrivileges), ("Column_priv", ColumnPrivileges),
    ]),
    (MYSQL, "user", &[
        ("Host", Char(255)), ("User", Char(32)), ("Select_priv", Flag), ("Insert_priv", Flag), ("Update_priv", Flag),
        ("Delete_priv", Flag), ("Create_priv", Flag), ("Drop_priv", Flag), ("Reload_priv", Flag), ("Shutdown_priv", Flag),
        ("Process_priv", Flag), ("File_priv", Flag), ("Grant_priv", Flag), ("References_priv", Flag), ("Index_priv", Flag),
        ("Alter_priv", Flag), ("Show_db_priv", Flag), ("Super_priv", Flag), ("Create_tmp_table_priv", Flag),
        ("Lock_tables_priv", Flag), ("Execute_priv", Flag), ("Repl_slave_priv", Flag), ("Repl_client_priv", Flag),
        ("Create_view_priv", Flag), ("Show_view_priv", Flag), ("Create_routine_priv", Flag), ("Alter_routine_priv", Flag),
        ("Create_user_priv", Flag), ("Event_priv", Flag), ("Trigger_priv", Flag), ("Create_tablespace_priv", Flag),
        ("ssl_type", TlsType), ("ssl_cipher", Blob), ("x509_issuer", Blob), ("x509_subject", Blob), ("max_questions", UInt),
        ("max_updates", UInt), ("max_connections", UInt), ("max_user_connections", UInt), ("plugin", Char(64)),
        ("authentication_string?", Long), ("password_expired", Flag), ("password_last_changed?", Timestamp),
        ("password_lifetime?", USmall), ("account_locked", Flag), ("Create_role_priv", Flag), ("Drop_role_priv", Flag),
        ("Password_reuse_history?", USmall), ("Password_reuse_time?", USmall), ("Password_require_current?", Flag),
        ("User_attributes?", Json),
    ]),
    (NAME, "ADMINISTRABLE_ROLE_AUTHORIZATIONS", APPLICABLE),
    (NAME, "APPLICABLE_ROLES", APPLICABLE),
    (NAME, "COLUMN_PRIVILEGES", &[
        ("GRANTEE", Text(292)), ("TABLE_CATALOG", Text(512)), ("TABLE_SCHEMA", Text(64)), ("TABLE_NAME", Text(64)),
        ("COLUMN_NAME", Text(64)), ("PRIVILEGE_TYPE", Text(64)), ("IS_GRANTABLE", Text(3)),
    ]),
    (NAME, "ENABLED_ROLES", &[
        ("ROLE_NAME?", Text(255)), ("ROLE_HOST?", Text(255)), ("IS_DEFAULT?", Text(3)), ("IS_MANDATORY", Text(3)),
    ]),
    (NAME, "ROLE_COLUMN_GRANTS", &[
        ("GRANTOR?", Text(97)), ("GRANTOR_HOST?", Text(256)), ("GRANTEE", Char(32)), ("GRANTEE_HOST", Char(255)),
        ("TABLE_CATALOG", Text(3)), ("TABLE_SCHEMA", Char(64)), ("TABLE_NAME", Char(64)), ("COLUMN_NAME", Char(64)),
        ("PRIVILEGE_TYPE", ColumnPrivileges), ("IS_GRANTABLE", Text(3)),
    ]),
    (NAME, "ROLE_ROUTINE_GRANTS", &[
        ("GRANTOR?", Text(97)), ("GRANTOR_HOST?", Text(256)), ("GRANTEE", Char(32)), ("GRANTEE_HOST", Char(255)),
        ("SPECIFIC_CATALOG", Text(3)), ("SPECIFIC_SCHEMA", Char(64)), ("SPECIFIC_NAME", Char(64)),
        ("ROUTINE_CATALOG", Text(3)), ("ROUTINE_SCHEMA", Char(64)), ("ROUTINE_NAME", Char(64)),
        ("PRIVILEGE_TYPE", RoutinePrivileges), ("IS_GRANTABLE", Text(3)),
    ]),
    (NAME, "ROLE_TABLE_GRANTS", &[
        ("GRANTOR?", Text(97)), ("GRANTOR_HOST?", Text(256)), ("GRANTEE", Char(32)), ("GRANTEE_HOST", Char(255)),
        ("TABLE_CATALOG", Text(3)), ("TABLE_SCHEMA", Char(64)), ("TABLE_NAME", Char(64)),
        ("PRIVILEGE_TYPE", TablePrivileges), ("IS_GRANTABLE", Text(3)),
    ]),
    (NAME, "SCHEMA_PRIVILEGES", &[
        ("GRANTEE", Text(292)), ("TABLE_CATALOG", Text(512)), ("TABLE_SCHEMA", Text(64)), ("PRIVILEGE_TYPE", Text(64)),
        ("IS_GRANTABLE", Text(3)),
    ]),
    (NAME, "TABLE_PRIVILEGES", &[
        ("GRANTEE", Text(292)), ("TABLE_CATALOG", Text(512)), ("TABLE_SCHEMA", Text(64)), ("TABLE_NAME", Text(64)),
        ("PRIVILEGE_TYPE", Text(64)), ("IS_GRANTABLE", Text(3)),
    ]),
    (NAME, "USER_ATTRIBUTES", &[("USER", Char(32)), ("HOST", Char(255)), ("ATTRIBUTE?", Json)]),
    (NAME, "USER_PRIVILEGES", &[
        ("GRANTEE", Text(292)), ("TABLE_CATALOG", Text(512)), ("PRIVILEGE_TYPE", Text(64)), ("IS_GRANTABLE", Text(3)),
    ]),
];

#[rustfmt::skip]
const APPLICABLE: Columns = &[
    ("USER?", Text(97)), ("HOST?", Text(256)), ("GRANTEE?", Text(97)), ("GRANTEE_HOST?", Text(256)),
    ("ROLE_NAME?", Text(255)), ("ROLE_HOST?", Text(256)), ("IS_GRANTABLE", Text(3)), ("IS_DEFAULT?", Text(3)),
    ("IS_MANDATORY", Text(3)),
];

fn sql_type(ty: Ty) -> SqlType {
    let members = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        MemberList::new(names, Collation::SYSTEM)
    };
    let text = |kind, length, collation| SqlType::Text { kind, length, collation };
    match ty {
        Char(length) => text(TextKind::Char, length, Collation::Utf8mb3Bin),
        Text(length) => SqlType::varchar(length, Collation::SYSTEM),
        Long => text(TextKind::Text, u16::MAX.into(), Collation::Utf8mb3Bin),
        Json => SqlType::Json,
        Blob => SqlType::Bytes { kind: BytesKind::Blob, length: u16::MAX.into() },
        Flag => SqlType::Enum(members(&["N", "Y"])),
        TlsType => SqlType::Enum(members(&TLS_TYPES)),
        TablePrivileges => SqlType::Set(members(&TABLE_PRIVILEGES)),
        ColumnPrivileges => SqlType::Set(members(&COLUMN_PRIVILEGES)),
        RoutinePrivileges => SqlType::Set(members(&ROUTINE_PRIVILEGES)),
        RoutineType => SqlType::Enum(members(&["FUNCTION", "PROCEDURE"])),
        Bool => SqlType::Int { width: IntWidth::Tiny, unsigned: false },
        UInt => SqlType::Int { width: IntWidth::Int, unsigned: true },
        USmall => SqlType::Int { width: IntWidth::Small, unsigned: true },
        Timestamp => SqlType::Timestamp { fsp: 0 },
    }
}

/// Schema, name and columns of each table.
pub(super) fn definitions() -> impl Iterator<Item = (&'static str, &'static str, Vec<ColumnDef>)> {
    let column =
        |(name, ty): &(&str, Ty)| ColumnDef::plain(name.trim_end_matches('?'), sql_type(*ty), name.ends_with('?'));
    TABLES.iter().map(move |(schema, name, columns)| (*schema, *name, columns.iter().map(column).collect()))
}
