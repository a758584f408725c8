//! Aggregates of ours: exact sums, any value, extremes under a collation, GROUP_CONCAT.
//!
//! Each is written once, over many groups ([`GroupsAccumulator`]); [`OneGroup`] serves a query without GROUP BY. Those
//! whose state is a value are a [`fold::Fold`].

mod any_value;
mod exact_sum;
mod extreme;
mod fold;
mod group_concat;

pub use group_concat::{Cuts, GroupConcat};

use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
    function::{AccumulatorArgs, StateFieldsArgs},
};
use fold::Folded;
use muster_types::Collation;
use parking_lot::Mutex;
use std::{fmt, sync::Arc};

/// Which aggregate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Of `Int64` or decimals; a `Decimal128(38, scale)`, error 1690 when it does not fit.
    ExactSum { scale: i8 },
    /// Some value that is not NULL, if there is one. For one Arrow type.
    AnyValue(DataType),
    /// Smallest or largest text.
    Extreme { collation: Collation, largest: bool },
    /// Arguments: text, sort key (`BinaryView`).
    GroupConcat(GroupConcat),
}

/// One aggregate function of ours.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Function {
    kind: Kind,
    signature: Signature,
}

/// The aggregate as DataFusion takes it.
pub fn function(kind: Kind) -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::from(Function { kind, signature: Signature::variadic_any(Volatility::Immutable) }))
}

impl Function {
    fn result(&self) -> DataType {
        match &self.kind {
            Kind::ExactSum { scale } => DataType::Decimal128(38, *scale),
            Kind::AnyValue(ty) => ty.clone(),
            Kind::Extreme { .. } | Kind::GroupConcat(_) => DataType::Utf8View,
        }
    }

    fn state(&self) -> DataType {
        match &self.kind {
            Kind::GroupConcat(_) => DataType::BinaryView,
            _ => self.result(),
        }
    }

    fn groups(&self) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(match &self.kind {
            Kind::ExactSum { scale } => Box::new(Folded(exact_sum::ExactSum::new(*scale))),
            Kind::AnyValue(ty) => any_value::accumulator(ty)?,
            Kind::Extreme { collation, largest } => Box::new(Folded(extreme::Extreme::new(*collation, *largest))),
            Kind::GroupConcat(settings) => Box::new(group_concat::Groups::new(settings.clone())),
        })
    }
}

impl AggregateUDFImpl for Function {
    fn name(&self) -> &str {
        match &self.kind {
            Kind::ExactSum { .. } => "exact_sum",
            Kind::AnyValue(_) => "any_value",
            Kind::Extreme { largest: true, .. } => "collated_max",
            Kind::Extreme { largest: false, .. } => "collated_min",
            Kind::GroupConcat(_) => "group_concat",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.result())
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format!("{}[state]", args.name), self.state(), true))])
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let mut groups = self.groups()?;
        // The group exists even if no row comes.
        let no_rows: Vec<ArrayRef> = match &self.kind {
            Kind::GroupConcat(_) => vec![new_empty_array(&DataType::Utf8View), new_empty_array(&DataType::BinaryView)],
            _ => vec![new_empty_array(&self.result())],
        };
        groups.update_batch(&no_rows, &[], None, 1)?;
        Ok(Box::new(Shared(Mutex::new(OneGroup { groups, zeros: Vec::new(), name: self.name().to_string() }))))
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        self.groups()
    }
}

/// A groups accumulator with a single group.
struct OneGroup {
    groups: Box<dyn GroupsAccumulator>,
    zeros: Vec<usize>,
    name: String,
}

impl OneGroup {
    fn zeros(&mut self, rows: usize) {
        if self.zeros.len() < rows {
            self.zeros.resize(rows, 0);
        }
    }
}

impl fmt::Debug for OneGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl OneGroup {
    fn update(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |v| v.len());
        self.zeros(rows);
        self.groups.update_batch(values, &self.zeros[..rows], None, 1)
    }

    fn merge(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, |v| v.len());
        self.zeros(rows);
        self.groups.merge_batch(states, &self.zeros[..rows], 1)
    }
}

/// Accumulators must be `Sync`, groups accumulators are not.
#[derive(Debug)]
struct Shared(Mutex<OneGroup>);

impl Accumulator for Shared {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.get_mut().update(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::try_from_array(&self.0.get_mut().groups.evaluate(EmitTo::All)?, 0)
    }

    fn size(&self) -> usize {
        self.0.lock().groups.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let states = self.0.get_mut().groups.state(EmitTo::All)?;
        states.iter().map(|s| ScalarValue::try_from_array(s, 0)).collect()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.get_mut().merge(states)
    }
}
