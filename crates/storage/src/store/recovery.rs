//! Opening a data directory: what a crash left is made whole, and the log is repeated.
//!
//! ```text
//!   repair    pages that were torn on their way to their places are put back from the doublewrite file
//!   log       its end is found; what was found of it is made durable
//!   redo      each group's records are applied to pages that do not have them yet
//!   flush     all pages that redo changed are written; then a new epoch and a checkpoint at the end of the log
//! ```
//!
//! All of it may be cut off and begun again at any time: a page knows by its LSN what it has.

use super::StoreOptions;
use crate::{
    Counters, FileId, Result, StorageError,
    buffer_pool::{BufferPool, PageForRedo, PageGuardMut},
    directory::{self, Identity},
    file::PageFile,
    io::Disk,
    locks::LockTable,
    log::{
        self, Damage, Doublewrite, FileChanges, Geometry, GroupView, Log, LogFiles, LogOptions, LogSettings, Lsn, Next,
        OnFailure, Planted, Record, Recovery, RepeatedLog, SEGMENT_MAX, SEGMENT_MIN, SegmentFormat, SmallFiles,
    },
    page::PageHeader,
    transaction::{Analysis, Transactions},
    tree::page::page_change::PageChange,
};
use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    path::Path,
    sync::Arc,
};

/// A log at its capacity has about so many segments.
const SEGMENTS: u64 = 16;
/// A segment and a quarter of the log buffer hold the largest group that a tree makes.
const GROUP_PAGES: u64 = 8;
/// Locks take at most this share of what the buffer pool has, beside it.
const LOCK_SHARE: u64 = 2;
/// Groups between two reports of progress.
const REPORT_EVERY: u64 = 4096;

/// The way to the files of the log.
pub(super) fn log_files(disk: &Arc<dyn Disk>, directory: &Path, options: &StoreOptions) -> LogFiles {
    let machine = Arc::clone(disk);
    let on_failure =
        OnFailure(Arc::new(move |e| machine.fail_stop(&format!("the redo log cannot be made durable: {e}"))));
    LogFiles {
        disk: Arc::clone(disk),
        directory: directory.to_path_buf(),
        sync: options.sync,
        buffered: false,
        on_failure,
    }
}

/// Makes a directory's first files: the log, then the identity, with which the directory is one.
pub(super) fn create(files: &LogFiles, options: &StoreOptions) -> Result<Identity> {
    let id = RandomState::new().hash_one(std::process::id()).max(1);
    let identity = Identity { page_size: options.page_size, next_file: 1, id };
    log::create(files, segment_format(identity, &options.log))?;
    directory::write_identity(&*files.disk, &files.directory, identity, options.sync)?;
    Ok(identity)
}

/// Makes a directory whole, and opens its log. Errors: `DamagedLog`, `Corrupt`, `DiskFull`, I/O.
pub(super) fn recover(
    files: LogFiles,
    identity: Identity,
    options: &StoreOptions,
    pool: &Arc<BufferPool>,
    counters: &Counters,
) -> Result<(Arc<Log>, Arc<SmallFiles>, Arc<Transactions>)> {
    #[cfg(test)]
    options.faults.pool.into_iter().for_each(|fault| pool.plant(fault));
    let machine = Arc::clone(&files.disk);
    pool.set_on_failure(Arc::new(move |reason| machine.fail_stop(reason)));
    for (file, page) in log::repair(&files, identity.page_size)? {
        tracing::info!("page {page} of file {} was torn and is put back", file.0);
    }
    let mut recovery = open_log(&files, identity, options)?;
    if options.doublewrite {
        let doublewrite = Doublewrite::open(&files, identity.page_size, planted(options))?;
        pool.set_doublewrite(Some(Arc::new(doublewrite)));
    }
    let changes = recovery.take_file_changes();
    let analysis = analyse(&recovery, options)?;
    if recovery.end().groups > 0 {
        // Pages that redo writes must not be newer than the log.
        recovery.sync()?;
        let mut redo = Redo::new(&files, options.sync, pool, counters, &changes);
        redo.repeat(&recovery, options)?;
        pool.flush_all(counters)?;
        // Files are opened anew by who needs them: their headers may have changed.
        pool.clear(counters)?;
    }
    let (last, end) = (recovery.checkpoint(), recovery.end().lsn);
    let small_files = Arc::new(SmallFiles::new(files.clone(), changes, last.redo, end));
    let log = Arc::new(recovery.start(log_options(files, options, identity.page_size))?);
    pool.set_page_log(Arc::clone(&log) as _);
    if let Err(e) = small_files.write_back(&log) {
        // Their content is in memory and stays in the log.
        tracing::warn!("definitions are not written to their files yet: {e}");
    }
    let redo = small_files.redo_start().unwrap_or(end).min(end);
    let oldest = analysis.oldest().map_or(redo, |oldest| oldest.min(redo));
    log.checkpoint(redo, oldest, analysis.next)?;
    let locks = Arc::new(LockTable::new(options.buffer_pool_bytes as u64 / LOCK_SHARE));
    let transactions = Arc::new(Transactions::new(analysis, locks, &log, &options.log));
    #[cfg(test)]
    options.faults.transactions.into_iter().for_each(|fault| transactions.plant(fault));
    Ok((log, small_files, transactions))
}

/// Reads what the log tells of transactions: from the oldest position that is kept, which is before the start of redo
/// while one has not ended or is not purged. Error `DamagedLog` if it cannot be read up to its end: transactions that
/// are not found would be taken for committed ones.
fn analyse(recovery: &Recovery, options: &StoreOptions) -> Result<Analysis> {
    let last = recovery.checkpoint();
    let mut analysis = Analysis::new(last.next_transaction);
    let mut groups = recovery.groups(last.oldest);
    let reason = loop {
        match groups.next()? {
            Next::Group(group) => group.records().for_each(|record| analysis.add(&record)),
            Next::End(reason) => break reason,
        }
    };
    if groups.position() < recovery.end().lsn && !options.force_recovery {
        return Err(recovery.damaged(groups.position(), &reason));
    }
    Ok(analysis.finish())
}

/// Finds the end of the log. A forced recovery takes what there is of a damaged one, or none.
fn open_log(files: &LogFiles, identity: Identity, options: &StoreOptions) -> Result<Recovery> {
    let page_size = identity.page_size as u32;
    let open = |damage| Recovery::open(files.clone(), identity.id, page_size, damage);
    if !options.force_recovery {
        return open(Damage::IsRefused);
    }
    open(Damage::IsTheEnd).or_else(|e| {
        tracing::error!("the directory is opened without its log: {e}");
        log::create(files, segment_format(identity, &options.log))?;
        open(Damage::IsRefused)
    })
}

/// The segments of a log with these settings.
fn segment_format(identity: Identity, settings: &LogSettings) -> SegmentFormat {
    let page_size = identity.page_size as u64;
    let segment = (settings.capacity / SEGMENTS).max(1).next_power_of_two();
    let least = SEGMENT_MIN.max((GROUP_PAGES * page_size).next_power_of_two());
    let geometry = Geometry::new(segment.clamp(least, SEGMENT_MAX)).expect("a power of two within the limits");
    SegmentFormat { geometry, page_size: page_size as u32, identity: identity.id }
}

fn log_options(files: LogFiles, options: &StoreOptions, page_size: usize) -> LogOptions {
    let least = 4 * GROUP_PAGES * page_size as u64;
    let buffer_bytes = options.log.buffer_bytes.max(least).next_power_of_two();
    let (capacity, read_only) = (options.log.capacity, options.force_recovery);
    let planted = planted(options);
    LogOptions { buffer_bytes, capacity, read_only, planted, ..LogOptions::new(files) }
}

/// Faults of the log that a test plants. Outside of tests there are none.
fn planted(options: &StoreOptions) -> Planted {
    #[cfg(test)]
    return Planted { fault: options.faults.log };
    #[cfg(not(test))]
    return {
        let _ = options;
        Planted::default()
    };
}

/// The log is being repeated.
struct Redo<'a> {
    files: &'a LogFiles,
    sync: bool,
    pool: &'a Arc<BufferPool>,
    counters: &'a Counters,
    log: Arc<RepeatedLog>,
    changes: &'a FileChanges,
    /// Files that records name; `None` for one that is gone.
    open: HashMap<FileId, Option<Arc<PageFile>>>,
}

/// A page of the group that is being applied.
struct Touched {
    file: FileId,
    page_no: u32,
    page: PageGuardMut,
    /// The page does not have the group yet.
    applies: bool,
    /// The page on the disk is none, and no record has given it a content yet.
    missing: Option<StorageError>,
}

impl<'a> Redo<'a> {
    fn new(
        files: &'a LogFiles,
        sync: bool,
        pool: &'a Arc<BufferPool>,
        counters: &'a Counters,
        changes: &'a FileChanges,
    ) -> Redo<'a> {
        let log = Arc::<RepeatedLog>::default();
        pool.set_page_log(Arc::clone(&log) as _);
        Redo { files, sync, pool, counters, log, changes, open: HashMap::new() }
    }

    fn repeat(&mut self, recovery: &Recovery, options: &StoreOptions) -> Result<()> {
        let (start, end) = (recovery.checkpoint().redo, recovery.end().lsn);
        tracing::info!("the log is repeated from {start} to {end}");
        let mut groups = recovery.groups(start);
        let mut count = 0;
        while let Next::Group(group) = groups.next()? {
            if count % REPORT_EVERY == 0
                && let Some(progress) = &options.progress.0
            {
                progress(group.header.stamp.lsn - start, end - start);
            }
            count += 1;
            match self.apply(&group) {
                Err(e) if options.force_recovery => {
                    tracing::error!("the change at {} of the log is lost: {e}", group.header.stamp.lsn);
                }
                applied => applied?,
            }
        }
        if let Some(progress) = &options.progress.0 {
            progress(end - start, end - start);
        }
        Ok(())
    }

    fn apply(&mut self, group: &GroupView<'_>) -> Result<()> {
        self.log.set_position(group.header.stamp.lsn);
        let end = group.header.end();
        let mut touched: Vec<Touched> = Vec::new();
        for record in group.records() {
            let Some((change, trx_id)) = PageChange::of_record(&record, self.pool.page_size())
                .map_err(|reason| self.damaged(&record, reason))?
            else {
                continue;
            };
            let Some(file) = self.file(record.file)? else { continue };
            let at = match touched.iter().position(|t| (t.file, t.page_no) == (record.file, record.page)) {
                Some(at) => at,
                None => {
                    touched.push(self.touch(&file, record.page, end)?);
                    touched.len() - 1
                }
            };
            let touched = &mut touched[at];
            if !touched.applies {
                continue;
            }
            if !change.is_whole()
                && let Some(e) = touched.missing.take()
            {
                return Err(e);
            }
            touched.missing = None;
            let made = change.apply(&mut touched.page, record.page, file.index_id(), trx_id);
            made.map_err(|reason| self.damaged(&record, reason))?;
        }
        for mut touched in touched.into_iter().filter(|touched| touched.applies) {
            touched.page.header_mut().set_lsn(end);
        }
        Ok(())
    }

    /// Latches a page for a group that ends at `end`.
    fn touch(&self, file: &Arc<PageFile>, page_no: u32, end: Lsn) -> Result<Touched> {
        let PageForRedo { page, missing } = self.pool.page_for_redo(file, page_no, self.counters)?;
        let applies = PageHeader(&page).lsn() < end;
        Ok(Touched { file: file.id(), page_no, page, applies, missing })
    }

    /// The file of a record; `None` if it was dropped since.
    fn file(&mut self, id: FileId) -> Result<Option<Arc<PageFile>>> {
        if let Some(open) = self.open.get(&id) {
            return Ok(open.clone());
        }
        let path = crate::file::file_path(&self.files.directory, id);
        let there = self.files.disk.len_of(&path).map_err(|e| StorageError::io(&path, e))?;
        let there = there.filter(|_| !self.changes.is_removed(id));
        let opened = there.map(|_| PageFile::open(Arc::clone(&self.files.disk), &self.files.directory, id, self.sync));
        let opened = opened.transpose()?;
        self.open.insert(id, opened.clone());
        Ok(opened)
    }

    fn damaged(&self, record: &Record<'_>, reason: String) -> StorageError {
        let path = crate::file::file_path(&self.files.directory, record.file);
        let reason = format!("the record at {} of the log does not fit: {reason}", record.lsn);
        StorageError::Corrupt { path, page: record.page, reason }
    }
}
