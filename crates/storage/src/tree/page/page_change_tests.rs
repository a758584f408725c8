use super::*;
use crate::{
    log::test::{Geometry, GroupHeader, GroupView, Identity, Stamp},
    tree::page::leaf::slot::{SlotKind, Version},
};
use proptest::{collection::vec, prelude::*};

const SIZE: usize = 4096;
const PAGE_NO: u32 = 5;
const INDEX: u32 = 9;

fn blank() -> Vec<u8> {
    let mut page = vec![0; SIZE];
    PageHeaderMut(&mut page).init(PageType::Leaf, PAGE_NO, INDEX);
    page
}

/// An empty leaf, the only one of its tree.
fn empty_leaf() -> Vec<u8> {
    let mut page = blank();
    page[48..52].copy_from_slice(&64u32.to_le_bytes());
    page[56..60].copy_from_slice(&(SIZE as u32).to_le_bytes());
    page[62..64].copy_from_slice(&[0xFF; 2]);
    page
}

/// Makes a change in a page, and again from its record in another one. Both must be the same afterwards.
fn made_twice(change: &PageChange<'_>, before: &[u8], trx_id: u64) -> Vec<u8> {
    let mut page = before.to_vec();
    change.apply(&mut page, PAGE_NO, INDEX, trx_id).unwrap();
    let mut group = Group::default();
    change.push_to(&mut group, FileId(1), PAGE_NO, Some(before), &page, trx_id);
    let bytes = group.seal(Stamp { lsn: 512, synced: 512, epoch: 1 }, Identity::new(3)).to_vec();
    let header = GroupHeader::read(bytes.first_chunk().unwrap(), 512, Geometry::new(1 << 20).unwrap()).unwrap();
    let record = GroupView::new(header, &bytes, Identity::new(3)).unwrap().records().next().unwrap();
    let (again, trx_id) = PageChange::of_record(&record, SIZE).unwrap().unwrap();
    let mut redone = before.to_vec();
    again.apply(&mut redone, PAGE_NO, INDEX, trx_id).unwrap();
    assert!(redone == page, "{change:?}");
    page
}

#[test]
fn images_bytes_and_freed_pages_are_made_again() {
    let mut image = blank();
    image[100..110].fill(1);
    image[4000..].fill(2);
    let page = made_twice(&PageChange::Image(Cow::Borrowed(&image)), &[0; SIZE], 7);
    assert!(made_twice(&PageChange::Image(Cow::Borrowed(&image)), &page, 7) == page);
    assert_eq!((PageHeader(&page).max_trx_id(), &page[100..], PageHeader(&page).index_id()), (7, &image[100..], INDEX));
    let bytes = PageChange::Bytes { offset: 4090, bytes: Cow::Borrowed(b"xyzxyz") };
    assert_eq!(&made_twice(&bytes, &page, 3)[4090..], b"xyzxyz");
    let freed = made_twice(&PageChange::Freed { next: 8 }, &page, 9);
    let header = PageHeader(&freed);
    assert_eq!((header.page_type(), header.next(), header.max_trx_id()), (Some(PageType::Free), 8, 9));
    // A page that comes from the free list has the transactions of its new content only.
    let again = made_twice(&PageChange::Image(Cow::Owned(blank())), &freed, 2);
    assert_eq!(PageHeader(&again).max_trx_id(), 2);
}

#[test]
fn a_difference_is_refused_by_another_page() {
    let (before, after) = (empty_leaf(), blank());
    let pieces = difference(&before, &after, SIZE).unwrap();
    let checksum = crc32c::crc32c(&before[PAGE_HEADER..]);
    let change = PageChange::Difference { checksum, pieces: &pieces };
    let mut page = before.clone();
    page[SIZE - 1] = 1;
    assert!(change.apply(&mut page, PAGE_NO, INDEX, 0).is_err());
    assert_eq!(made_twice(&change, &before, 0), after);
}

#[test]
fn slots_are_made_again() {
    let version = Version { trx_id: 40, roll_pointer: 11 };
    let slot = Slot { record: 0, place: 0, shift: 0, kind: SlotKind::Inserted, marked: false, version };
    let mut page = empty_leaf();
    let add = PageChange::Slot(SlotChange::Add { at: 0, slot, record: Cow::Owned(vec![6, 0, 7, 7, 7, 7]) });
    page = made_twice(&add, &page, 50);
    assert_eq!(PageHeader(&page).max_trx_id(), 50, "the group's transaction counts, not only the slot's");
    let change = PageChange::Slot(SlotChange::Change {
        at: 0,
        slot: Slot { marked: true, ..slot },
        record: Cow::Owned(vec![3, 0, 1]),
    });
    page = made_twice(&change, &page, 60);
    page = made_twice(&PageChange::Slot(SlotChange::Drop { at: 0 }), &page, 70);
    assert_eq!(PageHeader(&page).max_trx_id(), 70);
}

proptest! {
    /// Whatever a record says, it is applied or refused, and what it does not reach stays.
    #[test]
    fn damaged_records_are_refused(kind in 0u8..9, payload in vec(any::<u8>(), 0..200)) {
        let record = Record { lsn: 600, group: 568, kind, file: FileId(1), page: PAGE_NO, payload: &payload };
        let mut page = empty_leaf();
        if let Ok(Some((change, trx_id))) = PageChange::of_record(&record, SIZE) {
            let _ = change.apply(&mut page, PAGE_NO, INDEX, trx_id);
        }
        prop_assert_eq!(page.len(), SIZE);
    }
}
