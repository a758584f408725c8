//! What a plan of the short path makes of a statement's values before it runs.

use super::{
    moments::{FIRST_MOMENT, Moment},
    text_numbers::TextNumbers,
};
use muster_sql::MomentValue;
use muster_types::Value;
use std::borrow::Cow;

/// What a plan takes besides the values of the statement's text, or in place of them.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// Values of the moment, which are parameters behind those of the text.
    pub moments: Vec<MomentValue>,
    /// Texts that are read as numbers.
    pub numbers: TextNumbers,
}

impl Inputs {
    /// The parameters of the plan for the values of a text.
    pub fn parameters<'a>(&self, values: &'a [Value], moment: impl FnOnce() -> Moment) -> Cow<'a, [Value]> {
        if self.moments.is_empty() && self.numbers.is_empty() {
            return Cow::Borrowed(values);
        }
        let mut all = values.to_vec();
        self.numbers.read(&mut all);
        if !self.moments.is_empty() {
            all.resize(FIRST_MOMENT, Value::Null);
            let moment = moment();
            all.extend(self.moments.iter().map(|of| moment.value(*of)));
        }
        Cow::Owned(all)
    }
}
