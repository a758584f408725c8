//! A disk that leaves the one below it as it is: what is written, made, renamed and removed is so in memory only.
//!
//! A damaged data directory is opened on it: recovery and all the rest run as ever, and every file stays as it was
//! found.

use super::{Disk, FileLock, IoFile, OpenMode, ReadOp, WriteOp, file::FileKind};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::Arc,
};

/// Bytes of a piece of a file that is kept in memory.
const BLOCK: u64 = 4096;

#[derive(Debug)]
pub struct OverlayDisk {
    below: Arc<dyn Disk>,
    /// Files that were opened, and names that are gone (`None`).
    names: Mutex<HashMap<PathBuf, Option<Arc<OverlayFile>>>>,
}

/// A file of an [`OverlayDisk`].
#[derive(Debug)]
pub(super) struct OverlayFile {
    below: Option<IoFile>,
    content: Mutex<Content>,
}

#[derive(Debug, Default)]
struct Content {
    len: u64,
    /// Bytes of the file below that show where no block covers them.
    below_len: u64,
    blocks: HashMap<u64, Box<[u8]>>,
}

impl OverlayDisk {
    pub fn new(below: Arc<dyn Disk>) -> OverlayDisk {
        OverlayDisk { below, names: Mutex::default() }
    }

    fn open_file(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        let mut names = self.names.lock();
        let there = match names.get(path) {
            Some(known) => known.clone(),
            None => self.copied_up(path)?,
        };
        let file = match (there, mode) {
            (Some(_), OpenMode::CreateNew) => return Err(ErrorKind::AlreadyExists.into()),
            (None, OpenMode::Existing) => return Err(ErrorKind::NotFound.into()),
            (Some(file), OpenMode::Existing) => file,
            (_, OpenMode::Replace) | (None, OpenMode::CreateNew) => {
                Arc::new(OverlayFile { below: None, content: Mutex::default() })
            }
        };
        names.insert(path.to_path_buf(), Some(Arc::clone(&file)));
        Ok(IoFile { path: path.to_path_buf(), kind: FileKind::Overlay(file) })
    }

    fn copied_up(&self, path: &Path) -> io::Result<Option<Arc<OverlayFile>>> {
        let Some(len) = self.below.len_of(path)? else { return Ok(None) };
        // Any offset is read, so not by blocks.
        let below = Some(self.below.open_buffered(path, OpenMode::Existing)?);
        let content = Mutex::new(Content { len, below_len: len, blocks: HashMap::new() });
        Ok(Some(Arc::new(OverlayFile { below, content })))
    }

    fn file<'a>(&self, file: &'a IoFile) -> io::Result<&'a Arc<OverlayFile>> {
        match &file.kind {
            FileKind::Overlay(file) => Ok(file),
            _ => Err(ErrorKind::Unsupported.into()),
        }
    }

    fn read_op(&self, op: &mut ReadOp<'_>) -> io::Result<()> {
        let mut bytes = vec![0; op.bytes()];
        let file = self.file(op.file)?;
        let content = file.content.lock();
        if op.offset + bytes.len() as u64 > content.len {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.copy(file, &content, op.offset, &mut bytes)?;
        let mut rest = &bytes[..];
        for buffer in &mut op.buffers {
            let (now, later) = rest.split_at(buffer.len());
            buffer.copy_from_slice(now);
            rest = later;
        }
        Ok(())
    }

    /// Copies what a file has from an offset on; zeros behind its end.
    fn copy(&self, file: &OverlayFile, content: &Content, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let shown = content.below_len.saturating_sub(offset).min(into.len() as u64) as usize;
        into[shown..].fill(0);
        if let (Some(below), true) = (&file.below, shown > 0) {
            let mut ops = [ReadOp::new(below, offset, vec![&mut into[..shown]])];
            self.below.read(&mut ops);
            let [op] = ops;
            op.result?;
        }
        let end = offset + into.len() as u64;
        for number in offset / BLOCK..end.div_ceil(BLOCK) {
            let Some(block) = content.blocks.get(&number) else { continue };
            let (from, to) = (offset.max(number * BLOCK), end.min((number + 1) * BLOCK));
            let in_block = (from - number * BLOCK) as usize..(to - number * BLOCK) as usize;
            into[(from - offset) as usize..(to - offset) as usize].copy_from_slice(&block[in_block]);
        }
        Ok(())
    }

    fn write_op(&self, op: &WriteOp<'_>) -> io::Result<()> {
        let bytes = op.buffers.concat();
        let file = self.file(op.file)?;
        let mut content = file.content.lock();
        let end = op.offset + bytes.len() as u64;
        for number in op.offset / BLOCK..end.div_ceil(BLOCK) {
            let start = number * BLOCK;
            let mut block = vec![0; BLOCK as usize];
            self.copy(file, &content, start, &mut block)?;
            let (from, to) = (op.offset.max(start), end.min(start + BLOCK));
            let written = &bytes[(from - op.offset) as usize..(to - op.offset) as usize];
            block[(from - start) as usize..(to - start) as usize].copy_from_slice(written);
            content.blocks.insert(number, block.into());
        }
        content.len = content.len.max(end);
        Ok(())
    }
}

impl Disk for OverlayDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        self.open_file(path, mode)
    }

    fn open_buffered(&self, path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        self.open_file(path, mode)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if self.len_of(path)?.is_none() {
            return Err(ErrorKind::NotFound.into());
        }
        self.names.lock().insert(path.to_path_buf(), None);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let FileKind::Overlay(file) = self.open_file(from, OpenMode::Existing)?.kind else { unreachable!() };
        let mut names = self.names.lock();
        names.insert(from.to_path_buf(), None);
        names.insert(to.to_path_buf(), Some(file));
        Ok(())
    }

    fn read(&self, ops: &mut [ReadOp<'_>]) {
        for op in ops {
            op.result = self.read_op(op);
        }
    }

    fn write(&self, ops: &mut [WriteOp<'_>]) {
        for op in ops {
            op.result = self.write_op(op);
        }
    }

    fn sync(&self, _file: &IoFile) -> io::Result<()> {
        Ok(())
    }

    fn file_len(&self, file: &IoFile) -> io::Result<u64> {
        Ok(self.file(file)?.content.lock().len)
    }

    fn allocate(&self, file: &IoFile, bytes: u64) -> io::Result<()> {
        let mut content = self.file(file)?.content.lock();
        content.len = content.len.max(bytes);
        Ok(())
    }

    fn len_of(&self, path: &Path) -> io::Result<Option<u64>> {
        match self.names.lock().get(path) {
            Some(known) => Ok(known.as_ref().map(|file| file.content.lock().len)),
            None => self.below.len_of(path),
        }
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.below.list(path).map(drop)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let names = self.names.lock();
        let mut paths = self.below.list(directory)?;
        paths.retain(|path| !names.contains_key(path));
        let here = names.iter().filter(|(path, file)| file.is_some() && path.parent() == Some(directory));
        paths.extend(here.map(|(path, _)| path.clone()));
        Ok(paths)
    }

    fn sync_directory(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<FileLock> {
        self.below.lock(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::simulated::SimulatedDisk;

    fn bytes(disk: &dyn Disk, path: &Path) -> Vec<u8> {
        disk.read_small(path, 1 << 20).unwrap()
    }

    #[test]
    fn the_disk_below_stays_as_it_is() {
        let below = Arc::new(SimulatedDisk::new());
        let (directory, a, b) = (Path::new("/d"), Path::new("/d/a"), Path::new("/d/b"));
        let old: Vec<u8> = (0..10_000).map(|i| i as u8).collect();
        for path in [a, b] {
            below.write_small(path, &old, true).unwrap();
        }
        let before = below.operations();
        let disk = OverlayDisk::new(Arc::clone(&below) as _);
        assert_eq!((bytes(&disk, a), disk.len_of(b).unwrap()), (old.clone(), Some(10_000)));

        // Within a block, over the end of one, beyond the end of the file.
        let file = disk.open(a, OpenMode::Existing).unwrap();
        let mut wanted = old.clone();
        for (offset, length) in [(100, 7), (4000, 200), (9_990, 5_000)] {
            let new = vec![offset as u8; length];
            let mut ops = [WriteOp::new(&file, offset as u64, vec![&new[..3], &new[3..]])];
            disk.write(&mut ops);
            let [op] = ops;
            op.result.unwrap();
            wanted.resize(wanted.len().max(offset + length), 0);
            wanted[offset..offset + length].copy_from_slice(&new);
        }
        disk.allocate(&file, 20_000).unwrap();
        wanted.resize(20_000, 0);
        assert_eq!(bytes(&disk, a), wanted);
        let mut beyond = [0; 10];
        let mut ops = [ReadOp::new(&file, 19_995, vec![&mut beyond])];
        disk.read(&mut ops);
        let [op] = ops;
        assert_eq!(op.result.unwrap_err().kind(), ErrorKind::UnexpectedEof);

        assert_eq!(disk.open(b, OpenMode::CreateNew).unwrap_err().kind(), ErrorKind::AlreadyExists);
        disk.rename(a, b).unwrap();
        assert_eq!((disk.list(directory).unwrap(), bytes(&disk, b)), (vec![b.to_path_buf()], wanted));
        assert_eq!(disk.open(a, OpenMode::Existing).unwrap_err().kind(), ErrorKind::NotFound);
        disk.remove(b).unwrap();
        assert_eq!(disk.remove(b).unwrap_err().kind(), ErrorKind::NotFound);
        disk.write_small(a, b"new", true).unwrap();
        assert_eq!((disk.list(directory).unwrap(), bytes(&disk, a)), (vec![a.to_path_buf()], b"new".to_vec()));

        assert_eq!(below.operations(), before);
        assert_eq!((bytes(&*below, a), bytes(&*below, b)), (old.clone(), old));
    }
}
