//! The short path gives what the general path gives: random statements over random rows, run both ways; and no plan is
//! used when what it was made for has changed.

#[path = "../fixture/mod.rs"]
mod fixture;
#[path = "../random_data/mod.rs"]
mod random_data;

mod beside_writers;
mod data;
mod joins;
mod kept;
mod limits;
mod plans;
mod random;
mod rights;
mod sessions;
mod templates;
mod values;
mod writes;
