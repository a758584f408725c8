//! Statistics made anew beside the statements, when many rows have changed: InnoDB's automatic recalculation (MySQL
//! manual, "Configuring Automatic Statistics Calculation for Persistent Optimizer Statistics").
//!
//! A thread looks at the open tables from time to time. It makes statistics from some leaves of each index, writes
//! them, and puts them in the place of the others in one step: who asks has the ones or the others. Then plans that
//! were kept are made anew.

use super::{Handle, TableSet, Tables};
use crate::metadata_locks::{MetadataLocks, Owner, TableUse, Until};
use muster_algebra::TableId;
use muster_storage::{
    TableStatistics, load,
    mutex::{Condvar, Mutex},
};
use muster_types::{Result, distribution::Histogram};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Time between two looks at the tables.
const PAUSE: Duration = Duration::from_secs(1);
/// Time between two renewals of one table: so long at least (as InnoDB does), and so many times as long as the last one
/// took.
const REST: Duration = Duration::from_secs(10);
const REST_SHARE: u32 = 100;
/// Leaves of each index that are read, at most: by the thread, and by ANALYZE TABLE.
const LEAVES: usize = 128;
const LEAVES_OF_ANALYZE: usize = 1024;
/// The owner of the thread's locks of tables. Sessions have other numbers.
const OWNER: Owner = Owner::Session(u32::MAX);

/// What is done with the statistics of tables of a set, which the caller's session sees.
impl Tables {
    /// Makes the statistics of a table anew, unless no row has changed since they were made. The caller has locked the
    /// table, so that it keeps its definition.
    pub fn analyze(&self, set: &TableSet, id: TableId) -> Result<()> {
        let handle = set.handle(id)?.clone();
        handle.open(self.store())?;
        let had_others = handle.import(None);
        let is_behind = handle.is_behind();
        if is_behind {
            handle.replace(handle.sample(LEAVES_OF_ANALYZE)?)?;
        }
        if had_others || is_behind {
            self.begin_next();
        }
        Ok(())
    }

    /// Has statistics from elsewhere count in place of tables' own. The caller has locked the tables.
    pub fn import_statistics(&self, set: &TableSet, statistics: Vec<(TableId, TableStatistics)>) -> Result<()> {
        let handles: Vec<_> = statistics.iter().map(|(id, _)| Ok(set.handle(*id)?.clone())).collect::<Result<_>>()?;
        for (handle, (_, statistics)) in handles.into_iter().zip(statistics) {
            handle.import(Some(statistics));
        }
        self.begin_next();
        Ok(())
    }

    /// Makes histograms of columns, of all rows. The caller has locked the table, so that it keeps its definition.
    /// `stop` is asked now and then. Errors: reading, writing; interrupted after `stop` has said so.
    pub fn update_histograms(
        &self,
        set: &TableSet,
        id: TableId,
        columns: &[usize],
        buckets: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<()> {
        let handle = set.handle(id)?.clone();
        let table = handle.open(self.store())?;
        let known = handle.statistics();
        let mut made = Vec::with_capacity(columns.len());
        for column in columns {
            let distinct = known.columns.get(*column).map_or(0.0, |known| known.distinct);
            let found = load::histogram(&table, *column, distinct, buckets, stop)?;
            let updated = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64);
            made.extend(found.map(|found| (*column, Arc::new(Histogram { updated, ..found }))));
        }
        handle.change_distribution(|distribution| distribution.histograms.extend(made))?;
        self.begin_next();
        Ok(())
    }

    /// Removes histograms of columns; returns those that were there. The caller has locked the table.
    pub fn drop_histograms(&self, set: &TableSet, id: TableId, columns: &[usize]) -> Result<Vec<usize>> {
        let handle = set.handle(id)?.clone();
        handle.open(self.store())?;
        let known = handle.statistics().distribution.clone();
        let is_there = |column: &usize| known.as_ref().is_some_and(|known| known.histograms.contains_key(column));
        let dropped: Vec<usize> = columns.iter().copied().filter(is_there).collect();
        if !dropped.is_empty() {
            handle.change_distribution(|distribution| {
                dropped.iter().for_each(|column| {
                    distribution.histograms.remove(column);
                })
            })?;
            self.begin_next();
        }
        Ok(dropped)
    }

    /// Returns true if this is the table still, and not one that it was before.
    fn is_current(&self, id: TableId, handle: &Arc<Handle>) -> bool {
        self.current().handle(id).is_ok_and(|current| Arc::ptr_eq(current, handle))
    }
}

/// The thread. It ends when this is dropped.
pub struct Renewal {
    ends: Arc<Ends>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Ends {
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl Renewal {
    /// `is_on`: `innodb_stats_auto_recalc`.
    pub fn start(tables: Arc<Tables>, locks: Arc<MetadataLocks>, is_on: Arc<AtomicBool>) -> Renewal {
        let ends: Arc<Ends> = Arc::default();
        let watch = Watch { tables, locks, next: HashMap::new() };
        let thread = {
            let ends = Arc::clone(&ends);
            std::thread::Builder::new().name("statistics".into()).spawn(move || watch.run(&ends, &is_on))
        };
        let thread = thread.map_err(|e| tracing::warn!("statistics are not made anew: {e}")).ok();
        Renewal { ends, thread }
    }

    /// Ends the thread.
    pub fn stop(&mut self) {
        *self.ends.is_over.lock() = true;
        self.ends.changed.notify_all();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the thread that makes statistics has died");
        }
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Watch {
    tables: Arc<Tables>,
    locks: Arc<MetadataLocks>,
    /// When the statistics of a table may be made anew next.
    next: HashMap<TableId, Instant>,
}

impl Watch {
    fn run(mut self, ends: &Ends, is_on: &AtomicBool) {
        loop {
            {
                let mut is_over = ends.is_over.lock();
                if !*is_over {
                    ends.changed.wait_for(&mut is_over, PAUSE);
                }
                if *is_over {
                    return;
                }
            }
            if is_on.load(Relaxed) {
                self.look(ends);
            }
        }
    }

    fn look(&mut self, ends: &Ends) {
        let now = Instant::now();
        self.next.retain(|_, next| *next > now);
        let current = self.tables.current();
        let stale = current.handles().filter(|(id, handle)| !self.next.contains_key(id) && handle.is_stale());
        let stale: Vec<(TableId, Arc<Handle>)> = stale.map(|(id, handle)| (*id, Arc::clone(handle))).collect();
        drop(current);
        let mut has_renewed = false;
        for (id, handle) in stale {
            if *ends.is_over.lock() {
                return;
            }
            let began = Instant::now();
            match self.renew(id, &handle) {
                Ok(renewed) => has_renewed |= renewed,
                Err(e) => tracing::debug!("the statistics of table {} stay: {e}", id.0),
            }
            self.next.insert(id, Instant::now() + REST.max(began.elapsed() * REST_SHARE));
        }
        if has_renewed {
            self.tables.begin_next();
        }
    }

    /// Returns true if there are other statistics now.
    fn renew(&self, id: TableId, handle: &Arc<Handle>) -> Result<bool> {
        let sampled = handle.sample(LEAVES)?;
        // Who defines the table anew writes what is known of its rows for other files.
        if !self.locks.try_lock(OWNER, id, TableUse::Read, Until::Statement) {
            return Ok(false);
        }
        let replaced = match self.tables.is_current(id, handle) {
            true => handle.replace(sampled).map(|()| true),
            false => Ok(false),
        };
        self.locks.release(OWNER, Until::Statement);
        replaced
    }
}
