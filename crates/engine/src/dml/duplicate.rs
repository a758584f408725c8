//! What a row does whose key is there already: REPLACE and ON DUPLICATE KEY UPDATE.

use super::{
    assign::{ChangedRow, RowPlace, changed, passes_view},
    convert::Conversion,
    evaluation::Evaluation,
    generated::number_of,
    rules::Rules,
    target::OpenTarget,
    write::{Writer, Written},
};
use muster_algebra::ColId;
use muster_sql::bind::{self, OnDuplicateUpdate};
use muster_types::{Result, SqlError, Value};

/// What the statement says of such rows.
pub enum OnDuplicate<'a> {
    Error,
    /// IGNORE: the row does not come, with a warning.
    Ignore,
    /// REPLACE: the row that is there goes, unless it is what the new one would be.
    Replace,
    Update(&'a OnDuplicateUpdate),
}

/// What became of a row that met another one.
pub enum Resolved {
    /// The other one is gone: the row is to be tried again.
    Gone,
    /// The other one is what the row would be, and stays in its place.
    Same,
    Ignored,
    /// The other one was not as it had been read: what was done is to be taken back, and the row tried again.
    Stale,
    /// The other one was changed, or was as it should be.
    Updated {
        changed: bool,
        row: Vec<Value>,
        /// The number that the AUTO_INCREMENT column was assigned.
        number: Option<u64>,
    },
}

/// The row that is to be inserted, and what else expressions may mention.
pub struct Met<'a> {
    pub target: &'a OpenTarget,
    pub bound: &'a bind::ChangeTarget,
    pub row: &'a [Value],
    pub number: u64,
    /// Columns of the query that the row comes from.
    pub value: &'a dyn Fn(ColId) -> Option<Value>,
}

impl OnDuplicate<'_> {
    /// Deals with a row that met one with the same key in an index.
    pub fn resolve(
        &self,
        met: &Met<'_>,
        index: usize,
        error: SqlError,
        writer: &Writer<'_>,
        evaluation: &Evaluation<'_>,
        conversion: &Conversion<'_>,
    ) -> Result<Resolved> {
        match self {
            OnDuplicate::Error => Err(error),
            OnDuplicate::Ignore => conversion.tolerate(error).map(|()| Resolved::Ignored),
            OnDuplicate::Replace => match writer.existing(index, met.row)? {
                // One that is gone by itself is none that was replaced.
                None => Ok(Resolved::Stale),
                // A row that may meet others in later keys goes, as in MySQL, which changes it in place only in the
                // last one.
                Some((_, old)) if is_changed_in_place(met.target, index) && !met.target.differ(&old, met.row) => {
                    Ok(Resolved::Same)
                }
                Some((key, _)) => Ok(match writer.delete(&key)? {
                    Written::Yes => Resolved::Gone,
                    Written::Refused(error) => return Err(error),
                    Written::Gone | Written::Stale | Written::Duplicate { .. } => Resolved::Stale,
                }),
            },
            OnDuplicate::Update(update) => match writer.existing(index, met.row)? {
                Some((key, old)) => self.update(update, met, (&key, &old), writer, evaluation, conversion),
                None => Ok(Resolved::Stale),
            },
        }
    }

    fn update(
        &self,
        update: &OnDuplicateUpdate,
        met: &Met<'_>,
        (key, old): (&[Value], &[Value]),
        writer: &Writer<'_>,
        evaluation: &Evaluation<'_>,
        conversion: &Conversion<'_>,
    ) -> Result<Resolved> {
        let inserted = |id| met.bound.columns.iter().position(|c| *c == id).map(|at| met.row[at].clone());
        let value = |id| inserted(id).or_else(|| (met.value)(id));
        let place = RowPlace { target: met.target, columns: &update.old, position: 0, rules: &update.rules };
        let ChangedRow { new, differs, .. } =
            changed(place, old, &update.assignments, evaluation, conversion, met.number, &value)?;
        let column = met.target.entry.auto_increment_column();
        let is_number = |column: &usize| update.assignments.iter().any(|a| a.column == *column);
        let number = column.filter(is_number).map(|column| number_of(&new[column])).filter(|n| *n > 0);
        if !differs {
            return Ok(Resolved::Updated { changed: false, row: new, number });
        }
        let rules =
            Rules { rules: &update.rules, columns: &update.old, defs: met.target.columns(), evaluation, conversion };
        if !passes_view(update.check.as_ref(), &update.old, &new, evaluation, conversion)? || !rules.passes(&new)? {
            return Ok(Resolved::Ignored);
        }
        match writer.update(key, None, &new)? {
            Written::Yes => Ok(Resolved::Updated { changed: true, row: new, number }),
            Written::Gone | Written::Stale => Ok(Resolved::Stale),
            Written::Duplicate { error, .. } | Written::Refused(error) => {
                conversion.tolerate(error).map(|()| Resolved::Ignored)
            }
        }
    }
}

/// Returns true if REPLACE changes a row in its place that it has met in an index: no unique key follows, and no
/// foreign key refers to the table.
fn is_changed_in_place(target: &OpenTarget, index: usize) -> bool {
    let family = target.set.family(target.entry.def.id);
    let is_parent = family.is_some_and(|family| !family.children.is_empty());
    !is_parent && target.entry.def.indexes[index + 1..].iter().all(|later| !later.unique)
}
