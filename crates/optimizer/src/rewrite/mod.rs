//! Rewrites: passes from `Rel` to `Rel` that never make a plan worse or that open ways for later ones.
//!
//! One pass is one file; its file name and its switch are one word. [`PASSES`] is the list, in order; a pass may
//! run more than once. Intermediate relations may deliver more columns than they did: only the columns that are
//! mentioned above matter, and the planner drops the rest.

pub mod aggregate_pushdown;
pub mod cast_unwrapping;
pub mod constant_folding;
pub mod distinct_aggregate;
pub mod empty_relation;
pub mod equality_closure;
pub mod group_by_key;
pub mod limit_pushdown;
pub mod not_pushdown;
pub mod null_safe_keys;
pub mod or_factoring;
pub mod or_implication;
pub mod outer_join_simplification;
pub mod predicate_pushdown;
pub mod projection_merging;
pub mod semijoin_to_inner;
pub mod subquery_unnesting;

use crate::Options;
use muster_algebra::{ColId, Columns, Expr, Rel, Switch};
use muster_types::Result;

/// The state that the passes of one statement share: its columns, and the options that they run under.
pub struct RewriteContext<'a> {
    pub columns: &'a mut Columns,
    pub options: &'a Options,
    /// True if an IN stays a subquery that may either be materialized or run as EXISTS. Both are planned then, and the
    /// cheaper plan is taken.
    pub in_subquery_has_a_choice: bool,
}

/// One rewrite.
pub struct Pass {
    /// The switch of the pass, which has its name.
    pub switch: Switch,
    pub run: fn(Rel, &mut RewriteContext<'_>) -> Result<Rel>,
}

macro_rules! passes {
    ($($name:ident $switch:ident),* $(,)?) => {
        /// All passes in the order they run.
        pub const PASSES: &[Pass] = &[$(Pass { switch: Switch::$switch, run: $name::run }),*];

        #[test]
        fn passes_are_named_as_their_switches() {
            $(assert_eq!(Switch::$switch.name(), stringify!($name));)*
        }
    };
}

passes![
    projection_merging ProjectionMerging,
    constant_folding ConstantFolding,
    not_pushdown NotPushdown,
    cast_unwrapping CastUnwrapping,
    or_factoring OrFactoring,
    predicate_pushdown PredicatePushdown,
    subquery_unnesting SubqueryUnnesting,
    projection_merging ProjectionMerging,
    outer_join_simplification OuterJoinSimplification,
    null_safe_keys NullSafeKeys,
    semijoin_to_inner SemijoinToInner,
    equality_closure EqualityClosure,
    or_implication OrImplication,
    predicate_pushdown PredicatePushdown,
    cast_unwrapping CastUnwrapping,
    constant_folding ConstantFolding,
    group_by_key GroupByKey,
    aggregate_pushdown AggregatePushdown,
    distinct_aggregate DistinctAggregate,
    projection_merging ProjectionMerging,
    limit_pushdown LimitPushdown,
    empty_relation EmptyRelation,
];

/// Rebuilds a relation bottom-up, the relations of subqueries included.
pub fn bottom_up(mut rel: Rel, f: &mut dyn FnMut(Rel) -> Result<Rel>) -> Result<Rel> {
    for input in rel.inputs_mut() {
        let taken = crate::substitution::take(input);
        *input = bottom_up(taken, f)?;
    }
    let mut outcome = Ok(());
    for expr in rel.exprs_mut() {
        crate::scope::for_each_subquery(expr, &mut |inner| {
            if outcome.is_ok() {
                let taken = crate::substitution::take(inner);
                match bottom_up(taken, f) {
                    Ok(done) => *inner = done,
                    Err(error) => outcome = Err(error),
                }
            }
        });
    }
    outcome?;
    f(rel)
}

/// Changes every node of every expression of a relation, those of subqueries included, parts first. What `f` leaves
/// alone costs a visit and no more: a statement may have a hundred thousand nodes, and a pass changes few of them.
pub fn update_exprs(rel: Rel, f: &mut dyn FnMut(&mut Expr)) -> Result<Rel> {
    bottom_up(rel, &mut |mut node| {
        for expr in node.exprs_mut() {
            expr.update(&mut *f);
        }
        Ok(node)
    })
}

/// A relation with further columns that are NULL in all of its rows.
pub fn with_nulls(input: Rel, ids: Vec<ColId>, columns: &Columns) -> Rel {
    let passed = input.output().into_iter().map(|id| (id, Expr::Column(id)));
    let exprs = passed.chain(ids.into_iter().map(|id| (id, Expr::null(columns.ty(id))))).collect();
    Rel::Project { input: Box::new(input), exprs }
}

/// The AND (or OR) of conditions, flattened.
pub fn logic(op: muster_algebra::LogicOp, args: Vec<Expr>) -> Expr {
    let mut flat = Vec::new();
    for arg in args {
        match arg {
            Expr::Logic { op: inner, args } if inner == op => flat.extend(args),
            other => flat.push(other),
        }
    }
    if flat.len() == 1 { flat.remove(0) } else { Expr::Logic { op, args: flat } }
}
