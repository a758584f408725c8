//! How much memory there is for pages, and what is in it when a query begins.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Regime {
    /// All pages fit and are there.
    Memory,
    /// All pages fit and none is there.
    FitsCold,
    /// A tenth of the pages fits and none is there.
    TenthCold,
    /// A tenth of the pages fits; the plan has just run.
    TenthWarm,
}

/// Bytes of a pool at least.
const POOL_MIN: u64 = 4 << 20;

impl Regime {
    pub const ALL: [Regime; 4] = [Regime::Memory, Regime::FitsCold, Regime::TenthCold, Regime::TenthWarm];

    pub fn name(self) -> &'static str {
        match self {
            Regime::Memory => "memory",
            Regime::FitsCold => "fits-cold",
            Regime::TenthCold => "tenth-cold",
            Regime::TenthWarm => "tenth-warm",
        }
    }

    pub fn from_name(name: &str) -> Option<Regime> {
        Regime::ALL.into_iter().find(|r| r.name() == name)
    }

    pub fn is_cold(self) -> bool {
        matches!(self, Regime::FitsCold | Regime::TenthCold)
    }

    /// Bytes of the pool for data of so many bytes.
    pub fn pool_bytes(self, data: u64) -> usize {
        let bytes = match self {
            Regime::Memory | Regime::FitsCold => data / 2 * 3 + (64 << 20),
            Regime::TenthCold | Regime::TenthWarm => (data / 10).max(POOL_MIN),
        };
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sizes() {
        assert!(Regime::ALL.iter().all(|r| Regime::from_name(r.name()) == Some(*r)));
        assert_eq!(Regime::from_name("hot"), None);
        assert!(Regime::FitsCold.pool_bytes(1 << 30) > 1 << 30);
        assert_eq!(Regime::TenthWarm.pool_bytes(1000 << 20), 100 << 20);
        assert_eq!(Regime::TenthCold.pool_bytes(1 << 20), 4 << 20);
    }
}
