//! The same checks for every back end that moves bytes.

use super::{memory::*, *};
use std::path::PathBuf;

fn backends() -> Vec<Arc<dyn PageIo>> {
    let mut all: Vec<Arc<dyn PageIo>> = vec![
        Arc::new(threads::ThreadsIo::new()),
        Arc::new(MemoryIo::new()),
        Arc::new(trace::TraceIo::new(Arc::new(MemoryIo::new()))),
    ];
    // Not every place that runs tests allows io_uring.
    all.extend(uring::UringIo::new().map(|io| Arc::new(io) as Arc<dyn PageIo>));
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

fn write(io: &MemoryIo, file: &IoFile, offset: u64, buffer: &[u8]) -> io::Result<()> {
    let mut ops = [WriteOp::new(file, offset, vec![buffer])];
    io.write(&mut ops);
    let [op] = ops;
    op.result
}

fn read(io: &MemoryIo, path: &Path) -> io::Result<AlignedBuf> {
    let file = io.open(path, OpenMode::Existing)?;
    let mut buffer = AlignedBuf::zeroed(4096);
    let mut ops = [ReadOp::new(&file, 0, vec![&mut buffer])];
    io.read(&mut ops);
    let [op] = ops;
    op.result.map(|()| buffer)
}

#[test]
fn memory_loses_what_was_not_synced() {
    let io = MemoryIo::new();
    let (directory, path) = (Path::new("/d"), PathBuf::from("/d/f"));
    let file = io.open(&path, OpenMode::CreateNew).unwrap();
    let (old, new) = (pattern(1, 4096), pattern(2, 4096));
    write(&io, &file, 0, &old).unwrap();
    io.sync(&file).unwrap();
    assert_eq!(read(&io.crash(None), &path).err().unwrap().kind(), io::ErrorKind::NotFound, "the name was not synced");
    io.sync_directory(directory).unwrap();
    write(&io, &file, 0, &new).unwrap();
    assert!(read(&io.crash(None), &path).unwrap()[..] == old[..]);
    assert!(read(&io, &path).unwrap()[..] == new[..]);

    io.inject(Fault { on: Operation::Sync, after: 0, kind: FaultKind::Lost, forever: false });
    io.sync(&file).unwrap();
    assert!(read(&io.crash(None), &path).unwrap()[..] == old[..], "a lost sync");
    let either: Vec<bool> = (1..20).map(|seed| read(&io.crash(Some(seed)), &path).unwrap()[..] == new[..]).collect();
    assert!(either.contains(&true) && either.contains(&false));
    io.sync(&file).unwrap();
    assert!(read(&io.crash(None), &path).unwrap()[..] == new[..]);
}

#[test]
fn memory_fails_as_told() {
    let io = MemoryIo::new();
    let path = PathBuf::from("/d/f");
    let file = io.open(&path, OpenMode::CreateNew).unwrap();
    let (old, new) = (pattern(1, 4096), pattern(2, 4096));
    write(&io, &file, 0, &old).unwrap();
    let fault = |on, after, kind| io.inject(Fault { on, after, kind, forever: false });

    fault(Operation::Write, 1, FaultKind::Error(libc::EIO));
    write(&io, &file, 0, &old).unwrap();
    assert_eq!(write(&io, &file, 0, &new).unwrap_err().raw_os_error(), Some(libc::EIO));
    assert!(read(&io, &path).unwrap()[..] == old[..]);

    fault(Operation::Write, 0, FaultKind::Torn);
    write(&io, &file, 0, &new).unwrap();
    let torn = read(&io, &path).unwrap();
    assert!(torn[..2048] == new[..2048] && torn[2048..] == old[2048..]);

    fault(Operation::Read, 0, FaultKind::Short);
    assert_eq!(read(&io, &path).err().unwrap().kind(), io::ErrorKind::UnexpectedEof);

    io.set_capacity(Some(6000));
    assert_eq!(write(&io, &file, 4096, &new).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    write(&io, &file, 0, &new).unwrap();
}
