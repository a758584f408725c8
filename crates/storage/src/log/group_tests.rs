use super::*;
use crate::log::geometry::SEGMENT_MIN;
use proptest::{collection::vec, prelude::*};

const AT: Lsn = 3 * SEGMENT_MIN + 1024;

fn geometry() -> Geometry {
    Geometry::new(SEGMENT_MIN).unwrap()
}

fn stamp() -> Stamp {
    Stamp { lsn: AT, synced: AT - 8, epoch: 7 }
}

/// Reads a group as the reader of the log does; what a record holds, for each.
fn read(bytes: &[u8], identity: Identity) -> Result<Vec<(Lsn, u8, u32, u32, Vec<u8>)>, &'static str> {
    let header = bytes.first_chunk().ok_or("too short")?;
    let header = GroupHeader::read(header, AT, geometry())?;
    let bytes = bytes.get(..header.checked_bytes()).ok_or("too short")?;
    let view = GroupView::new(header, bytes, identity)?;
    assert_eq!(view.header.end(), AT + header.length);
    for record in view.records() {
        assert_eq!(view.record_at(record.lsn), Some(record));
        let place = (record.lsn - AT) as usize;
        let head = bytes[place..].first_chunk().unwrap();
        assert_eq!(group_of_record(head, record.lsn), Some(AT));
    }
    Ok(view.records().map(|r| (r.lsn, r.kind, r.file.0, r.page, r.payload.to_vec())).collect())
}

#[test]
fn bytes_are_as_the_format_says() {
    let mut group = Group::default();
    let at = group.push(2, FileId(5), 9, b"abc");
    assert_eq!(at, 32);
    let bytes = group.seal(stamp(), Identity::new(1)).to_vec();
    assert_eq!((bytes.len() as u64, u32_at(&bytes, 4)), (group_bytes([3]), 56));
    assert_eq!((u64_at(&bytes, 8), u64_at(&bytes, 16)), (AT, AT - 8));
    assert_eq!((u32_at(&bytes, 24), u32_at(&bytes, 28)), (7, 1));
    assert_eq!(bytes[32..36], [2, 32, 0, 0]);
    assert_eq!((u32_at(&bytes, 36), u32_at(&bytes, 40), u32_at(&bytes, 44)), (3, 5, 9));
    assert_eq!(bytes[48..], *b"abc\0\0\0\0\0");
    let mut checked = 1u64.to_le_bytes().to_vec();
    checked.extend_from_slice(&bytes[4..]);
    assert_eq!(u32_at(&bytes, 0), crc32c::crc32c(&checked));
}

#[test]
fn a_group_of_another_directory_is_none() {
    let mut group = Group::default();
    group.push(1, FileId(1), 1, b"x");
    let bytes = group.seal(stamp(), Identity::new(1)).to_vec();
    assert!(read(&bytes, Identity::new(1)).is_ok());
    assert_eq!(read(&bytes, Identity::new(2)), Err("the group has a wrong checksum"));
}

#[test]
fn a_fill_takes_the_rest_of_its_segment() {
    let rest = geometry().rest(AT);
    let identity = Identity::new(1);
    assert_eq!(read(&fill(stamp(), rest as u32, identity), identity), Ok(vec![]));
    assert_eq!(read(&fill(stamp(), rest as u32 - 8, identity), identity), Err("the group has an impossible length"));
}

#[test]
fn a_cleared_group_is_empty() {
    let mut group = Group::default();
    group.push(1, FileId(1), 1, b"x");
    assert!(!group.is_empty());
    group.clear();
    assert!(group.is_empty() && group.bytes() == GROUP_HEADER as u64);
}

proptest! {
    #[test]
    fn records_round_trip(records in vec((any::<u8>(), any::<u32>(), any::<u32>(), vec(any::<u8>(), 0..50)), 1..20)) {
        let mut group = Group::default();
        let mut places = Vec::new();
        for (kind, file, page, payload) in &records {
            let (head, tail) = payload.split_at(payload.len() / 2);
            places.push(group.push_parts(*kind, FileId(*file), *page, &[head, tail]));
        }
        prop_assert_eq!(group.bytes(), group_bytes(records.iter().map(|r| r.3.len())));
        let bytes = group.seal(stamp(), Identity::new(9)).to_vec();
        let expected: Vec<_> =
            records.into_iter().zip(places).map(|((k, f, p, b), at)| (AT + at, k, f, p, b)).collect();
        prop_assert_eq!(read(&bytes, Identity::new(9)), Ok(expected));
    }

    #[test]
    fn any_changed_bit_is_found(bit in 0usize..8 * 104) {
        let mut group = Group::default();
        group.push(3, FileId(1), 2, &[0x5A; 20]);
        group.push(4, FileId(1), 3, &[0xA5; 14]);
        let mut bytes = group.seal(stamp(), Identity::new(9)).to_vec();
        prop_assert_eq!(bytes.len(), 104);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(read(&bytes, Identity::new(9)).is_err());
    }

    #[test]
    fn any_bytes_are_records_or_an_error(mut bytes in vec(any::<u8>(), 0..300), sealed: bool, records in 0u32..4) {
        if sealed && bytes.len() >= 2 * GROUP_HEADER {
            bytes.truncate(bytes.len() / UNIT * UNIT);
            let length = bytes.len() as u32;
            put_header(&mut bytes, stamp(), length, records);
            let crc = Identity::new(9).checksum(&bytes[LENGTH..]);
            bytes[..4].copy_from_slice(&crc.to_le_bytes());
        }
        let _ = read(&bytes, Identity::new(9));
    }
}
