//! Small files whose replacement is a record of the log: definitions and accounts.
//!
//! A replacement is done when its record is durable. The file follows before a checkpoint passes the record
//! ([`SmallFiles::write_back`]); until then the new content is here, and after a crash the log has it. So a replacement
//! takes one sync, is in one order with the changes of pages, and needs no room on the disk but that of the log.

use super::{
    Lsn,
    append::Log,
    file_records::{FileChanges, replacement},
    group::Group,
    room::{Room, charge},
    segments::LogFiles,
};
use crate::{
    FileId, Result, StorageError,
    mutex::{Mutex, MutexGuard},
    small_file::{self, ReplaceError},
};
use std::{collections::BTreeMap, io::ErrorKind, sync::Arc};

/// Bytes of groups for which room is kept in any case.
const KEPT_AT_LEAST: u64 = 4 << 10;

/// The outcome of a replacement on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoomUse {
    /// It may need more room than before: on a full disk it fails.
    Takes,
    /// It frees room: on a full disk it takes the room that is kept for it in the log.
    Frees,
}

/// Content that the file does not have yet.
#[derive(Debug)]
struct Pending {
    content: Arc<[u8]>,
    /// Redo must begin here or before.
    from: Lsn,
    /// The log must be durable up to here before the file is replaced.
    end: Lsn,
}

/// The small files of one directory.
#[derive(Debug)]
pub(crate) struct SmallFiles {
    files: LogFiles,
    pending: Mutex<BTreeMap<String, Pending>>,
    /// Room for one replacement that frees room, and for how many bytes of groups it was asked.
    kept: Mutex<Option<(u64, Room)>>,
    /// Held while files are written: an older content must not come after a newer one.
    writing: Mutex<()>,
}

impl SmallFiles {
    /// `changes`: what the log says from `redo` on; the log is durable up to `end`.
    pub fn new(files: LogFiles, changes: FileChanges, redo: Lsn, end: Lsn) -> SmallFiles {
        let pending = |(name, content)| (name, Pending { content, from: redo, end });
        let pending = Mutex::new(changes.into_replaced().into_iter().map(pending).collect());
        SmallFiles { files, pending, kept: Mutex::default(), writing: Mutex::default() }
    }

    /// The content of a file; `None` if there is none. Errors: it has more than `max` bytes (`FileTooLarge`), I/O.
    pub fn read(&self, name: &str, max: u64) -> std::io::Result<Option<Arc<[u8]>>> {
        if let Some(pending) = self.pending.lock().get(name) {
            return Ok(Some(Arc::clone(&pending.content)));
        }
        match self.files.disk.read_small(&self.files.directory.join(name), max) {
            Ok(content) => Ok(Some(content.into())),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
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
        let mut groups = replacement(name, content, removed, log.group_max());
        let mut room = self.room(log, &groups, use_).map_err(ReplaceError::NotReplaced)?;
        let end = {
            let mut pending = self.pending.lock();
            // A checkpoint asks for what is pending after it has asked where the log ends.
            let here = log.current();
            let from = pending.get(name).map_or(here, |before| before.from);
            let appended = groups.iter_mut().map(|group| log.append(group, &mut room).end).max();
            let end = appended.unwrap_or(here);
            pending.insert(name.to_owned(), Pending { content: content.into(), from, end });
            end
        };
        drop(room);
        log.wait_durable(end).map_err(ReplaceError::DurabilityUnknown)?;
        self.keep_room(log, content.len() as u64);
        Ok(())
    }

    /// The start of redo for changes that the files do not have yet; `None` if they have all. To be asked after
    /// [`Log::current`].
    pub fn redo_start(&self) -> Option<Lsn> {
        self.pending.lock().values().map(|pending| pending.from).min()
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
            let newest = self.pending.lock().get(&name).map(|pending| (Arc::clone(&pending.content), pending.end));
            let Some((content, end)) = newest else { continue };
            log.wait_durable(end)?;
            let path = self.files.directory.join(&name);
            small_file::replace(&*self.files.disk, &path, &content, self.files.sync).map_err(|e| match e {
                ReplaceError::NotReplaced(e) | ReplaceError::DurabilityUnknown(e) => e,
            })?;
            let mut pending = self.pending.lock();
            if pending.get(&name).is_some_and(|pending| pending.end == end) {
                pending.remove(&name);
            }
        }
        Ok(())
    }

    /// Keeps room in the log for a replacement by so many bytes of content that frees room.
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
    let first = rooms.next().expect("a replacement has at least one group")?;
    rooms.try_fold(first, |mut all, room| {
        all.merge(room?);
        Ok(all)
    })
}

#[cfg(test)]
#[path = "small_files_tests.rs"]
mod tests;
