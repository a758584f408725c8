//! The Stock-Level transaction (clause 2.8).

use super::{InputSource, int};
use crate::{
    target::{Result, TargetSession},
    tpcc::Statements,
};
use muster_engine::types::Value;

/// Orders whose items are looked at: the last ones of the district.
const LAST_ORDERS: i64 = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockLevelInput {
    pub warehouse: u32,
    pub district: u32,
    pub threshold: u32,
}

impl StockLevelInput {
    pub fn draw(source: &mut InputSource) -> StockLevelInput {
        let (warehouse, district) = (source.warehouse(), source.district());
        StockLevelInput { warehouse, district, threshold: source.random.number(10, 20) }
    }

    /// Returns how many items are scarce.
    pub(super) async fn run<T: TargetSession>(&self, target: &mut T, statements: &Statements) -> Result<i64> {
        let (w, d) = (int(self.warehouse), int(self.district));
        let next = target.execute(statements.next_order_seen, &[w.clone(), d.clone()]).await?.number()?;
        let orders = [Value::Int(next), Value::Int(next - LAST_ORDERS)];
        let values = [&[w.clone(), d], &orders[..], &[w, int(self.threshold)]].concat();
        target.execute(statements.low_stock, &values).await?.number()
    }
}
