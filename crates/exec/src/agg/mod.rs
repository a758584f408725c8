//! All aggregates.
//!
//! ```text
//!   count.rs        COUNT
//!   exact_sum.rs    SUM of integers and decimals; lanes.rs: of few groups
//!   number.rs       SUM of doubles, MIN and MAX of numbers and dates, BIT_AND, BIT_OR, BIT_XOR
//!   extreme.rs      MIN and MAX of texts and byte strings
//!   variance.rs     STDDEV and VARIANCE
//!   byte_bits.rs    BIT_AND, BIT_OR, BIT_XOR of byte strings
//!   any_value.rs    ANY_VALUE
//!   group_concat.rs GROUP_CONCAT
//!   documents.rs    JSON_ARRAYAGG, JSON_OBJECTAGG
//!   distinct.rs     COUNT, SUM and AVG of DISTINCT values
//! ```
//!
//! Each is written once, over many groups ([`GroupsAccumulator`]); without GROUP BY there is one. Those whose state is
//! a value are a [`fold::Fold`].

mod any_value;
mod byte_bits;
mod count;
mod distinct;
mod documents;
mod exact_sum;
mod extreme;
mod fold;
mod group_concat;
pub mod lanes;
mod number;
mod variance;

pub use group_concat::{Cuts, GroupConcat};
pub use number::BitOp;
pub use variance::{Moments, Spread};

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility,
    function::{AccumulatorArgs, StateFieldsArgs},
};
use datafusion_physical_expr::aggregate::AggregateFunctionExpr;
use fold::Folded;
use muster_types::Collation;
use std::sync::Arc;

/// Which aggregate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The sum of `Int64` or decimals of any width as a `Decimal128` or `Decimal256`, or error 1690 if it does not fit.
    ExactSum(DataType),
    /// `Int64`: rows in which the argument is not NULL.
    Count,
    /// `Int64`: rows, whatever the argument.
    CountRows,
    /// The sum of `Float64` values.
    DoubleSum,
    /// Some value that is not NULL, if there is one. For one Arrow type.
    AnyValue(DataType),
    /// Smallest or largest value of a type whose order is that of the values, or of their bytes.
    Extreme { ty: DataType, largest: bool },
    /// Smallest or largest text.
    CollatedExtreme { collation: Collation, largest: bool },
    /// An operation on the bits of `UInt64` values.
    Bits(BitOp),
    /// An operation on the bits of byte strings of one length.
    ByteBits(BitOp),
    /// Variance or standard deviation of `Float64` values.
    Spread(Spread),
    /// Another aggregate over the distinct values, which have this type. NULL is none of them.
    Distinct(Box<Kind>, DataType),
    /// Arguments: text or byte string, sort key (`BinaryView`), and with DISTINCT the key of equal ones (`BinaryView`).
    GroupConcat(GroupConcat),
    /// Documents in the binary form as one: their elements, or with `objects` their members.
    Documents { objects: bool },
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

/// Which aggregate a function of [`function`] is.
pub fn kind_of(function: &AggregateUDF) -> Option<&Kind> {
    function.inner().downcast_ref::<Function>().map(|function| &function.kind)
}

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Kind::ExactSum(_) => "exact_sum",
            Kind::Count => "count",
            Kind::CountRows => "count_rows",
            Kind::DoubleSum => "sum",
            Kind::AnyValue(_) => "any_value",
            Kind::Extreme { largest: true, .. } => "max",
            Kind::Extreme { largest: false, .. } => "min",
            Kind::CollatedExtreme { largest: true, .. } => "collated_max",
            Kind::CollatedExtreme { largest: false, .. } => "collated_min",
            Kind::Bits(BitOp::And) | Kind::ByteBits(BitOp::And) => "bit_and",
            Kind::Bits(BitOp::Or) | Kind::ByteBits(BitOp::Or) => "bit_or",
            Kind::Bits(BitOp::Xor) | Kind::ByteBits(BitOp::Xor) => "bit_xor",
            Kind::Spread(Spread { deviation: true, .. }) => "stddev",
            Kind::Spread(Spread { deviation: false, .. }) => "variance",
            Kind::GroupConcat(_) => "group_concat",
            Kind::Documents { objects: false } => "json_arrayagg",
            Kind::Documents { objects: true } => "json_objectagg",
            Kind::Distinct(..) => "distinct",
        }
    }

    /// The Arrow type of the result.
    pub fn result(&self) -> DataType {
        match self {
            Kind::ExactSum(ty) => ty.clone(),
            Kind::Count | Kind::CountRows => DataType::Int64,
            Kind::DoubleSum | Kind::Spread(_) => DataType::Float64,
            Kind::AnyValue(ty) | Kind::Extreme { ty, .. } => ty.clone(),
            Kind::Bits(_) => DataType::UInt64,
            Kind::ByteBits(_) => DataType::BinaryView,
            Kind::Documents { .. } => DataType::LargeBinary,
            Kind::GroupConcat(settings) if settings.is_binary => DataType::BinaryView,
            Kind::CollatedExtreme { .. } | Kind::GroupConcat(_) => DataType::Utf8View,
            Kind::Distinct(of, _) => of.result(),
        }
    }

    /// Types of what partitions hand over.
    fn states(&self) -> Vec<DataType> {
        match self {
            Kind::GroupConcat(_) => vec![DataType::BinaryView],
            Kind::Spread(_) => vec![DataType::UInt64, DataType::Float64, DataType::Float64],
            Kind::Distinct(_, ty) => vec![distinct::state_type(ty)],
            _ => vec![self.result()],
        }
    }

    /// The state of many groups, with nothing accumulated yet.
    pub fn accumulator(&self) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(match self {
            Kind::ExactSum(ty) => Box::new(Folded(exact_sum::ExactSum::new(ty.clone()))),
            Kind::Count => Box::new(count::Count::new(false)),
            Kind::CountRows => Box::new(count::Count::new(true)),
            Kind::DoubleSum => number::double_sum(),
            Kind::AnyValue(ty) => any_value::accumulator(ty)?,
            Kind::Extreme { ty: DataType::Utf8View, largest } => {
                Box::new(Folded(extreme::Extreme::of_texts(None, *largest)))
            }
            Kind::Extreme { ty: DataType::BinaryView, largest } => {
                Box::new(Folded(extreme::Extreme::of_bytes(*largest)))
            }
            Kind::Extreme { ty: DataType::LargeBinary, largest } => {
                Box::new(Folded(extreme::Extreme::of_documents(*largest)))
            }
            Kind::Extreme { ty, largest } => number::extreme(ty, *largest)?,
            Kind::CollatedExtreme { collation, largest } => {
                Box::new(Folded(extreme::Extreme::of_texts(Some(*collation), *largest)))
            }
            Kind::Bits(op) => number::bits(*op),
            Kind::ByteBits(op) => Box::new(Folded(byte_bits::ByteBits::new(*op))),
            Kind::Spread(spread) => Box::new(variance::Variance::new(*spread)),
            Kind::GroupConcat(settings) => Box::new(group_concat::Groups::new(settings.clone())),
            Kind::Documents { objects } => Box::new(documents::Groups::new(*objects)),
            Kind::Distinct(of, ty) => Box::new(distinct::Distinct::new(of.accumulator()?, ty.clone())?),
        })
    }
}

/// The state of one function for many groups. COUNT is known as such, because functions that count the same rows of a
/// batch need not count them each.
pub enum GroupAccumulator {
    Count(count::Count),
    Other(Box<dyn GroupsAccumulator>),
}

impl GroupAccumulator {
    /// Nothing accumulated yet.
    pub fn new(function: &AggregateFunctionExpr) -> Result<GroupAccumulator> {
        Ok(match kind_of(function.fun()) {
            Some(Kind::Count) => GroupAccumulator::Count(count::Count::new(false)),
            Some(Kind::CountRows) => GroupAccumulator::Count(count::Count::new(true)),
            _ => GroupAccumulator::Other(function.create_groups_accumulator()?),
        })
    }

    pub fn state(&self) -> &dyn GroupsAccumulator {
        match self {
            GroupAccumulator::Count(count) => count,
            GroupAccumulator::Other(other) => other.as_ref(),
        }
    }

    pub fn state_mut(&mut self) -> &mut dyn GroupsAccumulator {
        match self {
            GroupAccumulator::Count(count) => count,
            GroupAccumulator::Other(other) => other.as_mut(),
        }
    }
}

impl AggregateUDFImpl for Function {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.kind.result())
    }

    fn is_nullable(&self) -> bool {
        !matches!(self.kind, Kind::Count | Kind::CountRows)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let field = |(i, ty)| Arc::new(Field::new(format!("{}[state {i}]", args.name), ty, true));
        Ok(self.kind.states().into_iter().enumerate().map(field).collect())
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Err(DataFusionError::Internal(format!("{} has no accumulator of one group", self.name())))
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        self.kind.accumulator()
    }
}
