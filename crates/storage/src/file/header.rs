//! The fields of a file's page 0. Drawn in `docs/format.md`, "Type 1: file header".

use crate::page::{self, FORMAT_VERSION, PAGE_HEADER, PageHeaderMut, PageType};

pub(crate) const FILE_MAGIC: [u8; 8] = *b"MUSTER\r\n";
/// Numbers in the file header that belong to the tree.
pub const TREE_FIELDS: usize = 8;

/// The description of a file in its page 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileHeader {
    pub page_size: u32,
    pub index_id: u32,
    /// 0 while there is no tree, else [`crate::file::ROOT_PAGE`].
    pub root: u32,
    /// Pages of the file, this header included.
    pub page_count: u32,
    /// First page of the free list, or 0.
    pub free_head: u32,
    pub free_count: u32,
    /// An estimate in page 0; as it is in memory.
    pub leaf_count: u64,
    /// Rows of a clustered tree, entries of a secondary one: an estimate in page 0; as it is in memory.
    pub row_count: u64,
    /// A hidden row number above all that were given out.
    pub next_row_id: u64,
    /// Fields for the tree's own use.
    pub tree: [u64; TREE_FIELDS],
}

impl FileHeader {
    pub(crate) fn encode(&self, page: &mut [u8]) {
        PageHeaderMut(page).init(PageType::FileHeader, 0, self.index_id);
        let mut at = PAGE_HEADER;
        let mut put = |bytes: &[u8]| {
            page[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&FILE_MAGIC);
        for field in [
            u32::from(FORMAT_VERSION),
            self.page_size,
            self.index_id,
            self.root,
            0,
            self.page_count,
            self.free_head,
            self.free_count,
        ] {
            put(&field.to_le_bytes());
        }
        for field in [self.leaf_count, self.row_count, self.next_row_id] {
            put(&field.to_le_bytes());
        }
        for field in self.tree {
            put(&field.to_le_bytes());
        }
    }

    /// Decodes the header of a file from a page that has been verified.
    pub(crate) fn decode(page: &[u8]) -> FileHeader {
        let small = |i: usize| page::u32_at(page, PAGE_HEADER + 8 + 4 * i);
        let large = |i: usize| page::u64_at(page, PAGE_HEADER + 40 + 8 * i);
        FileHeader {
            page_size: small(1),
            index_id: small(2),
            root: small(3),
            page_count: small(5),
            free_head: small(6),
            free_count: small(7),
            leaf_count: large(0),
            row_count: large(1),
            next_row_id: large(2),
            tree: std::array::from_fn(|i| large(3 + i)),
        }
    }
}
