//! The simulated disk fails as told, and a power cut takes what was not synced in every way it should, and nothing
//! else.

use super::*;
use std::collections::BTreeSet;

const DIRECTORY: &str = "/d";

fn path(name: &str) -> PathBuf {
    Path::new(DIRECTORY).join(name)
}

fn write(disk: &SimulatedDisk, file: &IoFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
    let mut ops = [WriteOp::new(file, offset, vec![bytes])];
    disk.write(&mut ops);
    let [op] = ops;
    op.result
}

fn content(disk: &SimulatedDisk, name: &str) -> Option<Vec<u8>> {
    disk.read_small(&path(name), 1 << 20).ok()
}

/// A disk with a file `f` of some bytes, all durable.
fn disk_with(bytes: &[u8]) -> (SimulatedDisk, IoFile) {
    let disk = SimulatedDisk::new();
    let file = disk.open(&path("f"), OpenMode::CreateNew).unwrap();
    write(&disk, &file, 0, bytes).unwrap();
    disk.sync(&file).unwrap();
    disk.sync_directory(Path::new(DIRECTORY)).unwrap();
    (disk, file)
}

/// The states that power cuts with many seeds leave, as `look` sees them.
fn found<T: Ord>(disk: &SimulatedDisk, look: impl Fn(&SimulatedDisk) -> T) -> BTreeSet<T> {
    (0..2000).map(|seed| look(&disk.after_power_cut(seed))).collect()
}

/// The first byte of each sector of `f`.
fn sectors(disk: &SimulatedDisk) -> Vec<u8> {
    content(disk, "f").unwrap().chunks(SECTOR).map(|sector| sector[0]).collect()
}

#[test]
fn synced_bytes_and_names_stay() {
    let (disk, file) = disk_with(&[1; 4096]);
    assert_eq!(found(&disk, sectors), [vec![1; 8]].into());
    write(&disk, &file, 0, &[2; 4096]).unwrap();
    assert_eq!(sectors(&disk), [2; 8], "a reader sees it at once");
    assert_eq!(sectors(&disk.only_synced()), [1; 8]);
    disk.sync(&file).unwrap();
    assert_eq!(found(&disk, sectors), [vec![2; 8]].into());
    disk.remove(&path("f")).unwrap();
    disk.sync_directory(Path::new(DIRECTORY)).unwrap();
    assert_eq!(found(&disk, |left| left.list(Path::new(DIRECTORY)).unwrap().len()), [0].into());
}

#[test]
fn writes_are_dropped_torn_and_reordered() {
    let (disk, file) = disk_with(&[1; 4096]);
    write(&disk, &file, 0, &[2; 2048]).unwrap();
    write(&disk, &file, 2048, &[3; 2048]).unwrap();
    let found = found(&disk, sectors);
    let halves = |first: u8, second: u8| [vec![first; 4], vec![second; 4]].concat();
    for (first, second) in [(1, 1), (2, 1), (2, 3), (1, 3)] {
        assert!(found.contains(&halves(first, second)), "{first} {second}");
    }
    let torn = |from: usize, new: u8| {
        let written = |left: &&Vec<u8>| left[from..from + 4].iter().filter(|sector| **sector == new).count();
        found.iter().map(|left| written(&left)).collect::<BTreeSet<_>>()
    };
    assert_eq!((torn(0, 2), torn(4, 3)), ((0..=4).collect(), (0..=4).collect()));
    let content = content(&disk.after_power_cut(1), "f").unwrap();
    assert!(content.chunks(SECTOR).all(|sector| sector.iter().all(|byte| *byte == sector[0])), "no sector is torn");
}

#[test]
fn every_version_of_a_sector_may_be_the_one_that_is_left() {
    let (disk, file) = disk_with(&[0; 1024]);
    for version in 1..=5 {
        write(&disk, &file, 0, &[version; 1024]).unwrap();
    }
    let pairs = found(&disk, sectors);
    let all: BTreeSet<Vec<u8>> = (0..=5).flat_map(|a| (0..=5).map(move |b| vec![a, b])).collect();
    assert_eq!(pairs, all);
    disk.sync(&file).unwrap();
    write(&disk, &file, 0, &[6; 1024]).unwrap();
    let last: BTreeSet<u8> = found(&disk, sectors).into_iter().flatten().collect();
    assert_eq!(last, [5, 6].into(), "versions before the sync are over");
}

#[test]
fn a_part_of_a_sector_is_written_with_the_rest_of_it() {
    let (disk, file) = disk_with(b"........");
    write(&disk, &file, 0, b"ab").unwrap();
    write(&disk, &file, 4, b"cd").unwrap();
    let left = found(&disk, |left| String::from_utf8(content(left, "f").unwrap()).unwrap());
    assert_eq!(left, ["........", "ab......", "ab..cd.."].map(String::from).into());
}

#[test]
fn allocated_room_is_zeros_where_writes_are_lost() {
    let (disk, file) = disk_with(&[1; 512]);
    disk.allocate(&file, 2048).unwrap();
    write(&disk, &file, 512, &[2; 1536]).unwrap();
    let left = found(&disk, sectors);
    for wanted in [vec![1], vec![1, 0, 0, 0], vec![1, 2, 2, 2], vec![1, 0, 2, 0]] {
        assert!(left.contains(&wanted), "{wanted:?}");
    }
    disk.sync(&file).unwrap();
    write(&disk, &file, 2048, &[3; 512]).unwrap();
    let lengths: BTreeSet<usize> = found(&disk, sectors).into_iter().map(|left| left.len()).collect();
    assert_eq!(lengths, [4, 5].into());
}

#[test]
fn a_file_that_is_cut_may_have_its_old_bytes() {
    let (disk, _) = disk_with(&[1; 1024]);
    disk.write_small(&path("f"), &[2; 512], false).unwrap();
    let left = found(&disk, sectors);
    for wanted in [vec![], vec![1, 1], vec![2], vec![0]] {
        assert!(left.contains(&wanted), "{wanted:?} {left:?}");
    }
    assert_eq!(sectors(&disk), [2]);
}

#[test]
fn names_are_lost_and_kept_in_any_order() {
    let (disk, _) = disk_with(b"f");
    disk.write_small(&path("g"), b"g", true).unwrap();
    disk.write_small(&path("h"), b"h", true).unwrap();
    disk.rename(&path("h"), &path("f")).unwrap();
    let names = |left: &SimulatedDisk| {
        let held = |name| content(left, name).map_or("-".into(), |bytes| String::from_utf8(bytes).unwrap());
        ["f", "g", "h"].map(held).concat()
    };
    let wanted = ["f--", "fg-", "fgh", "f-h", "h--", "hg-"].map(String::from);
    assert_eq!(found(&disk, names), wanted.into());
    disk.sync_directory(Path::new("/elsewhere")).unwrap();
    assert!(found(&disk, names).contains("f--"), "the sync was another directory's");
    disk.sync_directory(Path::new(DIRECTORY)).unwrap();
    assert_eq!(found(&disk, names), ["hg-".to_string()].into());
    disk.remove(&path("g")).unwrap();
    assert_eq!(found(&disk, names), ["hg-", "h--"].map(String::from).into());
    // The content of a file is another matter than its name.
    disk.write_small(&path("i"), &[1; 512], false).unwrap();
    disk.sync_directory(Path::new(DIRECTORY)).unwrap();
    assert_eq!(found(&disk, |left| content(left, "i").map(|bytes| bytes.len())), [Some(0), Some(512)].into());
}

#[test]
fn the_power_goes_in_the_operation_that_was_told() {
    let (disk, file) = disk_with(&[1; 512]);
    let before = disk.operations();
    disk.cut_power_after(1);
    write(&disk, &file, 0, &[2; 512]).unwrap();
    assert!(!disk.is_off());
    write(&disk, &file, 0, &[3; 512]).unwrap_err();
    assert!(disk.is_off());
    write(&disk, &file, 0, &[4; 512]).unwrap_err();
    disk.sync(&file).unwrap_err();
    disk.sync_directory(Path::new(DIRECTORY)).unwrap_err();
    disk.open(&path("g"), OpenMode::CreateNew).unwrap_err();
    disk.remove(&path("f")).unwrap_err();
    disk.lock(&path("LOCK")).unwrap_err();
    disk.list(Path::new(DIRECTORY)).unwrap_err();
    assert_eq!(content(&disk, "f"), None);
    assert_eq!(disk.operations() - before, 2);
    assert_eq!(found(&disk, sectors), [vec![1], vec![2], vec![3]].into());
    let restarted = disk.after_power_cut(0);
    assert!(!restarted.is_off() && restarted.lock(&path("LOCK")).is_ok());
    // A sync in which the power goes may have done its work or not.
    for (operations, left) in [(0, vec![vec![1], vec![5]]), (1, vec![vec![5]])] {
        let (disk, file) = disk_with(&[1; 512]);
        write(&disk, &file, 0, &[5; 512]).unwrap();
        disk.cut_power_after(operations);
        assert_eq!(disk.sync(&file).is_ok(), operations == 1);
        assert_eq!(found(&disk, sectors), left.into_iter().collect());
    }
}

#[test]
fn the_power_goes_in_the_sync_of_one_file() {
    let (disk, file) = disk_with(&[1; 512]);
    let other = disk.open(&path("other"), OpenMode::CreateNew).unwrap();
    disk.inject_for("f", DiskFault { on: Operation::Sync, after: 0, kind: FaultKind::PowerCut, forever: false });
    write(&disk, &file, 0, &[2; 512]).unwrap();
    disk.sync(&other).unwrap();
    assert!(!disk.is_off());
    disk.sync(&file).unwrap_err();
    assert!(disk.is_off());
    assert_eq!(found(&disk, sectors), [vec![1], vec![2]].into());
}

#[test]
fn a_seed_gives_the_same_disk_in_any_directory() {
    let image = |directory: &str, seed| {
        let disk = SimulatedDisk::new();
        for name in 0..20 {
            let path = Path::new(directory).join(name.to_string());
            disk.write_small(&path, &vec![name; 2000], name % 2 == 0).unwrap();
        }
        let left = disk.after_power_cut(seed);
        let paths = left.list(Path::new(directory)).unwrap().into_iter();
        paths
            .map(|path| (path.file_name().map(OsStr::to_owned), left.read_small(&path, 2000).unwrap()))
            .collect::<Vec<_>>()
    };
    for seed in 0..50 {
        assert_eq!(image("/a", seed), image("/b/c", seed));
    }
    assert!((0..50).map(|seed| image("/a", seed)).collect::<BTreeSet<_>>().len() > 25);
}

#[test]
fn faults_are_met_as_told() {
    let (old, new) = ([1; 4096], [2; 4096]);
    let (disk, file) = disk_with(&old);
    let fault = |on, after, kind| disk.inject(DiskFault { on, after, kind, forever: false });

    fault(Operation::Write, 1, FaultKind::Error(libc::EIO));
    write(&disk, &file, 0, &old).unwrap();
    assert_eq!(write(&disk, &file, 0, &new).unwrap_err().raw_os_error(), Some(libc::EIO));
    assert_eq!(sectors(&disk), [1; 8]);

    fault(Operation::Write, 0, FaultKind::Torn);
    write(&disk, &file, 0, &new).unwrap();
    assert_eq!(sectors(&disk), [2, 2, 2, 2, 1, 1, 1, 1]);

    fault(Operation::Write, 0, FaultKind::Short);
    assert_eq!(write(&disk, &file, 0, &old).unwrap_err().kind(), io::ErrorKind::WriteZero);
    assert_eq!(sectors(&disk), [1; 8]);

    fault(Operation::Read, 0, FaultKind::Short);
    assert_eq!(disk.read_small(&path("f"), 4096).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);

    fault(Operation::Sync, 0, FaultKind::Lost);
    write(&disk, &file, 0, &new).unwrap();
    disk.sync(&file).unwrap();
    assert_eq!(sectors(&disk.only_synced()), [1; 8]);

    disk.inject_for(".log", DiskFault { on: Operation::Write, after: 0, kind: FaultKind::Error(28), forever: true });
    write(&disk, &file, 0, &new).unwrap();
    let log = disk.open(&path("1.log"), OpenMode::CreateNew).unwrap();
    assert_eq!(write(&disk, &log, 0, &new).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
}

#[test]
fn a_disk_is_full_when_it_has_no_room() {
    let (disk, file) = disk_with(&[1; 4096]);
    disk.set_capacity(Some(6000));
    assert_eq!(write(&disk, &file, 4096, &[2; 4096]).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    assert_eq!(disk.allocate(&file, 6001).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    write(&disk, &file, 0, &[2; 4096]).unwrap();
    disk.allocate(&file, 6000).unwrap();
    disk.remove(&path("f")).unwrap();
    disk.write_small(&path("g"), &[1; 6000], true).unwrap();
}

/// A kernel reports a write that failed to the next sync, once; later ones succeed without it.
#[test]
fn a_sync_after_a_failed_one_does_not_make_up_for_it() {
    let (disk, file) = disk_with(&[1; 1024]);
    write(&disk, &file, 0, &[2; 1024]).unwrap();
    disk.inject(DiskFault { on: Operation::Sync, after: 0, kind: FaultKind::Error(libc::EIO), forever: false });
    disk.sync(&file).unwrap_err();
    disk.sync(&file).unwrap();
    assert_eq!(found(&disk, sectors), [vec![1, 1], vec![1, 2], vec![2, 1], vec![2, 2]].into());
    // A sector that is written anew is synced again.
    write(&disk, &file, 0, &[3; 512]).unwrap();
    disk.sync(&file).unwrap();
    assert_eq!(found(&disk, sectors), [vec![3, 1], vec![3, 2]].into());
}
