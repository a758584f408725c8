//! The cost model of a session: the one that was in force when it began (MySQL manual 8.9.5).

use muster_optimizer::CostModel;

/// The constants that a session's plans are costed with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionCosts {
    pub model: CostModel,
    /// By which plans of different models are told apart.
    pub number: u64,
}
