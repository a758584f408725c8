//! Evidence for a comparison that fails: what was done to the tables in the last life, and what the log on the disk
//! says of it.

use super::{
    catalog::{Catalog, StoredTable},
    known::rows_of,
    life::{DIRECTORY, Lives, PAGE_SIZE},
};
use crate::{
    IoBackend, Store, StoreOptions, TableStatistics, directory,
    io::{Disk, simulated::SimulatedDisk},
    log::{Damage, LogFiles, Next, OnFailure, Record, Recovery},
    transaction::{UndoRecord, kind},
};
use std::{
    fmt::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Steps of a life, in their order.
#[derive(Debug, Default)]
pub(super) struct History(Vec<String>);

impl History {
    pub fn note(&mut self, step: String) {
        self.0.push(step);
    }

    /// A life begins: how those before it went does not matter any more.
    pub fn begin_life(&mut self) {
        self.0.clear();
    }
}

impl Lives {
    /// The steps of the last life, and what is in the log of the directory as the power cut has left it.
    pub(super) fn evidence(&self, found: &Arc<SimulatedDisk>) -> String {
        let log = log_of(found).unwrap_or_else(|e| format!("the log cannot be read: {e}"));
        let again = rows_in(found).unwrap_or_else(|e| format!("no rows can be read: {e}"));
        format!(
            "steps of the life before:\n{}\nthe log:\n{log}\nanother start:\n{again}",
            self.known.history.0.join("\n")
        )
    }
}

/// The rows that a start finds beside which nobody rolls back and purges.
fn rows_in(disk: &Arc<SimulatedDisk>) -> Result<String, String> {
    let options =
        StoreOptions { page_size: PAGE_SIZE, io: IoBackend::Threads, purges: false, ..StoreOptions::default() };
    let store =
        Store::open_on(Path::new(DIRECTORY), options, Arc::new(disk.only_synced())).map_err(|e| e.to_string())?;
    let mut told = String::new();
    for (id, StoredTable { files, schema }) in Catalog::read(&store)?.tables {
        let table = store.open_table(schema, files.clone(), TableStatistics::default()).map_err(|e| e.to_string())?;
        let rows = rows_of(&table, &store.read_view())?;
        let _ = writeln!(told, "table {id} in {files:?} has {} rows: {rows:?}", rows.len());
    }
    Ok(told)
}

/// What the log of a directory tells, record by record.
fn log_of(disk: &Arc<SimulatedDisk>) -> crate::Result<String> {
    let disk: Arc<dyn Disk> = Arc::new(disk.only_synced());
    let on_failure = OnFailure(Arc::new(|_| ()));
    let directory = PathBuf::from(DIRECTORY);
    let files = LogFiles { disk, directory, sync: true, buffered: false, on_failure };
    let Some(identity) = directory::read_identity(&*files.disk, Path::new(DIRECTORY))? else {
        return Ok("there is no directory yet".into());
    };
    let recovery = Recovery::open(files, identity.id, PAGE_SIZE as u32, Damage::IsRefused)?;
    let mut told = format!("{:?}, {:?}\n", recovery.checkpoint(), recovery.end());
    let mut groups = recovery.groups(recovery.checkpoint().oldest);
    while let Next::Group(group) = groups.next()? {
        let (start, end) = (group.header.stamp.lsn, group.header.end());
        let records: Vec<String> = group.records().map(|record| tell(&record)).collect();
        let _ = writeln!(told, "{start}..{end} {}", records.join(", "));
    }
    Ok(told)
}

fn tell(record: &Record<'_>) -> String {
    let Record { lsn, file, page, payload, .. } = *record;
    let trx_id = payload.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    match record.kind {
        kind::UNDO => format!("at {lsn} of file {}: {:?}", file.0, UndoRecord::from_bytes(payload)),
        kind::UNDONE => format!("transaction {trx_id} has undone a change"),
        kind::COMMIT => format!("transaction {trx_id} is committed"),
        kind::ROLLED_BACK => format!("transaction {trx_id} is rolled back"),
        kind::PURGED => format!("transaction {trx_id} is purged"),
        other => format!("page {page} of file {} changes by a record of kind {other}", file.0),
    }
}
