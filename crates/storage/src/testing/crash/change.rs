//! One random change of a row, made in a table.

use crate::{
    Counters, ReadView, Result, StorageError, Table, Transaction,
    key::ByteRange,
    testing::{
        random::Random,
        table_model::{
            draw,
            model::{Model, Parts, Row},
        },
    },
};
use muster_types::Value;

/// The number of rows that have a primary key instead.
const HAS_PRIMARY_KEY: i64 = 0;

/// The effect of a change on a model.
#[derive(Debug, Clone)]
pub(super) struct Delta {
    removed: Option<Parts>,
    put: Option<Row>,
    /// The hidden row number of `put` is not known: the power went before it was read.
    number_missing: bool,
}

impl Delta {
    /// The hidden row number that the change has given to a row; `None` if it gave none, or it is not known.
    pub fn given_number(&self) -> Option<i64> {
        let came = self.put.as_ref().filter(|_| self.removed.is_none() && !self.number_missing);
        came.map(|row| row.number).filter(|number| *number != HAS_PRIMARY_KEY)
    }

    /// Takes the number that is missing from the rows that a restart has found: it is larger than `highest`.
    pub fn complete(&mut self, found: &[Row], highest: i64) {
        let Some(put) = self.put.as_mut().filter(|_| self.number_missing) else { return };
        if let Some(row) = found.iter().find(|row| row.number > highest && row.values == put.values) {
            put.number = row.number;
            self.number_missing = false;
        }
    }

    pub fn apply(&self, model: &mut Model) {
        match &self.put {
            Some(row) => model.put(self.removed.as_ref(), row.clone()),
            None => drop(self.removed.as_ref().and_then(|key| model.rows.remove(key))),
        }
    }
}

/// Why a change was not made.
#[derive(Debug)]
pub(super) enum Broken {
    /// Storage says so: the power may be gone.
    Storage(StorageError),
    /// Storage does what it must not do.
    Wrong(String),
}

impl From<StorageError> for Broken {
    fn from(e: StorageError) -> Broken {
        Broken::Storage(e)
    }
}

/// A change that was tried.
pub(super) enum Outcome {
    Made(Vec<Delta>),
    /// It was refused as a duplicate, as it must be.
    Duplicate,
    /// Another transaction, which has not ended, has changed the row or an entry of it.
    Conflict,
}

/// Changes a row; a model says what must come of it.
pub(super) fn change(
    table: &Table,
    model: &Model,
    draw: &mut Random,
    trx: &mut Transaction,
) -> Result<Outcome, Broken> {
    let count = model.rows.len();
    // Small tables grow, larger ones shrink.
    let kind = draw.below(100);
    let old = if count == 0 { None } else { model.rows.values().nth(draw.below(count)).cloned() };
    match old {
        Some(old) if kind < 25 => update(table, model, draw, old, trx),
        Some(old) if kind < 25 + count / 3 => {
            let key = model.key_values(&old);
            match table.delete(trx, &key, &Counters::default()) {
                Ok(true) => {
                    let removed = Some(model.key(&old));
                    Ok(Outcome::Made(vec![Delta { removed, put: None, number_missing: false }]))
                }
                Ok(false) => Err(Broken::Wrong(format!("no row with key {key:?}"))),
                Err(StorageError::WouldWait) => Ok(Outcome::Conflict),
                Err(e) => Err(e.into()),
            }
        }
        _ if model.has_primary_key() && draw.one_in(2) => insert_batch(table, model, draw, trx),
        _ => insert(table, model, draw, trx),
    }
}

/// Inserts the first rows of some that are drawn, in the order of their keys.
fn insert_batch(table: &Table, model: &Model, draw: &mut Random, trx: &mut Transaction) -> Result<Outcome, Broken> {
    let drawn =
        (0..1 + draw.below(12)).map(|_| Row { values: draw::row(draw, &model.schema), number: HAS_PRIMARY_KEY });
    let mut rows: Vec<Row> = drawn.collect();
    rows.sort_by_cached_key(|row| model.key(row));
    let values: Vec<_> = rows.iter().map(|row| row.values.clone()).collect();
    let done = table.insert_batch(trx, &values, &Counters::default());
    let inserted = done.as_ref().map_or(0, |inserted| *inserted);
    if let Some(refused) = refused(done.map(|_| true), model.duplicate(&rows[0], None), &rows[0])? {
        return Ok(refused);
    }
    let mut with_them = model.clone();
    let mut deltas = Vec::new();
    for row in rows.into_iter().take(inserted) {
        if let Some(index) = with_them.duplicate(&row, None) {
            return Err(Broken::Wrong(format!("{row:?} was inserted and is a duplicate in index {index}")));
        }
        let delta = Delta { removed: None, put: Some(row), number_missing: false };
        delta.apply(&mut with_them);
        deltas.push(delta);
    }
    Ok(Outcome::Made(deltas))
}

fn insert(table: &Table, model: &Model, draw: &mut Random, trx: &mut Transaction) -> Result<Outcome, Broken> {
    let mut row = Row { values: draw::row(draw, &model.schema), number: HAS_PRIMARY_KEY };
    let done = table.insert(trx, &row.values, &Counters::default()).map(|()| true);
    if let Some(refused) = refused(done, model.duplicate(&row, None), &row)? {
        return Ok(refused);
    }
    let mut number_missing = false;
    if !model.has_primary_key() {
        match last_number(table) {
            Ok(number) => row.number = number,
            // The power is gone: nothing more is done before the restart, which shows the number.
            Err(Broken::Storage(_)) => (row.number, number_missing) = (i64::MAX, true),
            Err(wrong) => return Err(wrong),
        }
    }
    Ok(Outcome::Made(vec![Delta { removed: None, put: Some(row), number_missing }]))
}

/// The hidden row number of the row that came last.
fn last_number(table: &Table) -> Result<i64, Broken> {
    let counters = Counters::default();
    let last = table.tree(0).rows(ByteRange::default(), true, &ReadView::latest(), &counters)?.next()?;
    match last.as_deref().and_then(<[Value]>::last) {
        Some(Value::Int(number)) => Ok(*number),
        other => Err(Broken::Wrong(format!("{other:?} in the place of a hidden row number"))),
    }
}

fn update(table: &Table, model: &Model, draw: &mut Random, old: Row, trx: &mut Transaction) -> Result<Outcome, Broken> {
    let drawn = draw::row(draw, &model.schema);
    let mut new = old.clone();
    match draw.below(4) {
        0 => new.values = drawn,
        1 => new.values = new.values.iter().map(draw::other_case).collect(),
        _ => {
            let column = draw.below(drawn.len());
            new.values[column] = drawn[column].clone();
        }
    }
    let key = model.key(&old);
    let done = table.update(trx, &model.key_values(&old), &new.values, &Counters::default());
    match refused(done, model.duplicate(&new, Some(&key)), &new)? {
        Some(refused) => Ok(refused),
        None => Ok(Outcome::Made(vec![Delta { removed: Some(key), put: Some(new), number_missing: false }])),
    }
}

/// Returns why a change was not made, or `None` if it was, if that is what it should have come to.
fn refused(done: Result<bool>, duplicate: Option<usize>, row: &Row) -> Result<Option<Outcome>, Broken> {
    match (done, duplicate) {
        (Ok(true), None) => Ok(None),
        (Err(StorageError::Duplicate { index, .. }), Some(wanted)) if index == wanted => Ok(Some(Outcome::Duplicate)),
        (Err(StorageError::WouldWait), _) => Ok(Some(Outcome::Conflict)),
        (Err(e), _) if !matches!(e, StorageError::Duplicate { .. }) => Err(Broken::Storage(e)),
        (done, wanted) => Err(Broken::Wrong(format!("{done:?}, wanted duplicate {wanted:?}: {row:?}"))),
    }
}
