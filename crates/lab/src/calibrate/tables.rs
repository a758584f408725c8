//! The tables that statements are timed over: `many` rows, a twentieth of them in `some`, and a `few` hundred.

use crate::{batch::BatchBuilder, random::next};
use muster_engine::{LoadProgress, Session, types::Result};
use std::sync::Arc;

pub const DATABASE: &str = "calibration";
const FEW: usize = 500;
/// Rows of one value of `many.q`.
const ROWS_OF_VALUE: usize = 16;
const BATCH_ROWS: usize = 8192;

/// The number of rows of `some`.
fn some(many: usize) -> usize {
    (many / 20).max(FEW)
}

/// Makes and fills the tables.
pub async fn make(session: &mut Session, rows: usize) -> Result<()> {
    session.query(&format!("CREATE DATABASE {DATABASE}")).await?;
    session.use_database(DATABASE)?;
    for sql in [
        "CREATE TABLE many (id INT PRIMARY KEY, a INT, b INT, c INT, d INT, e INT, f INT, g INT, q INT, r INT, \
         negative INT, KEY kq (q), KEY kr (r))",
        "CREATE TABLE some (id INT PRIMARY KEY, dense INT, sparse INT, r INT, KEY kr (r))",
        "CREATE TABLE few (id INT PRIMARY KEY, a INT, negative INT)",
    ] {
        session.query(sql).await?;
    }
    let order = permutation(rows);
    let some_rows = some(rows);
    let batches = (0..rows).step_by(BATCH_ROWS).map(move |from| {
        let ids: Vec<usize> = (from..rows.min(from + BATCH_ROWS)).collect();
        let n = |id: &usize| *id as i32;
        let batch = BatchBuilder::new(&ids).int(n).int(n);
        let batch = (1..=4).fold(batch, |batch, more| batch.int(move |id| n(id) + more));
        let batch = batch.int(|id| n(id) + 5).int(|id| n(id) % 50).int(|id| (*id / ROWS_OF_VALUE) as i32);
        Ok(batch.int(|id| order[*id] as i32).int(|id| -1 - n(id)).finish())
    });
    load(session, "many", batches).await?;
    let (order, places) = (permutation(some_rows), permutation(rows));
    let ids: Vec<usize> = (0..some_rows).collect();
    let batch = BatchBuilder::new(&ids).int(|id| *id as i32).int(|id| *id as i32);
    let batch = batch.int(|id| places[*id] as i32).int(|id| order[*id] as i32).finish();
    load(session, "some", std::iter::once(Ok(batch))).await?;
    let ids: Vec<usize> = (0..FEW).collect();
    let n = |id: &usize| *id as i32;
    let batch = BatchBuilder::new(&ids).int(n).int(n).int(|id| -1 - n(id)).finish();
    load(session, "few", std::iter::once(Ok(batch))).await
}

async fn load(
    session: &mut Session,
    table: &str,
    batches: impl Iterator<Item = Result<arrow_array::RecordBatch>> + Send + 'static,
) -> Result<()> {
    session.load_batches(table, batches, Arc::new(LoadProgress::default())).await.map(drop)
}

/// The numbers below `n` in a random order that is the same every time (Fisher and Yates).
fn permutation(n: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..n).collect();
    let mut state = 1;
    for at in (1..n).rev() {
        state = next(state);
        numbers.swap(at, (state % (at as u64 + 1)) as usize);
    }
    numbers
}
