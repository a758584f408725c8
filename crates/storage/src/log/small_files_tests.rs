use super::*;
use crate::{
    checked_file::FileKind,
    definitions::Definitions,
    io::{Disk, simulated::SimulatedDisk},
    log::{
        FlushAtCommit, Next,
        fixtures::{Fixture, group_of},
        group::group_bytes,
        recovery::Recovery,
    },
    testing::random::Random,
};
use std::path::Path;

const MAX: u64 = 1 << 20;
const NAMES: [&str; 2] = ["catalog.mus", "accounts.mus"];
/// A file of definitions.
const DEFINED: &str = "defined.mus";

struct Opened {
    log: Log,
    small: SmallFiles,
    /// Held while a checkpoint is written: none may be below the one before.
    checkpointing: Mutex<()>,
}

impl Opened {
    fn of(fixture: &Fixture) -> Result<Opened> {
        let mut recovery = fixture.recovery()?;
        let small = small_files(fixture, &mut recovery);
        Ok(Opened { log: recovery.start(fixture.options())?, small, checkpointing: Mutex::default() })
    }

    fn replace(&self, name: &str, content: &[u8], use_: RoomUse) -> Result<(), ReplaceError> {
        self.small.replace(&self.log, name, content, &[], use_)
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.small.read(name, MAX).unwrap().map(|content| content.to_vec())
    }

    /// Files follow, then a checkpoint passes all that they need not be made of any more.
    fn checkpoint(&self) -> Result<()> {
        self.small.write_back(&self.log)?;
        let _one_at_a_time = self.checkpointing.lock();
        let end = self.log.current();
        let redo = self.small.redo_start().unwrap_or(end).min(end);
        self.log.checkpoint(redo, redo, 1)
    }
}

fn small_files(fixture: &Fixture, recovery: &mut Recovery) -> SmallFiles {
    let changes = recovery.take_file_changes();
    SmallFiles::new(fixture.files.clone(), changes, recovery.checkpoint().redo, recovery.end().lsn)
}

fn fixture(disk: &Arc<SimulatedDisk>) -> Fixture {
    Fixture::new(Arc::clone(disk) as _)
}

fn on_disk(disk: &SimulatedDisk, name: &str) -> Option<Vec<u8>> {
    disk.read_small(&Path::new("/d").join(name), MAX).ok()
}

#[test]
fn a_replacement_is_in_the_log_first_and_in_the_file_later() {
    let disk = Arc::new(SimulatedDisk::new());
    let fixture = fixture(&disk);
    fixture.create().unwrap();
    // Longer than a group may be, and as long as its last piece may be.
    let contents: Vec<Vec<u8>> = [0, 1, 100_000, 16_000].map(|bytes| vec![bytes as u8; bytes]).into();
    for content in &contents {
        let opened = Opened::of(&fixture).unwrap();
        let removed = [FileId(7), FileId(8_000_000)];
        opened.small.replace(&opened.log, NAMES[0], content, &removed, RoomUse::Takes).unwrap();
        assert_eq!(opened.read(NAMES[0]).as_ref(), Some(content));
        assert_eq!((opened.read(NAMES[1]), on_disk(&disk, NAMES[0])), (None, None));
    }
    let mut recovery = fixture.recovery().unwrap();
    let changes = recovery.take_file_changes();
    assert!([7, 8_000_000].iter().all(|&file| changes.is_removed(FileId(file))) && !changes.is_removed(FileId(9)));
    drop(recovery);
    let opened = Opened::of(&fixture).unwrap();
    assert_eq!(opened.read(NAMES[0]).as_ref(), contents.last());
    opened.checkpoint().unwrap();
    assert_eq!(on_disk(&disk, NAMES[0]).as_ref(), contents.last());
    assert_eq!((opened.small.redo_start(), opened.read(NAMES[0]).as_ref()), (None, contents.last()));
    drop(opened);
    let mut recovery = fixture.recovery().unwrap();
    assert_eq!(recovery.end().groups, 0);
    assert!(!recovery.take_file_changes().is_removed(FileId(7)), "the checkpoint has passed it");
}

/// Changes of definitions are in the log, and repeated in their order whatever the file has of them already.
#[test]
fn changes_of_definitions_are_in_the_log_first_and_in_the_file_later() {
    for written in 0..8 {
        let disk = Arc::new(SimulatedDisk::new());
        let fixture = fixture(&disk);
        fixture.create().unwrap();
        let opened = Opened::of(&fixture).unwrap();
        for n in 1..=7 {
            opened.define(n).unwrap();
            assert_eq!(opened.read(DEFINED), defined(n));
            // The file is newer than what the log is repeated from: no checkpoint passes its records.
            if n == written {
                opened.small.write_back(&opened.log).unwrap();
                assert_eq!(on_disk(&disk, DEFINED), defined(n));
            }
        }
        drop(opened);
        let mut recovery = fixture.recovery().unwrap();
        let changes = recovery.take_file_changes();
        assert!((2..=7).all(|n| changes.is_removed(FileId(n))) && !changes.is_removed(FileId(1)));
        drop(recovery);
        let opened = Opened::of(&fixture).unwrap();
        assert_eq!(opened.read(DEFINED), defined(7), "the file is written after {written}");
        opened.checkpoint().unwrap();
        assert_eq!((on_disk(&disk, DEFINED), opened.small.redo_start()), (defined(7), None));
        assert_eq!(fixture.recovery().unwrap().end().groups, 0);
    }
}

/// A change of one definition takes as much of the log as it says, however long the file is.
#[test]
fn a_change_does_not_write_the_whole_file() {
    let disk = Arc::new(SimulatedDisk::new());
    let fixture = fixture(&disk);
    fixture.create().unwrap();
    let opened = Opened::of(&fixture).unwrap();
    let values = (0..100u8).map(|n| (vec![n], vec![n; 1000].into())).collect();
    let whole = Definitions { kind: KIND, values };
    opened.replace(DEFINED, &whole.to_bytes(), RoomUse::Takes).unwrap();
    let before = opened.log.current();
    let mut change = DefinitionChanges::default();
    change.set(vec![50], *b"short");
    opened.small.change(&opened.log, DEFINED, change, &[], RoomUse::Takes).unwrap();
    assert!(opened.log.current() - before < 512, "{} bytes", opened.log.current() - before);
}

/// Changes of a file that is gone, or damaged, are not made: the error names the file, and all stays as it is.
#[test]
fn changes_of_a_damaged_file_are_not_made() {
    let disk = Arc::new(SimulatedDisk::new());
    let fixture = fixture(&disk);
    fixture.create().unwrap();
    let opened = Opened::of(&fixture).unwrap();
    opened.define(1).unwrap();
    opened.checkpoint().unwrap();
    opened.define(2).unwrap();
    drop(opened);
    let path = Path::new("/d").join(DEFINED);
    let good = disk.read_small(&path, MAX).unwrap();
    let mut damaged = good.clone();
    damaged[30] ^= 1;
    for bad in [None, Some(damaged)] {
        disk.remove(&path).unwrap();
        if let Some(bad) = &bad {
            disk.write_small(&path, bad, true).unwrap();
        }
        let opened = Opened::of(&fixture).unwrap();
        for e in [opened.small.read(DEFINED, MAX).unwrap_err(), opened.checkpoint().unwrap_err()] {
            assert!(matches!(e, StorageError::CorruptFile { .. }), "{e}");
            assert!(e.to_string().contains(DEFINED), "{e}");
        }
        drop(opened);
        assert_eq!(on_disk(&disk, DEFINED), bad);
        disk.write_small(&path, &good, true).unwrap();
    }
    assert_eq!(Opened::of(&fixture).unwrap().read(DEFINED), defined(2));
}

/// Other threads append between the groups of a long change. Redo never begins there, once the file has the change: the
/// pieces that follow would have no beginning.
#[test]
fn redo_does_not_begin_within_a_change() {
    let disk = Arc::new(SimulatedDisk::new());
    let fixture = fixture(&disk);
    fixture.create().unwrap();
    let opened = Opened::of(&fixture).unwrap();
    let before = opened.log.current();
    let content = vec![1; 100_000];
    opened.replace(NAMES[0], &content, RoomUse::Takes).unwrap();
    let after = opened.log.current();
    opened.small.write_back(&opened.log).unwrap();
    assert_eq!(opened.small.redo_start(), None);
    let recovery = fixture.recovery().unwrap();
    let mut reader = recovery.groups(recovery.checkpoint().redo);
    let mut within = Vec::new();
    while let Next::Group(group) = reader.next().unwrap() {
        within.extend(Some(group.header.stamp.lsn).filter(|lsn| *lsn > before));
    }
    drop(recovery);
    assert!(within.len() > 1, "several groups");
    for lsn in &within {
        assert_eq!(opened.small.outside_of_changes(*lsn), before);
    }
    assert_eq!(opened.small.outside_of_changes(before), before);
    let redo = opened.small.outside_of_changes(within[0]);
    opened.log.checkpoint(redo, redo, 1).unwrap();
    assert_eq!(opened.small.outside_of_changes(after), after);
    drop(opened);
    assert_eq!(Opened::of(&fixture).unwrap().read(NAMES[0]), Some(content));
}

/// The contents that a log has replaced, by name.
fn wholes(changes: FileChanges) -> BTreeMap<String, Arc<[u8]>> {
    let whole = |(name, content): (String, LoggedContent)| content.whole.map(|whole| (name, whole));
    changes.into_contents().into_iter().filter_map(whole).collect()
}

/// The pieces of a replacement are checked: nothing is read beyond them, and no piece may be missing.
#[test]
fn impossible_records_are_refused() {
    let content: Vec<u8> = (0..40_000).map(|i| i as u8).collect();
    let groups = groups_of(SMALL_FILE, NAMES[0], &content, &[FileId(3)], 16 << 10);
    assert!(groups.len() == 3 && groups.iter().all(|group| group.bytes() <= 16 << 10));
    let payloads: Vec<Vec<u8>> = groups.into_iter().map(payload).collect();
    let add = |changes: &mut FileChanges, payload: &[u8]| {
        changes.add(&super::super::group::Record { lsn: 0, group: 0, kind: 18, file: FileId(0), page: 0, payload })
    };
    let whole = |payloads: &[Vec<u8>]| {
        let mut changes = FileChanges::default();
        payloads.iter().try_for_each(|payload| add(&mut changes, payload)).map(|()| wholes(changes))
    };
    assert_eq!(whole(&payloads).unwrap()[NAMES[0]][..], content[..]);
    assert!(whole(&payloads[1..]).is_err() && whole(&[payloads[0].clone(), payloads[2].clone()]).is_err());
    assert!(whole(&payloads[..2]).unwrap().is_empty(), "the last piece is missing");
    // A crash cut the first one short; the next one begins anew.
    assert_eq!(whole(&[&payloads[..2], &payloads[..]].concat()).unwrap()[NAMES[0]][..], content[..]);
    for bytes in 0..14 + NAMES[0].len() {
        assert!(whole(&[payloads[0][..bytes].to_vec()]).is_err(), "{bytes} bytes");
    }
    for (at, value) in [(0, 0), (4, 1), (8, 255), (12, 255), (14, b'/'), (14, b'.')] {
        let mut wrong = payloads[0].clone();
        wrong[at] = value;
        wrong[at + 1] = value;
        assert!(whole(&[wrong]).is_err(), "{value} at {at}");
    }
}

fn payload(mut group: Group) -> Vec<u8> {
    use crate::log::{
        geometry::{Geometry, SEGMENT_MIN},
        group::{GroupHeader, GroupView, Identity, Stamp},
    };
    let identity = Identity::new(1);
    let bytes = group.seal(Stamp { lsn: 512, synced: 0, epoch: 1 }, identity);
    let geometry = Geometry::new(SEGMENT_MIN).unwrap();
    let header = GroupHeader::read(bytes.first_chunk().unwrap(), 512, geometry).unwrap();
    let view = GroupView::new(header, bytes, identity).unwrap();
    let [record] = &view.records().collect::<Vec<_>>()[..] else { panic!() };
    record.payload.to_vec()
}

/// A full disk takes no replacement that needs room, and those that free room as long as there is room kept for them.
#[test]
fn what_frees_room_is_done_on_a_full_disk() {
    let disk = Arc::new(SimulatedDisk::new());
    let fixture = fixture(&disk);
    fixture.create().unwrap();
    let opened = Opened::of(&fixture).unwrap();
    let large = vec![1; 9_000];
    opened.replace(NAMES[0], &large, RoomUse::Takes).unwrap();
    let used: u64 = disk.list(Path::new("/d")).unwrap().iter().filter_map(|file| disk.len_of(file).unwrap()).sum();
    disk.set_capacity(Some(used));
    // Others fill what the log has.
    let small = group_of(&[0; 16]);
    while let Ok(mut room) = opened.log.reserve(small.bytes()) {
        opened.log.append(&mut group_of(&[0; 16]), &mut room);
    }
    let e = opened.replace(NAMES[0], &large[1..], RoomUse::Takes).unwrap_err();
    assert!(matches!(e, ReplaceError::NotReplaced(StorageError::DiskFull { .. })), "{e}");
    assert_eq!(opened.read(NAMES[0]), Some(large.clone()));
    opened.replace(NAMES[0], &large[..8_000], RoomUse::Frees).unwrap();
    let more = (0..20).take_while(|_| opened.replace(NAMES[0], &large[..8_000], RoomUse::Frees).is_ok()).count();
    assert!(more < 20, "what is kept is used up once");
    // The file cannot follow, so redo goes on to begin at its record.
    assert!(matches!(opened.small.write_back(&opened.log), Err(StorageError::DiskFull { .. })));
    assert!(opened.small.redo_start().is_some());
    drop(opened);
    let opened = Opened::of(&fixture).unwrap();
    assert_eq!(opened.read(NAMES[0]), Some(large[..8_000].to_vec()));
    disk.set_capacity(None);
    opened.checkpoint().unwrap();
    assert_eq!(on_disk(&disk, NAMES[0]), Some(large[..8_000].to_vec()));
}

/// While threads replace files, others write them back: the newest content is the last one in the file.
#[test]
fn an_older_content_does_not_come_after_a_newer_one() {
    let disk = Arc::new(SimulatedDisk::new());
    let fixture = fixture(&disk);
    fixture.create().unwrap();
    let opened = Opened::of(&fixture).unwrap();
    std::thread::scope(|scope| {
        for name in NAMES {
            let opened = &opened;
            scope.spawn(move || {
                for i in 0..200u32 {
                    opened.replace(name, &i.to_le_bytes(), RoomUse::Takes).unwrap();
                }
            });
            scope.spawn(move || (0..100).for_each(|_| opened.checkpoint().unwrap()));
        }
    });
    opened.checkpoint().unwrap();
    for name in NAMES {
        assert_eq!(on_disk(&disk, name), Some(199u32.to_le_bytes().to_vec()));
    }
    assert_eq!(opened.small.redo_start(), None);
}

/// One life: replacements, changes of definitions, other groups, files that follow, checkpoints. Returns for each file
/// how many changes were acknowledged, that of definitions last, and true if the disk went on to the end.
fn life(disk: &Arc<SimulatedDisk>) -> ([u32; 3], bool) {
    let fixture = fixture(disk);
    let mut acknowledged = [0; 3];
    let Ok(opened) = Opened::of(&fixture) else { return (acknowledged, false) };
    let mut random = Random(5);
    for step in 0..32 {
        let which = random.below_u64(4).min(2) as usize;
        let n = acknowledged[which] + 1;
        let changed = match NAMES.get(which) {
            Some(name) => opened.replace(name, &content(n), RoomUse::Takes),
            None => opened.define(n),
        };
        if changed.is_err() {
            return (acknowledged, false);
        }
        acknowledged[which] += 1;
        let mut group = group_of(&[1; 100]);
        let Ok(mut room) = opened.log.reserve(group_bytes([100])) else { return (acknowledged, false) };
        let end = opened.log.append(&mut group, &mut room).end;
        let committed = opened.log.wait_committed(end, FlushAtCommit::Written);
        if committed.is_err() || step % 5 == 4 && opened.checkpoint().is_err() {
            return (acknowledged, false);
        }
    }
    (acknowledged, true)
}

/// The kind of the file of definitions.
const KIND: FileKind = FileKind { magic: *b"MUSTTEST", version: 1 };

/// The n-th change of definitions. Each sets two of them and removes a third one; some are longer than a group may be.
fn nth_change(n: u32) -> DefinitionChanges {
    let mut changes = DefinitionChanges::default();
    changes.set(b"last".to_vec(), n.to_le_bytes());
    changes.set(vec![n as u8 % 4], content(n));
    changes.remove(vec![(n as u8 + 1) % 4]);
    changes
}

/// The definitions after so many changes; `None` before the first one, which makes the file.
fn defined(n: u32) -> Option<Vec<u8>> {
    let mut definitions = Definitions { kind: KIND, values: BTreeMap::new() };
    (1..=n).for_each(|n| definitions.change(nth_change(n).values));
    (n > 0).then(|| definitions.to_bytes())
}

impl Opened {
    /// Makes the n-th change of definitions. The first one makes the file, and every ninth one makes it anew.
    fn define(&self, n: u32) -> Result<(), ReplaceError> {
        match n % 9 == 1 {
            true => self.replace(DEFINED, &defined(n).expect("not before the first one"), RoomUse::Takes),
            false => self.small.change(&self.log, DEFINED, nth_change(n), &[FileId(n)], RoomUse::Takes),
        }
    }
}

/// The content that the n-th replacement of a file brings; before the first one there is no file.
fn content(n: u32) -> Vec<u8> {
    let bytes = [10, 3_000, 30_000][n as usize % 3];
    n.to_le_bytes().into_iter().chain(vec![n as u8; bytes]).collect()
}

#[test]
fn a_power_cut_takes_no_change_that_was_acknowledged() {
    let mut found = [[0; 2]; 3];
    for operation in 0.. {
        let disk = Arc::new(SimulatedDisk::new());
        fixture(&disk).create().unwrap();
        disk.cut_power_after(operation);
        let (acknowledged, ended) = life(&disk);
        for seed in 0..6 {
            let left = Arc::new(disk.after_power_cut(1000 * operation + seed));
            let opened = Opened::of(&fixture(&left)).unwrap();
            for (which, acknowledged) in acknowledged.into_iter().enumerate() {
                let name = NAMES.get(which).copied().unwrap_or(DEFINED);
                let wanted = |n| if name == DEFINED { defined(n) } else { (n > 0).then(|| content(n)) };
                let is = |n| opened.read(name) == wanted(n);
                assert!(is(acknowledged) || is(acknowledged + 1), "operation {operation}, seed {seed}, {name}");
                found[which][usize::from(is(acknowledged + 1))] += 1;
            }
            // What comes next is made as ever, and the file follows.
            let next = 1 + (acknowledged[2]..).find(|n| opened.read(DEFINED) == defined(*n)).expect("one of the two");
            opened.define(next).unwrap();
            opened.checkpoint().unwrap();
            assert_eq!(on_disk(&left, DEFINED), defined(next), "operation {operation}, seed {seed}");
        }
        if ended {
            break;
        }
    }
    assert!(found.iter().flatten().all(|n| *n > 20), "{found:?}");
}
