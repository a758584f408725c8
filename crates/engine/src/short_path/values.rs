//! The values that a plan runs with: those of the statement's text as its columns have them, and behind them those that
//! are others at each execution though the text is the same.

use super::{
    parameters::{VALUES_MAX, ValueList},
    text_numbers::TextNumbers,
};
use muster_algebra::{Expr, Rel};
use muster_sql::{MomentValue, date_of_text};
use muster_types::{
    SqlType, Value,
    temporal::{DateModes, datetime_parts},
};
use std::borrow::Cow;

/// The number of the first value of the moment; a text has fewer values.
pub const FIRST_MOMENT: usize = VALUES_MAX;

/// What values of the moment are taken from.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The local datetime of the statement, in microseconds.
    pub now: i64,
    pub last_insert_id: u64,
}

impl Moment {
    fn value(&self, of: MomentValue) -> Value {
        match of {
            MomentValue::Now { fsp } => {
                let unit = 10i64.pow(6 - u32::from(fsp));
                Value::DateTime(self.now.div_euclid(unit) * unit)
            }
            MomentValue::Today => Value::Date(datetime_parts(self.now).0),
            MomentValue::LastInsertId => Value::UInt(self.last_insert_id),
        }
    }
}

/// How the values of a statement become those that its plan runs with.
#[derive(Debug, Clone, Default)]
pub struct ValueRules {
    /// Texts that stand next to columns of dates, with the types of these.
    dates: Vec<(usize, SqlType)>,
    /// Texts that are read as numbers.
    numbers: TextNumbers,
    /// The values behind those of the text.
    moments: Vec<MomentValue>,
    /// The parameter that is a list, whose members come last.
    list: Option<usize>,
}

impl ValueRules {
    /// The rules for a statement whose values have these types. `rel`: all in which a text may stand next to dates.
    /// `list`: the parameter that is a list. `None` if a value has two types there.
    pub fn of(
        types: &[SqlType],
        list: Option<usize>,
        rel: Option<&Rel>,
        numbers: TextNumbers,
        moments: Vec<MomentValue>,
    ) -> Option<ValueRules> {
        let mut found: Vec<Option<SqlType>> = vec![None; types.len()];
        let mut is_one_type = true;
        let mut note = |index: usize, ty: SqlType| {
            if let Some(known) = found.get_mut(index) {
                is_one_type &= *known.get_or_insert(ty) == ty;
            }
        };
        if let Some(rel) = rel {
            visit_parameters(rel, &mut note);
        }
        let changed = found.into_iter().enumerate().filter_map(|(index, ty)| Some((index, ty?)));
        let dates = changed.filter(|(index, ty)| types[*index].is_text() && ty.is_temporal()).collect();
        is_one_type.then_some(ValueRules { dates, numbers, moments, list })
    }

    /// The values to run with; `None` if a text next to dates is none that the column holds.
    pub fn apply<'a>(
        &self,
        values: &'a [Value],
        list: Option<&ValueList>,
        modes: DateModes,
        moment: impl FnOnce() -> Moment,
    ) -> Option<Cow<'a, [Value]>> {
        let mut all = Cow::Borrowed(values);
        for (index, ty) in &self.dates {
            let date = date_of_text(values.get(*index)?, *ty, modes)?;
            all.to_mut()[*index] = date;
        }
        if !self.numbers.is_empty() {
            self.numbers.read(all.to_mut());
        }
        if !self.moments.is_empty() || self.list.is_some() {
            let all = all.to_mut();
            all.resize(FIRST_MOMENT, Value::Null);
            let moment = moment();
            all.extend(self.moments.iter().map(|of| moment.value(*of)));
            all.extend(list.into_iter().flat_map(|list| &list.members).cloned());
        }
        Some(all)
    }

    /// Returns true if there are values of the moment.
    pub fn has_moments(&self) -> bool {
        !self.moments.is_empty()
    }

    /// The parameter that is a list, and its members among the values that the plan runs with.
    pub fn list<'v>(&self, values: &'v [Value]) -> Option<(usize, &'v [Value])> {
        Some((self.list?, values.get(FIRST_MOMENT + self.moments.len()..)?))
    }
}

/// Calls `note` with the number and the type of each parameter of a relation and of its subqueries.
fn visit_parameters(rel: &Rel, note: &mut dyn FnMut(usize, SqlType)) {
    rel.visit(&mut |rel| {
        for expr in rel.exprs() {
            expr.visit(&mut |e| {
                if let Expr::Parameter { index, ty, .. } = e {
                    note(*index, *ty);
                }
            });
        }
    });
}
