//! INNODB_BUFFER_PAGE, INNODB_BUFFER_PAGE_LRU, INNODB_BUFFER_POOL_STATS: what the buffer pool holds and did.
//!
//! A SPACE is the number of an index's file. ACCESS_TIME and FREE_PAGE_CLOCK are counted in pages that came into the
//! pool: when the page was last used, and when it came to the head of its list. FIX_COUNT tells latched from free, not
//! how often. Rates are averages since the server started.

use super::{text, uint};
use crate::{Database, accounts::Privilege, catalog::Snapshot, statement::StatementContext};
use muster_storage::{
    FileId,
    buffer_pool::{PoolPage, PoolStatistics},
    page::PageType,
};
use muster_types::{Result, Value};
use std::collections::HashMap;

/// The figures of the pool at one moment.
pub struct PoolFigures {
    pub pool: PoolStatistics,
    pub page_size: u64,
    pub pages_read: u64,
    pub pages_created: u64,
    pub pages_written: u64,
    pub read_ahead: u64,
    /// Pages asked for, and those of them that had to be read.
    pub gets: u64,
    pub reads: u64,
    seconds: f64,
}

impl PoolFigures {
    pub fn of(database: &Database) -> PoolFigures {
        let (pool, counters) = (database.buffer_pool(), database.counters().storage());
        PoolFigures {
            pool: pool.statistics(),
            page_size: pool.page_size() as u64,
            pages_read: counters.pages_read(),
            pages_created: counters.pages_created(),
            pages_written: counters.pages_written(),
            read_ahead: counters.pages_read_ahead(),
            gets: counters.page_requests(),
            reads: counters.page_misses(),
            seconds: database.uptime().as_secs_f64().max(1e-3),
        }
    }

    /// Pages in the lists.
    pub fn data_pages(&self) -> u64 {
        (self.pool.young + self.pool.old) as u64
    }

    pub fn per_second(&self, n: u64) -> f64 {
        n as f64 / self.seconds
    }

    pub fn per_thousand_gets(&self, n: u64) -> u64 {
        (1000 * n).checked_div(self.gets).unwrap_or(0)
    }

    /// The number of pages found in the pool for every 1000 that were asked for.
    pub fn hit_rate(&self) -> u64 {
        if self.gets == 0 { 0 } else { 1000 - self.per_thousand_gets(self.reads.min(self.gets)) }
    }
}

/// Error 1227 without the PROCESS privilege, as of the other tables here.
pub(super) fn pool_stats(context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    context.rights.check_global(Privilege::Process)?;
    let f = PoolFigures::of(&context.database);
    let p = &f.pool;
    let count = |n: usize| uint(n as u64);
    let rate = |n: u64| Value::Double(f.per_second(n));
    Ok(vec![vec![
        uint(0),
        count(p.frames),
        count(p.free),
        uint(f.data_pages()),
        count(p.old),
        count(p.dirty),
        uint(0),
        count(p.reading),
        uint(0),
        uint(0),
        uint(p.made_young),
        uint(p.not_made_young),
        rate(p.made_young),
        rate(p.not_made_young),
        uint(f.pages_read),
        uint(f.pages_created),
        uint(f.pages_written),
        rate(f.pages_read),
        rate(f.pages_created),
        rate(f.pages_written),
        uint(f.gets),
        uint(f.hit_rate()),
        uint(f.per_thousand_gets(p.made_young)),
        uint(f.per_thousand_gets(p.not_made_young)),
        uint(f.read_ahead),
        uint(p.read_ahead_evicted),
        rate(f.read_ahead),
        rate(p.read_ahead_evicted),
        uint(0),
        uint(0),
        uint(0),
        uint(0),
    ]])
}

/// Maps each file to its table, as MySQL quotes it, and its index.
fn index_names(snapshot: &Snapshot) -> HashMap<FileId, (String, String)> {
    let indexes = snapshot.tables().flat_map(|table| {
        let name = format!("`{}`.`{}`", table.def.database, table.def.name);
        let of_index =
            move |(file, index): (&FileId, &muster_algebra::IndexDef)| (*file, (name.clone(), index.name.clone()));
        table.files.iter().zip(&table.def.indexes).map(of_index)
    });
    indexes.collect()
}

/// The columns that both page tables have: from SPACE to DATA_SIZE, then from IO_FIX on.
fn page_columns(page: &PoolPage, names: &HashMap<FileId, (String, String)>) -> (Vec<Value>, Vec<Value>) {
    let content = page.content;
    let kind = match content.and_then(|c| c.page_type) {
        Some(PageType::Leaf | PageType::Inner) => "INDEX",
        Some(PageType::Overflow) => "BLOB",
        Some(PageType::FileHeader) => "FILE_SPACE_HEADER",
        Some(PageType::Free) => "ALLOCATED",
        None => "UNKNOWN",
    };
    let lsn = content.map_or(0, |c| c.lsn);
    let (table, index) = match names.get(&page.file) {
        Some((table, index)) => (text(table), text(index)),
        None => (Value::Null, Value::Null),
    };
    let first = vec![
        uint(page.file.0.into()),
        uint(page.page_no.into()),
        text(kind),
        uint(0),
        uint(page.latched.into()),
        text("NO"),
        uint(lsn),
        uint(if page.dirty { lsn } else { 0 }),
        uint(page.last_used.into()),
        table,
        index,
        uint(content.map_or(0, |c| c.rows.into())),
        uint(content.map_or(0, |c| c.bytes as u64)),
    ];
    let io_fix = if page.position.is_none() { "IO_READ" } else { "IO_NONE" };
    let is_old = if page.old { "YES" } else { "NO" };
    (first, vec![text(io_fix), text(is_old), uint(page.at_head.into())])
}

/// Pages of the lists, the next to go first, as in InnoDB.
pub(super) fn page_lru(snapshot: &Snapshot, context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    context.rights.check_global(Privilege::Process)?;
    let names = index_names(snapshot);
    let row = |page: PoolPage| {
        let position = page.position?;
        let (first, last) = page_columns(&page, &names);
        let mut row = vec![uint(0), uint(position as u64)];
        row.extend(first);
        row.extend([uint(0), text("NO")]);
        row.extend(last);
        Some(row)
    };
    Ok(context.database.buffer_pool().pages().into_iter().filter_map(row).collect())
}

/// All frames that hold a page.
pub(super) fn pages(snapshot: &Snapshot, context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    context.rights.check_global(Privilege::Process)?;
    let names = index_names(snapshot);
    let mut pages = context.database.buffer_pool().pages();
    pages.sort_unstable_by_key(|page| page.frame);
    let row = |page: &PoolPage| {
        let (first, last) = page_columns(page, &names);
        let mut row = vec![uint(0), uint(page.frame.into())];
        row.extend(first);
        row.extend([uint(0), text("FILE_PAGE")]);
        row.extend(last);
        row.push(text("NO"));
        row
    };
    Ok(pages.iter().map(row).collect())
}
