//! Joins.
//!
//! DataFusion builds its hash table from its left input; where the plan wants the right one, the inputs change places
//! and the join kind with them. A projection brings the columns back into the plan's order.

use super::{Lowerer, Node, df};
use crate::{
    expr::{
        Physical, Scope,
        compare::{common_type, document_key},
        control::OneZero,
        kernel::KernelExpr,
    },
    ops::{
        hash_join::GraceJoinExec,
        merge_join::{MergeJoinExec, MergeJoinSpec},
        paced::PacedExec,
    },
};
use arrow_schema::Schema;
use datafusion_common::{JoinSide, JoinType, NullEquality};
use datafusion_physical_expr::conjunction;
use datafusion_physical_plan::{
    ExecutionPlan,
    joins::{
        CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PartitionMode,
        utils::{ColumnIndex, JoinFilter},
    },
};
use muster_algebra::{ColId, Expr, JoinKind, Plan, Side};
use muster_types::{Collation, Result, SqlError, SqlType, collation::TextTraits};
use std::sync::Arc;

impl Lowerer<'_> {
    pub(super) fn hash_join(
        &mut self,
        plan: &Plan,
        kind: JoinKind,
        left: &Plan,
        right: &Plan,
        keys: &[(Expr, Expr)],
        residual: &[Expr],
        build: Side,
    ) -> Result<Node> {
        if keys.is_empty() {
            return Err(SqlError::internal("a hash join without keys"));
        }
        let null_aware = kind == JoinKind::NullAwareAnti;
        if null_aware && (keys.len() > 1 || !residual.is_empty() || build == Side::Right) {
            return Err(SqlError::internal("a null-aware hash join of other rows than those of one key"));
        }
        let ((left, left_exchange), (right, right_exchange)) = (self.side(left)?, self.side(right)?);
        let (left_keys, right_keys) = keys.iter().cloned().unzip();
        let (left, left_keys) = self.with_long_texts(left, left_keys)?;
        let (right, right_keys) = self.with_long_texts(right, right_keys)?;
        let keys: Vec<(Expr, Expr)> = left_keys.into_iter().zip(right_keys).collect();
        let (left, right, residual, late) = self.residual_subplans(kind, left, right, residual)?;
        let pairs = self.join_keys(&left.scope, &right.scope, &keys, TextTraits::bytes_decide_equality)?;
        let left = self.exchanged(left, left_exchange, pairs.iter().map(|(l, _)| l.clone()))?;
        let right = self.exchanged(right, right_exchange, pairs.iter().map(|(_, r)| r.clone()))?;
        let outputs = join_outputs(kind, &left, &right);
        let wanted: &[ColId] = if late.is_empty() { &plan.output } else { &outputs };
        let node = self.hash_join_nodes(kind, (left, right), pairs, &residual, build, wanted)?;
        self.filter_late(node, &late)
    }

    /// A hash join of two nodes that delivers the columns `wanted`. A hash table is built of one partition, or of as
    /// many as the other side has, both spread by the keys.
    fn hash_join_nodes(
        &mut self,
        kind: JoinKind,
        (left, right): (Node, Node),
        pairs: Vec<(Physical, Physical)>,
        residual: &[Expr],
        build: Side,
        wanted: &[ColId],
    ) -> Result<Node> {
        let join_type = match (kind, build) {
            (JoinKind::Inner, _) => JoinType::Inner,
            (JoinKind::Left, Side::Left) => JoinType::Left,
            (JoinKind::Left, Side::Right) => JoinType::Right,
            (JoinKind::Semi, Side::Left) => JoinType::LeftSemi,
            (JoinKind::Semi, Side::Right) => JoinType::RightSemi,
            (JoinKind::Anti | JoinKind::NullAwareAnti, Side::Left) => JoinType::LeftAnti,
            (JoinKind::Anti | JoinKind::NullAwareAnti, Side::Right) => JoinType::RightAnti,
        };
        let traits = merged_traits(&left.scope, &right.scope);
        let (first, second, on) = match build {
            Side::Left => (left, right, pairs),
            Side::Right => (right, left, pairs.into_iter().map(|(l, r)| (r, l)).collect()),
        };
        let mode = match (first.partitions(), second.partitions()) {
            (1, _) => PartitionMode::CollectLeft,
            (n, m) if n == m => PartitionMode::Partitioned,
            (n, m) => return Err(SqlError::internal(format!("a hash join of {n} and {m} partitions"))),
        };
        let filter = self.join_filter(&first.scope, &second.scope, residual)?;
        let mut columns = match join_type {
            JoinType::LeftSemi | JoinType::LeftAnti => first.scope.columns.clone(),
            JoinType::RightSemi | JoinType::RightAnti => second.scope.columns.clone(),
            _ => first.scope.columns.iter().chain(&second.scope.columns).copied().collect(),
        };
        let projection = projection(&columns, wanted)?;
        if projection.is_some() {
            columns = wanted.to_vec();
        }
        let join = df(HashJoinExec::try_new(
            first.exec,
            second.exec,
            on,
            filter,
            &join_type,
            projection,
            mode,
            NullEquality::NullEqualsNothing,
            kind == JoinKind::NullAwareAnti,
        ))?;
        let join = GraceJoinExec::new(Arc::new(join), self.spill_space());
        Ok(Node::new(Arc::new(join), columns, traits))
    }

    pub(super) fn nested_loop_join(&mut self, kind: JoinKind, left: &Plan, right: &Plan, on: &[Expr]) -> Result<Node> {
        let kept_rows = right.estimate.rows;
        let ((left, left_exchange), (right, right_exchange)) = (self.side(left)?, self.side(right)?);
        let (left, right, on, late) = self.residual_subplans(kind, left, right, on)?;
        let left = self.exchanged(left, left_exchange, std::iter::empty())?;
        let right = self.exchanged(right, right_exchange, std::iter::empty())?;
        let node = self.nested_loop_nodes(kind, left, right, kept_rows, &on)?;
        self.filter_late(node, &late)
    }

    /// The right input, of some `kept_rows`, is kept in memory, so it comes first.
    fn nested_loop_nodes(
        &mut self,
        kind: JoinKind,
        left: Node,
        right: Node,
        kept_rows: f64,
        on: &[Expr],
    ) -> Result<Node> {
        let traits = merged_traits(&left.scope, &right.scope);
        let outputs = join_outputs(kind, &left, &right);
        let join_type = match kind {
            JoinKind::Inner => JoinType::Inner,
            JoinKind::Left => JoinType::Right,
            JoinKind::Semi => JoinType::RightSemi,
            JoinKind::Anti | JoinKind::NullAwareAnti => JoinType::RightAnti,
        };
        // DataFusion's way out of a lack of memory can deliver rows twice when several partitions are preserved.
        let streamed =
            if kind == JoinKind::Inner { left } else { left.single("a nested loop join that is not inner")? };
        let streamed = Node { exec: Arc::new(PacedExec::new(streamed.exec, kept_rows)), ..streamed };
        let kept = right.single("the inner side of a nested loop join")?;
        let columns: Vec<ColId> = match kind {
            JoinKind::Inner | JoinKind::Left => {
                kept.scope.columns.iter().chain(&streamed.scope.columns).copied().collect()
            }
            _ => streamed.scope.columns.clone(),
        };
        let projection = projection(&columns, &outputs)?;
        if on.is_empty() && kind == JoinKind::Inner {
            let join: Arc<dyn ExecutionPlan> = Arc::new(CrossJoinExec::new(kept.exec, streamed.exec));
            return Node::new(join, columns, traits).select(&outputs);
        }
        let filter = match kind {
            // UNKNOWN rejects a row as TRUE does.
            JoinKind::NullAwareAnti => {
                let not_false = Expr::IsTruth { arg: Box::new(Expr::and(on.to_vec())), truth: false, negated: true };
                self.join_filter(&kept.scope, &streamed.scope, &[not_false])?
            }
            _ => self.join_filter(&kept.scope, &streamed.scope, on)?,
        };
        let join = df(NestedLoopJoinExec::try_new(kept.exec, streamed.exec, filter, &join_type, projection))?;
        Ok(Node::new(Arc::new(join), outputs, traits))
    }

    pub(super) fn merge_join(
        &mut self,
        plan: &Plan,
        kind: JoinKind,
        left: &Plan,
        right: &Plan,
        keys: &[(Expr, Expr)],
        residual: &[Expr],
    ) -> Result<Node> {
        if keys.is_empty() || kind == JoinKind::NullAwareAnti || residual.iter().any(Expr::has_subquery) {
            return Err(SqlError::internal("a merge join without keys, with NOT IN or with a subquery"));
        }
        let (left, right) = (self.node(left)?, self.node(right)?);
        let traits = merged_traits(&left.scope, &right.scope);
        let pairs = self.join_keys(&left.scope, &right.scope, keys, TextTraits::bytes_decide_order)?;
        let filter = self.join_filter(&left.scope, &right.scope, residual)?;
        let (mut output, mut fields) = (Vec::new(), Vec::new());
        for id in &plan.output {
            let (index, side, scope) = match (left.scope.position(*id), right.scope.position(*id)) {
                (Some(index), _) => (index, JoinSide::Left, &left.scope),
                (None, Some(index)) => (index, JoinSide::Right, &right.scope),
                (None, None) => return Err(SqlError::internal(format!("column {} is not in the join", id.0))),
            };
            let field = scope.schema.field(index).clone();
            let nullable = field.is_nullable() || kind == JoinKind::Left && side == JoinSide::Right;
            output.push(ColumnIndex { index, side });
            fields.push(field.with_nullable(nullable));
        }
        let (left, right) = (left.single("a merge join")?.exec, right.single("a merge join")?.exec);
        let spec = MergeJoinSpec { kind, keys: pairs, residual: filter, output, space: self.spill_space() };
        let join = MergeJoinExec::new(left, right, Arc::new(spec), Arc::new(Schema::new(fields)));
        Ok(Node::new(Arc::new(join), plan.output.clone(), traits))
    }

    /// Keys of both sides in one Arrow type: JSON documents as bytes that are equal for equal ones, texts as sort keys
    /// unless the facts of both sides say that `bytes_decide`.
    pub(super) fn join_keys(
        &self,
        left: &Scope,
        right: &Scope,
        keys: &[(Expr, Expr)],
        bytes_decide: fn(TextTraits, Collation) -> bool,
    ) -> Result<Vec<(Physical, Physical)>> {
        let (l, r) = (self.compiler(left), self.compiler(right));
        keys.iter()
            .map(|(le, re)| {
                let (lt, rt) = (le.ty(&self.columns), re.ty(&self.columns));
                if let (SqlType::Text { collation, .. }, SqlType::Text { .. }) = (lt, rt) {
                    let traits = left.text_traits(le).zip(right.text_traits(re));
                    let merged = traits.map(|(a, b)| TextTraits::merge(a, b));
                    let (lk, rk) = (l.compile(le)?, r.compile(re)?);
                    return Ok(match merged.is_some_and(|t| bytes_decide(t, collation)) {
                        true => (lk, rk),
                        false => (l.sort_key(lk, collation), r.sort_key(rk, collation)),
                    });
                }
                let ty = if crate::arrow_value::arrow_type(&lt) == crate::arrow_value::arrow_type(&rt) {
                    lt
                } else {
                    common_type(lt, rt)
                };
                let (lk, rk) = (l.compile_as(le, ty)?, r.compile_as(re, ty)?);
                Ok(match ty {
                    SqlType::Float | SqlType::Double => {
                        let one_zero = |e: Physical| {
                            KernelExpr::build(OneZero, vec![e], crate::arrow_value::arrow_type(&ty), true)
                        };
                        (one_zero(lk), one_zero(rk))
                    }
                    SqlType::Json => (document_key(lk, true), document_key(rk, true)),
                    _ => (lk, rk),
                })
            })
            .collect()
    }

    /// The condition over the columns of both inputs that it mentions.
    pub(super) fn join_filter(&self, first: &Scope, second: &Scope, predicates: &[Expr]) -> Result<Option<JoinFilter>> {
        if predicates.is_empty() {
            return Ok(None);
        }
        let mut mentioned: Vec<ColId> = Vec::new();
        for id in predicates.iter().flat_map(Expr::columns) {
            if !mentioned.contains(&id) {
                mentioned.push(id);
            }
        }
        // A batch without columns does not know its number of rows.
        if mentioned.is_empty() {
            mentioned.extend(second.columns.first().or(first.columns.first()));
        }
        let mut indices = Vec::with_capacity(mentioned.len());
        let mut fields = Vec::with_capacity(mentioned.len());
        for id in &mentioned {
            let (index, side, scope) = match (first.position(*id), second.position(*id)) {
                (Some(index), _) => (index, JoinSide::Left, first),
                (None, Some(index)) => (index, JoinSide::Right, second),
                (None, None) => return Err(SqlError::internal(format!("column {} is not in the join", id.0))),
            };
            indices.push(ColumnIndex { index, side });
            // The join may put NULLs into either side.
            fields.push(scope.schema.field(index).clone().with_nullable(true));
        }
        let scope =
            Scope { schema: Arc::new(Schema::new(fields)), columns: mentioned, traits: merged_traits(first, second) };
        let compiler = self.compiler(&scope);
        let tests: Vec<Physical> = predicates.iter().map(|p| compiler.predicate(p)).collect::<Result<_>>()?;
        Ok(Some(JoinFilter::new(conjunction(tests), indices, scope.schema)))
    }

    /// Join conditions with subqueries: computed on the side that has all the columns, or after an inner join.
    /// Returns the inputs, the conditions that stay, and those for later.
    fn residual_subplans(
        &mut self,
        kind: JoinKind,
        mut left: Node,
        mut right: Node,
        residual: &[Expr],
    ) -> Result<(Node, Node, Vec<Expr>, Vec<Expr>)> {
        let (mut stay, mut late) = (Vec::new(), Vec::new());
        for predicate in residual.iter().cloned().flat_map(Expr::into_conjuncts) {
            if !predicate.has_subquery() {
                stay.push(predicate);
                continue;
            }
            let mut subplan_columns: Vec<ColId> = Vec::new();
            predicate.visit(&mut |e| {
                if matches!(e, Expr::Subplan(_)) {
                    subplan_columns.extend(e.columns());
                }
            });
            if kind == JoinKind::Inner {
                late.push(predicate);
            } else if subplan_columns.iter().all(|id| right.scope.position(*id).is_some()) {
                let (node, mut exprs) = self.with_subplans(right, vec![predicate])?;
                right = node;
                stay.append(&mut exprs);
            } else if subplan_columns.iter().all(|id| left.scope.position(*id).is_some()) {
                let (node, mut exprs) = self.with_subplans(left, vec![predicate])?;
                left = node;
                stay.append(&mut exprs);
            } else {
                return Err(SqlError::unsupported("subquery over both sides of an outer join's condition"));
            }
        }
        Ok((left, right, stay, late))
    }

    fn filter_late(&mut self, node: Node, late: &[Expr]) -> Result<Node> {
        if late.is_empty() { Ok(node) } else { self.filter_node(node, late, None) }
    }
}

/// The columns of a join, left before right.
fn join_outputs(kind: JoinKind, left: &Node, right: &Node) -> Vec<ColId> {
    match kind {
        JoinKind::Inner | JoinKind::Left => left.scope.columns.iter().chain(&right.scope.columns).copied().collect(),
        _ => left.scope.columns.clone(),
    }
}

fn merged_traits(left: &Scope, right: &Scope) -> crate::expr::scope::TraitMap {
    left.traits.iter().chain(&right.traits).map(|(id, t)| (*id, *t)).collect()
}

/// Positions of `wanted` in `columns`; `None` when they are the same.
fn projection(columns: &[ColId], wanted: &[ColId]) -> Result<Option<Vec<usize>>> {
    if columns == wanted {
        return Ok(None);
    }
    let position = |id: &ColId| {
        let found = columns.iter().position(|c| c == id);
        found.ok_or_else(|| SqlError::internal(format!("column {} is not in the join", id.0)))
    };
    Ok(Some(wanted.iter().map(position).collect::<Result<_>>()?))
}
