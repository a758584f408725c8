//! SHOW ENGINE INNODB STATUS, in InnoDB's words: the parts about the log and the buffer pool, with those about
//! transactions ([`super::engine_transactions`]).

use super::{Listing, engine_transactions};
use crate::{
    accounts::Privilege, rows::text_column, statement::StatementContext,
    virtual_tables::information_schema::PoolFigures,
};
use muster_types::{Result, Value};

/// Error 1227 without the PROCESS privilege.
pub(super) fn innodb_status(context: &StatementContext) -> Result<Listing> {
    context.rights.check_global(Privilege::Process)?;
    let columns = [("Type", 10), ("Name", 512), ("Status", 10_000)].map(|(name, length)| text_column(name, length));
    let row = ["InnoDB".to_owned(), String::new(), report(context)].map(Value::Text);
    Ok(Listing { columns: columns.into(), rows: vec![row.into()] })
}

fn report(context: &StatementContext) -> String {
    let f = PoolFigures::of(&context.database);
    let p = &f.pool;
    let per_second = |n: u64| format!("{:.2}", f.per_second(n));
    let now = context.database.uptime().as_secs();
    let head = [
        String::new(),
        "=====================================".into(),
        "INNODB MONITOR OUTPUT".into(),
        "=====================================".into(),
        format!("Per second averages calculated from the last {now} seconds"),
    ];
    let buffer_pool = [
        "----------------------".into(),
        "BUFFER POOL AND MEMORY".into(),
        "----------------------".into(),
        format!("Total large memory allocated {}", p.frames as u64 * f.page_size),
        format!("Buffer pool size   {}", p.frames),
        format!("Free buffers       {}", p.free),
        format!("Database pages     {}", f.data_pages()),
        format!("Old database pages {}", p.old),
        format!("Modified db pages  {}", p.dirty),
        format!("Pending reads      {}", p.reading),
        format!("Pages made young {}, not young {}", p.made_young, p.not_made_young),
        format!("{} youngs/s, {} non-youngs/s", per_second(p.made_young), per_second(p.not_made_young)),
        format!("Pages read {}, created {}, written {}", f.pages_read, f.pages_created, f.pages_written),
        format!(
            "{} reads/s, {} creates/s, {} writes/s",
            per_second(f.pages_read),
            per_second(f.pages_created),
            per_second(f.pages_written)
        ),
        format!(
            "Buffer pool hit rate {} / 1000, young-making rate {} / 1000 not {} / 1000",
            f.hit_rate(),
            f.per_thousand_gets(p.made_young),
            f.per_thousand_gets(p.not_made_young)
        ),
        format!(
            "Pages read ahead {}/s, evicted without access {}/s",
            per_second(f.read_ahead),
            per_second(p.read_ahead_evicted)
        ),
        format!("LRU len: {}", f.data_pages()),
        "----------------------------".into(),
        "END OF INNODB MONITOR OUTPUT".into(),
        "============================".into(),
        String::new(),
    ];
    let transactions = engine_transactions::latest_deadlock(&context.database, context.clock.time_zone)
        .into_iter()
        .chain(engine_transactions::transactions(&context.database));
    head.into_iter().chain(transactions).chain(log(context, &f)).chain(buffer_pool).collect::<Vec<_>>().join("\n")
}

fn log(context: &StatementContext, figures: &PoolFigures) -> Vec<String> {
    let pages = context.database.buffer_pool().redo_start();
    // Asked for last: the pages' position is not beyond the end of the log.
    let log = context.database.store().log_status();
    let position = |name: &str, lsn: u64| format!("{name:<29}{lsn}");
    vec![
        "---".into(),
        "LOG".into(),
        "---".into(),
        position("Log sequence number", log.current),
        position("Log buffer assigned up to", log.current),
        position("Log buffer completed up to", log.written),
        position("Log written up to", log.written),
        position("Log flushed up to", log.flushed),
        position("Added dirty pages up to", log.current),
        position("Pages flushed up to", pages),
        position("Last checkpoint at", log.checkpoint),
        position("Checkpoint age", log.checkpoint_age()),
        position("Checkpoint age target", log.capacity),
        position("Log minimum file id is", log.segments.0),
        position("Log maximum file id is", log.segments.1),
        format!("{} log i/o's done, {:.2} log i/o's/second", log.log_writes, figures.per_second(log.log_writes)),
    ]
}
