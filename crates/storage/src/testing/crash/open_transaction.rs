//! A transaction that has changed some rows and not ended, with what its changes do to a model.

use super::{
    change::{self, Broken, Delta},
    known::Known,
};
use crate::{
    FlushAtCommit, Result, Savepoint, Store, Table, Transaction, Waits,
    testing::{random::Random, table_model::model::Model},
};
use std::sync::Arc;

pub(super) struct OpenTransaction {
    trx: Transaction,
    /// Changes by their tables, in their order.
    deltas: Vec<(u64, Delta)>,
    /// A moment to which the transaction may be rolled back, and how many changes came before it.
    savepoint: Option<(Savepoint, usize)>,
}

impl OpenTransaction {
    pub fn begin(store: &Arc<Store>) -> OpenTransaction {
        let mut trx = store.begin();
        // One thread has all transactions: whoever waited would wait for ever.
        trx.set_waits(Waits::Never);
        OpenTransaction { trx, deltas: Vec::new(), savepoint: None }
    }

    /// The rows that the transaction sees: those that have been committed, and its own.
    fn model(&self, known: &Known, table: u64) -> Model {
        let mut model = known.now[&table].clone();
        self.deltas.iter().filter(|(changed, _)| *changed == table).for_each(|(_, delta)| delta.apply(&mut model));
        model
    }

    /// Changes a row of a table. Returns what came of it.
    pub fn change(
        &mut self,
        (id, table): (u64, &Table),
        known: &mut Known,
        draw: &mut Random,
    ) -> Result<&'static str, Broken> {
        let model = self.model(known, id);
        let changed = change::change(table, &model, draw, &mut self.trx)?;
        let change::Outcome::Made(deltas) = changed else {
            return Ok(if matches!(changed, change::Outcome::Conflict) { "conflicts" } else { "duplicates" });
        };
        if let Some(number) = deltas.iter().find_map(Delta::given_number) {
            known.gave_number(id, number).map_err(Broken::Wrong)?;
        }
        known.history.note(format!("{:?} changes table {id}: {deltas:?}", self.trx));
        let together = deltas.len();
        self.deltas.extend(deltas.into_iter().map(|delta| (id, delta)));
        Ok(match model.has_primary_key() {
            _ if together > 1 => "insertions of rows together",
            true => "changes",
            false => "changes of rows with hidden numbers",
        })
    }

    pub fn set_savepoint(&mut self) {
        self.savepoint = Some((self.trx.savepoint(), self.deltas.len()));
    }

    /// Undoes the changes since the savepoint. Returns how many there were.
    pub fn roll_back_to_savepoint(&mut self, known: &mut Known) -> Result<u64, Broken> {
        let Some((savepoint, changes)) = self.savepoint else { return Ok(0) };
        known.history.note(format!("{:?} goes back to {savepoint:?}", self.trx));
        self.trx.roll_back_to(savepoint)?;
        let undone = self.deltas.len() - changes;
        self.deltas.truncate(changes);
        Ok(undone as u64)
    }

    /// Commits. `is_waited_for`: until the commit is durable, and with it all before it. There is nothing to wait for
    /// if no row was changed.
    pub fn commit(self, known: &mut Known, is_waited_for: bool) -> Result<(), Broken> {
        known.history.note(format!("{:?} commits", self.trx));
        let is_in_log = self.trx.changed_rows() > 0;
        let committed = self.trx.commit()?;
        known.committed(self.deltas);
        if is_waited_for && is_in_log {
            committed.wait(FlushAtCommit::Durable)?;
            known.acknowledged();
        }
        Ok(())
    }

    /// Rolls back. Returns how many changes are undone.
    pub fn roll_back(self, known: &mut Known) -> Result<u64, Broken> {
        known.history.note(format!("{:?} rolls back", self.trx));
        self.trx.roll_back()?;
        Ok(self.deltas.len() as u64)
    }
}

mod tests {
    use super::*;
    use crate::{store::Faults, testing::crash::life::Lives};

    #[test]
    fn a_transaction_that_has_changed_nothing_waits_for_no_other() {
        let mut lives = Lives::new(1, Faults::default());
        let mut open = lives.start().unwrap();
        lives.create(&mut open).unwrap();
        let (id, table) = lives.any_table(&open);
        let mut writer = OpenTransaction::begin(&open.store);
        writer.change((id, &table), &mut lives.known, &mut lives.draw).unwrap();
        assert_eq!(writer.deltas.len(), 1, "an empty table gets its first row");
        writer.commit(&mut lives.known, false).unwrap();
        OpenTransaction::begin(&open.store).commit(&mut lives.known, true).unwrap();
        assert_eq!(lives.known.unacknowledged(), 1, "the commit may be lost");
    }
}
