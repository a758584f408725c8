//! Opening files that are good, damaged, cut short, newer or somebody else's.

use super::*;
use crate::io::simulated::SimulatedDisk;

const SIZE: usize = 8192;
const DIRECTORY: &str = "/d";

fn create(io: &Arc<SimulatedDisk>) -> Arc<PageFile> {
    PageFile::create(Arc::clone(io) as _, Path::new(DIRECTORY), FileId(3), 11, SIZE, true).unwrap()
}

fn open(io: &Arc<SimulatedDisk>) -> Result<Arc<PageFile>> {
    PageFile::open(Arc::clone(io) as _, Path::new(DIRECTORY), FileId(3), true)
}

/// A file changed by `change` after its header was written.
fn tampered(change: impl FnOnce(&mut Vec<u8>)) -> StorageError {
    let io = Arc::new(SimulatedDisk::new());
    let file = create(&io);
    file.write_new_header(None, |h| h.page_count = 5).unwrap();
    io.tamper(file.path(), |bytes| {
        bytes.resize(5 * SIZE, 0);
        change(bytes);
    });
    open(&io).map(drop).unwrap_err()
}

fn sealed(bytes: &mut [u8]) {
    page::seal(&mut bytes[..SIZE]);
}

#[test]
fn header_fields_round_trip() {
    let io = Arc::new(SimulatedDisk::new());
    let file = create(&io);
    let header = FileHeader {
        page_size: SIZE as u32,
        index_id: 11,
        root: 1,
        page_count: 2,
        free_head: 0,
        free_count: 0,
        leaf_count: u64::MAX,
        row_count: 1 << 33,
        next_row_id: 99,
        tree: [1, 2, 3, 4, 5, 6, 7, u64::MAX],
    };
    file.write_new_header(None, |h| *h = header).unwrap();
    io.tamper(file.path(), |bytes| bytes.resize(2 * SIZE, 0));
    let opened = open(&io).unwrap();
    assert_eq!(opened.header(), header);
    assert_eq!((opened.page_size(), opened.index_id(), opened.id()), (SIZE, 11, FileId(3)));
}

#[test]
fn what_is_wrong_is_said() {
    let text = |e: StorageError| e.to_string();
    let cut = tampered(|bytes| bytes.truncate(3 * SIZE + 10));
    assert_eq!(
        text(cut),
        format!("/d/00000003.mus: page 3: the file is cut short: {} bytes of {}", 3 * SIZE + 10, 5 * SIZE)
    );
    assert_eq!(text(tampered(|bytes| bytes.clear())), "/d/00000003.mus: page 0: the file is cut short: 0 bytes");
    assert!(text(tampered(|bytes| bytes.truncate(5000))).ends_with("cut short: 5000 bytes"));
    assert!(text(tampered(|bytes| bytes[7000] ^= 4)).contains("wrong checksum"));
    assert!(text(tampered(|bytes| bytes[76] = 1)).contains("impossible page size 8193"));
    let far_root = tampered(|bytes| {
        bytes[84] = 5;
        sealed(bytes);
    });
    assert_eq!(text(far_root), "/d/00000003.mus: page 0: root at page 5");
    assert!(matches!(tampered(|bytes| bytes[..4].fill(0)), StorageError::Foreign { .. }));
    assert!(matches!(tampered(|bytes| bytes[64..72].copy_from_slice(b"MUSTER\n\n")), StorageError::Foreign { .. }));
    assert!(matches!(tampered(|bytes| bytes.fill(b'x')), StorageError::Foreign { .. }));
    let newer = tampered(|bytes| {
        bytes[8] = 4;
        sealed(bytes);
    });
    assert!(matches!(newer, StorageError::NewerFormat { found: 4, supported: 3, .. }), "{newer}");
    let older = tampered(|bytes| {
        bytes[8] = 1;
        sealed(bytes);
    });
    assert!(matches!(older, StorageError::OlderFormat { found: 1, supported: 3, .. }), "{older}");
}

#[test]
fn no_change_of_a_bit_in_the_header_goes_unseen() {
    for bit in (0..200 * 8).chain(SIZE * 8 - 8..SIZE * 8) {
        tampered(|bytes| bytes[bit / 8] ^= 1 << (bit % 8));
    }
}

#[test]
fn a_missing_file_is_named() {
    let e = open(&Arc::new(SimulatedDisk::new())).unwrap_err();
    assert!(matches!(&e, StorageError::Io { path, .. } if path == Path::new("/d/00000003.mus")), "{e}");
}

#[test]
fn creating_on_a_full_disk_leaves_nothing() {
    let io = Arc::new(SimulatedDisk::new());
    io.set_capacity(Some(100));
    let e = PageFile::create(Arc::clone(&io) as _, Path::new(DIRECTORY), FileId(3), 11, SIZE, true).unwrap_err();
    assert!(matches!(e, StorageError::DiskFull { .. }));
    io.set_capacity(None);
    create(&io);
}

#[test]
fn names_are_numbers() {
    assert_eq!(file_path(Path::new("/d"), FileId(7)), Path::new("/d/00000007.mus"));
    for (name, id) in [
        ("00000007.mus", Some(FileId(7))),
        ("4294967295.mus", Some(FileId(u32::MAX))),
        ("4294967296.mus", None),
        ("7.mus", None),
        ("0000000x.mus", None),
        ("00000007.tmp", None),
        ("MUSTER", None),
    ] {
        assert_eq!(file_id(Path::new(name)), id, "{name}");
    }
}
