//! What the tests share: a builder of small relations, an interpreter of both algebras, statistics to inject.

pub mod builder;
pub mod interpreter;
pub mod statistics;
