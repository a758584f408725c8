//! The New-Order transaction (clause 2.4).

use super::{Ended, InputSource, changed_one, int};
use crate::{
    target::{Result, TargetError, TargetSession, cents, integer, text},
    tpcc::{Acknowledged, Scale, Statements, rows::money},
};
use muster_engine::types::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOrderInput {
    pub warehouse: u32,
    pub district: u32,
    pub customer: u32,
    pub lines: Vec<LineInput>,
    scale: Scale,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineInput {
    pub item: u32,
    pub supply_warehouse: u32,
    pub quantity: u32,
}

impl NewOrderInput {
    /// Clause 2.4.1: 5 to 15 lines; one line in a hundred is supplied by another warehouse; one order in a hundred has
    /// an unused item number in its last line.
    pub fn draw(source: &mut InputSource) -> NewOrderInput {
        let warehouse = source.warehouse();
        let (district, customer) = (source.district(), source.customer_id());
        let count = source.random.number(5, 15);
        let rolls_back = source.random.percent(1);
        let mut line = |number| {
            let unused = rolls_back && number == count;
            let item = if unused { source.scale.items + 1 } else { source.item() };
            let is_remote = source.random.percent(1);
            let supply_warehouse = if is_remote { source.other_warehouse(warehouse) } else { warehouse };
            LineInput { item, supply_warehouse, quantity: source.random.number(1, 10) }
        };
        let lines = (1..=count).map(&mut line).collect();
        NewOrderInput { warehouse, district, customer, lines, scale: source.scale }
    }

    /// Returns true if an item number is unused.
    pub fn is_rolled_back(&self) -> bool {
        self.lines.iter().any(|line| line.item > self.scale.items)
    }

    pub(super) async fn run<T: TargetSession>(&self, target: &mut T, statements: &Statements) -> Result<Ended> {
        let (w, d) = (int(self.warehouse), int(self.district));
        let customer = [w.clone(), d.clone(), int(self.customer)];
        target.execute(statements.customer_and_warehouse, &customer).await?.row()?;
        let order = target.execute(statements.next_order, &[w.clone(), d.clone()]).await?.number()?;
        let next = target.execute(statements.set_next_order, &[Value::Int(order + 1), w.clone(), d.clone()]).await?;
        changed_one(&next, "d_next_o_id")?;
        let key = [Value::Int(order), d.clone(), w.clone()];
        let all_local = self.lines.iter().all(|line| line.supply_warehouse == self.warehouse);
        let rest = [int(self.customer), int(self.lines.len() as u32), int(all_local.into())];
        target.execute(statements.insert_order, &[&key[..], &rest].concat()).await?;
        target.execute(statements.insert_new_order, &key).await?;
        for (number, line) in (1..).zip(&self.lines) {
            if !self.order_line(target, statements, &key, number, line).await? {
                return Ok(Ended::RolledBack);
            }
        }
        let order = u32::try_from(order).map_err(|_| TargetError::Answer(format!("{order} is no order")))?;
        Ok(Ended::Ordered(Acknowledged { warehouse: self.warehouse, district: self.district, order }))
    }

    /// Takes the goods of a line from the stock. Returns false for an unused item number.
    async fn order_line<T: TargetSession>(
        &self,
        target: &mut T,
        statements: &Statements,
        order: &[Value; 3],
        number: u32,
        line: &LineInput,
    ) -> Result<bool> {
        let item = target.execute(statements.item, &[int(line.item)]).await?;
        let Some(item) = item.rows.first() else { return Ok(false) };
        let price = cents(&item[0])?;
        let place = [int(line.item), int(line.supply_warehouse)];
        let stock = target.execute(statements.stock[self.district as usize - 1], &place).await?;
        let stock = stock.row()?;
        let (quantity, district_info) = (integer(&stock[0])?, text(&stock[2])?);
        // Clause 2.4.2.2: the stock is filled up by 91 when fewer than 10 would remain.
        let rest = quantity - i64::from(line.quantity);
        let left = if rest >= 10 { rest } else { rest + 91 };
        let remote = u32::from(line.supply_warehouse != self.warehouse);
        let [item, supply] = place;
        let change = [Value::Int(left), int(line.quantity), int(remote), item.clone(), supply.clone()];
        changed_one(&target.execute(statements.update_stock, &change).await?, "s_quantity")?;
        let rest = [
            int(number),
            item,
            supply,
            int(line.quantity),
            money(price * i64::from(line.quantity)),
            Value::Text(district_info),
        ];
        target.execute(statements.insert_line, &[&order[..], &rest].concat()).await?;
        Ok(true)
    }
}
