//! Small files of the directory that are replaced through the log.

use super::Store;
use crate::{FileId, Result, definitions::DefinitionChanges, log::RoomUse, small_file::ReplaceError};
use std::sync::Arc;

impl Store {
    /// The content of a small file in the directory as it was last replaced; `None` if there is none. Errors:
    /// `CorruptFile`, I/O, if it has more than `max` bytes, too (`FileTooLarge`).
    pub fn read_small_file(&self, name: &str, max: u64) -> Result<Option<Arc<[u8]>>> {
        self.small_files.read(name, max)
    }

    /// Replaces a small file by a record of the log: it is done, durably, when this returns, after all that was changed
    /// before. The files of pages in `removed` are not needed from then on; they may be deleted. Errors: `NotReplaced`
    /// if there is no room, `DurabilityUnknown` if the log has failed.
    pub fn replace_small_file(
        &self,
        name: &str,
        content: &[u8],
        removed: &[FileId],
        room: RoomUse,
    ) -> Result<(), ReplaceError> {
        self.small_files.replace(&self.log, name, content, removed, room)
    }

    /// Changes some definitions of a small file ([`crate::definitions`]) by a record of the log, as
    /// [`Store::replace_small_file`] replaces all of one. The file must have been written as a file of definitions.
    pub fn change_definitions(
        &self,
        name: &str,
        changes: DefinitionChanges,
        removed: &[FileId],
        room: RoomUse,
    ) -> Result<(), ReplaceError> {
        self.small_files.change(&self.log, name, changes, removed, room)
    }

    /// Keeps room in the log for a change of a file of this size when the disk is full ([`RoomUse::Frees`]).
    pub fn keep_room(&self, content_bytes: u64) {
        if !self.is_read_only() {
            self.small_files.keep_room(&self.log, content_bytes);
        }
    }
}
