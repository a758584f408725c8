//! The end of the log and its damage, case by case.

use super::{
    super::{
        Recovery,
        checkpoint::CheckpointFile,
        fixtures::{Fixture, groups_of},
        planted::PlantedFault,
    },
    *,
};
use crate::{
    StorageError,
    io::{Disk, simulated::SimulatedDisk, trace::TraceIo},
};
use std::{path::Path, sync::Arc};

const FIRST: &str = "/d/redo-0000000000.log";
const SECOND: &str = "/d/redo-0000000001.log";

/// A log of 1,500 groups of 64 bytes in two segments. The first `synced` are durable, and later groups know that.
fn written(synced: usize) -> (Arc<SimulatedDisk>, Fixture) {
    let disk = Arc::new(SimulatedDisk::new());
    let fixture = Fixture::new(Arc::clone(&disk) as _);
    fixture.create().unwrap();
    let log = fixture.stepped().unwrap();
    for i in 0..1500u64 {
        if i == synced as u64 {
            log.sync().unwrap();
        }
        log.append(&[i.to_le_bytes(), [7; 8]].concat()).unwrap();
        if i % 100 == 0 {
            log.write().unwrap();
        }
    }
    log.write().unwrap();
    (disk, fixture)
}

fn damage(fixture: &Fixture) -> String {
    match fixture.recovery() {
        Err(e @ StorageError::DamagedLog { .. }) => e.to_string(),
        other => panic!("{:?}", other.map(|r| r.end())),
    }
}

#[test]
fn a_torn_tail_is_the_end() {
    let (disk, fixture) = written(100);
    assert_eq!(groups_of(&fixture.recovery().unwrap()).len(), 1500);
    // Sector 20 never came to the disk; what is behind it did.
    disk.tamper(Path::new(FIRST), |bytes| bytes[20 * 512..21 * 512].fill(0));
    let recovery = fixture.recovery().unwrap();
    assert_eq!((recovery.end().lsn, groups_of(&recovery).len()), (20 * 512, 19 * 8));
}

#[test]
fn a_hole_in_what_was_durable_is_damage() {
    let (disk, fixture) = written(200);
    disk.tamper(Path::new(FIRST), |bytes| bytes[20 * 512 + 100] ^= 1);
    assert_eq!(
        damage(&fixture),
        "/d/redo-0000000000.log: byte 10304: the group has a wrong checksum, but the group at 13312 says that the log was \
         durable beyond 10304"
    );
    // Nothing is left of the groups that knew, and the checkpoint is too old: this cannot be told from a torn tail.
    disk.tamper(Path::new(FIRST), |bytes| bytes[20 * 512..].fill(0));
    disk.tamper(Path::new(SECOND), |bytes| bytes.fill(0));
    assert_eq!(fixture.recovery().unwrap().end().lsn, 20 * 512);
}

/// Segments that are made and not used yet are as many as the log's capacity has room for.
#[test]
fn of_spare_segments_only_the_beginnings_are_read() {
    let (disk, fixture) = written(100);
    let log = fixture.stepped().unwrap();
    let segment_bytes = log.shared.geometry().segment_bytes();
    drop(log.shared.promise(8 * segment_bytes).unwrap());
    let spare_from = log.shared.geometry().segment_of(log.shared.reserved()) + 1;
    drop(log);
    let trace = Arc::new(TraceIo::new(disk as _));
    let traced = Fixture::new(Arc::clone(&trace) as _);
    trace.start();
    assert_eq!(groups_of(&traced.recovery().unwrap()).len(), 1500);
    drop(traced.stepped().unwrap());
    let record = trace.stop();
    let path = |number: u64| Path::new("/d").join(format!("redo-{number:010}.log"));
    for number in spare_from..spare_from + 8 {
        let file = record.files.iter().position(|(name, _)| *name == path(number));
        let of_file = |access: &&crate::io::trace::TracedAccess| Some(access.file as usize) == file;
        let bytes: u64 = record.accesses.iter().filter(of_file).map(|access| access.bytes).sum();
        assert!(file.is_some() && bytes <= 3 * 4096, "{bytes} bytes of segment {number}");
    }
}

/// The segment in which the log was damaged is followed by one that was in use, too: what it says is heard.
#[test]
fn a_later_segment_tells_of_damage() {
    let (disk, fixture) = written(1490);
    disk.tamper(Path::new(FIRST), |bytes| bytes[512..].fill(0));
    assert!(damage(&fixture).contains("says that the log was durable beyond 512"), "{}", damage(&fixture));
}

#[test]
fn what_the_checkpoint_knows_to_be_durable_is_there() {
    let (disk, fixture) = written(1499);
    let log = fixture.stepped().unwrap();
    let end = log.sync().unwrap();
    log.shared.take_checkpoint(512, 512, 1).unwrap();
    drop(log);
    disk.tamper(Path::new(SECOND), |bytes| bytes[4096..].fill(0));
    let at = 4096;
    let expected = format!(
        "{SECOND}: byte {at}: no group begins here, but the checkpoint says that the log was durable up to {end}"
    );
    assert_eq!(damage(&fixture), expected);
    disk.tamper(Path::new(SECOND), |bytes| bytes[30] ^= 1);
    assert!(damage(&fixture).contains("byte 512: the segment's header has a wrong checksum"), "{}", damage(&fixture));
    disk.remove(Path::new(SECOND)).unwrap();
    assert!(damage(&fixture).contains("byte 512: the segment is missing"), "{}", damage(&fixture));
}

/// After a torn tail the log goes on over what was behind it. Its groups end exactly where a lost group begins that is
/// still on the disk.
fn ends_before_a_ghost(fault: Option<PlantedFault>) -> usize {
    let (disk, fixture) = written(100);
    let before = Arc::new(std::sync::Mutex::new(Vec::new()));
    disk.tamper(Path::new(FIRST), |bytes| {
        bytes[20 * 512..21 * 512].fill(0);
        *before.lock().unwrap() = bytes.clone();
    });
    let fixture = fixture.with_fault(fault);
    let log = fixture.stepped().unwrap();
    for i in 0..8u64 {
        log.append(&[i.to_le_bytes(), [8; 8]].concat()).unwrap();
    }
    log.sync().unwrap();
    drop(log);
    let before = before.lock().unwrap().clone();
    disk.tamper(Path::new(FIRST), |bytes| bytes[21 * 512..].copy_from_slice(&before[21 * 512..]));
    groups_of(&fixture.recovery().unwrap()).len()
}

#[test]
fn groups_of_an_older_epoch_do_not_come_back() {
    assert_eq!(ends_before_a_ghost(None), 20 * 8);
    assert_ne!(ends_before_a_ghost(Some(PlantedFault::SameEpoch)), 20 * 8);
}

/// Redo begins at the end of the log, and right there lies a whole group of an epoch before: only the checkpoint knows.
#[test]
fn the_checkpoint_bounds_the_epoch_of_what_follows_it() {
    let (_, fixture) = written(100);
    let mut file = CheckpointFile::open(&fixture.files).unwrap();
    let middle = 30 * 512;
    let last = file.last();
    file.write(Checkpoint { redo: middle, synced: middle, epoch: last.epoch, ..last }).unwrap();
    assert_eq!(groups_of(&fixture.recovery().unwrap()).len(), 1500 - 29 * 8);
    file.write(Checkpoint { redo: middle, synced: middle, epoch: last.epoch + 1, ..last }).unwrap();
    let recovery = fixture.recovery().unwrap();
    assert_eq!((recovery.end().lsn, recovery.end().groups), (middle, 0));
}

#[test]
fn a_log_of_another_directory_is_refused() {
    let (_, fixture) = written(100);
    let opened = Recovery::open(fixture.files.clone(), 1, 4096, Damage::IsRefused);
    assert!(opened.unwrap_err().to_string().contains("belongs to another data directory"));
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(60))]

    /// Whatever bytes a disk makes of the log: it is refused, or what is read was written.
    #[test]
    fn any_bytes_are_a_log_or_an_error(
        changes in proptest::collection::vec((0usize..3, 0usize..1 << 16, proptest::prelude::any::<[u8; 8]>(), 1usize..700), 1..4)
    ) {
        let (disk, fixture) = written(100);
        for (file, at, bytes, length) in changes {
            disk.tamper(Path::new([FIRST, SECOND, "/d/CHECKPOINT"][file]), |content| {
                let at = at % content.len() / 8 * 8;
                content[at..].iter_mut().take(length).zip(bytes.iter().cycle()).for_each(|(old, new)| *old = *new);
            });
        }
        if let Ok(recovery) = fixture.recovery() {
            for (i, (_, payload)) in groups_of(&recovery).into_iter().enumerate() {
                assert_eq!(u64_at(&payload, 0), i as u64);
            }
        }
    }
}
