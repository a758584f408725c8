//! MySQL's static privileges, as a set.

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

/// The object that a privilege is given for. The smaller it can be, the later it stands here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// `*.*`.
    Global,
    Database,
    Table,
    Column,
}

use Level::*;

/// Name, and the smallest thing that it can be given for.
const ALL: [(Privilege, &str, Level); 31] = [
    (Select, "SELECT", Column),
    (Insert, "INSERT", Column),
    (Update, "UPDATE", Column),
    (Delete, "DELETE", Table),
    (Create, "CREATE", Table),
    (Drop, "DROP", Table),
    (Reload, "RELOAD", Global),
    (Shutdown, "SHUTDOWN", Global),
    (Process, "PROCESS", Global),
    (File, "FILE", Global),
    (References, "REFERENCES", Column),
    (Index, "INDEX", Table),
    (Alter, "ALTER", Table),
    (ShowDatabases, "SHOW DATABASES", Global),
    (Super, "SUPER", Global),
    (CreateTemporaryTables, "CREATE TEMPORARY TABLES", Database),
    (LockTables, "LOCK TABLES", Database),
    (Execute, "EXECUTE", Database),
    (ReplicationSlave, "REPLICATION SLAVE", Global),
    (ReplicationClient, "REPLICATION CLIENT", Global),
    (CreateView, "CREATE VIEW", Table),
    (ShowView, "SHOW VIEW", Table),
    (CreateRoutine, "CREATE ROUTINE", Database),
    (AlterRoutine, "ALTER ROUTINE", Database),
    (CreateUser, "CREATE USER", Global),
    (Event, "EVENT", Database),
    (Trigger, "TRIGGER", Table),
    (CreateTablespace, "CREATE TABLESPACE", Global),
    (CreateRole, "CREATE ROLE", Global),
    (DropRole, "DROP ROLE", Global),
    (GrantOption, "GRANT OPTION", Table),
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

    /// All that a level has, GRANT OPTION included.
    pub fn of_level(level: Level) -> Privileges {
        let at_level = ALL.iter().filter(|(.., smallest)| *smallest >= level);
        at_level.fold(Privileges::NONE, |set, (p, ..)| set.with(*p))
    }

    /// `ALL PRIVILEGES` at a level: without GRANT OPTION.
    pub fn all(level: Level) -> Privileges {
        Privileges::of_level(level).without_grant_option()
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

    #[must_use]
    pub fn without_grant_option(self) -> Privileges {
        self.without(Privileges::NONE.with(GrantOption))
    }

    /// Returns the privileges that are in both sets.
    #[must_use]
    pub fn both(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
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

    /// All privileges with their names, and the smallest thing that each can be given for.
    pub fn known() -> impl Iterator<Item = (Privilege, &'static str, Level)> {
        ALL.iter().copied()
    }

    /// The privilege of this name; GRANT OPTION has none.
    pub fn named(name: &str) -> Option<(Privilege, Level)> {
        let named = ALL.iter().find(|(p, known, _)| *known == name && *p != GrantOption);
        named.map(|(p, _, level)| (*p, *level))
    }

    /// The names in MySQL's order, without GRANT OPTION.
    pub fn names(self) -> Vec<&'static str> {
        let listed = ALL.iter().filter(|(p, ..)| self.has(*p) && *p != GrantOption);
        listed.map(|(_, name, _)| *name).collect()
    }

    /// The words of SHOW GRANTS: `USAGE` for none, `ALL PRIVILEGES` for all of a database or a table. GRANT OPTION is
    /// not named here.
    pub fn describe(self, level: Level) -> String {
        let set = self.without_grant_option();
        if set.is_empty() {
            return "USAGE".into();
        }
        if level != Global && set == Privileges::all(level) {
            return "ALL PRIVILEGES".into();
        }
        set.names().join(", ")
    }

    /// The words of error 1142, in the order of mysql.user's columns.
    pub fn in_message(self) -> String {
        let before = Privileges(self.0 & (References.bit() - 1));
        let mut names = before.names();
        if self.has(GrantOption) {
            names.push("GRANT");
        }
        names.extend(self.without(before).names());
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
        let set = Privileges::NONE.with(Select).with(CreateView).with(GrantOption);
        assert_eq!(set.describe(Database), "SELECT, CREATE VIEW");
        assert_eq!(set.with(References).in_message(), "SELECT, GRANT, REFERENCES, CREATE VIEW");
        assert_eq!(Privileges::all(Database).describe(Database), "ALL PRIVILEGES");
        assert_eq!(Privileges::all(Table).describe(Table), "ALL PRIVILEGES");
        assert_eq!(Privileges::NONE.describe(Global), "USAGE");
        assert_eq!(Privileges::all(Column).describe(Column), "ALL PRIVILEGES");
        assert!(!Privileges::all(Database).has(CreateUser) && !Privileges::all(Global).has(GrantOption));
        assert_eq!(Privileges::named("EVENT"), Some((Event, Database)));
    }
}
