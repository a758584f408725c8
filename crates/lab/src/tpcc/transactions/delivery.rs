//! The Delivery transaction (clause 2.7): the oldest order of each district, all in one database transaction.

use super::{InputSource, changed_one, customer_of, int};
use crate::{
    target::{Result, TargetError, TargetSession, cents},
    tpcc::{Statements, rows::money, scale::DISTRICTS},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryInput {
    pub warehouse: u32,
    pub carrier: u32,
}

impl DeliveryInput {
    pub fn draw(source: &mut InputSource) -> DeliveryInput {
        DeliveryInput { warehouse: source.warehouse(), carrier: source.random.number(1, 10) }
    }

    /// Returns how many orders were delivered: districts without new orders are skipped (clause 2.7.4.2).
    pub(super) async fn run<T: TargetSession>(&self, target: &mut T, statements: &Statements) -> Result<u32> {
        let mut delivered = 0;
        for d in 1..=DISTRICTS {
            delivered += u32::from(self.deliver(target, statements, d).await?);
        }
        Ok(delivered)
    }

    async fn deliver<T: TargetSession>(&self, target: &mut T, statements: &Statements, d: u32) -> Result<bool> {
        let (w, d) = (int(self.warehouse), int(d));
        let oldest = target.execute(statements.oldest_new_order, &[d.clone(), w.clone()]).await?;
        let Some(oldest) = oldest.rows.into_iter().next().and_then(|row| row.into_iter().next()) else {
            return Ok(false);
        };
        let order = [oldest, d.clone(), w.clone()];
        changed_one(&target.execute(statements.delete_new_order, &order).await?, "new_orders")?;
        let customer = target.execute(statements.customer_of_order, &order).await?;
        // An order that came after this transaction's snapshot, found by the locking read.
        let customer = customer.rows.first().ok_or(TargetError::StaleSnapshot)?;
        let customer = customer_of(customer)?;
        let carrier = [&[int(self.carrier)], &order[..]].concat();
        changed_one(&target.execute(statements.set_carrier, &carrier).await?, "o_carrier_id")?;
        target.execute(statements.set_delivery, &order).await?;
        let amount = cents(&target.execute(statements.amount_of_order, &order).await?.row()?[0])?;
        let balance = target.execute(statements.deliver_to_customer, &[money(amount), int(customer), d, w]).await?;
        changed_one(&balance, "c_delivery_cnt")?;
        Ok(true)
    }
}
