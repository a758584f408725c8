//! Databases that are measured in turn, each through one connection.

use crate::{
    DataSet,
    environment::{DatabaseReport, Environment},
    load::LoadObserver,
    query_times::prepare,
    target::{AnyTarget, MeasuredDatabase, Result, TargetSession},
};

pub struct InTurn<'a> {
    databases: &'a [MeasuredDatabase],
    /// The statement that each connection begins with.
    first: Option<String>,
    pub targets: Vec<AnyTarget>,
}

impl<'a> InTurn<'a> {
    /// Loads the data unless they are there, and connects. Returns what the databases are, too. Errors: those of the
    /// load.
    pub async fn prepare(
        databases: &'a [MeasuredDatabase],
        data: &DataSet,
        reload: bool,
        observer: &dyn LoadObserver,
        first: Option<String>,
    ) -> Result<(InTurn<'a>, Vec<DatabaseReport>)> {
        let mut in_turn = InTurn { databases, first, targets: Vec::new() };
        let mut reports = Vec::new();
        for measured in databases {
            prepare(&measured.database, &measured.schema, data, reload, observer).await?;
            let mut target = in_turn.connect(measured).await?;
            let environment = Environment::of(&mut target).await?;
            reports.push(DatabaseReport { name: measured.name.clone(), environment });
            in_turn.targets.push(target);
        }
        Ok((in_turn, reports))
    }

    /// Connects anew: what failed may have left a connection that is of no use.
    pub async fn reconnect(&mut self) -> Result<()> {
        for (number, measured) in self.databases.iter().enumerate() {
            self.targets[number] = self.connect(measured).await?;
        }
        Ok(())
    }

    async fn connect(&self, measured: &MeasuredDatabase) -> Result<AnyTarget> {
        let mut target = measured.database.connect(Some(&measured.schema)).await?;
        if let Some(first) = &self.first {
            target.query(first).await?;
        }
        Ok(target)
    }
}
