//! A group: changes of a few pages of a tree that are made as a whole or not at all.
//!
//! ```text
//!   latch, allocate    the pages are latched exclusively, one after the other; all that can fail is done here
//!   change             what will become of each page, as a value; the page is as it was
//!   commit             the pages change, then the file header, and the log is told: nothing here can fail
//! ```
//!
//! Room in the log is asked for before anything is latched ([`Tree::room`]), and used up by the commit. A group that is
//! dropped before it is committed leaves the tree and its file as they were.

use crate::tree::{
    btree::Tree,
    page::{
        inner::InnerNode,
        leaf::{self, slot::PENDING},
        page_change::{PageChange, push_image},
    },
    planted::PlantedFault,
    probe::Event,
};
use crate::{
    Counters, FileId, Result,
    buffer_pool::{Allocation, PageGuardMut},
    file::HEADER_PAGE,
    log::{self, GROUP_HEADER, Lsn},
    page::{PageHeader, PageType},
};
use std::borrow::Cow;

/// Pages that a group changes at most, the file header not counted.
const PAGES_MAX: usize = 3;
/// Bytes that a page takes in the log beside its content, and that the file header takes altogether.
const RECORD_BYTES: usize = 64;
const HEADER_BYTES: usize = 512;

/// Room in the log for a group, if there is a log.
#[derive(Debug, Default)]
pub struct Room(Option<log::Room>);

impl Room {
    /// Takes over the room of another.
    pub fn merge(&mut self, other: Room) {
        match (&mut self.0, other.0) {
            (Some(room), Some(other)) => room.merge(other),
            (None, other) => self.0 = other,
            (Some(_), None) => {}
        }
    }
}

/// Bytes that a group takes in the log at most.
pub(crate) fn group_bytes_max(page_size: usize) -> u64 {
    (PAGES_MAX * (page_size + RECORD_BYTES) + HEADER_BYTES) as u64
}

impl Tree {
    /// Room in the log for a group of this tree. To be asked for before anything is latched, since this waits while the
    /// log is at its capacity. Errors: `DiskFull`, `LogFull`, I/O.
    pub(crate) fn room(&self) -> Result<Room> {
        self.room_with(|log, bytes| log.reserve(bytes))
    }

    /// As [`Tree::room`], without waiting for a checkpoint: for what makes room on a latched page, and for posts, which
    /// may come while leaves of other trees are latched. Errors: `DiskFull`, I/O.
    pub(crate) fn room_at_once(&self) -> Result<Room> {
        self.room_with(|log, bytes| log.reserve_at_once(bytes))
    }

    fn room_with(&self, reserve: impl FnOnce(&log::Log, u64) -> Result<log::Room>) -> Result<Room> {
        let bytes = group_bytes_max(self.file.page_size());
        self.log.as_ref().map(|log| reserve(log, bytes)).transpose().map(Room)
    }
}

/// A latched page and what becomes of it.
struct Latched {
    page: PageGuardMut,
    changes: Vec<PageChange<'static>>,
    /// The file has the page only once the group is committed.
    is_new: bool,
}

/// A page of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tree) struct Member(usize);

/// A change of some pages that is being put together.
pub(in crate::tree) struct Group<'a> {
    tree: &'a Tree,
    counters: &'a Counters,
    pages: Vec<Latched>,
    allocation: Option<Allocation<'a>>,
    /// Pages get this as their largest transaction id if theirs is smaller.
    trx_id: u64,
    /// Rows and leaves that come, less those that go.
    rows: i64,
    leaves: i64,
}

impl<'a> Group<'a> {
    pub fn new(tree: &'a Tree, counters: &'a Counters) -> Group<'a> {
        Group { tree, counters, pages: Vec::with_capacity(1), allocation: None, trx_id: 0, rows: 0, leaves: 0 }
    }

    /// Takes over a page that is latched already.
    pub fn add(&mut self, page: PageGuardMut) -> Member {
        self.pages.push(Latched { page, changes: Vec::new(), is_new: false });
        Member(self.pages.len() - 1)
    }

    /// Latches a page of the tree. Errors: those of reading it.
    pub fn latch(&mut self, page_no: u32) -> Result<Member> {
        let page = self.tree.fetch_mut(page_no, self.counters)?;
        Ok(self.add(page))
    }

    /// Takes a page for the tree, which the group must give a content. Call it when all other pages are latched.
    /// Errors: `DiskFull`, `NoFreeFrame`, `Corrupt`, I/O.
    pub fn allocate(&mut self) -> Result<Member> {
        let counters = self.counters;
        let taken = self.allocation()?.take(counters)?;
        if !taken.is_new {
            self.tree.probe.hit(Event::Reuse);
        }
        self.pages.push(Latched { page: taken.page, changes: Vec::new(), is_new: taken.is_new });
        Ok(Member(self.pages.len() - 1))
    }

    fn allocation(&mut self) -> Result<&mut Allocation<'a>> {
        let begun = match self.allocation.take() {
            Some(allocation) => allocation,
            None => Allocation::begin(&self.tree.pool, &self.tree.file, self.counters)?,
        };
        Ok(self.allocation.insert(begun))
    }

    /// Lets go of a page and of those that came after it.
    pub fn release_from(&mut self, member: Member) {
        self.pages.truncate(member.0);
    }

    /// The page as it is now.
    pub fn page(&self, member: Member) -> &[u8] {
        &self.pages[member.0].page
    }

    /// The page as it will be.
    pub fn view(&self, member: Member) -> Cow<'_, [u8]> {
        let Latched { page, changes, .. } = &self.pages[member.0];
        if changes.is_empty() {
            return Cow::Borrowed(page);
        }
        let mut copy = page.to_vec();
        for change in changes {
            self.apply(change, &mut copy, page.page_no());
        }
        Cow::Owned(copy)
    }

    pub fn members(&self) -> impl Iterator<Item = Member> + use<> {
        (0..self.pages.len()).map(Member)
    }

    /// Returns true if no page changes.
    pub fn is_empty(&self) -> bool {
        self.pages.iter().all(|latched| latched.changes.is_empty())
    }

    /// Drops the group but for one page, which stays latched and as it was.
    pub fn into_page(mut self, member: Member) -> PageGuardMut {
        self.pages.swap_remove(member.0).page
    }

    /// Makes page 0 count hidden row numbers below a bound as taken. Errors: those of latching it.
    pub fn reserve_row_ids(&mut self, bound: u64) -> Result<()> {
        self.allocation()?.header_mut().next_row_id = bound;
        Ok(())
    }

    pub fn page_no(&self, member: Member) -> u32 {
        self.pages[member.0].page.page_no()
    }

    /// Puts a whole page in the place of the one that is there.
    pub fn image(&mut self, member: Member, image: Vec<u8>) {
        debug_assert_eq!(image.len(), self.page(member).len());
        self.change(member, PageChange::Image(Cow::Owned(image)));
    }

    /// Puts an inner page in the place of the page.
    pub fn inner(&mut self, member: Member, node: &InnerNode) {
        let mut image = vec![0; self.page(member).len()];
        node.write(&mut image);
        self.image(member, image);
    }

    pub fn change(&mut self, member: Member, change: PageChange<'static>) {
        self.pages[member.0].changes.push(change);
    }

    /// Makes the page a free one. Nothing may lead to it once the group is committed. Call it when all other pages are
    /// latched. Errors: those of latching the file header.
    pub fn free(&mut self, member: Member) -> Result<()> {
        let page_no = self.page_no(member);
        let next = self.allocation()?.give_back(page_no);
        self.change(member, PageChange::Freed { next });
        Ok(())
    }

    /// Raises the largest transaction id of all pages of the group to this one.
    pub fn raise_trx_id(&mut self, trx_id: u64) {
        self.trx_id = self.trx_id.max(trx_id);
    }

    /// Counts rows and leaves that come with the group, less those that go.
    pub fn count(&mut self, rows: i64, leaves: i64) {
        self.rows += rows;
        self.leaves += leaves;
    }

    /// Bytes that the group takes in the log at most.
    pub fn log_bytes(&self) -> u64 {
        let page_size = self.tree.file.page_size();
        let changes = self.pages.iter().flat_map(|latched| &latched.changes);
        let bytes = changes.map(|change| RECORD_BYTES + change.bytes(page_size)).sum::<usize>();
        (bytes + if self.allocation.is_some() { HEADER_BYTES } else { 0 }) as u64
    }

    /// Makes the changes. Returns the pages, still latched.
    pub fn commit(self, room: Room) -> Vec<PageGuardMut> {
        commit_all(vec![self], None, room).pages
    }

    /// Makes the changes in the pages, and adds them to a group of the log if there is one.
    fn change_pages(&mut self, record: &mut Option<log::Group>, changed: &mut Changed) {
        let file = &self.tree.file;
        // Recovery finds nothing of a temporary file, and needs nothing.
        let is_logged = file.temporary_space().is_none();
        for Latched { mut page, changes, is_new } in std::mem::take(&mut self.pages) {
            let page_no = page.page_no();
            let image = changes.iter().find(|change| change.is_whole());
            let had_rows = matches!(PageHeader(&page).page_type(), Some(PageType::Leaf | PageType::Inner));
            let before =
                (record.is_some() && is_logged && image.is_some() && had_rows && !is_new).then(|| page.to_vec());
            for change in &changes {
                self.apply(change, &mut page, page_no);
            }
            assert!(!self.tree.planted.has(PlantedFault::PanicAmidChange), "a planted panic");
            if let Some(record) = record.as_mut().filter(|_| is_logged) {
                // An image is that of the page as all changes leave it.
                let (told, before) = (image.map_or(&changes[..], std::slice::from_ref), before.as_deref());
                told.iter().for_each(|change| change.push_to(record, file.id(), page_no, before, &page, self.trx_id));
            }
            if !changes.is_empty() && leaf::has_slots(&page) {
                page.note_changed();
            }
            if changes.is_empty() {
                changed.same.push(page);
            } else {
                changed.pending.push(PendingSlots::of(&changes));
                changed.pages.push(page);
            }
        }
        if let Some(allocation) = self.allocation.take() {
            let header = allocation.commit();
            if let Some(record) = record.as_mut().filter(|_| is_logged) {
                push_image(record, file.id(), HEADER_PAGE, &header);
            }
            changed.headers.push(header);
        }
        file.count(self.rows, self.leaves);
    }

    /// A change of a latched page is made for the page as it is: it can be made.
    fn apply(&self, change: &PageChange<'_>, page: &mut [u8], page_no: u32) {
        let made = change.apply(page, page_no, self.tree.file.index_id(), self.trx_id);
        made.unwrap_or_else(|e| panic!("a change of latched page {page_no}: {e}"));
    }
}

/// Pages of groups that are being committed.
#[derive(Default)]
struct Changed {
    pages: Vec<PageGuardMut>,
    /// Of each of these pages, the slots that are to be told where the group is in the log.
    pending: Vec<PendingSlots>,
    headers: Vec<PageGuardMut>,
    same: Vec<PageGuardMut>,
}

/// Slots of a changed leaf whose roll pointers are not known before the group is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingSlots {
    None,
    One(usize),
    /// They are to be looked for.
    Some,
}

impl PendingSlots {
    fn of(changes: &[PageChange<'_>]) -> PendingSlots {
        match changes {
            [PageChange::Slot(change)] => match change.slot() {
                Some(slot) if slot.version.roll_pointer == PENDING => PendingSlots::One(change.at()),
                _ => PendingSlots::None,
            },
            _ => PendingSlots::Some,
        }
    }

    /// Gives the slots their roll pointer. A change of a latched page was made for the page as it is: it has the slots.
    fn set(self, page: &mut [u8], roll_pointer: u64) {
        let set = match self {
            PendingSlots::None => Ok(()),
            PendingSlots::One(at) => leaf::changes::set_roll_pointer(page, at, roll_pointer),
            PendingSlots::Some => leaf::changes::set_pending_roll_pointers(page, roll_pointer),
        };
        set.unwrap_or_else(|e| panic!("the slots of a changed page: {}", e.0));
    }
}

/// The record of a transaction that comes first in its group.
#[derive(Debug, Clone)]
pub(crate) struct FirstRecord {
    pub kind: u8,
    /// The clustered tree's.
    pub file: FileId,
    pub payload: Vec<u8>,
}

impl FirstRecord {
    /// Bytes that it takes in the log at most.
    pub fn log_bytes(&self) -> u64 {
        (RECORD_BYTES + self.payload.len()) as u64
    }
}

/// What committing has given.
pub(in crate::tree) struct Made {
    /// The pages, still latched.
    pub pages: Vec<PageGuardMut>,
    /// The position of the first record; 0 without a log.
    pub first: Lsn,
}

/// Makes the changes of groups of several trees as one group of the log.
pub(in crate::tree) fn commit_all(groups: Vec<Group<'_>>, first: Option<&FirstRecord>, mut room: Room) -> Made {
    let log = groups.first().and_then(|group| group.tree.log.clone());
    let mut record = log.as_ref().map(|_| log::Group::default());
    if let (Some(record), Some(FirstRecord { kind, file, payload })) = (&mut record, first) {
        record.push_parts(*kind, *file, 0, &[payload]);
    }
    let mut changed = Changed::default();
    for mut group in groups {
        group.change_pages(&mut record, &mut changed);
    }
    let mut lsn = 0;
    // Changing their bytes has made the pages dirty, as the log demands: a checkpoint does not pass them by.
    if let (Some(log), Some(record), Some(room)) = (log, &mut record, &mut room.0)
        && !record.is_empty()
    {
        let place = log.append(record, room);
        let end = place.end;
        lsn = place.start + GROUP_HEADER as u64;
        for page in changed.pages.iter_mut().chain(&mut changed.headers) {
            page.header_mut().set_lsn(end);
        }
    }
    if first.is_some() {
        let pages = changed.pages.iter_mut().zip(&changed.pending);
        pages.filter(|(page, _)| leaf::has_slots(page)).for_each(|(page, slots)| slots.set(page, lsn));
    }
    changed.pages.iter_mut().chain(&mut changed.headers).for_each(PageGuardMut::change_is_whole);
    changed.pages.append(&mut changed.same);
    Made { pages: changed.pages, first: lsn }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        for Latched { page, is_new, .. } in self.pages.drain(..) {
            if is_new {
                self.tree.pool.forget_page(page);
            }
        }
    }
}
