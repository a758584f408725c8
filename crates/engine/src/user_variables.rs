//! The user variables of a session, `@name`: SET and SELECT .. INTO set them, and expressions while they are computed.

use muster_storage::mutex::Mutex;
use muster_types::{Collation, ErrorCode, Result, SqlError, Value};
use std::{collections::HashMap, sync::Arc};

/// Most user variables of a session: they are kept until the session ends.
const USER_VARIABLES_MAX: usize = 10_000;

/// A variable that has been set.
#[derive(Debug, Clone)]
pub struct UserVariable {
    pub value: Value,
    /// The collation of the last text that it was set to; `None` for a number, and for NULL that nothing came before.
    pub collation: Option<Collation>,
}

/// The variables by name in lower case.
#[derive(Default)]
pub struct UserVariables {
    variables: Mutex<Arc<HashMap<String, UserVariable>>>,
}

impl UserVariables {
    /// The variables as they are now.
    pub fn snapshot(&self) -> Arc<HashMap<String, UserVariable>> {
        self.variables.lock().clone()
    }

    pub fn get(&self, name: &str) -> Option<Value> {
        self.variables.lock().get(&name.to_lowercase()).map(|variable| variable.value.clone())
    }

    /// Sets a variable to a value whose text has this collation; NULL without one keeps that of the text before. Error:
    /// there are too many.
    pub fn set(&self, name: &str, value: Value, collation: Option<Collation>) -> Result<()> {
        let name = name.to_lowercase();
        // A variable holds the text of a document, and a double of a floating-point number.
        let value = match value {
            Value::Json(_) => value.to_text(0).map_or(Value::Null, Value::Text),
            Value::Float(x) => Value::Double(x.into()),
            other => other,
        };
        let mut variables = self.variables.lock();
        if variables.len() >= USER_VARIABLES_MAX && !variables.contains_key(&name) {
            let message = format!("too many user variables (at most {USER_VARIABLES_MAX})");
            return Err(SqlError::new(ErrorCode::CapacityExceeded, message));
        }
        let known = variables.get(&name).and_then(|variable| variable.collation).filter(|_| value.is_null());
        let variable = UserVariable { value, collation: collation.or(known) };
        Arc::make_mut(&mut variables).insert(name, variable);
        Ok(())
    }

    pub fn clear(&self) {
        *self.variables.lock() = Arc::default();
    }
}

impl muster_functions::UserVariables for UserVariables {
    fn value(&self, name: &str) -> Value {
        self.get(name).unwrap_or(Value::Null)
    }

    fn assign(&self, name: &str, value: Value, collation: Option<Collation>) -> Result<()> {
        self.set(name, value, collation)
    }
}
