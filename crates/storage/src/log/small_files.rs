//! Small files whose content changes by records of the log: definitions and accounts.
//!
//! A record replaces the whole content of a file, or changes some of the definitions in it ([`crate::definitions`]). It
//! is done when it is durable. The file follows before a checkpoint passes the record ([`SmallFiles::write_back`]);
//! until then what is new is here, and after a crash the log has it. So a change takes one sync, is in one order with
//! the changes of pages, and needs no room on the disk but that of the log.

use super::{
    Lsn,
    append::Log,
    file_records::{DEFINITIONS, FileChanges, LoggedContent, SMALL_FILE, groups_of},
    group::Group,
    room::{Room, charge},
    segments::LogFiles,
};
use crate::{
    FileId, Result, StorageError,
    checked_file::{BODY_BYTES_MAX, HEADER_BYTES},
    definitions::{self, DefinitionChanges},
    mutex::{Mutex, MutexGuard},
    small_file::{self, ReplaceError},
};
use std::{collections::BTreeMap, io::ErrorKind, sync::Arc};

/// Bytes of groups for which room is kept in any case.
const KEPT_AT_LEAST: u64 = 4 << 10;

/// The outcome of a change on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoomUse {
    /// It may need more room than before: on a full disk it fails.
    Takes,
    /// It frees room: on a full disk it takes the room that is kept for it in the log.
    Frees,
}

/// Something that the file does not have yet.
#[derive(Debug, Clone)]
struct Logged<T> {
    value: T,
    /// Redo must begin here or before.
    from: Lsn,
    /// The log must be durable up to here before the file has it.
    end: Lsn,
}

/// What one file does not have yet.
#[derive(Debug, Clone, Default)]
struct Pending {
    /// The whole content; `None` if it is that of the file.
    whole: Option<Logged<Arc<[u8]>>>,
    /// The last values of definitions that were changed since.
    changes: BTreeMap<Vec<u8>, Logged<Option<Arc<[u8]>>>>,
}

impl Pending {
    fn of(content: LoggedContent, from: Lsn, end: Lsn) -> Pending {
        let whole = content.whole.map(|value| Logged { value, from, end });
        let mut pending = Pending { whole, ..Pending::default() };
        pending.change(content.changes, from, end);
        pending
    }

    /// The record at `from` replaces all of the file. Redo goes on to begin where it had to before: that record may not
    /// be durable yet when a checkpoint is taken.
    fn replace(&mut self, value: Arc<[u8]>, from: Lsn, end: Lsn) {
        let from = self.positions().map(|(before, _)| before).min().unwrap_or(from);
        *self = Pending { whole: Some(Logged { value, from, end }), changes: BTreeMap::new() };
    }

    /// The record at `from` changes definitions, each of which keeps the start of redo that it had.
    fn change(&mut self, changes: DefinitionChanges, from: Lsn, end: Lsn) {
        for (key, value) in changes.values {
            let from = self.changes.get(&key).map_or(from, |before| before.from);
            self.changes.insert(key, Logged { value, from, end });
        }
    }

    /// The positions of the records, from and to.
    fn positions(&self) -> impl Iterator<Item = (Lsn, Lsn)> {
        let whole = self.whole.iter().map(|whole| (whole.from, whole.end));
        whole.chain(self.changes.values().map(|change| (change.from, change.end)))
    }

    /// Forgets what the file has: all that the log has up to `end`. Of what has come since, no record is before that.
    fn forget(&mut self, end: Lsn) {
        self.whole.take_if(|whole| whole.end <= end);
        self.changes.retain(|_, change| change.end > end);
        let later = self.changes.values_mut().map(|change| &mut change.from);
        self.whole.iter_mut().map(|whole| &mut whole.from).chain(later).for_each(|from| *from = end.max(*from));
    }

    fn is_empty(&self) -> bool {
        self.whole.is_none() && self.changes.is_empty()
    }
}

/// The small files of one directory.
#[derive(Debug)]
pub(crate) struct SmallFiles {
    files: LogFiles,
    pending: Mutex<BTreeMap<String, Pending>>,
    /// From where to where in the log the changes of several groups are that redo may still read.
    spans: Mutex<Vec<(Lsn, Lsn)>>,
    /// Room for one change that frees room, and for how many bytes of groups it was asked.
    kept: Mutex<Option<(u64, Room)>>,
    /// Held while files are written: an older content must not come after a newer one.
    writing: Mutex<()>,
}

impl SmallFiles {
    /// `changes`: what the log says from `redo` on; the log is durable up to `end`.
    pub fn new(files: LogFiles, changes: FileChanges, redo: Lsn, end: Lsn) -> SmallFiles {
        let pending = |(name, content)| (name, Pending::of(content, redo, end));
        let pending = Mutex::new(changes.into_contents().into_iter().map(pending).collect());
        let (kept, spans) = (Mutex::default(), Mutex::default());
        SmallFiles { files, pending, spans, kept, writing: Mutex::default() }
    }

    /// The content of a file; `None` if there is none. Errors: `CorruptFile`, if definitions were changed of a file
    /// that has none, I/O, if it has more than `max` bytes, too (`FileTooLarge`).
    pub fn read(&self, name: &str, max: u64) -> Result<Option<Arc<[u8]>>> {
        // The file must not get newer than what is pending.
        let _nobody_writes = self.writing.lock();
        let pending = self.pending.lock().get(name).cloned().unwrap_or_default();
        self.content(name, &pending, max)
    }

    /// The content of a file with what it does not have yet.
    fn content(&self, name: &str, pending: &Pending, max: u64) -> Result<Option<Arc<[u8]>>> {
        let path = self.files.directory.join(name);
        let before = match &pending.whole {
            Some(whole) => Some(Arc::clone(&whole.value)),
            None => match self.files.disk.read_small(&path, max) {
                Ok(content) => Some(content.into()),
                Err(e) if e.kind() == ErrorKind::NotFound => None,
                Err(e) => return Err(StorageError::io(path, e)),
            },
        };
        if pending.changes.is_empty() {
            return Ok(before);
        }
        let corrupt = |reason: String| StorageError::CorruptFile { path, reason };
        let Some(before) = before else { return Err(corrupt("missing, while the log has changes of it".to_string())) };
        let changes = pending.changes.iter().map(|(key, change)| (key.clone(), change.value.clone()));
        let after = definitions::changed(&before, changes).map_err(corrupt)?;
        Ok(Some(after.into()))
    }

    /// Replaces a file, durably, and removes files of pages with it: after a crash they are not needed. Errors:
    /// `NotReplaced` if there is no room, `DurabilityUnknown` if the log has failed.
    pub fn replace(
        &self,
        log: &Log,
        name: &str,
        content: &[u8],
        removed: &[FileId],
        use_: RoomUse,
    ) -> Result<(), ReplaceError> {
        let groups = groups_of(SMALL_FILE, name, content, removed, log.group_max());
        self.append(log, name, groups, use_, |pending, from, end| pending.replace(content.into(), from, end))?;
        self.keep_room(log, content.len() as u64);
        Ok(())
    }

    /// Changes definitions of a file, as [`SmallFiles::replace`] replaces all of it. Keeps no room in the log.
    pub fn change(
        &self,
        log: &Log,
        name: &str,
        changes: DefinitionChanges,
        removed: &[FileId],
        use_: RoomUse,
    ) -> Result<(), ReplaceError> {
        let groups = groups_of(DEFINITIONS, name, &changes.to_bytes(), removed, log.group_max());
        self.append(log, name, groups, use_, |pending, from, end| pending.change(changes, from, end))
    }

    /// Appends the groups of a change, tells it to `pending`, and waits until it is durable.
    fn append(
        &self,
        log: &Log,
        name: &str,
        mut groups: Vec<Group>,
        use_: RoomUse,
        change: impl FnOnce(&mut Pending, Lsn, Lsn),
    ) -> Result<(), ReplaceError> {
        let mut room = self.room(log, &groups, use_).map_err(ReplaceError::NotReplaced)?;
        let end = {
            let mut pending = self.pending.lock();
            // A checkpoint asks for what is pending after it has asked where the log ends.
            let from = log.current();
            let end = groups.iter_mut().map(|group| log.append(group, &mut room).end).max().unwrap_or(from);
            if groups.len() > 1 {
                self.spans.lock().push((from, end));
            }
            change(pending.entry(name.to_owned()).or_default(), from, end);
            end
        };
        drop(room);
        log.wait_durable(end).map_err(ReplaceError::DurabilityUnknown)
    }

    /// The start of redo for changes that the files do not have yet; `None` if they have all. To be asked after
    /// [`Log::current`].
    pub fn redo_start(&self) -> Option<Lsn> {
        self.pending.lock().values().flat_map(Pending::positions).map(|(from, _)| from).min()
    }

    /// The start of redo at or before the given one that is not within a change of several groups: the pieces of one
    /// whose beginning is missing would mean nothing. Positions asked for later are not below the result.
    pub fn outside_of_changes(&self, redo: Lsn) -> Lsn {
        let mut spans = self.spans.lock();
        spans.retain(|(_, end)| *end > redo);
        spans.iter().filter(|(from, _)| *from < redo).map(|(from, _)| *from).min().unwrap_or(redo)
    }

    /// Keeps files from being written as long as what is returned is held.
    pub fn pause(&self) -> MutexGuard<'_, ()> {
        self.writing.lock()
    }

    /// Replaces the files on the disk by what the log has. Errors: `DiskFull`, I/O; what is not written stays pending.
    pub fn write_back(&self, log: &Log) -> Result<()> {
        let _one_at_a_time = self.writing.lock();
        let names: Vec<String> = self.pending.lock().keys().cloned().collect();
        for name in names {
            let Some(newest) = self.pending.lock().get(&name).cloned() else { continue };
            let Some(end) = newest.positions().map(|(_, end)| end).max() else { continue };
            log.wait_durable(end)?;
            let max = HEADER_BYTES as u64 + BODY_BYTES_MAX;
            let Some(content) = self.content(&name, &newest, max)? else { continue };
            let path = self.files.directory.join(&name);
            small_file::replace(&*self.files.disk, &path, &content, self.files.sync).map_err(|e| match e {
                ReplaceError::NotReplaced(e) | ReplaceError::DurabilityUnknown(e) => e,
            })?;
            let mut pending = self.pending.lock();
            if let Some(of_file) = pending.get_mut(&name) {
                of_file.forget(end);
                if of_file.is_empty() {
                    pending.remove(&name);
                }
            }
        }
        Ok(())
    }

    /// Keeps room in the log for a change that frees room, of a file with so many bytes of content.
    pub fn keep_room(&self, log: &Log, content_bytes: u64) {
        // A record that removes files names them.
        let bytes = content_bytes + content_bytes / 4 + KEPT_AT_LEAST;
        let mut kept = self.kept.lock();
        if kept.as_ref().is_some_and(|(of, _)| *of >= bytes) {
            return;
        }
        let max = log.group_max();
        let sizes = (0..bytes).step_by(max as usize).map(|at| max.min(bytes - at));
        match promise(log, sizes) {
            Ok(room) => *kept = Some((bytes, room)),
            Err(e) => tracing::warn!("the log keeps no room for dropping tables: {e}"),
        }
    }

    fn room(&self, log: &Log, groups: &[Group], use_: RoomUse) -> Result<Room> {
        let sizes = || groups.iter().map(Group::bytes);
        if use_ == RoomUse::Takes {
            return sum(sizes().map(|bytes| log.reserve(bytes)));
        }
        promise(log, sizes()).or_else(|e| match (e, self.kept.lock().take()) {
            (StorageError::DiskFull { .. }, Some((_, room))) if sizes().map(charge).sum::<u64>() <= room.bytes() => {
                Ok(room)
            }
            (e, _) => Err(e),
        })
    }
}

/// Room for groups of such sizes, without waiting for a checkpoint.
fn promise(log: &Log, sizes: impl Iterator<Item = u64>) -> Result<Room> {
    sum(sizes.map(|bytes| log.reserve_at_once(bytes)))
}

fn sum(mut rooms: impl Iterator<Item = Result<Room>>) -> Result<Room> {
    let first = rooms.next().expect("a change has at least one group")?;
    rooms.try_fold(first, |mut all, room| {
        all.merge(room?);
        Ok(all)
    })
}

#[cfg(test)]
#[path = "small_files_tests.rs"]
mod tests;
