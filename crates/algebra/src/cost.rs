//! The cost of a plan in parts, and its arithmetic. The constants that costs are made of are the optimizer's.

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

/// The milliseconds that a plan, or a part of one, takes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Cost {
    /// Milliseconds of work on what is in memory.
    pub cpu_ms: f64,
    /// Milliseconds of waiting for pages from the device.
    pub io_ms: f64,
    /// Milliseconds of both before the first row comes.
    pub startup_ms: f64,
    /// Milliseconds of all if estimates that the plan relies on are wrong by as much as is guarded against.
    pub worst_ms: f64,
}

impl Cost {
    pub const ZERO: Cost = Cost { cpu_ms: 0.0, io_ms: 0.0, startup_ms: 0.0, worst_ms: 0.0 };

    /// The cost of work on what is in memory.
    pub fn cpu(ms: f64) -> Cost {
        Cost { cpu_ms: ms, worst_ms: ms, ..Cost::ZERO }
    }

    /// The cost of waiting for the device.
    pub fn io(ms: f64) -> Cost {
        Cost { io_ms: ms, worst_ms: ms, ..Cost::ZERO }
    }

    /// The milliseconds until all rows have come.
    pub fn total_ms(self) -> f64 {
        self.cpu_ms + self.io_ms
    }

    /// This cost for an operator that delivers nothing before it is through with its work.
    pub fn before_first_row(self) -> Cost {
        Cost { startup_ms: self.total_ms(), ..self }
    }

    /// The cost of the first rows alone, of which all rows are so many times as many. `share`: between 0 and 1.
    pub fn of_first(self, share: f64) -> Cost {
        let total_ms = self.total_ms();
        if total_ms <= 0.0 {
            return self;
        }
        let part_of = |ms: f64| self.startup_ms + (ms - self.startup_ms) * share.clamp(0.0, 1.0);
        Cost { startup_ms: self.startup_ms, worst_ms: part_of(self.worst_ms), ..self * (part_of(total_ms) / total_ms) }
    }

    /// This cost, and at worst another one.
    pub fn at_worst(self, worst: Cost) -> Cost {
        Cost { worst_ms: worst.worst_ms.max(self.worst_ms), ..self }
    }

    /// The cost of so many runs, one after the other.
    pub fn repeated(self, runs: f64) -> Cost {
        Cost { startup_ms: self.startup_ms, ..self * runs }
    }

    /// The cost of these rows, and then of others.
    pub fn then(self, next: Cost) -> Cost {
        Cost { startup_ms: self.startup_ms, ..self + next }
    }

    /// The milliseconds by which plans for the same rows are compared: a plan that may be a bad surprise has to win by
    /// as much as it may be dearer.
    pub fn compared_ms(self) -> f64 {
        self.worst_ms
    }

    /// Returns true if no part is negative, infinite or not a number, and the first row comes
    /// before the last one, and that at worst no sooner.
    pub fn is_valid(self) -> bool {
        let parts = [self.cpu_ms, self.io_ms, self.startup_ms, self.worst_ms];
        let is_ordered = |less: f64, more: f64| less <= more * (1.0 + 1e-9);
        parts.iter().all(|ms| ms.is_finite() && *ms >= 0.0)
            && is_ordered(self.startup_ms, self.total_ms())
            && is_ordered(self.total_ms(), self.worst_ms)
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            cpu_ms: self.cpu_ms + other.cpu_ms,
            io_ms: self.io_ms + other.io_ms,
            startup_ms: self.startup_ms + other.startup_ms,
            worst_ms: self.worst_ms + other.worst_ms,
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        *self = *self + other;
    }
}

impl Mul<f64> for Cost {
    type Output = Cost;

    /// The cost of work that takes so many times as long.
    fn mul(self, times: f64) -> Cost {
        Cost {
            cpu_ms: self.cpu_ms * times,
            io_ms: self.io_ms * times,
            startup_ms: self.startup_ms * times,
            worst_ms: self.worst_ms * times,
        }
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_before_the_first_row_is_paid_for_any_number_of_rows() {
        let scan = Cost::cpu(6.0) + Cost::io(2.0);
        assert_eq!(scan.of_first(0.25), Cost::cpu(1.5) + Cost::io(0.5));
        let sorted = (scan + Cost::cpu(2.0)).before_first_row();
        assert_eq!((sorted.startup_ms, sorted.total_ms()), (10.0, 10.0));
        assert_eq!(sorted.of_first(0.1), sorted);
        let joined = sorted + scan;
        assert_eq!(joined.of_first(0.5).total_ms(), 14.0);
        assert!(joined.of_first(0.5).is_valid());
        assert_eq!(Cost::ZERO.of_first(0.5), Cost::ZERO);
    }

    #[test]
    fn runs_and_inputs_that_come_later_do_not_delay_the_first_row() {
        let sorted = Cost::cpu(4.0).before_first_row();
        assert_eq!(sorted.repeated(3.0), Cost { startup_ms: 4.0, ..Cost::cpu(12.0) });
        assert_eq!(Cost::cpu(1.0).then(sorted), Cost::cpu(5.0));
    }

    #[test]
    fn plans_are_compared_by_the_worst() {
        let scan = Cost::cpu(8.0);
        let stopped = scan.of_first(0.125).at_worst(scan.of_first(0.5));
        assert_eq!((stopped.total_ms(), stopped.compared_ms()), (1.0, 4.0));
        let all = stopped + Cost::io(1.0);
        assert_eq!((all.total_ms(), all.compared_ms()), (2.0, 5.0));
        assert_eq!(stopped.of_first(0.5).compared_ms(), 2.0);
        assert_eq!((stopped * 2.0).compared_ms(), 8.0);
        assert_eq!(scan.compared_ms(), scan.total_ms());
    }

    #[test]
    fn a_cost_that_cannot_be_is_told() {
        assert!(Cost::cpu(1.0).is_valid() && Cost::ZERO.is_valid());
        for ms in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(!Cost::cpu(ms).is_valid() && !Cost::io(ms).is_valid());
        }
        assert!(!Cost { startup_ms: 2.0, ..Cost::cpu(1.0) }.is_valid());
        assert!(!Cost { worst_ms: 0.5, ..Cost::cpu(1.0) }.is_valid());
    }
}
