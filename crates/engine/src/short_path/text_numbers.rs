//! Texts that are numbers: `WHERE id = '5'`, and what a client sends as text for a `?` next to a number. Where the text
//! is a number as it would be written without quotes, the statement means the same with the number, which has plans.

use super::parameters::{VALUES_MAX, number};
use muster_sql::BesideNumber;
use muster_types::Value;

/// Texts of a statement that are read as numbers, a bit for each value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextNumbers(u128);

const _: () = assert!(VALUES_MAX <= u128::BITS as usize);

/// What a statement is in which texts stand next to numbers.
#[derive(Debug, Clone, Copy)]
pub struct TextsOf {
    /// The texts are values of `?`: next to an exact number they are exact numbers, too (manual 13.5.1). A text that is
    /// written into a statement is a DOUBLE in arithmetic and next to decimals.
    pub is_prepared: bool,
    /// In the result of a query such a number has 30 digits behind the point.
    pub is_query: bool,
}

impl TextNumbers {
    /// Those of the values that stand next to numbers so that they mean the number.
    pub fn of(values: &[Value], beside: &[(usize, BesideNumber)], texts: TextsOf) -> TextNumbers {
        let is_read = |(index, beside): &(usize, BesideNumber)| {
            let number = values.get(*index).and_then(|value| plain_number(value, texts.is_prepared));
            match (beside, number) {
                (_, None) => false,
                (BesideNumber::Column, Some(number)) => texts.is_prepared || matches!(number, Value::Int(_)),
                (BesideNumber::Number, Some(_)) => texts.is_prepared,
                (BesideNumber::Operand, Some(number)) => {
                    texts.is_prepared && (!texts.is_query || matches!(number, Value::Int(_)))
                }
            }
        };
        TextNumbers(beside.iter().filter(|beside| is_read(beside)).fold(0, |bits, (index, _)| bits | 1 << *index))
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Reads these values as numbers. They are of the class that the statement was learnt with.
    pub fn read(self, values: &mut [Value]) {
        let read = values.iter_mut().enumerate().filter(|(index, _)| self.0 >> index & 1 == 1);
        for (_, value) in read {
            if let Some(number) = plain_number(value, true) {
                *value = number;
            }
        }
    }
}

/// The number that a text is, written as the number itself is. `decimals`: also numbers with a point.
pub fn plain_number(value: &Value, decimals: bool) -> Option<Value> {
    let Value::Text(text) = value else { return None };
    let number = number(text)?;
    match &number {
        Value::Int(int) => (int.to_string() == *text).then_some(number),
        _ => (decimals && !text.starts_with(['+', '.']) && !text.starts_with("-.")).then_some(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::Decimal;

    #[test]
    fn a_text_is_a_number_only_as_it_would_be_written() {
        let number = |text: &str, decimals| plain_number(&Value::Text(text.into()), decimals);
        assert_eq!(number("5", false), Some(Value::Int(5)));
        assert_eq!(number("-17", false), Some(Value::Int(-17)));
        assert_eq!(number("1.50", true), Some(Value::Decimal(Decimal::new(150, 2))));
        assert_eq!(number("-0.5", true), Some(Value::Decimal(Decimal::new(-5, 1))));
        assert_eq!(number("1.5", false), None);
        let others =
            ["", " 5", "5 ", "+5", "007", "-0", "5x", "5.", ".5", "-.5", "+1.5", "1e3", "0x10", "5.5.5", "5.-5"];
        for text in others.into_iter().chain(["1234567890123456789", "2001-01-01"]) {
            assert_eq!(number(text, true), None, "{text}");
        }
        assert_eq!(plain_number(&Value::Int(5), true), None);
    }

    #[test]
    fn what_a_text_means_depends_on_where_it_came_from() {
        let values = ["5", "1.5", "x"].map(|text| Value::Text(text.into()));
        let read = |beside, is_prepared, is_query| {
            let beside = [0, 1, 2].map(|index| (index, beside));
            let mut read = values.to_vec();
            TextNumbers::of(&values, &beside, TextsOf { is_prepared, is_query }).read(&mut read);
            (0..3).filter(|i| read[*i] != values[*i]).collect::<Vec<_>>()
        };
        use BesideNumber::{Column, Number, Operand};
        assert_eq!(read(Column, false, true), [0]);
        assert!(read(Number, false, true).is_empty());
        assert!(read(Operand, false, false).is_empty());
        assert_eq!(read(Column, true, true), [0, 1]);
        assert_eq!(read(Number, true, true), [0, 1]);
        assert_eq!(read(Operand, true, false), [0, 1]);
        assert_eq!(read(Operand, true, true), [0]);
    }
}
