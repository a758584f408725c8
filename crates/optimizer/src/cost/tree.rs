//! Sizes of indexes, and how many of their leaves keys are in.

/// An index as far as its size matters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tree {
    pub entries: f64,
    pub leaf_pages: f64,
    /// Share of the pages that are in memory.
    pub resident_share: f64,
    /// How near to each other the keys are that are looked up together.
    pub spread: Spread,
}

/// Keys between those that lie anywhere in a tree and runs of neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spread {
    /// 0: anywhere; 1: runs of neighbours.
    pub nearness: f64,
    /// Number of the runs.
    pub runs: f64,
}

impl Tree {
    /// The tree for keys that come from so many ranges of an index with this rank correlation with the order of the
    /// tree. The square of it is the share of what decides a row's place in one that decides it in the other.
    pub fn reached_by(self, correlation: Option<f64>, ranges: usize) -> Tree {
        let nearness = correlation.unwrap_or(0.0).powi(2).clamp(0.0, 1.0);
        Tree { spread: Spread { nearness, runs: ranges as f64 }, ..self }
    }

    /// Leaves that so many keys are in.
    pub(super) fn leaves_of(&self, keys: f64) -> f64 {
        let scattered = self.scattered(keys);
        let in_runs = (self.scattered(self.spread.runs) + self.neighbours(keys)).min(scattered);
        scattered + (in_runs - scattered) * self.spread.nearness
    }

    /// Leaves that so many keys are in which lie anywhere (Cardenas 1975).
    fn scattered(&self, keys: f64) -> f64 {
        let pages = self.leaf_pages.max(1.0);
        pages * (1.0 - (-keys / pages).exp())
    }

    /// Leaves that hold `entries` neighbouring entries.
    pub(super) fn neighbours(&self, entries: f64) -> f64 {
        self.leaf_pages * (entries / self.entries.max(1.0)).min(1.0)
    }
}
