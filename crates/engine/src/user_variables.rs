//! The user variables of a session, `@name`: SET and SELECT .. INTO set them, and expressions while they are computed.

use muster_storage::mutex::Mutex;
use muster_types::{ErrorCode, Result, SqlError, Value};
use std::{collections::HashMap, sync::Arc};

/// Most user variables of a session: they are kept until the session ends.
const USER_VARIABLES_MAX: usize = 10_000;

/// The variables by name in lower case.
#[derive(Default)]
pub struct UserVariables {
    values: Mutex<Arc<HashMap<String, Value>>>,
}

impl UserVariables {
    /// The variables as they are now.
    pub fn snapshot(&self) -> Arc<HashMap<String, Value>> {
        self.values.lock().clone()
    }

    pub fn get(&self, name: &str) -> Option<Value> {
        self.values.lock().get(&name.to_lowercase()).cloned()
    }

    /// Sets a variable. Error: there are too many.
    pub fn set(&self, name: &str, value: Value) -> Result<()> {
        let name = name.to_lowercase();
        let mut values = self.values.lock();
        if values.len() >= USER_VARIABLES_MAX && !values.contains_key(&name) {
            let message = format!("too many user variables (at most {USER_VARIABLES_MAX})");
            return Err(SqlError::new(ErrorCode::CapacityExceeded, message));
        }
        Arc::make_mut(&mut values).insert(name, value);
        Ok(())
    }

    pub fn clear(&self) {
        *self.values.lock() = Arc::default();
    }
}

impl muster_functions::UserVariables for UserVariables {
    fn value(&self, name: &str) -> Value {
        self.get(name).unwrap_or(Value::Null)
    }

    fn assign(&self, name: &str, value: Value) -> Result<()> {
        self.set(name, value)
    }
}
