//! Power cuts at any moment: within changes, commits, rollback and purge, within recovery, and while what was cut off
//! is rolled back.

use super::*;
use std::collections::BTreeSet;

impl Life {
    /// Works until the power is gone, then opens the store until nothing is left of what was cut off. The power may go
    /// again on the way.
    pub(super) fn lose_power(&mut self, context: &str) {
        let table = self.table();
        let files = table.files().to_vec();
        drop(table);
        let most = [20, 60, 200][self.draw.below(3)];
        self.disk.cut_power_after(self.draw.below(most) as u64);
        let mut steps = 0;
        let cut = loop {
            steps += 1;
            let checkpoint = self.draw.one_in(100).then(|| self.table().store().checkpoint());
            if let Err(e) = checkpoint.unwrap_or(Ok(())).and_then(|()| self.step()) {
                break Some(e);
            }
            if steps > 3000 {
                break None;
            }
        };
        assert!(self.disk.is_off() || cut.is_none(), "{context}: {cut:?}");
        self.views.clear();
        self.writers.clear();
        self.table = None;
        loop {
            self.disk = Arc::new(self.disk.after_power_cut(self.draw.0));
            if self.draw.one_in(2) {
                self.disk.cut_power_after(self.draw.below(40) as u64);
            }
            let Ok(store) = Store::open_on(Path::new("/d"), options(self.faults), Arc::clone(&self.disk) as _) else {
                assert!(self.disk.is_off(), "{context}");
                self.met.cuts_in_recovery += 1;
                continue;
            };
            let table = match store.open_table(schema(), files.clone(), TableStatistics::default()) {
                Ok(table) => table,
                Err(e) => {
                    assert!(self.disk.is_off(), "{context}: {e}");
                    continue;
                }
            };
            self.met.crashes_with_losers += u32::from(store.losers() > 0);
            let cleaned = store.roll_back_losers().and_then(|()| store.purge()).and_then(|()| store.make_durable());
            if let Err(e) = cleaned {
                assert!(self.disk.is_off(), "{context}: {e}");
                self.met.cuts_in_cleanup += 1;
                continue;
            }
            if self.disk.is_off() {
                continue;
            }
            self.disk.cut_power_after(1 << 40);
            self.table = Some(table);
            break;
        }
        self.adopt(context);
    }

    /// Takes what is there for what had committed, if it can be.
    fn adopt(&mut self, context: &str) {
        let table = self.table();
        let found = seen_by(&table, 0, &table.store().read_view());
        let found: RowsByKey =
            found.into_iter().map(|row| (if let Value::Int(id) = row[0] { id } else { panic!() }, row)).collect();
        let which = self.perhaps.iter().rposition(|rows| *rows == found);
        let which = which.unwrap_or_else(|| {
            let keys = |rows: &RowsByKey| {
                let all: BTreeSet<_> = rows.keys().chain(found.keys()).copied().collect();
                all.into_iter().filter(|key| rows.get(key) != found.get(key)).collect::<Vec<_>>()
            };
            let differ: Vec<_> = self.perhaps.iter().map(keys).collect();
            panic!("{context}: rows that never had committed, or had and are gone, by commit: {differ:?}")
        });
        self.met.commits_lost += (self.perhaps.len() - 1 - which) as u32;
        self.committed = found.clone();
        self.perhaps = vec![found];
    }
}

#[test]
fn a_power_cut_at_any_moment_leaves_what_had_committed() {
    let mut met = Met::default();
    for seed in 200..260 {
        let mut life = Life::new(seed);
        for _ in 0..100 {
            life.step().unwrap();
        }
        for time in 0..5 {
            let context = format!("seed {seed}, cut {time}");
            life.lose_power(&context);
            life.look(&context);
            life.settle(&context);
            life.table().check(&Counters::default(), &mut || Ok(())).unwrap();
        }
        met.crashes_with_losers += life.met.crashes_with_losers;
        met.cuts_in_recovery += life.met.cuts_in_recovery;
        met.cuts_in_cleanup += life.met.cuts_in_cleanup;
        met.commits_lost += life.met.commits_lost;
    }
    let Met { crashes_with_losers, cuts_in_recovery, cuts_in_cleanup, commits_lost, .. } = met;
    assert!(crashes_with_losers > 50 && commits_lost > 10, "{crashes_with_losers} with losers, {commits_lost} lost");
    assert!(
        cuts_in_recovery > 5 && cuts_in_cleanup > 5,
        "{cuts_in_recovery} in recovery, {cuts_in_cleanup} in cleanup"
    );
}
