//! The languages of `lc_time_names` and of FORMAT, as MySQL has them: `locales.txt` has a line for each.

use std::sync::LazyLock;

/// A language: names of months and days, and how numbers are written.
#[derive(Debug)]
pub struct Locale {
    /// MySQL's number of it.
    pub number: i64,
    pub name: &'static str,
    pub decimal_point: &'static str,
    /// Stands between groups of digits; empty for none.
    pub separator: &'static str,
    /// Digits of the last group in front of the point, and of the others; 0 for no groups.
    pub last_group: usize,
    pub other_groups: usize,
    /// Those of January first.
    pub months: Vec<&'static str>,
    pub short_months: Vec<&'static str>,
    /// Those of Monday first.
    pub days: Vec<&'static str>,
    pub short_days: Vec<&'static str>,
}

/// Columns separated by tabs: number, name, decimal point, separator of thousands, digits of a group, months, short
/// months, days, short days; lists are separated by bars.
const LOCALES_TEXT: &str = include_str!("locales.txt");

static LOCALES: LazyLock<Vec<Locale>> = LazyLock::new(|| LOCALES_TEXT.lines().filter_map(locale).collect());

fn locale(line: &'static str) -> Option<Locale> {
    let mut columns = line.split('\t');
    let number = columns.next()?.parse().ok()?;
    let (name, decimal_point, separator, groups) = (columns.next()?, columns.next()?, columns.next()?, columns.next()?);
    let separator = match separator {
        "-" => "",
        "SPACE" => " ",
        "NUL" => "\0",
        other => other,
    };
    let (last_group, other_groups) = match groups {
        "3" => (3, 3),
        "3;2" => (3, 2),
        _ => (0, 0),
    };
    let mut list = || columns.next().map(|names| names.split('|').collect::<Vec<_>>());
    let (months, short_months, days, short_days) = (list()?, list()?, list()?, list()?);
    Some(Locale {
        number,
        name,
        decimal_point,
        separator,
        last_group,
        other_groups,
        months,
        short_months,
        days,
        short_days,
    })
}

impl Locale {
    /// `en_US`, the default.
    pub fn english() -> &'static Locale {
        &LOCALES[0]
    }

    /// The language of this name in any case.
    pub fn by_name(name: &str) -> Option<&'static Locale> {
        LOCALES.iter().find(|locale| locale.name.eq_ignore_ascii_case(name))
    }

    /// The language of this number.
    pub fn by_number(number: i64) -> Option<&'static Locale> {
        LOCALES.iter().find(|locale| locale.number == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_language() {
        assert_eq!(LOCALES.len(), LOCALES_TEXT.lines().count());
        assert_eq!(Locale::english().name, "en_US");
        for locale in LOCALES.iter() {
            assert_eq!((locale.months.len(), locale.short_months.len()), (12, 12), "{}", locale.name);
            assert_eq!((locale.days.len(), locale.short_days.len()), (7, 7), "{}", locale.name);
        }
        assert_eq!(Locale::by_name("DE_de").map(|l| (l.months[2], l.days[6])), Some(("März", "Sonntag")));
        assert_eq!(Locale::by_number(4).map(|l| l.name), Some("de_DE"));
    }
}
