//! How many rows there are.

/// Districts of a warehouse.
pub const DISTRICTS: u32 = 10;

/// The cardinalities of the initial population, and the seed of its random values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    pub warehouses: u32,
    /// Items, which are as many as each warehouse has rows of stock.
    pub items: u32,
    /// Customers of a district, which are as many as its initial orders.
    pub customers: u32,
    pub seed: u64,
}

/// `w_id` is a SMALLINT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the number of warehouses must be from 1 to 32767, not {0}")]
pub struct NoSuchScale(pub u32);

impl Scale {
    /// The cardinalities of clause 1.2.1.
    pub fn standard(warehouses: u32, seed: u64) -> Result<Scale, NoSuchScale> {
        match i16::try_from(warehouses) {
            Ok(1..) => Ok(Scale { warehouses, items: 100_000, customers: 3_000, seed }),
            _ => Err(NoSuchScale(warehouses)),
        }
    }

    /// Initial orders of a district that have been delivered: those with the lowest numbers, 2100 of 3000.
    pub fn delivered(self) -> u32 {
        self.customers * 7 / 10
    }

    /// Last names that customers have: those of the numbers below this one.
    pub fn last_names(self) -> u32 {
        self.customers.min(1000)
    }
}
