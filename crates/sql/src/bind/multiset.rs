//! INTERSECT and EXCEPT, of distinct rows or of all.
//!
//! Both are joins on all columns, where NULLs are equal. With ALL each row has a number among those that are equal to
//! it, and the n-th row of the left side has the n-th one of the right side as its partner.

use super::binder::{Binder, BoundQuery, Output};
use muster_algebra::{
    ColId, CompareOp, Expr, Frame, JoinKind, Rel, SqlType, Window, WindowCall, WindowDefinition, WindowFunction,
};
use muster_types::{Result, SqlError};
use sqlparser::ast::SetOperator;

impl Binder<'_> {
    /// The rows of the left side that are (INTERSECT), or are not (EXCEPT), among those of the right one: with `all`
    /// as often as that, else once.
    pub(super) fn semi_operation(
        &mut self,
        op: SetOperator,
        all: bool,
        left: BoundQuery,
        right: BoundQuery,
    ) -> Result<BoundQuery> {
        let kind = match op {
            SetOperator::Intersect => JoinKind::Semi,
            SetOperator::Except => JoinKind::Anti,
            _ => return Err(SqlError::unsupported(op)),
        };
        let names = left.outputs.clone();
        let inputs = [left, right];
        let types = self.common_types(&inputs, &op.to_string())?;
        let [left, right] = inputs;
        let (left, columns) = self.converted(left, &types);
        let (right, others) = self.converted(right, &types);
        let pairs = columns.iter().zip(&others);
        let equal = |(a, b): (&ColId, &ColId)| Expr::compare(CompareOp::NullSafeEq, Expr::Column(*a), Expr::Column(*b));
        let mut on: Vec<Expr> = pairs.map(equal).collect();
        let join =
            |left, right, on| Rel::Join { kind, left: Box::new(left), right: Box::new(right), on, straight: false };
        let rel = match all {
            true => {
                let (left, number) = self.numbered(left, &columns);
                let (right, other) = self.numbered(right, &others);
                on.push(Expr::eq(Expr::Column(number), Expr::Column(other)));
                let exprs = columns.iter().map(|id| (*id, Expr::Column(*id))).collect();
                Rel::Project { input: Box::new(join(left, right, on)), exprs }
            }
            false => {
                let left = Rel::Aggregate { input: Box::new(left), group: columns.clone(), aggregates: Vec::new() };
                join(left, right, on)
            }
        };
        let outputs = columns.into_iter().zip(names).map(|(id, o)| Output { id, ..o }).collect();
        Ok(BoundQuery { rel, outputs })
    }

    /// The rows with their numbers among those that are equal to them.
    fn numbered(&mut self, rel: Rel, columns: &[ColId]) -> (Rel, ColId) {
        let ty = SqlType::BIGINT_UNSIGNED;
        let number = self.columns.add_computed("number", ty, false);
        let call = WindowCall {
            function: WindowFunction::RowNumber,
            frame: Frame::whole(),
            ty,
            over: WindowDefinition::default(),
        };
        let partition = columns.iter().map(|id| Expr::Column(*id)).collect();
        let window = Window { partition, order: Vec::new(), calls: vec![(number, call)], limit: None };
        (Rel::Window { input: Box::new(rel), window }, number)
    }
}
