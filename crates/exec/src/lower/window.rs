//! Window functions.

use super::{
    Lowerer, Node,
    calls::{Finish, Parts},
    df, field_name,
};
use crate::{
    agg::{Kind, kind_of},
    expr::{Physical, Scope, scope::TraitMap},
    ops::{
        project::ProjectExec,
        window::{Aggregated, Layout, PhysicalBound, PhysicalFrame, ValueRange, WindowExec, WindowResult},
    },
};
use arrow_schema::{DataType, Field, Schema};
use datafusion_physical_expr::expressions::Column;
use muster_algebra::{
    AggregateCall, ColId, Expr, Frame, FrameBound, FrameUnits, Plan, ValueBound, Window, WindowCall, WindowFunction,
};
use muster_types::{Result, SqlError};
use std::sync::Arc;

/// The results of the operator, and how those of the calls come from them.
#[derive(Default)]
struct Results {
    list: Vec<WindowResult>,
    types: Vec<DataType>,
    /// For each call: how its result comes from those from this place on.
    finishes: Vec<(ColId, Finish, usize)>,
}

impl Results {
    fn add(&mut self, result: WindowResult, ty: DataType) {
        self.list.push(result);
        self.types.push(ty);
    }
}

impl Lowerer<'_> {
    pub(super) fn window(&mut self, input: &Plan, window: &Window) -> Result<Node> {
        let node = self.node(input)?.single("window functions")?;
        let compiler = self.compiler(&node.scope);
        let key = |expr: &Expr| Ok(compiler.grouping_key(expr)?.0);
        let partition: Vec<Physical> = window.partition.iter().map(key).collect::<Result<_>>()?;
        let peers: Vec<Physical> = window.order.iter().map(|k| key(&k.expr)).collect::<Result<_>>()?;
        let descending = window.order.first().is_some_and(|key| key.descending);
        let mut results = Results::default();
        for (id, call) in &window.calls {
            let at = results.list.len();
            let finish = self.window_result(call, descending, &node.scope, &mut results)?;
            results.finishes.push((*id, finish, at));
        }
        let Results { list, types, finishes } = results;
        let mut fields: Vec<_> = node.scope.schema.fields().iter().cloned().collect();
        let inputs = fields.len();
        fields.extend(types.into_iter().enumerate().map(|(i, ty)| Arc::new(Field::new(format!("w{i}"), ty, true))));
        let schema = Arc::new(Schema::new(fields));
        let limit = window.limit.and_then(|(id, most)| {
            let first = finishes.iter().find(|(call, ..)| *call == id).map(|(.., first)| *first);
            first.map(|first| (first, most))
        });
        let layout = Layout { partition, peers, results: list, limit, schema: schema.clone() };
        let exec = Arc::new(WindowExec::new(node.exec.clone(), Arc::new(layout)));
        let scope = Scope { schema: schema.clone(), columns: Vec::new(), traits: TraitMap::new() };
        let mut outputs: Vec<(Physical, String)> =
            node.scope.columns.iter().map(|id| node.column(*id)).collect::<Result<_>>()?;
        for (id, finish, first) in &finishes {
            let part = |i: usize| Column::new(schema.field(inputs + first + i).name(), inputs + first + i);
            outputs.push((self.finish(finish, self.columns.ty(*id), &scope, part)?, field_name(*id)));
        }
        let columns = node.scope.columns.iter().copied().chain(finishes.iter().map(|(id, ..)| *id)).collect();
        let exec = df(ProjectExec::new(outputs, exec))?;
        Ok(Node::new(Arc::new(exec), columns, node.scope.traits))
    }

    /// Adds what a call needs. `descending`: the direction of the sort key.
    fn window_result(
        &self,
        call: &WindowCall,
        descending: bool,
        scope: &Scope,
        results: &mut Results,
    ) -> Result<Finish> {
        let compiler = self.compiler(scope);
        let frame = || self.physical_frame(&call.frame, descending, scope);
        // Truth values are given as the numbers that they are.
        let value = |expr: &Expr| -> Result<(Physical, DataType)> {
            let physical = compiler.compile_as(expr, call.ty)?;
            let ty = df(physical.data_type(&scope.schema))?;
            Ok((physical, ty))
        };
        use WindowFunction::*;
        let (result, ty) = match &call.function {
            RowNumber => (WindowResult::RowNumber, DataType::UInt64),
            Rank => (WindowResult::Rank, DataType::UInt64),
            DenseRank => (WindowResult::DenseRank, DataType::UInt64),
            PercentRank => (WindowResult::PercentRank, DataType::Float64),
            CumeDist => (WindowResult::CumeDist, DataType::Float64),
            Ntile { buckets } => (WindowResult::Ntile(*buckets), DataType::UInt64),
            Shifted { value: shifted, offset, forward, default } => {
                let (shifted, ty) = value(shifted)?;
                let default = default.as_ref().map(|default| value(default).map(|(default, _)| default)).transpose()?;
                (WindowResult::Shifted { value: shifted, offset: *offset, forward: *forward, default }, ty)
            }
            FirstValue(of) => {
                let (of, ty) = value(of)?;
                (WindowResult::FirstValue(of, frame()?), ty)
            }
            LastValue(of) => {
                let (of, ty) = value(of)?;
                (WindowResult::LastValue(of, frame()?), ty)
            }
            NthValue { value: of, number } => {
                let (of, ty) = value(of)?;
                (WindowResult::NthValue(of, *number, frame()?), ty)
            }
            Aggregate(aggregate) => return self.windowed_aggregate(aggregate, frame, scope, results),
        };
        results.add(result, ty);
        Ok(Finish::Part(0))
    }

    fn windowed_aggregate(
        &self,
        call: &AggregateCall,
        frame: impl Fn() -> Result<PhysicalFrame>,
        scope: &Scope,
        results: &mut Results,
    ) -> Result<Finish> {
        let compiler = self.compiler(scope);
        let mut parts = Parts::default();
        let finish = self.call_parts(call, scope, &mut parts)?;
        for part in parts.list {
            let kind = kind_of(&part.function).cloned();
            let kind = kind.ok_or_else(|| SqlError::internal("an aggregate that is none of ours"))?;
            let argument = part.args.into_iter().next();
            let argument = argument.ok_or_else(|| SqlError::internal("an aggregate without an argument"))?;
            let order = match (&kind, call.args.first()) {
                (Kind::CollatedExtreme { .. }, Some(arg)) => Some(compiler.ordering_key(arg)?),
                _ => None,
            };
            let ty = kind.result();
            results.add(WindowResult::Aggregate(Aggregated { kind, argument, order }, frame()?), ty);
        }
        Ok(finish)
    }

    fn physical_frame(&self, frame: &Frame, descending: bool, scope: &Scope) -> Result<PhysicalFrame> {
        let compiler = self.compiler(scope);
        let range = |bound: &ValueBound| -> Result<ValueRange> {
            let ty = bound.value.ty(&self.columns);
            let (key, value) = (compiler.compile_as(&bound.key, ty)?, compiler.compile(&bound.value)?);
            Ok(ValueRange { key, value, descending })
        };
        let bound = |bound: &FrameBound| -> Result<PhysicalBound> {
            Ok(match bound {
                FrameBound::UnboundedPreceding => PhysicalBound::UnboundedPreceding,
                FrameBound::RowsBefore(n) => PhysicalBound::RowsBefore(*n),
                FrameBound::Before(value) => PhysicalBound::Before(range(value)?),
                FrameBound::CurrentRow => PhysicalBound::CurrentRow,
                FrameBound::After(value) => PhysicalBound::After(range(value)?),
                FrameBound::RowsAfter(n) => PhysicalBound::RowsAfter(*n),
                FrameBound::UnboundedFollowing => PhysicalBound::UnboundedFollowing,
            })
        };
        let by_row = frame.units == FrameUnits::Rows;
        Ok(PhysicalFrame { by_row, start: bound(&frame.start)?, end: bound(&frame.end)? })
    }
}
