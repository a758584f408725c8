//! Crashes of a simulated machine that runs Muster: its disk is in memory and knows what was synced. The power goes in
//! the middle of a run, and the database is opened on what may be left, again and again from the same moment.

use super::{
    CrashKind, CrashReport, Variant,
    killed::{crash_run, inspect},
};
use crate::{
    load::LoadObserver,
    target::{Result, TargetError, TestedDatabase},
    tpcc::{Acknowledged, RunOptions, Scale, prepare, run},
};
use muster_engine::{
    Database, DatabaseOptions,
    io::simulated::{DiskFault, FaultKind, Operation, SimulatedDisk},
};
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// Rows that are more than the pool holds, so that pages are written all the time.
const SCALE: Scale = Scale { warehouses: 1, items: 2000, customers: 300, seed: 1 };
const POOL_BYTES: usize = 4 << 20;
/// The power goes so long after the run has begun, and up to a second later.
const BEFORE_CUT: Duration = Duration::from_millis(3000);
/// The end of the names of the files that pages are written into.
const PAGE_FILES_END: &str = ".mus";
/// A run that no crash ends is ended after this.
const RUN_MAX: Duration = Duration::from_secs(30);

pub struct SimulatedCrashes {
    /// Moments in which the power goes.
    pub moments: u32,
    /// Disks that a power cut may leave, for each moment, beside that with nothing but what was synced.
    pub disks: u32,
    pub threads: usize,
    pub seed: u64,
    pub observer: Box<dyn LoadObserver>,
}

fn options() -> DatabaseOptions {
    DatabaseOptions {
        buffer_pool_bytes: POOL_BYTES,
        memory_limit_bytes: 256 << 20,
        threads: 1,
        ..DatabaseOptions::default()
    }
}

/// A disk with the tables, all of it synced, and the folder in which the database believes to be.
pub struct LoadedDisk {
    disk: SimulatedDisk,
    folder: ScratchFolder,
}

impl LoadedDisk {
    /// Loads the tables. Error: that of the load.
    pub async fn load(crashes: &SimulatedCrashes) -> Result<LoadedDisk> {
        let (disk, folder) = (Arc::new(SimulatedDisk::new()), ScratchFolder::new()?);
        let database = Database::open_on(&folder.0, options(), disk.clone())?;
        let target = TestedDatabase::Embedded(database.clone());
        prepare(&target, crate::tpcc::DATABASE, SCALE, false, &*crashes.observer).await?;
        database.checkpoint()?;
        drop((target, database));
        Ok(LoadedDisk { disk: disk.only_synced(), folder })
    }

    /// Crashes of both kinds with the variant's settings, on copies of the disk. Error: a setting that Muster lacks.
    pub async fn crashes(&self, variant: &Variant, crashes: &SimulatedCrashes) -> Result<Vec<CrashReport>> {
        let machine = Machine { variant, folder: &self.folder.0 };
        let (mut kills, mut cuts) =
            (CrashReport::new(CrashKind::KilledSimulated), CrashReport::new(CrashKind::PowerCut));
        for moment in 0..u64::from(crashes.moments) {
            let disk = Arc::new(self.disk.only_synced());
            let acknowledged = machine.run(&disk, crashes, moment).await?;
            machine.inspect(disk.all_written(), &acknowledged, &mut kills).await;
            machine.inspect(disk.only_synced(), &acknowledged, &mut cuts).await;
            for draw in 0..u64::from(crashes.disks) {
                let left = disk.after_power_cut(crashes.seed + (moment << 32) + draw);
                machine.inspect(left, &acknowledged, &mut cuts).await;
            }
        }
        Ok(vec![kills, cuts])
    }
}

struct Machine<'a> {
    variant: &'a Variant,
    folder: &'a Path,
}

impl Machine<'_> {
    fn open(&self, disk: &Arc<SimulatedDisk>) -> Result<Arc<Database>> {
        let mut options = options();
        self.variant.apply(&mut options)?;
        Ok(Database::open_on(self.folder, options, disk.clone())?)
    }

    fn run_options(crashes: &SimulatedCrashes) -> RunOptions {
        RunOptions {
            schema: crate::tpcc::DATABASE.into(),
            threads: crashes.threads,
            warm_up: Duration::ZERO,
            measured: Duration::ZERO,
            seed: crashes.seed,
            keeps_orders: true,
            ends_at_error: true,
            machine: None,
        }
    }

    /// Runs the mix until the power goes. Returns the orders that were acknowledged until then.
    async fn run(
        &self,
        disk: &Arc<SimulatedDisk>,
        crashes: &SimulatedCrashes,
        moment: u64,
    ) -> Result<Vec<Acknowledged>> {
        let database = self.open(disk)?;
        let options = crash_run(&Self::run_options(crashes), RUN_MAX, moment);
        let options = RunOptions { machine: Some(disk.clone()), ..options };
        let later = Duration::from_millis(moment * 370 % 1000);
        let result = tokio::task::block_in_place(|| {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(BEFORE_CUT + later);
                    if moment.is_multiple_of(2) {
                        disk.cut_power_after(moment * 5 % 8);
                    } else {
                        // Pages are written to their places all the time, but that is soon done: here the power goes
                        // when they are to be made durable. The error is that there is no power.
                        disk.inject_for(
                            PAGE_FILES_END,
                            DiskFault { on: Operation::Sync, after: 0, kind: FaultKind::PowerCut, forever: false },
                        );
                        let _ = database.checkpoint();
                    }
                });
                run(&TestedDatabase::Embedded(database.clone()), SCALE, &options)
            })
        })?;
        match disk.is_off() {
            true => Ok(result.tally.acknowledged),
            false => Err(TargetError::Answer("the run ended before the power went".into())),
        }
    }

    async fn inspect(&self, left: SimulatedDisk, acknowledged: &[Acknowledged], report: &mut CrashReport) {
        let since = Instant::now();
        match self.open(&Arc::new(left)) {
            Ok(database) => {
                report.recovery_seconds_max = report.recovery_seconds_max.max(since.elapsed().as_secs_f64());
                inspect(&TestedDatabase::Embedded(database), crate::tpcc::DATABASE, SCALE, acknowledged, report).await;
            }
            Err(e) => report.add_unusable(acknowledged.len() as u64, &e.to_string()),
        }
    }
}

/// The folder of the operating system that a database on a simulated disk uses beside it.
struct ScratchFolder(std::path::PathBuf);

impl ScratchFolder {
    fn new() -> Result<ScratchFolder> {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("muster-lab-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| TargetError::Answer(e.to_string()))?;
        Ok(ScratchFolder(path))
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // Left for whoever cleans the system's folder of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
