use super::*;
use crate::FileId;
use proptest::{collection::vec, prelude::*};

const SIZE: usize = 4096;

fn record(kind: u8, payload: &[u8]) -> Record<'_> {
    Record { lsn: 600, kind, file: FileId(1), page: 5, payload }
}

fn image_payload(page: &[u8]) -> Vec<u8> {
    let (sizes, head, tail) = page_image(page);
    [&sizes[..], head, tail].concat()
}

fn blank() -> Vec<u8> {
    let mut page = vec![0; SIZE];
    PageHeaderMut(&mut page).init(PageType::Leaf, 5, 9);
    page
}

#[test]
fn an_image_leaves_the_longest_run_of_zeros_out() {
    let mut page = blank();
    page[100..110].fill(1);
    page[4000..].fill(2);
    let payload = image_payload(&page);
    assert_eq!(payload.len(), 8 + 110 + 96);
    let mut other = vec![0xEE; SIZE];
    PageHeaderMut(&mut other).set_lsn(0);
    assert_eq!(apply(&record(PAGE_IMAGE, &payload), 700, &mut other), Ok(true));
    PageHeaderMut(&mut page).set_lsn(700);
    assert_eq!(other, page);
    assert_eq!(image_payload(&[0; SIZE]).len(), 8);
    assert_eq!(image_payload(&[1; SIZE]).len(), 8 + SIZE);
}

#[test]
fn runs_of_bytes_change_nothing_else() {
    let mut payload = Vec::new();
    push_bytes(&mut payload, 200, b"abc");
    push_bytes(&mut payload, 4090, b"xyzxyz");
    let (mut page, mut expected) = (blank(), blank());
    assert_eq!(apply(&record(BYTES, &payload), 700, &mut page), Ok(true));
    expected[200..203].copy_from_slice(b"abc");
    expected[4090..].copy_from_slice(b"xyzxyz");
    PageHeaderMut(&mut expected).set_lsn(700);
    assert_eq!(page, expected);
}

#[test]
fn a_freed_page_leads_to_the_next_free_one() {
    let mut page = blank();
    page[300] = 7;
    assert_eq!(apply(&record(PAGE_FREED, &8u32.to_le_bytes()), 700, &mut page), Ok(true));
    let header = PageHeader(&page);
    assert_eq!((header.page_type(), header.page_no(), header.index_id()), (Some(PageType::Free), 5, 9));
    assert_eq!((header.next(), header.lsn(), page[300]), (8, 700, 0));
}

#[test]
fn a_page_that_has_the_change_stays() {
    let mut payload = Vec::new();
    push_bytes(&mut payload, 200, b"abc");
    for (lsn, changed) in [(699, true), (700, false), (701, false)] {
        let mut page = blank();
        PageHeaderMut(&mut page).set_lsn(lsn);
        assert_eq!(apply(&record(BYTES, &payload), 700, &mut page), Ok(changed));
        assert_eq!(page[200] == b'a', changed);
    }
}

#[test]
fn what_cannot_be_applied_changes_nothing() {
    let mut beyond = Vec::new();
    push_bytes(&mut beyond, 200, b"abc");
    push_bytes(&mut beyond, 4094, b"xyz");
    let short = [0, 1, 9, 0, 1];
    let mut image = image_payload(&[1; SIZE]);
    image.push(1);
    for (kind, payload) in [(BYTES, &beyond[..]), (BYTES, &short), (PAGE_IMAGE, &image), (PAGE_FREED, &[1]), (99, &[])]
    {
        let mut page = blank();
        assert!(apply(&record(kind, payload), 700, &mut page).is_err());
        assert_eq!(page, blank());
    }
}

proptest! {
    #[test]
    fn any_payload_is_applied_or_an_error(kind in 0u8..9, payload in vec(any::<u8>(), 0..200)) {
        let mut page = blank();
        if apply(&record(kind, &payload), 700, &mut page).is_err() {
            prop_assert_eq!(page, blank());
        }
    }
}
