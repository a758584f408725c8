//! Row counts for a scale factor.

/// The row counts of a scale factor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    pub parts: u64,
    pub suppliers: u64,
    pub customers: u64,
    /// Rows of the date table that are made.
    pub dates: u64,
    /// Date rows that the original counts: they push the order streams on, and below scale 1 the table is cut there.
    pub counted_dates: u64,
    pub orders: u64,
    /// Part keys that orders draw from. Grows with the natural logarithm, while `parts` grows with that of base 2.
    pub ordered_parts: u64,
}

/// Days from 1992-01-01 to 1998-12-30.
const ALL_DATES: u64 = 2556;

impl Scale {
    /// From 1 on the factor is cut to an integer. `None` unless 0 < factor <= 1000. The date table is complete at
    /// every scale; `cut_dates` cuts it below scale 1 as the original does.
    pub fn new(factor: f64, cut_dates: bool) -> Option<Scale> {
        if !(factor > 0.0 && factor <= 1000.0) {
            return None;
        }
        let scale = if factor < 1.0 { 1 } else { factor as u64 };
        let base = |rows: u64| if factor < 1.0 { ((rows as f64 * factor) as u64).max(1) } else { rows };
        let counted_dates = base(ALL_DATES);
        let log2 = 63 - scale.leading_zeros() as u64;
        Some(Scale {
            parts: base(200_000) * (1 + log2),
            suppliers: base(2_000) * scale,
            customers: base(30_000) * scale,
            dates: if cut_dates { counted_dates } else { ALL_DATES },
            counted_dates,
            orders: base(1_500_000) * scale,
            ordered_parts: base(200_000) * (1 + (scale as f64).ln() as u64),
        })
    }
}
