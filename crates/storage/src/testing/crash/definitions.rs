//! Tables are made, dropped and loaded: the catalog names other files.

use super::{
    catalog::{Catalog, StoredTable, schema_of},
    change::Broken,
    known::{model_of, rows_of},
    life::{Lives, Open, off},
};
use crate::{
    FileId, Result, StorageError, Table, TableLoader, TableSchema, TableStatistics, array_of, arrow_type,
    rows::fixtures::small_load,
    testing::table_model::{
        draw,
        layouts::OtherLayout,
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
            Some((table, _)) => {
                let stored = StoredTable { files: table.files().to_vec(), schema: table.schema().clone() };
                next.tables.insert(id, stored);
            }
            None => drop(next.tables.remove(&id)),
        }
        let model = table.as_ref().map(|(_, model)| model.clone());
        let kept = table.as_ref().map_or(Vec::new(), |(table, _)| table.files().to_vec());
        let before = open.tables.get(&id).map_or(Vec::new(), |table| table.files().to_vec());
        let before: Vec<FileId> = before.into_iter().filter(|file| !kept.contains(file)).collect();
        self.write(open, next, (id, model), &before)?;
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

    /// Makes this the catalog, which has a table that is another one. The files in `removed` are not needed any more.
    fn write(
        &mut self,
        open: &Open,
        next: Catalog,
        (id, model): (u64, Option<Model>),
        removed: &[FileId],
    ) -> Result<(), Broken> {
        self.pending = Some((next.clone(), vec![(id, model.clone())]));
        next.write(&open.store, removed)?;
        self.pending = None;
        self.known.acknowledged();
        self.known.replaced(id, model);
        self.catalog = next;
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

    /// Adds, drops or moves a column of a table, whose rows stay as they are. A view that is older than that reads what
    /// it did before, or is told that it is too old.
    pub fn alter(&mut self, open: &mut Open) -> Result<(), Broken> {
        let (id, before) = self.any_table(open);
        let Some(other) = OtherLayout::draw(&mut self.draw, before.schema()) else { return Ok(()) };
        if !open.store.rows_fit(&other.schema) {
            return Ok(());
        }
        let (rows, view) = (self.known.now[&id].clone(), open.store.read_view());
        let mut model = rows.clone();
        other.alter_all(&mut model);
        let files = before.files().to_vec();
        let mut next = self.catalog.clone();
        next.tables.insert(id, StoredTable { files: files.clone(), schema: other.schema.clone() });
        self.write(open, next, (id, Some(model)), &[])?;
        // As in the engine: no row has the layout before the catalog does.
        let moment = open.store.moment_of_views();
        let table = open.store.open_table(other.schema.clone(), files, TableStatistics::default())?;
        (0..table.trees().len()).for_each(|index| table.set_since(index, moment));
        open.tables.insert(id, table.clone());
        self.hit(other.what, 1);
        for _ in 0..self.draw.below(12) {
            self.change_once(open)?;
        }
        let found = rows_of(&before, &view);
        if self.disk.is_off() {
            return Err(off());
        }
        let too_old = StorageError::SnapshotTooOld.to_string();
        match found {
            Ok(found) if found.iter().eq(rows.rows.values()) => self.hit("rows of a former layout read", 1),
            Err(e) if e == too_old => self.hit("views older than a layout", 1),
            Ok(found) => {
                let message = format!("table {id}: {found:?} for a view of the former layout, wanted {:?}", rows.rows);
                return Err(Broken::Wrong(message));
            }
            Err(e) => return Err(Broken::Wrong(format!("table {id} by a view of the former layout: {e}"))),
        }
        match rows_of(&table, &view) {
            Err(e) if e == too_old || self.disk.is_off() => Ok(()),
            found => Err(Broken::Wrong(format!("table {id}: a view that is too old reads {found:?}"))),
        }
    }

    /// Loads rows into a table: it gets new files, with a checkpoint while they are written.
    pub fn load(&mut self, open: &mut Open) -> Result<(), Broken> {
        let (id, table) = self.any_table(open);
        let before = table.schema();
        let schema = before.of_new_rows();
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

fn batch(schema: &TableSchema, rows: &[Vec<muster_types::Value>]) -> Result<RecordBatch> {
    let columns = schema.columns.iter().enumerate();
    let arrays = columns.map(|(i, column)| array_of(rows.iter().map(|row| &row[i]), column.ty));
    let arrays = arrays.collect::<Result<Vec<_>, _>>().map_err(crate::StorageError::Filter)?;
    let fields = schema.columns.iter().map(|c| Field::new("", arrow_type(&c.ty), c.nullable));
    let arrow_schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    Ok(RecordBatch::try_new(arrow_schema, arrays).expect("arrays of the columns' types"))
}
