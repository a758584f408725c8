//! An open tree: pages of one file, found from its root.
//!
//! Many threads read and change a tree at once. Who holds a latch of a page waits for others only in one order: pages
//! below it, pages to its right on its level, then page 0 and pages that nothing leads to. A descent latches the child
//! before it lets the parent go. Who holds leaves and wants one that is not to their right does not wait for it, but
//! lets go and comes again ([`Tree::fetch_if`]). A reader that comes back sees by the fences of its pages what writers
//! did meanwhile.

use super::{
    build::fit,
    page::{
        block::{OverflowPointer, RowBlock},
        former_layout::LATER_LAYOUT,
        inner::Inner,
        layout::TreeLayout,
        leaf::{
            BadPage, Fit, Leaf,
            decode::{DecodeError, OverflowReader},
        },
        overflow,
    },
    planted::PlantedFault,
    probe::{Event, Probe},
    read::{
        descent::DescentTarget,
        versions::{History, LastVersion},
    },
};
use crate::{
    Counters, ReadView, Result, StorageError,
    buffer_pool::{BufferPool, PageGuard, PageGuardMut},
    file::PageFile,
    latch_order::{InTree, Rank},
    locks::LockTable,
    log::Log,
    page::{PageHeader, PageType},
    planted::Planted,
    stripes::Stripes,
};
use muster_types::Value;
use parking_lot::RwLock;
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering},
};

pub struct Tree {
    pub(super) pool: Arc<BufferPool>,
    /// The log that is told of changes; `None` if nothing is going to change.
    pub(super) log: Option<Arc<Log>>,
    pub(super) file: Arc<PageFile>,
    pub(super) layout: Arc<TreeLayout>,
    /// How rows fit a leaf.
    pub(super) fit: Fit,
    /// Locks of declared parts of a unique tree, held by who adds an entry from the look for duplicates on.
    pub(super) unique: Stripes,
    /// The oldest transaction whose changes some view may not see, or that may be rolled back.
    horizon: RwLock<Arc<AtomicU64>>,
    /// Where versions of rows are found that are not in the pages; known once the tree belongs to a table.
    pub(super) history: OnceLock<History>,
    /// The transaction from which on the tree has what views see; 0: it has it for all.
    pub(super) since: AtomicU64,
    /// The locks of transactions; known once the tree belongs to a table.
    pub(super) locks: OnceLock<Arc<LockTable>>,
    /// True if rows may be so long that some of their values go to pages of their own.
    pub(super) spills: bool,
    /// Of a clustered tree: the version that a reader found last behind many newer ones.
    pub(super) last_version: LastVersion,
    pub(super) probe: Probe,
    pub(super) planted: Planted<PlantedFault>,
}

impl Tree {
    /// A tree that is there: built by a [`super::TreeBuilder`] or empty from [`crate::Store::create_table`]. Without
    /// `log` it is only read.
    pub(crate) fn open(
        pool: Arc<BufferPool>,
        log: Option<Arc<Log>>,
        file: Arc<PageFile>,
        layout: Arc<TreeLayout>,
    ) -> Result<Tree> {
        if file.header().root == 0 {
            let reason = "the file has no tree".to_string();
            return Err(StorageError::Corrupt { path: file.path().to_path_buf(), page: 0, reason });
        }
        file.set_tree(layout.index);
        let fit = fit(&layout, file.page_size());
        let may_spill = |layout: &TreeLayout| overflow::may_spill(layout, file.page_size());
        let spills = may_spill(&layout) || layout.former.iter().any(|former| may_spill(&former.layout));
        Ok(Tree {
            pool,
            log,
            file,
            layout,
            fit,
            spills,
            history: OnceLock::new(),
            since: AtomicU64::new(0),
            locks: OnceLock::new(),
            horizon: RwLock::new(Arc::new(AtomicU64::new(u64::MAX))),
            unique: Stripes::default(),
            last_version: LastVersion::default(),
            probe: Probe::default(),
            planted: Planted::default(),
        })
    }

    pub fn layout(&self) -> &Arc<TreeLayout> {
        &self.layout
    }

    pub fn file(&self) -> &Arc<PageFile> {
        &self.file
    }

    pub fn pool(&self) -> &Arc<BufferPool> {
        &self.pool
    }

    /// Rows of a clustered tree, entries of a secondary one.
    pub fn row_count(&self) -> u64 {
        self.file.header().row_count
    }

    /// Says where the oldest transaction is told whose changes some view may not see, or that may be rolled back: of
    /// those and of later ones, rows keep the number. Unless it is said, what is changed is seen by all and stays.
    pub(crate) fn follow_horizon(&self, horizon: Arc<AtomicU64>) {
        *self.horizon.write() = horizon;
    }

    /// The horizon of tests that have no transactions.
    #[cfg(test)]
    pub(crate) fn set_horizon(&self, trx_id: u64) {
        self.follow_horizon(Arc::new(AtomicU64::new(trx_id)));
    }

    /// Tells the tree who has locked its entries and gaps.
    pub(crate) fn set_locks(&self, locks: Arc<LockTable>) {
        // A tree belongs to one table, which tells it once.
        let _ = self.locks.set(locks);
    }

    pub(super) fn horizon(&self) -> u64 {
        self.horizon.read().load(Ordering::Acquire)
    }

    /// Writes the counts of rows and leaves into page 0. Errors: those of latching it.
    pub(crate) fn write_counts(&self, counters: &Counters) -> Result<()> {
        if self.file.counts_in_page() {
            return Ok(());
        }
        let mut page = self.pool.header_mut(&self.file, counters)?;
        self.file.update_header(&mut page, |_| ());
        Ok(())
    }

    /// The error of a page that is not what it should be. One with rows of a layout that came after this opening of the
    /// table is not damaged: its reader is too old.
    pub(crate) fn corrupt(&self, page: u32, e: BadPage) -> StorageError {
        match e {
            LATER_LAYOUT => StorageError::SnapshotTooOld,
            BadPage(reason) => {
                StorageError::Corrupt { path: self.file.path().to_path_buf(), page, reason: reason.to_string() }
            }
        }
    }

    /// Latches a page for reading. Only who holds no page, or pages above it or to its left, waits for it; others have
    /// `None` if they would have to wait.
    pub(super) fn fetch_if(&self, page: u32, wait: bool, counters: &Counters) -> Result<Option<PageGuard>> {
        if wait {
            return self.fetch(page, counters).map(Some);
        }
        let page = self.pool.try_fetch(&self.file, page, counters)?;
        match &page {
            Some(page) => page.place(false, || self.rank(page)),
            None => self.probe.hit(Event::Refused),
        }
        Ok(page)
    }

    /// Latches a page for reading, and waits for it.
    pub(super) fn fetch(&self, page: u32, counters: &Counters) -> Result<PageGuard> {
        let page = self.pool.fetch(&self.file, page, counters)?;
        page.place(true, || self.rank(&page));
        Ok(page)
    }

    /// Latches a page for changing, and waits for it.
    pub(super) fn fetch_mut(&self, page: u32, counters: &Counters) -> Result<PageGuardMut> {
        let page = self.pool.fetch_mut(&self.file, page, counters)?;
        page.place(|| self.rank(&page));
        Ok(page)
    }

    /// Latches a page for reading if that needs no waiting and no disk.
    pub(super) fn fetch_resident(&self, page: u32) -> Option<PageGuard> {
        let page = self.pool.fetch_resident(&self.file, page)?;
        page.place(false, || self.rank(&page));
        Some(page)
    }

    /// The place of a page in the order of latches. A page that is damaged has none that matters.
    fn rank(&self, page: &[u8]) -> Rank {
        let in_tree = match PageHeader(page).page_type() {
            Some(PageType::Leaf | PageType::Inner) => InTree::Page {
                depth: u8::MAX - PageHeader(page).level(),
                low_fence: self.fences(page).map_or(Vec::new(), |fences| fences.low.to_vec()),
            },
            Some(PageType::FileHeader) => InTree::Header,
            Some(PageType::Overflow) => InTree::LongValue,
            Some(PageType::Free) | None => InTree::Free,
        };
        // The number that this table gives it: another definition of the table, with other indexes, may have opened the
        // file since.
        Rank::Tree(self.layout.index as u32, in_tree)
    }

    /// The leaf in a latched page, or in a copy of its bytes.
    pub fn leaf<'a>(&'a self, page: &'a [u8]) -> Result<Leaf<'a>> {
        Leaf::of(page, &self.layout).map_err(|e| self.corrupt(PageHeader(page).page_no(), e))
    }

    /// Names the page in an error of decoding it.
    pub fn decode_error(&self, page: u32, e: DecodeError) -> StorageError {
        match e {
            DecodeError::Page(e) => self.corrupt(page, e),
            DecodeError::Storage(e) => e,
        }
    }

    /// The inner page in the bytes of a page.
    pub(super) fn inner<'a>(&self, page: &'a [u8]) -> Result<Inner<'a>> {
        Inner::new(page).map_err(|e| self.corrupt(PageHeader(page).page_no(), e))
    }

    /// Rows below a bound, about: as the counts in inner pages say.
    fn rows_before(&self, bound: DescentTarget<'_>, counters: &Counters) -> Result<u64> {
        let mut before = 0;
        let page = self.descend_with(
            bound,
            0,
            |page_no| self.fetch(page_no, counters).map(Some),
            |inner, child| before += (0..child).map(|i| inner.rows(i)).sum::<u64>(),
        )?;
        let Some(page) = page else { return Ok(before) };
        let leaf = self.leaf(&page)?;
        let row = match bound {
            DescentTarget::Key(key) | DescentTarget::Below(Some(key)) => leaf.lower_bound(&self.layout, key),
            DescentTarget::Below(None) => Ok(leaf.rows()),
        };
        Ok(before + row.map_err(|e| self.corrupt(page.page_no(), e))? as u64)
    }

    /// Rows in a range of keys, about: from the counts in inner pages. Two descents.
    pub fn count_range(&self, range: &crate::key::ByteRange, counters: &Counters) -> Result<u64> {
        let before =
            if range.lower.is_empty() { 0 } else { self.rows_before(DescentTarget::Key(&range.lower), counters)? };
        let upto = self.rows_before(DescentTarget::Below(range.upper.as_deref()), counters)?;
        Ok(upto.saturating_sub(before))
    }

    /// The values of rows of a block, long ones read from their pages. `view`: the one for which the rows are read, as
    /// in [`TreeOverflow`].
    pub(crate) fn row_values(
        &self,
        block: &RowBlock,
        row: usize,
        view: Option<&ReadView>,
        counters: &Counters,
    ) -> Result<Vec<Value>> {
        let reader = TreeOverflow { tree: self, view, counters };
        self.layout
            .columns
            .iter()
            .zip(&block.columns)
            .map(|(spec, column)| {
                let long = match column.is_overflow(row) {
                    true => OverflowPointer::from_bytes(column.bytes(row)).map(|p| reader.read(p)).transpose()?,
                    false => None,
                };
                Ok(column.value(row, &spec.ty, long))
            })
            .collect()
    }
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tree").field("file", &self.file.path()).field("header", &self.file.header()).finish()
    }
}

/// Reads a tree's long values.
pub struct TreeOverflow<'a> {
    pub tree: &'a Tree,
    /// The view that keeps the values, if nothing else does. Once it has expired, their pages may be those of other
    /// values.
    pub view: Option<&'a ReadView>,
    pub counters: &'a Counters,
}

impl OverflowReader for TreeOverflow<'_> {
    fn read(&self, pointer: OverflowPointer) -> Result<Vec<u8>> {
        let value = self.read_pages(pointer);
        self.view.map_or(Ok(()), ReadView::check_kept)?;
        value
    }
}

impl TreeOverflow<'_> {
    fn read_pages(&self, pointer: OverflowPointer) -> Result<Vec<u8>> {
        let len = pointer.len as usize;
        // A damaged length must not ask for memory: the file bounds it.
        let limit = self.tree.file.page_count() as usize * self.tree.file.page_size();
        if len > limit {
            return Err(self.tree.corrupt(pointer.page, BadPage("value longer than the file")));
        }
        let mut value = Vec::with_capacity(len);
        let mut page_no = pointer.page;
        while value.len() < len {
            let page = self.tree.fetch(page_no, self.counters)?;
            let piece = overflow::read_piece(&page, len - value.len());
            let (piece, next) = piece.map_err(|e| self.tree.corrupt(page_no, e))?;
            value.extend_from_slice(piece);
            page_no = next;
        }
        Ok(value)
    }
}
