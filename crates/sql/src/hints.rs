//! Optimizer hints: the text of `/*+ ... */`.

/// One hint, as written: `BKA(@qb t1, t2)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptimizerHint {
    /// In upper case.
    pub name: String,
    /// `@qb` in front of the arguments.
    pub query_block: Option<String>,
    pub arguments: Vec<String>,
}
