//! One random change of a row, made in a table.

use crate::{
    Counters, Result, StorageError, Table,
    random::Random,
    table_model::{
        draw,
        model::{Model, Parts, Row},
    },
};

/// The effect of a change on a model.
#[derive(Debug, Clone)]
pub(super) struct Delta {
    removed: Option<Parts>,
    put: Option<Row>,
}

impl Delta {
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

/// Changes a row; a model says what must come of it. `None`: it was refused as a duplicate, as it must be.
pub(super) fn change(table: &Table, model: &Model, draw: &mut Random, trx_id: u64) -> Result<Option<Delta>, Broken> {
    let count = model.rows.len();
    // Small tables grow, larger ones shrink.
    let kind = draw.below(100);
    let old = if count == 0 { None } else { model.rows.values().nth(draw.below(count)).cloned() };
    match old {
        Some(old) if kind < 25 => update(table, model, draw, old, trx_id),
        Some(old) if kind < 25 + count / 3 => {
            let key = model.key_values(&old);
            match table.delete(&key, trx_id, &Counters::default())? {
                true => Ok(Some(Delta { removed: Some(model.key(&old)), put: None })),
                false => Err(Broken::Wrong(format!("no row with key {key:?}"))),
            }
        }
        _ => insert(table, model, draw, trx_id),
    }
}

fn insert(table: &Table, model: &Model, draw: &mut Random, trx_id: u64) -> Result<Option<Delta>, Broken> {
    let row = Row { values: draw::row(draw, &model.schema), number: 0 };
    let done = table.insert(&row.values, trx_id, &Counters::default()).map(|()| true);
    if !is_made(done, model.duplicate(&row, None), &row)? {
        return Ok(None);
    }
    Ok(Some(Delta { removed: None, put: Some(row) }))
}

fn update(table: &Table, model: &Model, draw: &mut Random, old: Row, trx_id: u64) -> Result<Option<Delta>, Broken> {
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
    let done = table.update(&model.key_values(&old), &new.values, trx_id, &Counters::default());
    match is_made(done, model.duplicate(&new, Some(&key)), &new)? {
        true => Ok(Some(Delta { removed: Some(key), put: Some(new) })),
        false => Ok(None),
    }
}

/// Returns whether a change was made, if that is what it should have come to.
fn is_made(done: Result<bool>, duplicate: Option<usize>, row: &Row) -> Result<bool, Broken> {
    match (done, duplicate) {
        (Ok(true), None) => Ok(true),
        (Err(StorageError::Duplicate { index, .. }), Some(wanted)) if index == wanted => Ok(false),
        (Err(e), _) if !matches!(e, StorageError::Duplicate { .. }) => Err(Broken::Storage(e)),
        (done, wanted) => Err(Broken::Wrong(format!("{done:?}, wanted duplicate {wanted:?}: {row:?}"))),
    }
}
