//! The names of simulated files: as a process sees them, as directories were last synced, and what happened between.

use super::{SimulatedFile, loss::Loss};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

pub(super) type Directory = BTreeMap<PathBuf, Arc<SimulatedFile>>;

/// A change of names. Each happens as a whole or not at all.
#[derive(Debug)]
pub(super) enum NameChange {
    Made(PathBuf, Arc<SimulatedFile>),
    Removed(PathBuf),
    /// The file goes from the first name to the second, whose former file has no name any more.
    Renamed(PathBuf, PathBuf, Arc<SimulatedFile>),
}

impl NameChange {
    fn path(&self) -> &Path {
        match self {
            NameChange::Made(path, _) | NameChange::Removed(path) | NameChange::Renamed(_, path, _) => path,
        }
    }

    fn apply(&self, directory: &mut Directory) {
        match self {
            NameChange::Made(path, file) => drop(directory.insert(path.clone(), Arc::clone(file))),
            NameChange::Removed(path) => drop(directory.remove(path)),
            NameChange::Renamed(from, to, file) => {
                directory.remove(from);
                directory.insert(to.clone(), Arc::clone(file));
            }
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Names {
    live: Directory,
    durable: Directory,
    /// Changes that are not known to be durable, in their order, each with the number of its operation.
    unsynced: Vec<(u64, NameChange)>,
}

impl Names {
    /// Files whose names are durable.
    pub fn durable(files: Directory) -> Names {
        Names { live: files.clone(), durable: files, unsynced: Vec::new() }
    }

    pub fn live(&self) -> &Directory {
        &self.live
    }

    pub fn change(&mut self, change: NameChange, operation: u64) {
        change.apply(&mut self.live);
        self.unsynced.push((operation, change));
    }

    /// Makes the names in a directory durable.
    pub fn sync(&mut self, directory: &Path) {
        let durable = &mut self.durable;
        self.unsynced.retain(|(_, change)| {
            let inside = change.path().parent() == Some(directory);
            if inside {
                change.apply(durable);
            }
            !inside
        });
    }

    /// The names that a power cut leaves.
    pub fn after(&self, loss: &Loss) -> Directory {
        let mut left = self.durable.clone();
        for (operation, change) in &self.unsynced {
            if loss.choose(&[*operation], [(*operation, false)].into_iter()).is_some() {
                change.apply(&mut left);
            }
        }
        left
    }
}
