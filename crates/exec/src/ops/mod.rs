//! Operators of ours.

pub mod apply;
pub mod assume_order;
pub mod scan;
pub mod values;
