//! The keys of groups, and which group a row is in.

use super::domain::Domain;
use arrow_array::{Array, ArrayRef, Decimal64Array, Int64Array, cast::AsArray, types::Decimal64Type};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;
use datafusion_common::Result;
use datafusion_expr::EmitTo;
use datafusion_physical_plan::aggregates::{
    group_values::{GroupValues, new_group_values},
    order::GroupOrdering,
};
use std::sync::Arc;

/// Groups by the values of their keys.
pub struct Keys {
    types: Vec<DataType>,
    groups: Box<dyn GroupValues>,
    /// While keys have few values.
    domain: Option<Domain>,
}

impl Keys {
    pub fn new(schema: &SchemaRef) -> Result<Keys> {
        let types = schema.fields().iter().map(|f| f.data_type().clone()).collect();
        let fields = schema.fields().iter().map(|f| Field::new(f.name(), as_integers(f.data_type()), f.is_nullable()));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let domain = Domain::of(&schema);
        Ok(Keys { types, groups: new_group_values(schema, &GroupOrdering::None)?, domain })
    }

    /// Puts the group of each row into `places`.
    pub fn intern(&mut self, keys: &[ArrayRef], places: &mut Vec<usize>) -> Result<()> {
        let keys: Vec<ArrayRef> = keys.iter().map(integers).collect();
        if let Some(domain) = &mut self.domain {
            if domain.places(&keys, places, |keys, places| self.groups.intern(&decoded(keys)?, places))? {
                return Ok(());
            }
            self.domain = None;
        }
        self.groups.intern(&decoded(&keys)?, places)
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    pub fn bytes(&self) -> usize {
        self.groups.size() + self.domain.as_ref().map_or(0, Domain::bytes)
    }

    /// The keys of all groups, which are forgotten.
    pub fn take(&mut self) -> Result<Vec<ArrayRef>> {
        let keys = self.groups.emit(EmitTo::All)?;
        self.groups.clear_shrink(0);
        if let Some(domain) = &mut self.domain {
            domain.forget();
        }
        Ok(keys.into_iter().zip(&self.types).map(|(key, ty)| decimals(key, ty)).collect())
    }
}

/// The values of keys, some of which may be dictionaries.
pub fn decoded(keys: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    let values = |key: &ArrayRef| match key.as_any_dictionary_opt() {
        Some(dictionary) => Ok(take(dictionary.values(), dictionary.keys(), None)?),
        None => Ok(key.clone()),
    };
    keys.iter().map(values).collect()
}

/// DataFusion finds groups of several keys fast where it knows their types, and it does not know `Decimal64`.
fn as_integers(ty: &DataType) -> DataType {
    match ty {
        DataType::Decimal64(..) => DataType::Int64,
        other => other.clone(),
    }
}

fn integers(key: &ArrayRef) -> ArrayRef {
    match key.as_primitive_opt::<Decimal64Type>() {
        Some(decimals) => Arc::new(Int64Array::new(decimals.values().clone(), decimals.nulls().cloned())),
        None => key.clone(),
    }
}

fn decimals(key: ArrayRef, ty: &DataType) -> ArrayRef {
    match ty {
        DataType::Decimal64(..) => {
            let integers = key.as_primitive::<arrow_array::types::Int64Type>();
            let decimals = Decimal64Array::new(integers.values().clone(), integers.nulls().cloned());
            Arc::new(decimals.with_data_type(ty.clone()))
        }
        _ => key,
    }
}
