//! The privileges that GRANT and REVOKE name.

use super::{Level, Privilege, Privileges, dynamic};
use muster_sql::Grant;
use muster_types::{ErrorCode, Result, SqlError};

/// The privileges that a statement gives or takes.
#[derive(Debug, Default)]
pub struct Wanted {
    pub level: Option<Level>,
    /// Static privileges, GRANT OPTION among them.
    pub whole: Privileges,
    /// Privileges on columns.
    pub columns: Vec<(Privilege, Vec<String>)>,
    pub dynamic: Vec<String>,
    /// True for ALL PRIVILEGES.
    pub all: bool,
    /// Dynamic privileges that do not exist.
    pub unknown: Vec<String>,
    /// Error of a privilege that the level does not have. Who may not do it at all is told of that first.
    refused: Option<SqlError>,
}

fn illegal_for_table() -> SqlError {
    let message = "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used";
    SqlError::new(ErrorCode::IllegalGrantForTable, message)
}

impl Wanted {
    /// `table`: the name that error 3619 shows at that level.
    pub fn of(grant: &Grant, level: Level, table: &str) -> Wanted {
        let mut wanted = Wanted { level: Some(level), ..Wanted::default() };
        for item in &grant.privileges {
            match item.name.as_str() {
                "ALL PRIVILEGES" => {
                    wanted.all = true;
                    wanted.whole = wanted.whole.union(Privileges::all(level));
                    if level == Level::Global {
                        wanted.dynamic.extend(dynamic::NAMES.map(str::to_owned));
                    }
                }
                "USAGE" => {}
                name => match Privileges::named(name) {
                    Some((p, smallest)) => wanted.add(p, smallest, &item.columns),
                    None if level != Level::Global => {
                        let shown = if level == Level::Table { table } else { name };
                        let message = format!("Illegal privilege level specified for {shown}");
                        wanted.refuse(SqlError::new(ErrorCode::IllegalPrivilegeLevel, message));
                    }
                    None if dynamic::is_name(name) => wanted.dynamic.push(name.to_owned()),
                    None => wanted.unknown.push(name.to_owned()),
                },
            }
        }
        if grant.grant_option && (wanted.dynamic.is_empty() || wanted.all || !wanted.whole.is_empty()) {
            wanted.whole = wanted.whole.with(Privilege::GrantOption);
        }
        wanted
    }

    fn add(&mut self, p: Privilege, smallest: Level, columns: &[String]) {
        let level = self.level.unwrap_or(Level::Global);
        if !columns.is_empty() {
            match level {
                Level::Table => self.columns.push((p, columns.to_vec())),
                _ => self.refuse(illegal_for_table()),
            }
            return;
        }
        if smallest < level {
            self.refuse(match level {
                Level::Table | Level::Column => illegal_for_table(),
                _ => SqlError::new(ErrorCode::WrongUsage, "Incorrect usage of DB GRANT and GLOBAL PRIVILEGES"),
            });
        }
        self.whole = self.whole.with(p);
    }

    fn refuse(&mut self, error: SqlError) {
        self.refused.get_or_insert(error);
    }

    /// The privileges on columns, as if they were on the table.
    pub fn of_columns(&self) -> Privileges {
        self.columns.iter().fold(Privileges::NONE, |all, (p, _)| all.with(*p))
    }

    /// Errors: 1144, 1221 and 3619 for what the level does not have; 1149 for an unknown dynamic privilege, unless
    /// `if_exists`.
    pub fn check(&mut self, if_exists: bool) -> Result<()> {
        if let Some(refused) = self.refused.take() {
            return Err(refused);
        }
        if !self.unknown.is_empty() && !if_exists {
            let message = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server \
                           version for the right syntax to use";
            return Err(SqlError::new(ErrorCode::SyntaxError, message));
        }
        Ok(())
    }
}
