//! An IN that stays a subquery: its rows kept, or one run for each row.

use crate::testing::builder::*;
use crate::testing::statistics::Injected;
use crate::{Options, optimize};
use muster_algebra::{Expr, Plan, PlanOp, SubqueryKind, Switch};

/// Returns true if the plan's only subquery is run for each row.
fn runs_for_each_row(plan: &Plan) -> bool {
    let mut found = None;
    let mut below = vec![plan];
    while let Some(plan) = below.pop() {
        below.extend(plan.inputs());
        if let PlanOp::Filter { predicates, .. } = &plan.op {
            predicates.iter().for_each(|p| {
                p.visit(&mut |e| {
                    if let Expr::Subplan(subplan) = e {
                        let exists = matches!(subplan.kind, SubqueryKind::Exists { .. });
                        assert_eq!(exists, !subplan.params.is_empty());
                        assert_eq!(found.replace(exists), None, "one subquery");
                    }
                })
            });
        }
    }
    found.expect("a subquery")
}

#[test]
fn an_in_does_what_costs_less() {
    for (few, switches, each) in [
        (true, &[][..], true),
        (false, &[], false),
        (true, &[Switch::SubqueryMaterializationCostBased], false),
        (true, &[Switch::InToExists], false),
        (false, &[Switch::Materialization], true),
        (false, &[Switch::MaterializedIn], true),
    ] {
        let mut t = Tables::new();
        let (orders, id, day) = t.table("orders", &["id", "day"]).pair();
        let (lines, order, _) = t.table("lines", &["order", "part"]).pair();
        let statistics = Injected::default()
            .rows("orders", 1e6)
            .rows("lines", 4e6)
            .distinct("orders", 0, 1e6)
            .distinct("orders", 1, if few { 1e6 } else { 1.0 })
            .distinct("lines", 0, 4e6);
        let kind = SubqueryKind::In { left: vec![Expr::Column(id)], negated: false };
        let rel = filter(orders, vec![eq(day, 5), subquery(kind, lines, &[order])]);
        let options =
            switches.iter().fold(Options::default().without(Switch::Semijoin), |o, switch| o.without(*switch));
        let plan = optimize(rel, &mut t.columns, &statistics, &options).expect("a plan");
        assert_eq!(runs_for_each_row(&plan), each, "{few} {switches:?}: {plan:?}");
    }
}
