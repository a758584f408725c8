//! The power goes, or the process is killed, in any operation on the disk, again and again, within recovery too.
//! Afterwards the log has all that was acknowledged, nothing that was not appended, and everything in its order.

use super::{
    Lsn,
    fixtures::{Fixture, Stepped, groups_of},
    planted::PlantedFault,
    reader::Next,
};
use crate::{io::simulated::SimulatedDisk, page::u64_at, testing::random::Random};
use std::{ops::Range, sync::Arc};

/// Events that the seeds have met. Each must be met at least once, or the test says nothing about it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Met {
    power_cuts: u64,
    kills: u64,
    cuts_within_recovery: u64,
    torn_tails: u64,
    /// Logs that end before a whole group of a lower epoch.
    older_epochs: u64,
    segments_recycled: u64,
    checkpoints: u64,
    read_from_ring: u64,
    read_from_file: u64,
}

/// A group that was appended and that no crash has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Appended {
    place: Range<Lsn>,
    payload: Vec<u8>,
}

struct CutRun {
    random: Random,
    groups: Vec<Appended>,
    /// Everything up to here was acknowledged.
    durable: Lsn,
    /// The start of redo by the last checkpoint that succeeded.
    redo: Lsn,
    /// The start of redo by a checkpoint that did not succeed.
    attempted: Lsn,
    written: u64,
    odd_sizes: bool,
    met: Met,
}

impl CutRun {
    fn new(seed: u64) -> CutRun {
        let odd_sizes = seed.is_multiple_of(3);
        let (random, groups, met) = (Random(seed), Vec::new(), Met::default());
        CutRun { random, groups, durable: 0, redo: 512, attempted: 512, written: 0, odd_sizes, met }
    }

    /// Most groups have 64 bytes, and in most runs all have a multiple of it, so after a crash new ones end where lost
    /// ones began. Each has a number of its own.
    fn payload(&mut self) -> Vec<u8> {
        self.written += 1;
        let bytes = match self.random.below_u64(80) {
            0 => 64 * self.random.below_u64(180) + 16,
            1..4 => 64 * self.random.below_u64(10) + 16,
            4 if self.odd_sizes => self.random.below_u64(3000) + 8,
            _ => 16,
        };
        let mut payload = self.written.to_le_bytes().to_vec();
        payload.resize(bytes as usize, self.written as u8);
        payload
    }

    /// One step of work. `Err` if the disk fails.
    fn step(&mut self, log: &Stepped) -> Result<(), String> {
        let fail = |e: crate::StorageError| e.to_string();
        match self.random.below_u64(100) {
            0..60 => {
                for _ in 0..self.random.below_u64(60) + 1 {
                    let payload = self.payload();
                    if log.shared.reserved() + 30_000 > log.shared.limit.load(std::sync::atomic::Ordering::Relaxed) {
                        log.write().map_err(fail)?;
                    }
                    let place = match log.append(&payload) {
                        Err(crate::StorageError::LogFull { .. }) => return self.checkpoint(log),
                        placed => placed.map_err(fail)?,
                    };
                    self.groups.push(Appended { place, payload });
                }
                Ok(())
            }
            60..90 => log.write().map(drop).map_err(fail),
            90..95 => log.sync().map(|taken| self.durable = taken).map_err(fail),
            95..98 => self.checkpoint(log),
            _ => {
                self.read_back(log);
                Ok(())
            }
        }
    }

    fn checkpoint(&mut self, log: &Stepped) -> Result<(), String> {
        self.durable = log.sync().map_err(|e| e.to_string())?;
        let candidates: Vec<Lsn> = self.groups.iter().map(|g| g.place.start).filter(|&at| at >= self.redo).collect();
        let pick = self.random.below_u64(candidates.len() as u64 + 1) as usize;
        self.attempted = candidates.get(pick).copied().unwrap_or(self.durable).max(self.redo);
        log.shared.take_checkpoint(self.attempted, self.attempted, 1).map_err(|e| e.to_string())?;
        self.redo = self.attempted;
        self.met.checkpoints += 1;
        Ok(())
    }

    /// Reads some of the records that are needed, by their positions.
    fn read_back(&mut self, log: &Stepped) {
        let kept: Vec<&Appended> = self.groups.iter().filter(|group| group.place.start >= self.redo).collect();
        for _ in 0..20.min(kept.len()) {
            let group = kept[self.random.below_u64(kept.len() as u64) as usize];
            let lsn = group.place.start + 32;
            let in_ring = group.place.start >= log.shared.history.load(std::sync::atomic::Ordering::Relaxed);
            let read = log.shared.read(lsn, |record| record.payload.to_vec());
            // The power may be gone.
            if let Ok(read) = read {
                assert_eq!(read, group.payload);
                *(if in_ring { &mut self.met.read_from_ring } else { &mut self.met.read_from_file }) += 1;
            }
        }
    }

    /// Compares the log with what was appended. What was lost is forgotten.
    fn compare(&mut self, fixture: &Fixture) -> Result<(), String> {
        let recovery = fixture.recovery().map_err(|e| e.to_string())?;
        let redo = recovery.checkpoint().redo;
        if redo != self.redo && redo != self.attempted {
            return Err(format!("redo begins at {redo}, not at {} or {}", self.redo, self.attempted));
        }
        self.redo = redo;
        self.attempted = redo;
        let found = groups_of(&recovery);
        let expected: Vec<&Appended> = self.groups.iter().filter(|group| group.place.start >= redo).collect();
        for (i, (place, payload)) in found.iter().enumerate() {
            match expected.get(i) {
                Some(group) if group.place == *place && group.payload == *payload => {}
                _ => return Err(format!("group {} at {place:?} was not appended there", u64_at(payload, 0))),
            }
        }
        let end = recovery.end().lsn;
        if end < self.durable {
            return Err(format!("acknowledged up to {}, found up to {end}", self.durable));
        }
        self.met.torn_tails += u64::from(found.len() < expected.len());
        let mut groups = recovery.groups(recovery.checkpoint().redo);
        while let Next::Group(_) = groups.next().unwrap() {}
        if let Next::End(reason) = groups.next().unwrap() {
            self.met.older_epochs += u64::from(reason.starts_with("the group has epoch"));
        }
        let kept = self.groups.len() - expected.len() + found.len();
        self.groups.truncate(kept);
        Ok(())
    }
}

/// Lives of one log until it fails or `crashes` are survived. Errors: what is wrong with it.
fn survive(seed: u64, crashes: u32, fault: Option<PlantedFault>) -> Result<Met, String> {
    let mut run = CutRun::new(seed);
    let mut disk = Arc::new(SimulatedDisk::new());
    Fixture::new(Arc::clone(&disk) as _).create().map_err(|e| e.to_string())?;
    for _ in 0..crashes {
        let fixture = Fixture::new(Arc::clone(&disk) as _).with_fault(fault);
        run.compare(&fixture)?;
        let left = if run.random.below_u64(5) == 0 { run.random.below_u64(12) } else { 20 + run.random.below_u64(120) };
        disk.cut_power_after(left);
        let mut opened = false;
        if let Ok(log) = fixture.stepped() {
            opened = true;
            // All that was found counts as durable now, and is told to others.
            run.durable = log.taken();
            let steps = if run.random.below_u64(4) == 0 { run.random.below_u64(40) } else { u64::MAX };
            for _ in 0..steps {
                if run.step(&log).is_err() {
                    break;
                }
            }
            run.met.segments_recycled += log.shared.status().segments_recycled;
        }
        if disk.is_off() {
            run.met.power_cuts += 1;
            run.met.cuts_within_recovery += u64::from(!opened);
            disk = Arc::new(disk.after_power_cut(run.random.next()));
        } else {
            // The process is killed: the disk goes on with what was written, synced or not.
            run.met.kills += 1;
            disk.cut_power_after(u64::MAX / 2);
        }
    }
    Ok(run.met)
}

fn survive_all(seeds: Range<u64>, fault: Option<PlantedFault>) -> (Met, Vec<String>) {
    let mut met = Met::default();
    let mut failed = Vec::new();
    for seed in seeds {
        match survive(seed, 12, fault) {
            Ok(one) => {
                met.power_cuts += one.power_cuts;
                met.kills += one.kills;
                met.cuts_within_recovery += one.cuts_within_recovery;
                met.torn_tails += one.torn_tails;
                met.older_epochs += one.older_epochs;
                met.segments_recycled += one.segments_recycled;
                met.checkpoints += one.checkpoints;
                met.read_from_ring += one.read_from_ring;
                met.read_from_file += one.read_from_file;
            }
            Err(e) => failed.push(format!("seed {seed}: {e}")),
        }
    }
    (met, failed)
}

fn assert_whole(seeds: Range<u64>) {
    let (met, failed) = survive_all(seeds, None);
    println!("{met:?}");
    assert_eq!(failed, Vec::<String>::new());
    let Met { power_cuts, kills, cuts_within_recovery, torn_tails, older_epochs, .. } = met;
    let Met { segments_recycled, checkpoints, read_from_ring, read_from_file, .. } = met;
    let counts = [power_cuts, kills, cuts_within_recovery, torn_tails, older_epochs];
    assert!(counts.into_iter().all(|n| n > 0), "{met:?}");
    assert!([segments_recycled, checkpoints, read_from_ring, read_from_file].into_iter().all(|n| n > 0), "{met:?}");
}

#[test]
fn what_was_acknowledged_is_there_after_any_cut() {
    assert_whole(0..60);
}

#[test]
#[ignore = "a soak of some minutes"]
fn what_was_acknowledged_is_there_after_any_of_many_cuts() {
    assert_whole(1_000..11_000);
}

#[test]
fn each_planted_fault_is_found() {
    use PlantedFault::{RecycleEarly, SameEpoch, SkipSync, SkipSyncOfRecovery, SyncedTooEarly};
    for fault in [SkipSync, SyncedTooEarly, SameEpoch, SkipSyncOfRecovery, RecycleEarly] {
        let found = (0..60).any(|seed| survive(seed, 12, Some(fault)).is_err());
        assert!(found, "no seed finds {fault:?}");
    }
}
