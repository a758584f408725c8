use super::*;
use crate::{
    io::simulated::{DiskFault, FaultKind, Operation, SimulatedDisk},
    log::fixtures::Fixture,
};
use proptest::prelude::*;
use std::sync::{Arc, atomic::Ordering};

fn files() -> (Arc<SimulatedDisk>, Fixture) {
    let disk = Arc::new(SimulatedDisk::new());
    let fixture = Fixture::new(Arc::clone(&disk) as _);
    fixture.create().unwrap();
    (disk, fixture)
}

fn tampered(disk: &SimulatedDisk, block: u64) {
    disk.tamper(Path::new("/d/CHECKPOINT"), |bytes| bytes[place(block) + 100] ^= 1);
}

#[test]
fn the_last_valid_one_counts() {
    let (disk, fixture) = files();
    let mut file = CheckpointFile::open(&fixture.files).unwrap();
    let first = file.last();
    assert_eq!((first.number, first.redo, first.epoch), (1, 512, 0));
    for n in 1..=2 {
        file.write(Checkpoint { redo: 512 + 8 * n, synced: 1024, next_transaction: n, ..first }).unwrap();
    }
    let last = CheckpointFile::open(&fixture.files).unwrap().last();
    assert_eq!((last.number, last.redo, last.next_transaction), (3, 528, 2));
    tampered(&disk, 3);
    let before = CheckpointFile::open(&fixture.files).unwrap().last();
    assert_eq!((before.number, before.redo), (2, 520));
    tampered(&disk, 2);
    let e = CheckpointFile::open(&fixture.files).unwrap_err().to_string();
    assert_eq!(e, "/d/CHECKPOINT: byte 0: neither checkpoint is valid: wrong checksum; wrong checksum");
}

#[test]
fn a_write_that_fails_leaves_the_one_before() {
    let (disk, fixture) = files();
    let mut file = CheckpointFile::open(&fixture.files).unwrap();
    let first = file.last();
    let kind = FaultKind::Error(libc::EIO);
    disk.inject_for("CHECKPOINT", DiskFault { on: Operation::Write, after: 0, kind, forever: false });
    assert!(file.write(Checkpoint { synced: 1024, ..first }).is_err());
    assert_eq!(CheckpointFile::open(&fixture.files).unwrap().last(), first);
    assert_eq!(fixture.failures.load(Ordering::Relaxed), 0);
    file.write(Checkpoint { synced: 2048, ..first }).unwrap();
    assert_eq!(CheckpointFile::open(&fixture.files).unwrap().last().synced, 2048);
    disk.inject_for("CHECKPOINT", DiskFault { on: Operation::Sync, after: 0, kind, forever: false });
    assert!(file.write(first).is_err());
    assert_eq!(fixture.failures.load(Ordering::Relaxed), 1, "a failed sync ends the process");
}

proptest! {
    #[test]
    fn any_changed_bit_is_found(bit in 0usize..8 * BLOCK) {
        let (_, fixture) = files();
        let mut block = vec![0; BLOCK];
        let checkpoint = CheckpointFile::open(&fixture.files).unwrap().last();
        checkpoint.encode(&mut block);
        prop_assert_eq!(Checkpoint::decode(&block), Ok(checkpoint));
        block[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Checkpoint::decode(&block).is_err());
    }
}
