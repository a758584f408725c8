//! Orders that were acknowledged and are not there: what a crash has taken.

use super::Acknowledged;
use crate::target::{Result, TargetSession, integer};
use std::collections::BTreeSet;

/// Counts the orders that the current database of the target lacks. Error: that of the query.
pub async fn missing_orders<T: TargetSession>(target: &mut T, acknowledged: &[Acknowledged]) -> Result<u64> {
    let rows = target.query("SELECT o_w_id, o_d_id, o_id FROM orders").await?.rows;
    let mut present = BTreeSet::new();
    for row in rows {
        let key: Vec<i64> = row.iter().map(integer).collect::<Result<_>>()?;
        present.insert(key);
    }
    let key = |order: &Acknowledged| [order.warehouse, order.district, order.order].map(i64::from).to_vec();
    Ok(acknowledged.iter().filter(|order| !present.contains(&key(order))).count() as u64)
}
