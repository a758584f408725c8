//! The words of the column Extra, in MySQL's order.

/// What is to be said of a table besides its key. The variants stand in the order in which MySQL says them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extra {
    IndexCondition,
    /// `Using union(i,j)`, `Using intersect(i,j)`.
    MergedIndexes(&'static str, String),
    Where,
    NotExists,
    Mrr,
    BackwardScan,
    Index,
    IndexForGroupBy,
    IndexForSkipScan,
    Temporary,
    Filesort,
    StartTemporary,
    EndTemporary,
    /// The table whose next row is read once a match is found; `None` if there is none before.
    FirstMatch(Option<String>),
    /// The way of the join, and MariaDB's words for the order in which keys and rows are read.
    JoinBuffer(String, Option<&'static str>),
    MergeJoin,
    /// The key of the plan that takes over when a scan that stops early has spent its budget.
    Fallback(String),
    /// Rows are fetched once the first entries are known.
    LateFetch,
    /// Rows that several places of the statement read.
    SharedRows(usize),
    /// The lateral derived table that is computed again for each row.
    Rematerialize(String),
    /// The function that makes the rows.
    TableFunction(&'static str),
}

impl Extra {
    /// MySQL's words for it.
    pub fn text(&self) -> String {
        match self {
            Extra::IndexCondition => "Using index condition".into(),
            Extra::MergedIndexes(word, names) => format!("Using {word}({names})"),
            Extra::Where => "Using where".into(),
            Extra::NotExists => "Not exists".into(),
            Extra::Mrr => "Using MRR".into(),
            Extra::Index => "Using index".into(),
            Extra::IndexForGroupBy => "Using index for group-by".into(),
            Extra::IndexForSkipScan => "Using index for skip scan".into(),
            Extra::BackwardScan => "Backward index scan".into(),
            Extra::Temporary => "Using temporary".into(),
            Extra::Filesort => "Using filesort".into(),
            Extra::StartTemporary => "Start temporary".into(),
            Extra::EndTemporary => "End temporary".into(),
            Extra::FirstMatch(Some(table)) => format!("FirstMatch({table})"),
            Extra::FirstMatch(None) => "FirstMatch".into(),
            Extra::JoinBuffer(kind, None) => format!("Using join buffer ({kind})"),
            Extra::JoinBuffer(kind, Some(order)) => format!("Using join buffer ({kind}); {order}"),
            Extra::MergeJoin => "Using merge join".into(),
            Extra::Fallback(key) => format!("Using fallback ({key})"),
            Extra::LateFetch => "Using late row fetch".into(),
            Extra::SharedRows(id) => format!("Using shared rows #{id}"),
            Extra::Rematerialize(name) => format!("Rematerialize ({name})"),
            Extra::TableFunction(name) => format!("Table function: {name}; Using temporary"),
        }
    }

    /// The place of the words among those of a table.
    pub fn rank(&self) -> usize {
        match self {
            Extra::IndexCondition => 0,
            Extra::MergedIndexes(..) => 1,
            Extra::Where => 2,
            Extra::NotExists => 3,
            Extra::Mrr => 4,
            Extra::BackwardScan => 5,
            Extra::Index | Extra::IndexForGroupBy | Extra::IndexForSkipScan => 6,
            Extra::Temporary => 7,
            Extra::Filesort => 8,
            Extra::StartTemporary => 9,
            Extra::EndTemporary => 10,
            Extra::FirstMatch(_) => 11,
            Extra::JoinBuffer(..) => 12,
            Extra::MergeJoin => 13,
            Extra::Fallback(_) => 14,
            Extra::LateFetch => 15,
            Extra::SharedRows(_) => 16,
            Extra::Rematerialize(_) => 17,
            Extra::TableFunction(_) => 3,
        }
    }
}
