//! RAND: MySQL's generator (`randominit`, `my_rnd`), so that a seed gives MySQL's numbers.

use crate::{
    Call,
    call::{CallState, signed_bits},
};
use muster_types::{Result, Value};
use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
};

const MAX: u64 = 0x3FFF_FFFF;

/// Two numbers that are added to each other again and again.
struct Generator {
    first: u64,
    second: u64,
}

impl Generator {
    fn new(first: u64, second: u64) -> Generator {
        Generator { first: first % MAX, second: second % MAX }
    }

    /// The generator of a seed, of which the lower 32 bits count.
    fn of_seed(seed: i64) -> Generator {
        let seed = seed as u32;
        let first = seed.wrapping_mul(0x10001).wrapping_add(55_555_555);
        Generator::new(first.into(), seed.wrapping_mul(0x1000_0001).into())
    }

    /// A generator that nobody can foresee.
    fn unforeseeable() -> Generator {
        let random = |n| {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u8(n);
            hasher.finish()
        };
        Generator::new(random(1), random(2))
    }

    fn next(&mut self) -> f64 {
        self.first = (self.first * 3 + self.second) % MAX;
        self.second = (self.first + self.second + 33) % MAX;
        self.first as f64 / MAX as f64
    }
}

/// `RAND()`, `RAND(seed)`. A constant seed is that of the first row; any other is that of each row.
pub fn rand(call: &mut Call, args: &[Value]) -> Result<Value> {
    let seed = (!args.is_empty()).then(|| signed_bits(args, 0));
    let is_constant = call.session.first() == Some(&Value::Bool(true));
    Ok(Value::Double(match seed {
        Some(seed) if !is_constant => Generator::of_seed(seed).next(),
        Some(seed) => next(call.state, || Generator::of_seed(seed)),
        None => next(call.state, Generator::unforeseeable),
    }))
}

/// The next number of the generator in the state, which `begin` makes for the first row.
fn next(state: &mut CallState, begin: impl FnOnce() -> Generator) -> f64 {
    if state.as_ref().is_none_or(|generator| !generator.is::<Generator>()) {
        *state = Some(Box::new(begin()));
    }
    let generator = state.as_mut().and_then(|generator| generator.downcast_mut::<Generator>());
    generator.map_or(0.0, Generator::next)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MySQL 8.0.33 answers.
    #[test]
    fn seeds_give_mysqls_numbers() {
        for (seed, want) in [
            (3, [0.9057697559760601, 0.37307905813034536, 0.14808605345719125]),
            (0, [0.15522042769493574, 0.620881741513388, 0.6387474552157777]),
        ] {
            let mut generator = Generator::of_seed(seed);
            assert_eq!([(); 3].map(|()| generator.next()), want, "{seed}");
        }
    }
}
