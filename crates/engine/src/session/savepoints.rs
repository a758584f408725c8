//! SAVEPOINT, ROLLBACK TO and RELEASE: names only, since every statement reads what is committed and writes nothing that
//! could be taken back.

use super::state::State;
use crate::statement::Done;
use muster_types::{ErrorCode, Result, SqlError};

impl State {
    pub fn savepoint(&mut self, name: &str) -> Result<Done> {
        self.savepoints.push(name.to_lowercase());
        Ok(Done::default())
    }

    /// The savepoint itself stays.
    pub fn rollback_to_savepoint(&mut self, name: &str) -> Result<Done> {
        let at = self.find_savepoint(name)?;
        self.savepoints.truncate(at + 1);
        Ok(Done::default())
    }

    pub fn release_savepoint(&mut self, name: &str) -> Result<Done> {
        let at = self.find_savepoint(name)?;
        self.savepoints.truncate(at);
        Ok(Done::default())
    }

    /// Error 1305.
    fn find_savepoint(&self, name: &str) -> Result<usize> {
        let name = name.to_lowercase();
        self.savepoints
            .iter()
            .rposition(|s| *s == name)
            .ok_or_else(|| SqlError::new(ErrorCode::FunctionDoesNotExist, format!("SAVEPOINT {name} does not exist")))
    }
}
