//! The state of a directory's tables as a test knows it: rows that are there for certain, and changes that a power cut
//! may take.

use super::{change::Delta, evidence::History};
use crate::{
    Counters, ReadView, Result, Table, TableSchema,
    key::ByteRange,
    testing::table_model::model::{Model, Row},
};
use muster_types::Value;
use std::{collections::BTreeMap, sync::Arc};

/// Tables by the seeds of their schemas.
#[derive(Default)]
pub(super) struct Known {
    /// Tables with the rows that survive for certain.
    pub durable: BTreeMap<u64, Model>,
    /// The changes of transactions that have committed since, in the order of their commits: what survives of them are
    /// the first so many.
    since: Vec<Vec<(u64, Delta)>>,
    /// Tables with all committed changes.
    pub now: BTreeMap<u64, Model>,
    /// The highest hidden row number that a row of a table has had, also one that is gone.
    highest: BTreeMap<u64, i64>,
    /// The same of the rows that survive for certain.
    highest_durable: BTreeMap<u64, i64>,
    pub history: History,
}

impl Known {
    /// A row has got a hidden row number. Error: some row has had it before.
    pub fn gave_number(&mut self, table: u64, number: i64) -> Result<(), String> {
        let highest = self.highest.insert(table, number).unwrap_or(-1);
        if number <= highest {
            return Err(format!("table {table}: a row has got number {number} after one with {highest}"));
        }
        Ok(())
    }

    /// A transaction has committed its changes.
    pub fn committed(&mut self, deltas: Vec<(u64, Delta)>) {
        for (table, delta) in &deltas {
            delta.apply(self.now.get_mut(table).expect("a table that there is"));
        }
        self.since.push(deltas);
    }

    /// All changes so far survive.
    pub fn acknowledged(&mut self) {
        self.history.note("all commits so far are acknowledged".into());
        self.since.clear();
        self.durable.clone_from(&self.now);
        self.highest_durable.clone_from(&self.highest);
    }

    /// Commits of changes that a power cut may take.
    pub fn unacknowledged(&self) -> usize {
        self.since.iter().filter(|deltas| !deltas.is_empty()).count()
    }

    /// The table is there with these rows, for certain; or it is gone.
    pub fn replaced(&mut self, table: u64, model: Option<Model>) {
        self.since.iter_mut().for_each(|deltas| deltas.retain(|(changed, _)| *changed != table));
        // Files that are loaded number their rows anew.
        let numbers = model.iter().flat_map(|model| model.rows.values().map(|row| row.number));
        let highest = numbers.max().unwrap_or(-1);
        self.highest.insert(table, highest);
        self.highest_durable.insert(table, highest);
        for tables in [&mut self.durable, &mut self.now] {
            match &model {
                Some(model) => drop(tables.insert(table, model.clone())),
                None => drop(tables.remove(&table)),
            }
        }
    }

    /// Finds after how many of the commits since all tables are as a view sees them, and takes that for what survives.
    /// Returns how many commits were lost.
    pub fn settle(&mut self, tables: &BTreeMap<u64, Arc<Table>>, view: &Arc<ReadView>) -> Result<u64, String> {
        let mut found = BTreeMap::new();
        for (id, table) in tables {
            found.insert(*id, rows_of(table, view)?);
        }
        let mut models = std::mem::take(&mut self.durable);
        let mut since = std::mem::take(&mut self.since).into_iter();
        let differs = |models: &BTreeMap<u64, Model>| {
            let differing = models.iter().find(|(id, model)| !model.rows.values().eq(&found[id]));
            differing.map(|(id, _)| *id)
        };
        let first = differs(&models);
        while differs(&models).is_some() {
            let Some(deltas) = since.next() else {
                let id = first.unwrap_or_default();
                let (rows, last) = (&found[&id], &models[&id]);
                let missing = last.rows.values().find(|row| !rows.contains(row));
                let unwanted = rows.iter().find(|row| !last.rows.values().any(|other| other == *row));
                return Err(format!(
                    "table {id} is as it never was since the last acknowledgment: {} rows, at last {}; {missing:?} is \
                     missing, {unwanted:?} is there",
                    rows.len(),
                    last.rows.len()
                ));
            };
            for (table, mut delta) in deltas {
                let Some(model) = models.get_mut(&table) else { continue };
                let highest = self.highest_durable.entry(table).or_insert(-1);
                delta.complete(&found[&table], *highest);
                *highest = (*highest).max(delta.given_number().unwrap_or(-1));
                delta.apply(model);
            }
        }
        self.now.clone_from(&models);
        self.highest.clone_from(&self.highest_durable);
        self.durable = models;
        Ok(since.count() as u64)
    }
}

/// The rows of a table that a view sees, in the order of its clustered tree, with their hidden numbers.
pub(super) fn rows_of(table: &Table, view: &Arc<ReadView>) -> Result<Vec<Row>, String> {
    let counters = Counters::default();
    let columns = table.schema().columns.len();
    let cursor = table.tree(0).rows(ByteRange::default(), false, view, &counters);
    let mut cursor = cursor.map_err(|e| e.to_string())?;
    let mut rows = Vec::new();
    while let Some(mut values) = cursor.next().map_err(|e| e.to_string())? {
        let number = match values.get(columns) {
            Some(Value::Int(number)) => *number,
            _ => 0,
        };
        values.truncate(columns);
        rows.push(Row { values, number });
    }
    Ok(rows)
}

/// A model with these rows.
pub(super) fn model_of(schema: &TableSchema, rows: Vec<Row>) -> Model {
    let mut model = Model::new(schema.clone());
    rows.into_iter().for_each(|row| model.put(None, row));
    model
}
