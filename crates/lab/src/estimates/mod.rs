//! How near the optimizer's estimates are to what is found: rows of each operator (the q-error), and time beside cost
//! (the model error). Each query runs once, under EXPLAIN ANALYZE.
//!
//! ```text
//!   OperatorEstimate   an operator: expected and found   operator.rs
//!   Quantiles, text    all of them                       report.rs
//! ```
//!
//! The q-error of an operator is the larger of expected and found rows over the smaller, at least one row each
//! (Moerkotte, Neumann and Steidl, "Preventing bad plans by bounding the impact of cardinality estimation errors",
//! VLDB 2009).

mod operator;
mod report;

pub use operator::{OperatorEstimate, OperatorKind, operators};
pub use report::{Quantiles, lines, quantiles, text};

use crate::{
    Lab, Query,
    regret::Subject,
    runner::{data_bytes, preload, rows_of, session},
};
use muster_engine::{
    Session,
    types::{ErrorCode, Result, SqlError},
};

impl Lab {
    /// Explains and runs the queries of a prepared data set, with all data in memory.
    pub async fn estimates(&self, subject: Subject) -> Result<Vec<OperatorEstimate>> {
        let data = subject.data_set(self.scale());
        let data = data.map_err(|e| SqlError::new(ErrorCode::WrongArguments, e.to_string()))?;
        let bytes = {
            let (database, _) = self.open(64 << 20)?;
            data_bytes(&mut session(&database), data.name).await?
        };
        let (database, _) = self.open(2 * bytes as usize + (64 << 20))?;
        let mut session = session(&database);
        session.use_database(data.name)?;
        preload(&mut session, data.name).await?;
        of_queries(&mut session, subject.queries()).await
    }
}

/// Explains and runs queries in a session whose database has their tables.
pub async fn of_queries(session: &mut Session, queries: &'static [Query]) -> Result<Vec<OperatorEstimate>> {
    session.query("SET explain_json_format_version = 2").await?;
    let mut found = Vec::new();
    for query in queries {
        for statement in session.split(query.sql)? {
            let first = statement.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
            if ["create", "drop"].contains(&first.as_str()) {
                session.query(&statement).await?;
                continue;
            }
            let rows = rows_of(session, &format!("EXPLAIN ANALYZE FORMAT=JSON {statement}")).await?;
            let json = rows.into_iter().flatten().flatten().next().unwrap_or_default();
            found.extend(operators(query.name, &json).map_err(SqlError::internal)?);
        }
    }
    session.query("SET explain_json_format_version = DEFAULT").await?;
    Ok(found)
}
