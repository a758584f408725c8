//! The generator's random numbers: Lehmer's multiplicative generator with 16807 modulo 2^31 - 1
//! (Park and Miller, CACM 1988), one stream for each random column.

const MODULUS: u64 = 2_147_483_647;
const MULTIPLIER: u64 = 16_807;

/// One stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream {
    state: u64,
}

impl Stream {
    pub fn new(seed: u64) -> Stream {
        Stream { state: seed }
    }

    /// The stream after `draws` draws.
    pub fn at(seed: u64, draws: u64) -> Stream {
        let mut stream = Stream::new(seed);
        stream.skip(draws);
        stream
    }

    /// Moves on by `draws` without using them, by square and multiply.
    pub fn skip(&mut self, draws: u64) {
        let (mut power, mut factor, mut rest) = (1, MULTIPLIER, draws);
        while rest > 0 {
            if rest & 1 == 1 {
                power = power * factor % MODULUS;
            }
            factor = factor * factor % MODULUS;
            rest >>= 1;
        }
        self.state = self.state * power % MODULUS;
    }

    /// A number from `low` to `high`, both included; one draw. The order of the floating-point steps is the
    /// generator's: integer arithmetic would give other values for large ranges.
    pub fn uniform(&mut self, low: i64, high: i64) -> i64 {
        self.state = self.state * MULTIPLIER % MODULUS;
        let range = (high - low + 1) as f64;
        low + (self.state as f64 / MODULUS as f64 * range) as i64
    }

    /// One of a list, all equally likely; one draw.
    pub fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.uniform(1, list.len() as i64) as usize - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_states() {
        assert_eq!(Stream::at(1, 10_000).state, 1_043_618_065);
        let states: Vec<u64> = (1..=3).map(|n| Stream::at(46_831_694, n).state).collect();
        assert_eq!(states, [1_121_266_256, 952_962_167, 502_101_443]);
    }

    #[test]
    fn skipping_is_drawing() {
        let mut drawn = Stream::new(7);
        for n in 0..100 {
            assert_eq!(Stream::at(7, n).state, drawn.state);
            drawn.uniform(0, 1);
        }
    }
}
