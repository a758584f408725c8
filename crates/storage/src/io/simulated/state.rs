//! The state of a simulated disk: its content, the count of its operations, and the moment when the power goes.

use super::{
    SimulatedFile,
    fault::Faults,
    names::{NameChange, Names},
};
use std::{io, path::Path, sync::Arc};

#[derive(Debug, Default)]
pub(super) struct DiskState {
    pub names: Names,
    pub faults: Faults,
    /// Operations so far that change something or make it durable.
    pub operations: u64,
    /// The number of the operation in which the power goes.
    pub power_cut: Option<u64>,
    pub is_off: bool,
    /// Bytes that all files together may have; more is `ENOSPC`.
    pub capacity: Option<u64>,
}

impl DiskState {
    /// Counts an operation and does it. If the power goes in it, it is done, but not durable, and fails.
    pub fn operation(&mut self, change: impl FnOnce(&mut Names, u64)) -> io::Result<()> {
        self.operations += 1;
        change(&mut self.names, self.operations);
        self.stay_powered()
    }

    /// Counts an operation that makes something durable and does it unless the power goes in it.
    pub fn durable_operation(&mut self, change: impl FnOnce(&mut Names)) -> io::Result<()> {
        self.operations += 1;
        self.stay_powered()?;
        change(&mut self.names);
        Ok(())
    }

    fn stay_powered(&mut self) -> io::Result<()> {
        self.is_off = self.power_cut == Some(self.operations);
        if self.is_off { Err(power_is_off()) } else { Ok(()) }
    }

    /// Makes an empty file.
    pub fn make(&mut self, path: &Path) -> io::Result<Arc<SimulatedFile>> {
        let file: Arc<SimulatedFile> = Arc::default();
        let made = NameChange::Made(path.to_path_buf(), Arc::clone(&file));
        self.operation(|names, number| names.change(made, number))?;
        Ok(file)
    }

    /// Fails with `ENOSPC` if the file may not be so long.
    pub fn check_room(&self, file: &SimulatedFile, len: usize) -> io::Result<()> {
        let grows = len.saturating_sub(file.content.lock().live().len()) as u64;
        match self.capacity {
            Some(capacity) if grows > 0 && self.used() + grows > capacity => {
                Err(io::Error::from_raw_os_error(libc::ENOSPC))
            }
            _ => Ok(()),
        }
    }

    /// Bytes of all files.
    pub fn used(&self) -> u64 {
        self.names.live().values().map(|file| file.content.lock().live().len() as u64).sum()
    }
}

pub(super) fn power_is_off() -> io::Error {
    io::Error::other("the power is off")
}
