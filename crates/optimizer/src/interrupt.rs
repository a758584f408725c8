//! How a statement is stopped while it is planned.

use muster_types::Result;
use std::fmt;
use std::sync::Arc;

type Check = dyn Fn() -> Result<()> + Send + Sync;

/// Asks whether the statement is to go on. The optimizer asks in every loop whose length the statement decides, so an
/// answer should cost less than a microsecond. By default nothing stops a statement.
#[derive(Clone, Default)]
pub struct Interrupt(Option<Arc<Check>>);

impl Interrupt {
    /// `check` returns the error that planning is to end with, once it is to end.
    pub fn new(check: impl Fn() -> Result<()> + Send + Sync + 'static) -> Interrupt {
        Interrupt(Some(Arc::new(check)))
    }

    /// Returns the error that the statement ends with, if it has been stopped.
    pub fn check(&self) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |check| check())
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Interrupt" } else { "no Interrupt" })
    }
}

/// Two interrupts are equal if they ask the same.
impl PartialEq for Interrupt {
    fn eq(&self, other: &Interrupt) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Eq for Interrupt {}
