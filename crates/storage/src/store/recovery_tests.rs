//! A table that is changed in place loses its power, again and again, and is whole after each start.

use super::*;
use crate::{
    ColumnSchema, IndexSchema, ReadView, Scan, ScanRequest,
    io::simulated::SimulatedDisk,
    rows::fixtures::{rows_of, scan_request, sortable},
};
use muster_types::{BytesKind, Collation, KeyPart, SqlType, Value};
use std::collections::BTreeMap;

type Model = BTreeMap<i64, Vec<Value>>;

/// Numbers that look random, from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 16) % bound
    }
}

fn open(disk: &Arc<SimulatedDisk>) -> Result<Arc<Store>> {
    let log = LogSettings { capacity: 1 << 20, buffer_bytes: 128 << 10, ..LogSettings::default() };
    let options = StoreOptions { page_size: 4096, buffer_pool_bytes: 32 * 4096, log, ..StoreOptions::default() };
    let store = Store::open_on(Path::new("/d"), options, Arc::clone(disk) as _)?;
    // Without power, no frame becomes free.
    store.buffer_pool().set_frame_wait_ms(20);
    Ok(store)
}

fn schema() -> TableSchema {
    let part = |column| KeyPart { column, prefix: None, descending: false };
    let column = |ty| ColumnSchema { ty, nullable: false };
    let bytes = SqlType::Bytes { kind: BytesKind::Blob, length: 65535 };
    TableSchema {
        columns: vec![column(SqlType::INT), column(SqlType::varchar(300, Collation::DEFAULT)), column(bytes)],
        indexes: vec![
            IndexSchema { id: 1, parts: vec![part(0)], unique: true },
            IndexSchema { id: 2, parts: vec![part(1)], unique: false },
        ],
    }
}

fn row(id: i64, random: &mut Random) -> Vec<Value> {
    let long = if random.below(20) == 0 { 9000 } else { random.below(40) as usize };
    let text = format!("{:03}{}", random.below(1000), "x".repeat(random.below(250) as usize));
    vec![Value::Int(id), Value::Text(text), Value::Bytes(vec![random.below(256) as u8; long])]
}

#[derive(Debug, Clone)]
enum Change {
    Put(i64, Vec<Value>),
    Delete(i64),
}

impl Change {
    fn draw(model: &Model, random: &mut Random) -> Change {
        // Times of growth and of shrinking.
        let ids = 400;
        let id = random.below(ids) as i64;
        if random.below(1000) < 450 && model.contains_key(&id) {
            Change::Delete(id)
        } else {
            Change::Put(id, row(id, random))
        }
    }

    fn make(&self, table: &Table, exists: bool) -> Result<()> {
        let counters = Counters::default();
        match self {
            Change::Put(id, row) if exists => {
                table.update(&[Value::Int(*id)], row, 1, &counters).map(|found| assert!(found))
            }
            Change::Put(_, row) => table.insert(row, 1, &counters),
            Change::Delete(id) => table.delete(&[Value::Int(*id)], 1, &counters).map(|found| assert!(found)),
        }
    }

    fn make_in(&self, model: &mut Model) {
        match self {
            Change::Put(id, row) => drop(model.insert(*id, row.clone())),
            Change::Delete(id) => drop(model.remove(id)),
        }
    }
}

fn rows_by(table: &Arc<Table>, index: usize) -> Vec<Vec<Value>> {
    let request = ScanRequest { index, ordered: true, view: ReadView::latest(), ..scan_request(vec![0, 1, 2]) };
    let mut cursor = Scan::new(Arc::clone(table), request).unwrap().cursor();
    let mut rows = Vec::new();
    while let Some(batch) = cursor.next_batch().unwrap() {
        rows.extend(rows_of(&table.schema().columns, batch.columns(), batch.num_rows()));
    }
    rows
}

/// What is known of a table whose power may go at any time.
#[derive(Default)]
struct Life {
    /// The rows that are durable for certain, and the changes after them.
    durable: Model,
    since: Vec<Change>,
    files: Vec<FileId>,
}

impl Life {
    /// Opens the table. Its rows are those after one of the changes, with all that is durable.
    fn restart(&mut self, disk: &Arc<SimulatedDisk>, context: &str) -> Result<(Arc<Store>, Arc<Table>)> {
        let store = open(disk)?;
        if self.files.is_empty() {
            self.files = store.create_table(&schema())?;
        }
        let table = store.open_table(schema(), self.files.clone(), TableStatistics::default())?;
        for tree in table.trees() {
            tree.check(&Counters::default()).unwrap_or_else(|e| panic!("{context}: {e}"));
        }
        let found = rows_by(&table, 0);
        assert_eq!(table.is_empty()?, found.is_empty(), "{context}");
        assert_eq!(sortable(&rows_by(&table, 1)), sortable(&found), "{context}");
        let mut changes = std::mem::take(&mut self.since).into_iter();
        while !found.iter().eq(self.durable.values()) {
            let Some(change) = changes.next() else {
                panic!("{context}: {} rows are none that there were", found.len())
            };
            change.make_in(&mut self.durable);
        }
        Ok((store, table))
    }

    fn run(&mut self, disk: &Arc<SimulatedDisk>, random: &mut Random, context: &str) -> Result<()> {
        let (store, table) = self.restart(disk, context)?;
        let mut model = self.durable.clone();
        for _ in 0..random.below(400) {
            let change = Change::draw(&model, random);
            let exists = matches!(&change, Change::Put(id, _) if model.contains_key(id));
            self.since.push(change.clone());
            change.make(&table, exists)?;
            change.make_in(&mut model);
            match random.below(40) {
                0..4 => {
                    store.commit()?;
                    self.since.clear();
                    self.durable.clone_from(&model);
                }
                4 => store.checkpoint()?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn survive(seed: u64) -> u64 {
    let mut random = Random(seed);
    let mut disk = Arc::new(SimulatedDisk::new());
    let mut life = Life::default();
    let mut cuts = 0;
    for restart in 0..6 {
        if restart > 0 {
            let most = if random.below(3) == 0 { 30 } else { 400 };
            disk.cut_power_after(random.below(most));
        }
        let context = format!("seed {seed}, restart {restart}");
        let outcome = life.run(&disk, &mut random, &context);
        assert!(outcome.is_ok() || disk.is_off(), "{context}: {}", outcome.unwrap_err());
        cuts += u64::from(disk.is_off());
        disk = Arc::new(disk.after_power_cut(random.below(1 << 40)));
    }
    life.restart(&disk, &format!("seed {seed}, at last")).unwrap();
    cuts
}

#[test]
fn changes_that_were_acknowledged_survive_power_cuts() {
    let cuts: u64 = (0..60).map(survive).sum();
    assert!(cuts > 100, "{cuts}");
}

#[test]
#[ignore = "a soak of some minutes"]
fn changes_that_were_acknowledged_survive_power_cuts_with_many_seeds() {
    (1000..6000).for_each(|seed| {
        survive(seed);
    });
}
