//! Tables are made, dropped and loaded: the catalog names other files.

use super::{
    catalog::schema_of,
    change::Broken,
    known::{model_of, rows_of},
    life::{Lives, Open, off},
};
use crate::{
    Result, Table, TableLoader, TableStatistics, array_of, arrow_type,
    rows::fixtures::small_load,
    testing::table_model::{
        draw,
        model::{Model, Row},
    },
};
use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use std::sync::Arc;

impl Lives {
    /// Names other files for a table, and deletes those that it had.
    fn publish(&mut self, open: &mut Open, id: u64, table: Option<(Arc<Table>, Model)>) -> Result<(), Broken> {
        let mut next = self.catalog.clone();
        match &table {
            Some((table, _)) => drop(next.tables.insert(id, table.files().to_vec())),
            None => drop(next.tables.remove(&id)),
        }
        let model = table.as_ref().map(|(_, model)| model.clone());
        self.pending = Some((next.clone(), vec![(id, model.clone())]));
        let before = open.tables.get(&id).map_or(Vec::new(), |table| table.files().to_vec());
        next.write(&open.store, &before)?;
        self.pending = None;
        self.known.acknowledged();
        self.known.replaced(id, model);
        self.catalog = next;
        match table {
            Some((table, _)) => drop(open.tables.insert(id, table)),
            None => drop(open.tables.remove(&id)),
        }
        for file in before {
            // Files that stay are removed at the next start.
            let _ = open.store.open_file(file).and_then(|file| open.store.delete_file(&file));
        }
        Ok(())
    }

    pub fn create(&mut self, open: &mut Open) -> Result<(), Broken> {
        let id = self.draw.next() >> 1;
        let schema = schema_of(id);
        let files = open.store.create_table(&schema)?;
        let table = open.store.open_table(schema.clone(), files, TableStatistics::default())?;
        self.hit("tables made", 1);
        self.publish(open, id, Some((table, Model::new(schema))))
    }

    pub fn drop_table(&mut self, open: &mut Open) -> Result<(), Broken> {
        let (id, _) = self.any_table(open);
        self.hit("tables dropped", 1);
        self.publish(open, id, None)
    }

    /// Loads rows into a table: it gets new files, with a checkpoint while they are written.
    pub fn load(&mut self, open: &mut Open) -> Result<(), Broken> {
        let (id, table) = self.any_table(open);
        let schema = schema_of(id);
        let mut wanted = self.known.now[&id].clone();
        let mut rows = Vec::new();
        for n in 0..20 + self.draw.below(60) as i64 {
            let row = Row { values: draw::row(&mut self.draw, &schema), number: i64::MAX - n };
            if wanted.duplicate(&row, None).is_none() {
                rows.push(row.values.clone());
                wanted.put(None, row);
            }
        }
        let mut loader = TableLoader::new(Arc::clone(&table), small_load())?;
        loader.push(&batch(&schema, &rows)?)?;
        let loaded = loader.finish()?;
        open.store.checkpoint()?;
        self.hit("checkpoints during loads", 1);
        let new = open.store.open_table(schema.clone(), loaded.files, loaded.statistics)?;
        let found = rows_of(&new, &open.store.read_view());
        if self.disk.is_off() {
            return Err(off());
        }
        let found = found.map_err(Broken::Wrong)?;
        let sorted = |rows: &mut dyn Iterator<Item = &Row>| {
            let mut values: Vec<String> = rows.map(|row| format!("{:?}", row.values)).collect();
            values.sort();
            values
        };
        let (got, want) = (sorted(&mut found.iter()), sorted(&mut wanted.rows.values()));
        if got != want {
            let missing: Vec<&String> = want.iter().filter(|row| !got.contains(row)).collect();
            let before = rows_of(&table, &open.store.read_view()).map_or(0, |rows| rows.len());
            return Err(Broken::Wrong(format!(
                "table {id}: {} rows were loaded, wanted {}; the table had {before}, in the model {}, {} came; {} are \
                 missing: {missing:?}",
                got.len(),
                want.len(),
                self.known.now[&id].rows.len(),
                rows.len(),
                missing.len(),
            )));
        }
        self.hit("loads", 1);
        self.publish(open, id, Some((new, model_of(&schema, found))))
    }
}

fn batch(schema: &crate::TableSchema, rows: &[Vec<muster_types::Value>]) -> Result<RecordBatch> {
    let columns = schema.columns.iter().enumerate();
    let arrays = columns.map(|(i, column)| array_of(rows.iter().map(|row| &row[i]), column.ty));
    let arrays = arrays.collect::<Result<Vec<_>, _>>().map_err(crate::StorageError::Filter)?;
    let fields = schema.columns.iter().map(|c| Field::new("", arrow_type(&c.ty), c.nullable));
    let arrow_schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    Ok(RecordBatch::try_new(arrow_schema, arrays).expect("arrays of the columns' types"))
}
