//! An open file of some back end.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{OpenMode, memory::MemoryFile};

/// An open file; only the back end that opened it can use it.
#[derive(Debug)]
pub struct IoFile {
    pub(super) path: PathBuf,
    pub(super) kind: FileKind,
}

#[derive(Debug)]
pub(super) enum FileKind {
    Os { file: File, direct: bool },
    Memory(Arc<MemoryFile>),
}

impl IoFile {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if reads and writes bypass the page cache of the operating system.
    pub fn is_direct(&self) -> bool {
        matches!(self.kind, FileKind::Os { direct: true, .. })
    }

    /// Opens with direct I/O; without it where the file system refuses.
    pub(super) fn open_os(path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        let open = |flags: i32, create: bool| {
            OpenOptions::new().read(true).write(true).create_new(create).custom_flags(flags).open(path)
        };
        let create = mode == OpenMode::CreateNew;
        let (file, direct) = match open(libc::O_DIRECT, create) {
            Ok(file) => (file, true),
            // The file may have been created before the flag was refused.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => (open(0, create && !path.exists())?, false),
            Err(e) => return Err(e),
        };
        Ok(IoFile { path: path.to_path_buf(), kind: FileKind::Os { file, direct } })
    }

    pub(super) fn os(&self) -> io::Result<&File> {
        match &self.kind {
            FileKind::Os { file, .. } => Ok(file),
            FileKind::Memory(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}
