//! Functional dependencies between columns: which columns have one value per group (manual 14.19.3 and 14.19.4).

use muster_algebra::{ColId, CompareOp, Expr, TableDef};
use std::collections::HashSet;

/// Rules "these columns determine that one", over the whole statement: columns have numbers of their own, so rules of
/// one query block do not speak of another's columns.
#[derive(Debug, Default)]
pub(crate) struct Dependencies {
    rules: Vec<(Vec<ColId>, Vec<ColId>)>,
}

impl Dependencies {
    pub fn add(&mut self, determinants: Vec<ColId>, determined: Vec<ColId>) {
        self.rules.push((determinants, determined));
    }

    /// A table's keys determine its columns. `columns`: the query's column for each of the table's positions.
    pub fn add_table(&mut self, table: &TableDef, columns: &[(ColId, usize)]) {
        let id_of = |position: usize| columns.iter().find(|(_, c)| *c == position).map(|(id, _)| *id);
        for index in table.indexes.iter().filter(|i| i.unique && !i.parts.is_empty()) {
            let exact = index.parts.iter().all(|p| p.prefix.is_none() && !table.columns[p.column].nullable);
            let key: Option<Vec<ColId>> = index.parts.iter().map(|p| id_of(p.column)).collect();
            if let (true, Some(key)) = (exact, key) {
                self.add(key, columns.iter().map(|(id, _)| *id).collect());
            }
        }
    }

    /// Adds the dependencies of conditions that hold for every row: `a = b`, `a = 5`.
    pub fn add_conditions(&mut self, conditions: &[Expr]) {
        for condition in conditions {
            match condition {
                Expr::Compare { op: CompareOp::Eq, left, right } => match (&**left, &**right) {
                    (Expr::Column(a), Expr::Column(b)) => {
                        self.add(vec![*a], vec![*b]);
                        self.add(vec![*b], vec![*a]);
                    }
                    (Expr::Column(a), Expr::Literal { .. }) | (Expr::Literal { .. }, Expr::Column(a)) => {
                        self.add(Vec::new(), vec![*a]);
                    }
                    _ => {}
                },
                Expr::Logic { op: muster_algebra::LogicOp::And, args } => self.add_conditions(args),
                _ => {}
            }
        }
    }

    /// Adds the dependencies of the ON of a LEFT JOIN: a left row's values determine the values it is joined to by
    /// equality.
    pub fn add_left_join(&mut self, on: &[Expr], left: &[ColId]) {
        let mentioned: HashSet<ColId> = on.iter().flat_map(Expr::columns).filter(|c| left.contains(c)).collect();
        for condition in on {
            if let Expr::Compare { op: CompareOp::Eq, left: a, right: b } = condition
                && let (Expr::Column(a), Expr::Column(b)) = (&**a, &**b)
            {
                for (from, to) in [(a, b), (b, a)] {
                    if left.contains(from) && !left.contains(to) {
                        self.add(mentioned.iter().copied().collect(), vec![*to]);
                    }
                }
            }
        }
    }

    /// All columns that these determine, themselves included.
    pub fn closure(&self, start: impl IntoIterator<Item = ColId>) -> HashSet<ColId> {
        let mut known: HashSet<ColId> = start.into_iter().collect();
        loop {
            let before = known.len();
            for (determinants, determined) in &self.rules {
                if determinants.iter().all(|d| known.contains(d)) {
                    known.extend(determined);
                }
            }
            if known.len() == before {
                return known;
            }
        }
    }
}
