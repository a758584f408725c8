//! What the tests share: a builder of small relations, an interpreter of both algebras, statistics to
//! inject, random numbers.

pub mod builder;
pub mod interpreter;
pub mod random;
mod scan;
pub mod statistics;
