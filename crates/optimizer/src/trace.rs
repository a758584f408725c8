//! What the optimizer did: which rewrites ran, which changed something, how long each took.

use std::time::Duration;

/// One run of one pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub name: &'static str,
    pub changed: bool,
    pub time: Duration,
}

/// The optimizer's work on one statement, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptimizeTrace {
    pub steps: Vec<Step>,
}

impl OptimizeTrace {
    /// Returns true if a pass changed the statement.
    pub fn changed(&self, name: &str) -> bool {
        self.steps.iter().any(|s| s.name == name && s.changed)
    }

    pub fn total(&self) -> Duration {
        self.steps.iter().map(|s| s.time).sum()
    }
}
