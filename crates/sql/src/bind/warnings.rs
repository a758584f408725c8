//! Warnings of a statement while it is bound, and those that turn out to be none.

use super::binder::Binder;
use muster_types::{ErrorCode, SqlError};
use std::ops::Range;

impl Binder<'_> {
    /// Warns with the words of an error.
    pub fn warn_of(&mut self, warning: SqlError) {
        self.warn(warning.code, warning.message);
    }

    /// Takes back the warnings of conversions that came since there were `count` warnings: of constants that the
    /// statement does not need.
    pub fn forget_conversions(&mut self, count: usize) {
        let kept = self.warnings.split_off(count.min(self.warnings.len()));
        let is_of_conversion = |warning: &SqlError| {
            matches!(
                warning.code,
                ErrorCode::TruncatedWrongValue
                    | ErrorCode::TruncatedWrongValueForField
                    | ErrorCode::OutOfRange
                    | ErrorCode::DeprecatedDelimiter
                    | ErrorCode::SuperfluousDelimiter
            )
        };
        self.warnings.extend(kept.into_iter().filter(|warning| !is_of_conversion(warning)));
    }

    /// Takes back those warnings since there were `again` that the first comparison, whose warnings have the range
    /// `first`, has had: the operand of several comparisons is read once.
    pub fn forget_repeated(&mut self, first: &Range<usize>, again: usize) {
        let later = self.warnings.split_off(again.min(self.warnings.len()));
        let known: Vec<SqlError> = self.warnings.get(first.clone()).unwrap_or_default().to_vec();
        self.warnings.extend(later.into_iter().filter(|warning| !known.contains(warning)));
    }
}
