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
}

impl Cost {
    pub const ZERO: Cost = Cost { cpu_ms: 0.0, io_ms: 0.0 };

    /// The cost of work on what is in memory.
    pub fn cpu(ms: f64) -> Cost {
        Cost { cpu_ms: ms, ..Cost::ZERO }
    }

    /// The cost of waiting for the device.
    pub fn io(ms: f64) -> Cost {
        Cost { io_ms: ms, ..Cost::ZERO }
    }

    /// The milliseconds until all rows have come.
    pub fn total_ms(self) -> f64 {
        self.cpu_ms + self.io_ms
    }

    /// The milliseconds by which plans for the same rows are compared.
    pub fn compared_ms(self) -> f64 {
        self.total_ms()
    }

    /// Returns true if no part is negative, infinite or not a number.
    pub fn is_valid(self) -> bool {
        [self.cpu_ms, self.io_ms].iter().all(|ms| ms.is_finite() && *ms >= 0.0)
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost { cpu_ms: self.cpu_ms + other.cpu_ms, io_ms: self.io_ms + other.io_ms }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        *self = *self + other;
    }
}

impl Mul<f64> for Cost {
    type Output = Cost;

    /// The cost of so many times the same.
    fn mul(self, times: f64) -> Cost {
        Cost { cpu_ms: self.cpu_ms * times, io_ms: self.io_ms * times }
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::ZERO, Add::add)
    }
}
