//! Operators of ours.

pub mod apply;
pub mod assume_order;
pub mod lookup_join;
pub mod scan;
pub mod scan_filter;
pub mod values;
