//! Small files of the directory that are replaced through the log.

use super::Store;
use crate::{FileId, Result, StorageError, log::RoomUse, small_file::ReplaceError};
use std::sync::Arc;

impl Store {
    /// The content of a small file in the directory as it was last replaced; `None` if there is none. Errors: it has more than
    /// `max` bytes, I/O.
    pub fn read_small_file(&self, name: &str, max: u64) -> Result<Option<Arc<[u8]>>> {
        self.small_files.read(name, max).map_err(|e| StorageError::io(self.directory.join(name), e))
    }

    /// Replaces a small file by a record of the log: it is done, durably, when this returns, after all that was changed
    /// before. The files of pages in `removed` are not needed from then on; they may be deleted. Errors: `NotReplaced` if
    /// there is no room, `DurabilityUnknown` if the log has failed.
    pub fn replace_small_file(
        &self,
        name: &str,
        content: &[u8],
        removed: &[FileId],
        room: RoomUse,
    ) -> Result<(), ReplaceError> {
        self.small_files.replace(&self.log, name, content, removed, room)
    }

    /// Keeps room in the log for replacing a file of this size when the disk is full ([`RoomUse::Frees`]).
    pub fn keep_room(&self, content_bytes: u64) {
        if !self.is_read_only() {
            self.small_files.keep_room(&self.log, content_bytes);
        }
    }
}
