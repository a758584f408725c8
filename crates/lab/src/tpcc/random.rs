//! Random values by clauses 2.1.6 and 4.3.2.

use rand::{Rng, SeedableRng, rngs::SmallRng, seq::SliceRandom};

/// The constant C of NURand for last names when the data are loaded (clause 2.1.6.1); fixed, so that a run need not
/// know how the data were made.
const LAST_NAME_LOAD: u32 = 157;
const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
const ALPHANUMERIC: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// The constants C of NURand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NuRandConstants {
    pub last_name: u32,
    pub customer: u32,
    pub item: u32,
}

impl NuRandConstants {
    pub const LOAD: NuRandConstants = NuRandConstants { last_name: LAST_NAME_LOAD, customer: 259, item: 7911 };

    /// Constants of a run. The one for last names differs from that of the load by 65 to 119, and not by 96 or 112.
    pub fn of_run(seed: u64) -> NuRandConstants {
        let mut random = TpccRandom::new(seed, u64::MAX);
        let distance = loop {
            let drawn = random.number(65, 119);
            if drawn != 96 && drawn != 112 {
                break drawn;
            }
        };
        NuRandConstants {
            last_name: LAST_NAME_LOAD - distance,
            customer: random.number(0, 1023),
            item: random.number(0, 8191),
        }
    }
}

/// A source of random values.
pub struct TpccRandom {
    random: SmallRng,
}

impl TpccRandom {
    /// Equal seeds and streams give equal values.
    pub fn new(seed: u64, stream: u64) -> TpccRandom {
        TpccRandom { random: SmallRng::seed_from_u64(crate::random::next(seed ^ crate::random::next(stream))) }
    }

    /// A number from `low` to `high`, both included.
    pub fn number(&mut self, low: u32, high: u32) -> u32 {
        self.random.random_range(low..=high)
    }

    /// NURand(A, x, y) with the constant C: a number from `low` to `high`, some more often than others.
    pub fn non_uniform(&mut self, a: u32, c: u32, low: u32, high: u32) -> u32 {
        let mixed = self.number(0, a) | self.number(low, high);
        (mixed + c) % (high - low + 1) + low
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, share: u32) -> bool {
        self.number(1, 100) <= share
    }

    /// An a-string: `min` to `max` letters and digits.
    pub fn letters(&mut self, min: u32, max: u32) -> String {
        let length = self.number(min, max);
        (0..length).map(|_| ALPHANUMERIC[self.random.random_range(0..ALPHANUMERIC.len())] as char).collect()
    }

    /// An n-string of this many digits.
    pub fn digits(&mut self, length: u32) -> String {
        (0..length).map(|_| char::from(b'0' + self.random.random_range(0..10u8))).collect()
    }

    /// Four digits and `11111` (clause 4.3.2.7).
    pub fn zip(&mut self) -> String {
        self.digits(4) + "11111"
    }

    /// 26 to 50 letters; in a tenth of the cases `ORIGINAL` stands at a random place in them (clause 4.3.3.1).
    pub fn data(&mut self) -> String {
        let mut data = self.letters(26, 50);
        if self.percent(10) {
            let at = self.number(0, data.len() as u32 - 8) as usize;
            data.replace_range(at..at + 8, "ORIGINAL");
        }
        data
    }

    /// The numbers from 1 to `n` in random order.
    pub fn permutation(&mut self, n: u32) -> Vec<u32> {
        let mut numbers: Vec<u32> = (1..=n).collect();
        numbers.shuffle(&mut self.random);
        numbers
    }

    pub fn shuffle<T>(&mut self, cards: &mut [T]) {
        cards.shuffle(&mut self.random);
    }
}

/// The last name of a number from 0 to 999: a syllable for each of its three digits (clause 4.3.2.3).
pub fn last_name(number: u32) -> String {
    [number / 100 % 10, number / 10 % 10, number % 10].map(|digit| SYLLABLES[digit as usize]).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_those_of_the_standard() {
        // The example of clause 4.3.2.3.
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!((last_name(0), last_name(999)), ("BARBARBAR".into(), "EINGEINGEING".into()));
    }

    #[test]
    fn constants_of_a_run_keep_their_distance() {
        for seed in 0..1000 {
            let distance = LAST_NAME_LOAD.abs_diff(NuRandConstants::of_run(seed).last_name);
            assert!((65..=119).contains(&distance) && distance != 96 && distance != 112, "{distance}");
        }
    }

    #[test]
    fn non_uniform_numbers_stay_in_range_and_are_not_uniform() {
        let mut random = TpccRandom::new(1, 2);
        let mut counts = vec![0u32; 3001];
        for _ in 0..300_000 {
            counts[random.non_uniform(1023, 259, 1, 3000) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        counts.sort_unstable();
        // Uniform numbers would each come about 100 times, and the most frequent one not 200 times.
        assert!(counts[3000] > 300, "{}", counts[3000]);
    }

    #[test]
    fn strings_have_their_shapes() {
        let mut random = TpccRandom::new(1, 1);
        let all: Vec<String> = (0..10_000).map(|_| random.data()).collect();
        assert!(all.iter().all(|data| (26..=50).contains(&data.len())));
        let originals = all.iter().filter(|data| data.contains("ORIGINAL")).count();
        assert!((850..1150).contains(&originals), "{originals}");
        assert!(random.zip().ends_with("11111") && random.zip().len() == 9);
        let mut numbers = random.permutation(100);
        assert_ne!(numbers, (1..=100).collect::<Vec<_>>());
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
    }
}
