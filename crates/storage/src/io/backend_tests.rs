//! The same checks for every back end that moves bytes.

use super::{simulated::SimulatedDisk, *};

fn backends() -> Vec<Arc<dyn Disk>> {
    let mut all: Vec<Arc<dyn Disk>> = vec![
        Arc::new(threads::ThreadsIo::new()),
        Arc::new(SimulatedDisk::new()),
        Arc::new(trace::TraceIo::new(Arc::new(SimulatedDisk::new()))),
    ];
    // Not every place that runs tests allows io_uring.
    all.extend(uring::UringIo::new().map(|io| Arc::new(io) as Arc<dyn Disk>));
    all
}

fn pattern(seed: usize, bytes: usize) -> AlignedBuf {
    let mut buf = AlignedBuf::zeroed(bytes);
    for (i, b) in buf.iter_mut().enumerate() {
        *b = (i.wrapping_mul(31) ^ seed.wrapping_mul(0x9E37)) as u8 ^ (i >> 8) as u8;
    }
    buf
}

#[test]
fn batches_come_back_as_they_went() {
    for io in backends() {
        let directory = tempfile::tempdir().unwrap();
        let file = io.open(&directory.path().join("f"), OpenMode::CreateNew).unwrap();
        // More operations than a ring is deep, some scattered over several buffers.
        let blocks: Vec<AlignedBuf> = (0..300).map(|i| pattern(i, if i % 3 == 0 { 8192 } else { 4096 })).collect();
        let mut offset = 0;
        let mut writes: Vec<WriteOp<'_>> = blocks
            .chunks(2)
            .map(|pair| {
                let op = WriteOp::new(&file, offset, pair.iter().map(|b| &b[..]).collect());
                offset += op.bytes() as u64;
                op
            })
            .collect();
        io.write(&mut writes);
        assert!(writes.iter().all(|op| op.result.is_ok()), "{io:?}");
        assert_eq!(io.file_len(&file).unwrap(), offset);
        io.sync(&file).unwrap();

        let mut copies: Vec<AlignedBuf> = blocks.iter().map(|b| AlignedBuf::zeroed(b.len())).collect();
        let mut offset = 0;
        let mut reads: Vec<ReadOp<'_>> = copies
            .chunks_mut(3)
            .map(|three| {
                let op = ReadOp::new(&file, offset, three.iter_mut().map(|b| &mut b[..]).collect());
                offset += op.bytes() as u64;
                op
            })
            .collect();
        io.read(&mut reads);
        assert!(reads.iter().all(|op| op.result.is_ok()), "{io:?}");
        for (block, copy) in blocks.iter().zip(&copies) {
            assert!(block[..] == copy[..], "{io:?}");
        }
    }
}

#[test]
fn reading_past_the_end_is_an_error_of_that_operation_alone() {
    for io in backends() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let file = io.open(&path, OpenMode::CreateNew).unwrap();
        assert!(io.open(&path, OpenMode::CreateNew).is_err());
        let block = pattern(1, 8192);
        io.write(&mut [WriteOp::new(&file, 0, vec![&block])]);
        let (mut a, mut b, mut c) = (AlignedBuf::zeroed(4096), AlignedBuf::zeroed(8192), AlignedBuf::zeroed(4096));
        let mut ops = [
            ReadOp::new(&file, 4096, vec![&mut a]),
            ReadOp::new(&file, 4096, vec![&mut b]),
            ReadOp::new(&file, 1 << 20, vec![&mut c]),
        ];
        io.read(&mut ops);
        let kinds = ops.map(|op| op.result.map_err(|e| e.kind()));
        assert_eq!(kinds, [Ok(()), Err(io::ErrorKind::UnexpectedEof), Err(io::ErrorKind::UnexpectedEof)], "{io:?}");
        assert!(a[..] == block[4096..]);
        io.remove(&path).unwrap();
        assert_eq!(io.open(&path, OpenMode::Existing).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}

#[test]
fn buffered_files_take_any_range() {
    for disk in backends() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let file = disk.open_buffered(&path, OpenMode::CreateNew).unwrap();
        disk.allocate(&file, 2000).unwrap();
        let write = |file: &IoFile, offset, bytes: &[u8]| {
            let mut ops = [WriteOp::new(file, offset, vec![bytes])];
            disk.write(&mut ops);
            let [op] = ops;
            op.result.unwrap();
        };
        write(&file, 512, &[1; 512]);
        write(&file, 1021, b"abcde");
        disk.sync(&file).unwrap();
        let mut wanted = vec![0; 2000];
        wanted[512..1024].fill(1);
        wanted[1021..1026].copy_from_slice(b"abcde");
        assert_eq!(disk.read_small(&path, 2000).unwrap(), wanted, "{disk:?}");
        let kind = |result: io::Result<Vec<u8>>| result.unwrap_err().kind();
        assert_eq!(kind(disk.read_small(&path, 1999)), io::ErrorKind::FileTooLarge, "{disk:?}");
        let again = disk.open_buffered(&path, OpenMode::Replace).unwrap();
        assert_eq!(disk.file_len(&again).unwrap(), 0, "{disk:?}");
        write(&again, 3, b"x");
        assert_eq!(disk.read_small(&path, 4).unwrap(), b"\0\0\0x", "{disk:?}");
        disk.remove(&path).unwrap();
        assert_eq!(kind(disk.read_small(&path, 4)), io::ErrorKind::NotFound, "{disk:?}");
    }
}

#[test]
fn names_are_made_listed_changed_and_locked() {
    for disk in backends() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("a/b");
        for _ in 0..2 {
            disk.create_directory(&directory).unwrap();
        }
        let [a, b, c] = ["a", "b", "c"].map(|name| directory.join(name));
        disk.write_small(&a, b"of a", true).unwrap();
        disk.write_small(&b, b"b", false).unwrap();
        disk.rename(&a, &b).unwrap();
        assert_eq!(disk.rename(&a, &b).unwrap_err().kind(), io::ErrorKind::NotFound, "{disk:?}");
        assert_eq!(disk.read_small(&b, 10).unwrap(), b"of a", "{disk:?}");
        let held = disk.lock(&c).unwrap();
        assert_eq!(disk.lock(&c).unwrap_err().kind(), io::ErrorKind::WouldBlock, "{disk:?}");
        let mut names = disk.list(&directory).unwrap();
        names.sort();
        assert_eq!(names, [b.clone(), c.clone()], "{disk:?}");
        drop(held);
        disk.lock(&c).unwrap();
        assert_eq!((disk.len_of(&b).unwrap(), disk.len_of(&a).unwrap()), (Some(4), None), "{disk:?}");
        disk.sync_directory(&directory).unwrap();
    }
}
