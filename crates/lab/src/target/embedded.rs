//! A session of a database that this process has opened.

use super::{Answer, Result, StatementHandle, TargetSession};
use futures::StreamExt;
use muster_engine::{
    Database, NoLocalFiles, Outcome, Session, SessionOptions, ShortAnswer, ShortStatement, short_path::CollectedRows,
    types::Value, value_at,
};
use std::sync::Arc;

pub struct EmbeddedTarget {
    session: Session,
    /// Ids of prepared statements, by their handles.
    prepared: Vec<u32>,
}

impl EmbeddedTarget {
    /// A session of `root`. Error 1049 when there is no such database.
    pub fn open(database: &Arc<Database>, schema: Option<&str>) -> Result<EmbeddedTarget> {
        let local_files = Arc::new(NoLocalFiles);
        let options = SessionOptions { user: "root".into(), host: "localhost".into(), database: None, local_files };
        let mut session = database.session(options);
        if let Some(schema) = schema {
            session.use_database(schema)?;
        }
        Ok(EmbeddedTarget { session, prepared: Vec::new() })
    }

    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }
}

impl TargetSession for EmbeddedTarget {
    async fn prepare(&mut self, sql: &str) -> Result<StatementHandle> {
        self.prepared.push(self.session.prepare(sql).await?.id);
        Ok(StatementHandle(self.prepared.len() - 1))
    }

    async fn execute(&mut self, statement: StatementHandle, values: &[Value]) -> Result<Answer> {
        let id = self.prepared[statement.0];
        let short = ShortStatement::Prepared { id, values };
        let (collected, answer) = self.session.execute_short(short, CollectedRows::default()).await;
        match answer {
            ShortAnswer::Rows => Ok(Answer { rows: collected.rows, affected_rows: 0 }),
            ShortAnswer::Done(outcome) => answer_of(outcome?).await,
            ShortAnswer::General => answer_of(self.session.execute_prepared_generally(id, values).await?).await,
        }
    }

    async fn query(&mut self, sql: &str) -> Result<Answer> {
        answer_of(self.session.execute(sql).await?).await
    }
}

async fn answer_of(outcome: Outcome) -> Result<Answer> {
    let mut result = match outcome {
        Outcome::Ok { affected_rows, .. } => return Ok(Answer { rows: Vec::new(), affected_rows }),
        Outcome::Rows(result) => result,
    };
    let mut rows = Vec::new();
    while let Some(batch) = result.rows.next().await {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter().map(|column| value_at(column, row));
            rows.push(values.collect::<std::result::Result<_, _>>()?);
        }
    }
    Ok(Answer { rows, affected_rows: 0 })
}
