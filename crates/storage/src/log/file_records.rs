//! Records of small files: they replace the whole content of one, or change some definitions of one, with the files of
//! pages that nobody needs from then on.
//!
//! Either is one string of bytes: the numbers of the removed files (4 bytes each), then the new content or the
//! [changes](crate::definitions). It is one record, or several in groups of their own if it is longer than a group may
//! be; it counts when all of it is there.
//!
//! ```text
//!   0  bytes of the whole string       u32
//!   4  bytes of it before this piece   u32
//!   8  number of removed files         u32
//!  12  bytes of the name               u16
//!  14  the name, then the piece
//! ```

use super::group::{GROUP_HEADER, Group, RECORD_HEADER, Record, UNIT};
use crate::{
    FileId,
    definitions::DefinitionChanges,
    page::{u16_at, u32_at},
};
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

/// A piece of the replacement of a small file.
pub(crate) const SMALL_FILE: u8 = 18;
/// A piece of a change of a file of definitions.
pub(crate) const DEFINITIONS: u8 = 19;

/// Returns true for a kind of records that tell of small files.
pub(crate) fn is_of_small_file(kind: u8) -> bool {
    matches!(kind, SMALL_FILE | DEFINITIONS)
}

/// Bytes of a record's payload before the name.
const PIECE_HEADER: usize = 14;
/// A file's number in a replacement.
const NUMBER: usize = 4;

/// Makes the groups that replace a small file, or change definitions of one, and remove files of pages. None of them is
/// longer than `group_max`. `kind`: what the content is.
pub(crate) fn groups_of(kind: u8, name: &str, content: &[u8], removed: &[FileId], group_max: u64) -> Vec<Group> {
    let numbers: Vec<u8> = removed.iter().flat_map(|file| file.0.to_le_bytes()).collect();
    let whole = [&numbers, content].concat();
    let total = u32::try_from(whole.len()).expect("a small file has less than 4 GiB");
    let name_bytes = u16::try_from(name.len()).expect("the name of a file is short");
    let around = GROUP_HEADER + RECORD_HEADER + PIECE_HEADER + name.len() + UNIT;
    let room = usize::try_from(group_max).unwrap_or(usize::MAX) - around;
    let group = |at: usize| {
        let sizes = [total, at as u32, removed.len() as u32].map(u32::to_le_bytes).concat();
        let piece = &whole[at..whole.len().min(at + room)];
        let mut group = Group::default();
        group.push_parts(kind, FileId(0), 0, &[&sizes, &name_bytes.to_le_bytes(), name.as_bytes(), piece]);
        group
    };
    (0..whole.len().max(1)).step_by(room).map(group).collect()
}

/// One piece of such a string.
struct Piece<'a> {
    total: usize,
    at: usize,
    removed: usize,
    name: &'a str,
    bytes: &'a [u8],
}

impl<'a> Piece<'a> {
    fn read(payload: &'a [u8]) -> Option<Piece<'a>> {
        let (sizes, rest) = payload.split_at_checked(PIECE_HEADER)?;
        let [total, at, removed] = [0, 4, 8].map(|at| u32_at(sizes, at) as usize);
        let (name, bytes) = rest.split_at_checked(u16_at(sizes, 12).into())?;
        let name = str::from_utf8(name).ok().filter(|name| is_file_name(name))?;
        let fits = removed.checked_mul(NUMBER)? <= total && at.checked_add(bytes.len())? <= total;
        fits.then_some(Piece { total, at, removed, name, bytes })
    }
}

/// Returns true for the name of a file in the data directory itself.
fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0'])
}

/// What the log says of the content of a small file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LoggedContent {
    /// The whole content; `None` if it is that of the file.
    pub whole: Option<Arc<[u8]>>,
    /// Definitions that were changed since.
    pub changes: DefinitionChanges,
}

/// Changes of whole files in the log, from the start of redo to its end.
#[derive(Debug, Default)]
pub(crate) struct FileChanges {
    removed: HashSet<FileId>,
    contents: BTreeMap<String, LoggedContent>,
    /// Strings of which more pieces must come, with the kinds of their records.
    begun: BTreeMap<String, (u8, Vec<u8>)>,
}

impl FileChanges {
    /// Takes in a record of a small file. Errors: what is wrong with it; nothing of it is taken in then.
    pub fn add(&mut self, record: &Record<'_>) -> Result<(), String> {
        let piece = Piece::read(record.payload).ok_or("a change of a small file has impossible sizes")?;
        if piece.at == 0 {
            // A crash may have cut the one before short.
            self.begun.insert(piece.name.to_owned(), (record.kind, Vec::new()));
        }
        let follows = |(kind, whole): &&mut (u8, Vec<u8>)| *kind == record.kind && whole.len() == piece.at;
        let (_, whole) = self.begun.get_mut(piece.name).filter(follows).ok_or("a piece of a small file is missing")?;
        whole.extend_from_slice(piece.bytes);
        if whole.len() < piece.total {
            return Ok(());
        }
        let (_, whole) = self.begun.remove(piece.name).unwrap_or_default();
        let (numbers, content) = whole.split_at(piece.removed * NUMBER);
        match record.kind {
            SMALL_FILE => {
                let replaced = LoggedContent { whole: Some(content.into()), ..LoggedContent::default() };
                self.contents.insert(piece.name.to_owned(), replaced);
            }
            _ => {
                let changes = DefinitionChanges::from_bytes(content)?;
                self.contents.entry(piece.name.to_owned()).or_default().changes.values.extend(changes.values);
            }
        }
        self.removed.extend(numbers.chunks_exact(NUMBER).map(|number| FileId(u32_at(number, 0))));
        Ok(())
    }

    /// Returns true if a file of pages was removed: redo passes its records by. Only now is that known of all files,
    /// since pages of a removed file were not written with care any more.
    pub fn is_removed(&self, file: FileId) -> bool {
        self.removed.contains(&file)
    }

    /// What the log says of small files, by name.
    pub fn into_contents(self) -> BTreeMap<String, LoggedContent> {
        self.contents
    }
}
