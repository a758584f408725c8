//! Devices as models: what a recorded run would have waited for another disk.
//!
//! ```text
//!   Record (storage::io::trace) -> batches of requests on one axis of bytes     mod.rs
//!       -> Disk   seek curve, rotation, transfer, elevator                      disk.rs
//!       -> Flash  latency, parallelism, bandwidth                               flash.rs
//! ```
//!
//! A batch waits for the one before it; what is in a batch is under way together. So the time is that of the device
//! alone, with nothing computed meanwhile: of two runs of the same query the ratio of these times says what the order
//! and the batching of reads are worth. `docs/lab.md` tells where the numbers come from.

mod disk;
mod flash;

pub use disk::Disk;
pub use flash::Flash;

use muster_engine::io::trace::{AccessKind, Record, TracedAccess};

/// A read or a write: where on the device, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Bytes from the beginning of the device.
    pub position: u64,
    pub bytes: u64,
}

/// A device with its name and its numbers.
#[derive(Debug, Clone, Copy)]
pub struct Device {
    /// One word, for columns and JSON.
    pub name: &'static str,
    pub title: &'static str,
    pub model: Model,
}

#[derive(Debug, Clone, Copy)]
pub enum Model {
    Disk(Disk),
    Flash(Flash),
}

/// The devices that runs are replayed on.
pub const DEVICES: [Device; 3] = [
    Device { name: "disk", title: "7,200 rpm disk", model: Model::Disk(Disk::RPM_7200) },
    Device { name: "sata", title: "SATA SSD", model: Model::Flash(Flash::SATA) },
    Device { name: "nvme", title: "NVMe SSD", model: Model::Flash(Flash::NVME) },
];

/// Files begin at multiples of this.
const EXTENT: u64 = 1 << 20;

impl Device {
    /// Milliseconds that the device works for a record. Files lie one behind the other, in the order of their names.
    pub fn replay_ms(&self, record: &Record) -> f64 {
        let bases = layout(&record.files);
        let request = |a: &TracedAccess| Request {
            position: bases.get(a.file as usize).copied().unwrap_or(0) + a.offset,
            bytes: a.bytes,
        };
        let batches = record.accesses.chunk_by(|a, b| a.batch == b.batch);
        let batches = batches.map(|batch| -> Vec<Request> {
            batch.iter().filter(|a| a.kind != AccessKind::Sync).map(request).collect()
        });
        match self.model {
            Model::Disk(disk) => disk.serve_ms(batches),
            Model::Flash(flash) => batches.map(|batch| flash.batch_ms(&batch)).sum(),
        }
    }
}

/// The place on the device at which each file begins, by its number in the record.
fn layout(files: &[(std::path::PathBuf, u64)]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by(|a, b| files[*a].0.cmp(&files[*b].0));
    let (mut bases, mut next) = (vec![0; files.len()], 0);
    for number in order {
        bases[number] = next;
        next += files[number].1.next_multiple_of(EXTENT);
    }
    bases
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn access(file: u32, offset: u64, batch: u64) -> TracedAccess {
        TracedAccess { kind: AccessKind::Read, file, offset, bytes: 16384, batch, in_flight: 1 }
    }

    #[test]
    fn files_lie_one_behind_the_other() {
        let file = |name: &str, bytes| (PathBuf::from(name), bytes);
        assert_eq!(layout(&[file("c", 5), file("a", EXTENT), file("b", EXTENT + 1)]), [3 * EXTENT, 0, EXTENT]);
    }

    #[test]
    fn what_is_under_way_together_costs_less() {
        let files = vec![(PathBuf::from("a"), 1 << 30), (PathBuf::from("b"), 1 << 30)];
        let scattered: Vec<(u32, u64)> = (0..64u64).map(|i| ((i % 2) as u32, (i * 37 % 64) * (16 << 20))).collect();
        let record = |batched: bool| Record {
            accesses: scattered
                .iter()
                .zip(0..)
                .map(|((f, o), i)| access(*f, *o, if batched { 0 } else { i }))
                .collect(),
            dropped: 0,
            files: files.clone(),
        };
        for device in DEVICES {
            let (one, many) = (device.replay_ms(&record(false)), device.replay_ms(&record(true)));
            assert!(many < one * 0.9, "{}: {one} ms one by one, {many} ms together", device.name);
        }
        let (disk, sata, nvme) = (DEVICES[0], DEVICES[1], DEVICES[2]);
        let ms = |d: Device| d.replay_ms(&record(false));
        assert!(ms(disk) > 30.0 * ms(sata) && ms(sata) > 1.5 * ms(nvme));
    }
}
