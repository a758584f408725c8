use super::*;
use crate::{
    buffer_pool::Doublewrite as _,
    io::{
        Disk,
        simulated::{self, FaultKind, Operation, SimulatedDisk},
    },
    log::fixtures::Fixture,
    page::{self, PageHeader, PageHeaderMut, PageType},
    testing::random::Random,
};
use std::{path::Path, sync::Arc};

const PAGE: usize = 4096;
const PAGES: u32 = 12;
const DATA: &str = "/d/00000001.mus";

/// A page whose version is in its LSN, and all over it.
fn page_of(page_no: u32, version: u64) -> AlignedBuf {
    let mut page = AlignedBuf::zeroed(PAGE);
    let mut header = PageHeaderMut(&mut page);
    header.init(PageType::Leaf, page_no, 7);
    header.set_lsn(version);
    page[100..].fill(version as u8);
    page::seal(&mut page);
    page
}

fn create(disk: &Arc<SimulatedDisk>) -> Fixture {
    let fixture = Fixture::new(Arc::clone(disk) as _);
    fixture.create().unwrap();
    let file = disk.open(Path::new(DATA), OpenMode::CreateNew).unwrap();
    for page_no in 0..PAGES {
        fixture.files.write(&file, u64::from(page_no) * PAGE as u64, &page_of(page_no, 0)).unwrap();
    }
    disk.sync(&file).unwrap();
    disk.sync_directory(Path::new("/d")).unwrap();
    fixture
}

/// The version of each page. Errors: a page is torn.
fn versions(disk: &SimulatedDisk) -> Result<Vec<u64>> {
    let path = Path::new(DATA);
    let file = disk.open(path, OpenMode::Existing).unwrap();
    (0..PAGES)
        .map(|page_no| {
            let mut page = AlignedBuf::zeroed(PAGE);
            let mut ops = [crate::io::ReadOp::new(&file, u64::from(page_no) * PAGE as u64, vec![&mut page])];
            disk.read(&mut ops);
            let [op] = ops;
            op.result.unwrap();
            page::verify(&page, path, page_no, 7).map(|()| PageHeader(&page).lsn())
        })
        .collect()
}

/// Writes pages as the buffer pool does: saved, then to their places.
fn write(fixture: &Fixture, doublewrite: &Doublewrite, pages: &[PageCopy<'_>]) -> Result<()> {
    doublewrite.save(pages)?;
    let mut durable = vec![true; pages.len()];
    let mut outcome = Ok(());
    for (page, durable) in pages.iter().zip(&mut durable) {
        let written = fixture.files.write(page.file, u64::from(page.page_no) * PAGE as u64, page.bytes);
        *durable = written.is_ok();
        outcome = outcome.and(written);
    }
    pages.first().map_or(Ok(()), |page| fixture.files.sync_file(page.file))?;
    doublewrite.written(pages, &durable);
    outcome
}

/// Batches of pages are written until the power goes. Returns how many pages were repaired. Errors: what is wrong then.
fn survive(seed: u64, fault: Option<PlantedFault>) -> Result<usize, String> {
    let disk = Arc::new(SimulatedDisk::new());
    let fixture = create(&disk);
    let planted = Planted { fault };
    let mut random = Random(seed);
    let (mut durable, mut attempted) = (vec![0; PAGES as usize], vec![0; PAGES as usize]);
    let file = disk.open(Path::new(DATA), OpenMode::Existing).unwrap();
    if seed.is_multiple_of(8) {
        disk.cut_power_after(random.below_u64(140));
    }
    let doublewrite = Doublewrite::open(&fixture.files, PAGE, planted);
    if !seed.is_multiple_of(8) {
        disk.cut_power_after(random.below_u64(60));
    }
    for version in 1..100 {
        let Ok(doublewrite) = &doublewrite else { break };
        let numbers: Vec<u32> = (0..PAGES).filter(|_| random.below_u64(3) == 0).collect();
        numbers.iter().for_each(|&n| attempted[n as usize] = version);
        let pages: Vec<AlignedBuf> = numbers.iter().map(|&n| page_of(n, version)).collect();
        let copies = numbers.iter().zip(&pages);
        let copies = copies.map(|(&page_no, bytes)| PageCopy { file: &file, id: FileId(1), page_no, bytes });
        if write(&fixture, doublewrite, &copies.collect::<Vec<_>>()).is_err() {
            break;
        }
        durable.clone_from(&attempted);
    }
    assert!(disk.is_off());
    let mut left = Arc::new(disk.after_power_cut(random.next()));
    if random.below_u64(2) == 0 {
        // The power goes again while pages are put back.
        left.cut_power_after(random.below_u64(4));
        let _ = repair(&Fixture::new(Arc::clone(&left) as _).files, PAGE);
        left = Arc::new(left.after_power_cut(random.next()));
    }
    let fixture = Fixture::new(Arc::clone(&left) as _);
    let repaired = repair(&fixture.files, PAGE).map_err(|e| e.to_string())?;
    let found = versions(&left).map_err(|e| e.to_string())?;
    for (page_no, version) in found.into_iter().enumerate() {
        if version != durable[page_no] && version != attempted[page_no] {
            return Err(format!("page {page_no} has version {version}, not {}", durable[page_no]));
        }
    }
    assert_eq!(repair(&fixture.files, PAGE).map_err(|e| e.to_string())?, vec![], "nothing is left to repair");
    Ok(repaired.len())
}

#[test]
fn no_page_is_torn_after_a_power_cut() {
    let repaired: usize = (0..300).map(|seed| survive(seed, None).unwrap()).sum();
    assert!(repaired > 20, "{repaired}");
}

#[test]
fn a_skipped_sync_is_found() {
    assert!((0..300).any(|seed| survive(seed, Some(PlantedFault::SkipDoublewriteSync)).is_err()));
}

#[test]
fn what_is_whole_stays_and_what_is_not_a_batch_is_ignored() {
    let disk = Arc::new(SimulatedDisk::new());
    let fixture = create(&disk);
    assert_eq!(repair(&fixture.files, PAGE).unwrap(), vec![], "there is no file yet");
    let doublewrite = Doublewrite::open(&fixture.files, PAGE, Planted::default()).unwrap();
    assert_eq!(repair(&fixture.files, PAGE).unwrap(), vec![], "there was no batch yet");
    let file = disk.open(Path::new(DATA), OpenMode::Existing).unwrap();
    let page = page_of(3, 9);
    write(&fixture, &doublewrite, &[PageCopy { file: &file, id: FileId(1), page_no: 3, bytes: &page }]).unwrap();
    assert_eq!(repair(&fixture.files, PAGE).unwrap(), vec![]);
    disk.tamper(Path::new(DATA), |bytes| bytes[3 * PAGE + 1000] ^= 1);
    assert!(versions(&disk).is_err());
    assert_eq!(repair(&fixture.files, PAGE).unwrap(), vec![(FileId(1), 3)]);
    assert_eq!(versions(&disk).unwrap()[3], 9);
    // The copy is damaged too: the page stays as it is, and reading it will tell.
    disk.tamper(Path::new("/d/DOUBLEWRITE"), |bytes| bytes[HEADER + 50] ^= 1);
    disk.tamper(Path::new(DATA), |bytes| bytes[3 * PAGE + 1000] ^= 1);
    assert_eq!(repair(&fixture.files, PAGE).unwrap(), vec![]);
    disk.remove(Path::new(DATA)).unwrap();
    assert_eq!(repair(&fixture.files, PAGE).unwrap(), vec![], "the file was dropped");
}

/// A page was torn at its place by an error, and others were written since: its copy is still there.
#[test]
fn a_page_that_was_not_written_is_kept() {
    let disk = Arc::new(SimulatedDisk::new());
    let fixture = create(&disk);
    let doublewrite = Doublewrite::open(&fixture.files, PAGE, Planted::default()).unwrap();
    let file = disk.open(Path::new(DATA), OpenMode::Existing).unwrap();
    let (torn, other) = (page_of(3, 9), page_of(4, 10));
    let copy = |page_no, bytes| PageCopy { file: &file, id: FileId(1), page_no, bytes };
    disk.inject_for(
        "01.mus",
        simulated::DiskFault { on: Operation::Write, after: 0, kind: FaultKind::Short, forever: false },
    );
    assert!(write(&fixture, &doublewrite, &[copy(3, &torn)]).is_err());
    assert!(versions(&disk).is_err());
    write(&fixture, &doublewrite, &[copy(4, &other)]).unwrap();
    assert_eq!(repair(&fixture.files, PAGE).unwrap(), vec![(FileId(1), 3)]);
    assert_eq!(versions(&disk).unwrap()[3..5], [9, 10]);
    doublewrite.forget(FileId(1));
    write(&fixture, &doublewrite, &[copy(4, &other)]).unwrap();
    disk.tamper(Path::new(DATA), |bytes| bytes[3 * PAGE + 1000] ^= 1);
    assert_eq!(repair(&fixture.files, PAGE).unwrap(), vec![], "a deleted file's pages are not kept");
}
