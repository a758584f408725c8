//! Faults that a test plants in what keeps a directory whole.

use crate::{buffer_pool::PlantedFault, log, transaction};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    pub log: Option<log::PlantedFault>,
    pub pool: Option<PlantedFault>,
    pub transactions: Option<transaction::PlantedFault>,
}
