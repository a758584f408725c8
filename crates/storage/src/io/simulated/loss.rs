//! Losses of a power cut: a few ways to lose what was not synced, drawn from a seed.
//!
//! A draw depends only on the seed and on the place that it is for, so a place keeps its fate when others come or go.

/// How much of the changes since the last sync is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// None of them.
    Nothing,
    /// All of them.
    Everything,
    /// Those up to an operation, which is cut in the middle.
    Prefix { last: u64 },
    /// Each operation whole or not at all, in any order.
    Operations,
    /// Each sector any version of its own; each name and length for itself too.
    Places,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Loss {
    seed: u64,
    way: Way,
}

impl Loss {
    /// Everything that was not synced is gone.
    pub const ALL: Loss = Loss { seed: 0, way: Way::Nothing };

    /// Nothing is gone.
    pub const NONE: Loss = Loss { seed: 0, way: Way::Everything };

    /// Draws a way to lose changes. `stream` tells apart the draws of one seed; `operations` were made until now, and
    /// those that may be lost are rather among the last.
    pub fn draw(seed: u64, stream: u64, operations: u64) -> Loss {
        let seed = mix(seed, &[stream]);
        let way = match mix(seed, &[1]) % 8 {
            0 => Way::Nothing,
            1 => Way::Everything,
            2 | 3 => {
                let back = mix(seed, &[2]) % (1 << (mix(seed, &[3]) % 8 + 1));
                Way::Prefix { last: operations.saturating_sub(back) }
            }
            4 | 5 => Way::Operations,
            _ => Way::Places,
        };
        Loss { seed, way }
    }

    /// The position of the candidate that is left at a place; `None` if the durable state is. Candidates are given
    /// oldest first: the operation that made each, and whether a failed sync has given it up.
    pub fn choose(&self, place: &[u64], candidates: impl Iterator<Item = (u64, bool)>) -> Option<usize> {
        let at_place = mix(self.seed, place);
        if self.way == Way::Places {
            let count = candidates.count() as u64;
            return (at_place % (count + 1)).checked_sub(1).map(|kept| kept as usize);
        }
        let kept = candidates.enumerate().filter(|&(_, (operation, abandoned))| {
            let in_time = match self.way {
                Way::Nothing => false,
                Way::Everything | Way::Places => true,
                Way::Prefix { last } => operation < last || operation == last && coin(at_place),
                Way::Operations => coin(mix(self.seed, &[operation])),
            };
            in_time && (!abandoned || coin(mix(at_place, &[operation])))
        });
        kept.last().map(|(position, _)| position)
    }
}

fn coin(drawn: u64) -> bool {
    drawn >> 63 == 1
}

/// Mixes numbers as SplitMix64 does: even neighbouring ones give results that have nothing to do with each other.
pub(super) fn mix(seed: u64, parts: &[u64]) -> u64 {
    parts.iter().fold(seed, |mixed, part| {
        let mixed = (mixed ^ part).wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    })
}
