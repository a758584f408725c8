//! The character sets of a session: what the client speaks, what it wants to read, what its literals are. Text is UTF-8
//! inside; whoever talks to the client converts (manual 12.4, "Connection Character Sets and Collations").

use super::state::SessionState;
use crate::charset;
use muster_types::{Collation, Result, Value, charset::Charset};

impl SessionState {
    pub fn client_charset(&self) -> Charset {
        Charset::from_name(&self.variables.text("character_set_client")).unwrap_or(Charset::Utf8mb4)
    }

    pub fn results_charset(&self) -> Option<Charset> {
        match self.variables.get("character_set_results") {
            Value::Null => None,
            name => Some(name.to_text(0).and_then(|n| Charset::from_name(&n)).unwrap_or(Charset::Utf8mb4)),
        }
    }

    pub fn set_client_collation(&mut self, id: u16) {
        let Some(charset) = Charset::of_collation_id(id) else { return };
        if id != self.client_charset().default_collation_id() {
            let collation = Collation::from_id(id).unwrap_or_else(|| charset.default_collation());
            self.put_client_charset(charset, Some(collation));
        }
    }

    /// SET NAMES; `None`: DEFAULT. Errors 1115, 1253, 1273.
    pub fn set_names(&mut self, charset: Option<&str>, collation: Option<&str>) -> Result<()> {
        self.warn_of_charset(charset, collation);
        let charset = charset::client_charset(charset.unwrap_or("utf8mb4"))?;
        let collation = charset::resolve(Some(charset.name()), collation)?;
        self.put_client_charset(charset, Some(collation.unwrap_or(charset.default_collation())));
        Ok(())
    }

    /// SET CHARACTER SET: the connection gets the database's (manual 15.7.6.2).
    pub fn set_character_set(&mut self, charset: Option<&str>) -> Result<()> {
        let charset = charset::client_charset(charset.unwrap_or("utf8mb4"))?;
        self.put_client_charset(charset, None);
        for name in ["character_set_connection", "collation_connection"] {
            let value = self.variables.get(&name.replace("connection", "database"));
            self.variables.put(name, value);
        }
        Ok(())
    }

    /// Warns of names that a later MySQL will not take.
    fn warn_of_charset(&self, charset: Option<&str>, collation: Option<&str>) {
        let warnings = charset.and_then(muster_sql::deprecated_charset).into_iter();
        for warning in warnings.chain(collation.and_then(muster_sql::deprecated_collation)) {
            self.conditions.diagnostics.warnings.push(warning.code, warning.message);
        }
    }

    /// Sets the client's character set; with a collation, also that of the connection.
    fn put_client_charset(&mut self, charset: Charset, collation: Option<Collation>) {
        let name = || Value::Text(charset.name().into());
        self.variables.put("character_set_client", name());
        self.variables.put("character_set_results", name());
        if let Some(collation) = collation {
            self.variables.put("character_set_connection", name());
            self.variables.put("collation_connection", Value::Text(collation.name().into()));
        }
    }

    /// A character set and its collation are set together: the one that was not named follows.
    pub fn keep_charsets_together(&mut self, name: &str, value: &str) -> Result<()> {
        let of_charset = || Ok::<_, muster_types::SqlError>(charset::of_name(value)?.default_collation().name());
        let of_collation = || Ok::<_, muster_types::SqlError>(charset::collation(value)?.charset());
        let (other, value) = match name {
            "character_set_connection" => ("collation_connection", of_charset()?),
            "collation_connection" => ("character_set_connection", of_collation()?),
            "character_set_server" => ("collation_server", of_charset()?),
            "collation_server" => ("character_set_server", of_collation()?),
            _ => return Ok(()),
        };
        self.variables.put(other, Value::Text(value.into()));
        Ok(())
    }
}
