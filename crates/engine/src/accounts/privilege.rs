//! MySQL's static privileges, as a set.

use muster_types::{Result, SqlError};
use serde::{Deserialize, Serialize};

/// A set of privileges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Privileges(u64);

/// One privilege: its bit. The order is that of SHOW GRANTS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
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
    CreateRole,
    DropRole,
    GrantOption,
}

use Privilege::*;

/// Name, and whether it can be given for one database (else only for all: `*.*`).
const ALL: [(Privilege, &str, bool); 31] = [
    (Select, "SELECT", true),
    (Insert, "INSERT", true),
    (Update, "UPDATE", true),
    (Delete, "DELETE", true),
    (Create, "CREATE", true),
    (Drop, "DROP", true),
    (Reload, "RELOAD", false),
    (Shutdown, "SHUTDOWN", false),
    (Process, "PROCESS", false),
    (File, "FILE", false),
    (References, "REFERENCES", true),
    (Index, "INDEX", true),
    (Alter, "ALTER", true),
    (ShowDatabases, "SHOW DATABASES", false),
    (Super, "SUPER", false),
    (CreateTemporaryTables, "CREATE TEMPORARY TABLES", true),
    (LockTables, "LOCK TABLES", true),
    (Execute, "EXECUTE", true),
    (ReplicationSlave, "REPLICATION SLAVE", false),
    (ReplicationClient, "REPLICATION CLIENT", false),
    (CreateView, "CREATE VIEW", true),
    (ShowView, "SHOW VIEW", true),
    (CreateRoutine, "CREATE ROUTINE", true),
    (AlterRoutine, "ALTER ROUTINE", true),
    (CreateUser, "CREATE USER", false),
    (Event, "EVENT", true),
    (Trigger, "TRIGGER", true),
    (CreateTablespace, "CREATE TABLESPACE", false),
    (CreateRole, "CREATE ROLE", false),
    (DropRole, "DROP ROLE", false),
    (GrantOption, "GRANT OPTION", true),
];

impl Privilege {
    fn bit(self) -> u64 {
        1 << self as u32
    }

    pub fn name(self) -> &'static str {
        ALL[self as usize].1
    }
}

impl Privileges {
    pub const NONE: Privileges = Privileges(0);

    /// Everything that `*.*` can have, GRANT OPTION included.
    pub fn all_global() -> Privileges {
        ALL.iter().fold(Privileges::NONE, |set, (p, ..)| set.with(*p))
    }

    /// `ALL PRIVILEGES` at a level: without GRANT OPTION.
    pub fn all(global: bool) -> Privileges {
        let at_level = ALL.iter().filter(|(p, _, database)| *p != GrantOption && (global || *database));
        at_level.fold(Privileges::NONE, |set, (p, ..)| set.with(*p))
    }

    #[must_use]
    pub fn with(self, p: Privilege) -> Privileges {
        Privileges(self.0 | p.bit())
    }

    #[must_use]
    pub fn union(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }

    #[must_use]
    pub fn without(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }

    /// Returns the privileges among these that concern databases and what is in them.
    #[must_use]
    pub fn of_databases(self) -> Privileges {
        Privileges(self.0 & Privileges::all(false).with(GrantOption).0)
    }

    pub fn has(self, p: Privilege) -> bool {
        self.0 & p.bit() != 0
    }

    pub fn contains(self, other: Privileges) -> bool {
        other.0 & !self.0 == 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All names, and whether they can be given for one database.
    pub fn names() -> impl Iterator<Item = (&'static str, bool)> {
        ALL.iter().map(|(_, name, database)| (*name, *database))
    }

    /// The privileges named in GRANT or REVOKE. Error 1221 for one that the level does not have, 1235 for one that
    /// is not known.
    pub fn parse(names: &[String], global: bool) -> Result<Privileges> {
        names.iter().try_fold(Privileges::NONE, |set, name| match name.as_str() {
            "ALL" | "ALL PRIVILEGES" => Ok(set.union(Privileges::all(global))),
            "USAGE" => Ok(set),
            name => match ALL.iter().find(|(_, n, _)| *n == name) {
                Some((p, _, database)) if global || *database => Ok(set.with(*p)),
                Some(_) => Err(SqlError::new(
                    muster_types::ErrorCode::WrongUsage,
                    "Incorrect usage of DB GRANT and GLOBAL PRIVILEGES",
                )),
                None => Err(SqlError::unsupported(format!("GRANT {name}"))),
            },
        })
    }

    /// Returns the words of SHOW GRANTS: `USAGE` for none, `ALL PRIVILEGES` for all of a database. GRANT OPTION is not
    /// named here.
    pub fn describe(self, global: bool) -> String {
        let set = self.without(Privileges::NONE.with(GrantOption));
        if set.is_empty() {
            return "USAGE".into();
        }
        if !global && set == Privileges::all(false) {
            return "ALL PRIVILEGES".into();
        }
        let names: Vec<&str> = ALL.iter().filter(|(p, ..)| set.has(*p)).map(|(_, name, _)| *name).collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_at_their_bits() {
        for (p, name, _) in ALL {
            assert_eq!(p.name(), name);
        }
    }

    #[test]
    fn levels() {
        let names = |list: &[&str]| list.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        assert_eq!(
            Privileges::parse(&names(&["SELECT", "CREATE VIEW"]), false).unwrap().describe(false),
            "SELECT, CREATE VIEW"
        );
        assert_eq!(Privileges::parse(&names(&["ALL PRIVILEGES"]), false).unwrap().describe(false), "ALL PRIVILEGES");
        assert_eq!(Privileges::parse(&names(&["USAGE"]), true).unwrap().describe(true), "USAGE");
        let e = Privileges::parse(&names(&["PROCESS"]), false).unwrap_err();
        assert_eq!(e.code.number(), 1221);
        assert!(!Privileges::all(false).has(CreateUser) && !Privileges::all(true).has(GrantOption));
    }
}
