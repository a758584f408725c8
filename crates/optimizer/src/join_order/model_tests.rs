//! Rows of joins by keys of several columns.

use crate::testing::builder::*;
use crate::testing::statistics::Injected;
use crate::{Options, optimize};
use muster_algebra::{Expr, JoinKind, Rel};

/// Joins tables with a primary key of two columns by the whole key. Returns the rows that are expected.
fn joined_by_key(sizes: &[f64]) -> f64 {
    let mut t = Tables::new();
    let mut statistics = Injected::default();
    let mut joined: Option<(Rel, Vec<_>)> = None;
    for (i, rows) in sizes.iter().enumerate() {
        let name = format!("t{i}");
        let table = t.table_with(&name, &["k", "l"], |def| def.indexes[0] = index(0, "PRIMARY", &[0, 1], true));
        statistics = statistics.rows(&name, *rows).distinct(&name, 0, 100.0).distinct(&name, 1, 50.0);
        joined = Some(match joined {
            None => (table.rel, table.ids),
            Some((left, ids)) => {
                let on: Vec<Expr> = ids.iter().zip(&table.ids).map(|(a, b)| eq(*a, *b)).collect();
                (join_of(JoinKind::Inner, left, table.rel, on), ids)
            }
        });
    }
    let (rel, _) = joined.expect("there is a table");
    let options = Options::default();
    optimize(rel, &mut t.columns, &statistics, &options).expect("a plan").estimate.rows
}

#[test]
fn a_row_finds_one_partner_by_a_key_of_several_columns() {
    for sizes in [&[1000.0, 700.0][..], &[700.0, 1000.0], &[1000.0, 700.0, 900.0], &[100.0, 1000.0, 1000.0]] {
        let least = sizes.iter().copied().fold(f64::INFINITY, f64::min);
        let rows = joined_by_key(sizes);
        assert!(rows <= least * 1.001 && rows >= least * 0.3, "{sizes:?}: {rows}");
    }
}
