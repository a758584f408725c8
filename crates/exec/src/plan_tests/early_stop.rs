//! Ordered scans that stop early, with budgets of every size: whatever the scan has delivered when it gives up, the
//! rows are those of the order.

use super::scans::{ROWS, n_of, row, scan_plan, stored};
use super::*;
use muster_algebra::{ArithmeticOp, CompareOp, LogicOp, RowFetch, Scan, ScanBudget};

/// A budget of so many entries.
fn budget(entries: f64) -> ScanBudget {
    ScanBudget { cost_ms: entries, entry_ms: 1.0, fetch_ms: 0.0, page_ms: 0.0 }
}

#[test]
fn a_scan_that_exceeds_its_budget_is_completed_by_its_fallback() {
    let stored = stored();
    for (index, reverse, offset) in [(0, false, 0), (0, true, 0), (1, false, 3), (1, true, 0)] {
        // Rows that pass are spread thinly at first, and stand close together at the far end of the order.
        let place = |id: i64| if index == 0 { Some(id) } else { n_of(id) };
        let all = if index == 0 { ROWS } else { ROWS / 2 };
        let far = if reverse { 0..all / 10 } else { all * 9 / 10..all };
        let passes = |id: i64| place(id).is_some_and(|at| at % 997 == 5 || far.contains(&at));
        let mut expected: Vec<(Option<i64>, i64)> =
            (0..ROWS).filter(|id| passes(*id)).map(|id| (place(id), id)).collect();
        expected.sort();
        if reverse {
            expected.reverse();
        }
        let limit = 40;
        let expected: Vec<Vec<Value>> = expected.iter().take(limit).skip(offset).map(|(_, id)| row(*id)).collect();
        let mut fallbacks = 0;
        for entries in [0.0, 1.0, 300.0, 2500.0, 7000.0, 12_000.0, 1e9] {
            let (q, ids) = stored.query();
            let at = column(ids[index]);
            let modulo = Expr::Arithmetic {
                op: ArithmeticOp::Mod,
                left: Box::new(at.clone()),
                right: Box::new(Expr::int(997)),
                ty: INT,
            };
            let spread = Expr::compare(CompareOp::Eq, modulo, Expr::int(5));
            let from = Expr::compare(CompareOp::GtEq, at.clone(), Expr::int(far.start));
            let to = Expr::compare(CompareOp::Lt, at, Expr::int(far.end));
            let filter = vec![Expr::Logic { op: LogicOp::Or, args: vec![spread, Expr::and(vec![from, to])] }];
            let scan = Scan { filter, ..stored.scan(&ids) };
            let ordered = Scan {
                index,
                ordered: true,
                reverse,
                fetch: RowFetch::EntryOrder,
                limit: Some(limit as u64),
                ..scan.clone()
            };
            let keys = [index, 0].into_iter().map(|c| SortKey { expr: column(ids[c]), descending: reverse });
            let sort =
                PlanOp::Sort { input: Box::new(scan_plan(scan)), keys: keys.collect(), fetch: Some(limit as u64) };
            let op = PlanOp::EarlyStop {
                input: Box::new(scan_plan(ordered)),
                fallback: Box::new(plan(sort, ids.clone())),
                budget: budget(entries),
            };
            let op = PlanOp::Limit { input: Box::new(plan(op, ids.clone())), offset: offset as u64, count: None };
            assert_eq!(q.run(&plan(op, ids)), expected, "index {index}, reverse {reverse}, {entries} entries");
            fallbacks += u64::from(q.counters.storage().rows_scanned() > 0);
        }
        assert!((3..7).contains(&fallbacks), "{fallbacks} of 7 budgets were exceeded");
    }
}
