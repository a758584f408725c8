//! An open file of some back end.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{OpenMode, overlay::OverlayFile, simulated::SimulatedFile};

/// An open file; only the back end that opened it can use it.
#[derive(Debug)]
pub struct IoFile {
    pub(super) path: PathBuf,
    pub(super) kind: FileKind,
}

#[derive(Debug)]
pub(super) enum FileKind {
    Os { file: File, direct: bool },
    Simulated(Arc<SimulatedFile>),
    Overlay(Arc<OverlayFile>),
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
    pub(super) fn open_direct(path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        match open_os(path, mode, libc::O_DIRECT) {
            Ok(file) => Ok(IoFile { path: path.to_path_buf(), kind: FileKind::Os { file, direct: true } }),
            // The file may have been created before the flag was refused.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => match mode {
                OpenMode::CreateNew if path.exists() => IoFile::open_buffered(path, OpenMode::Existing),
                _ => IoFile::open_buffered(path, mode),
            },
            Err(e) => Err(e),
        }
    }

    /// Opens without direct I/O.
    pub(super) fn open_buffered(path: &Path, mode: OpenMode) -> io::Result<IoFile> {
        let file = open_os(path, mode, 0)?;
        Ok(IoFile { path: path.to_path_buf(), kind: FileKind::Os { file, direct: false } })
    }

    pub(super) fn os(&self) -> io::Result<&File> {
        match &self.kind {
            FileKind::Os { file, .. } => Ok(file),
            FileKind::Simulated(_) | FileKind::Overlay(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

fn open_os(path: &Path, mode: OpenMode, flags: i32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(flags);
    match mode {
        OpenMode::CreateNew => options.create_new(true),
        OpenMode::Existing => &mut options,
        OpenMode::Replace => options.create(true).truncate(true),
    };
    options.open(path)
}
