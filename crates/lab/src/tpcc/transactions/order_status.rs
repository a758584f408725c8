//! The Order-Status transaction (clause 2.6).

use super::{CustomerChoice, InputSource, customer_of, int, middle_row};
use crate::{
    target::{Result, TargetSession},
    tpcc::Statements,
};
use muster_engine::types::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderStatusInput {
    pub warehouse: u32,
    pub district: u32,
    pub customer: CustomerChoice,
}

impl OrderStatusInput {
    pub fn draw(source: &mut InputSource) -> OrderStatusInput {
        let (warehouse, district) = (source.warehouse(), source.district());
        OrderStatusInput { warehouse, district, customer: source.customer() }
    }

    pub(super) async fn run<T: TargetSession>(&self, target: &mut T, statements: &Statements) -> Result<()> {
        let (w, d) = (int(self.warehouse), int(self.district));
        let customer = match &self.customer {
            CustomerChoice::Id(id) => {
                target.execute(statements.status_of_customer, &[w.clone(), d.clone(), int(*id)]).await?.row()?;
                *id
            }
            CustomerChoice::LastName(name) => {
                let key = [w.clone(), d.clone(), Value::Text(name.clone())];
                customer_of(middle_row(&target.execute(statements.status_of_name, &key).await?)?)?
            }
        };
        let order = target.execute(statements.last_order, &[w.clone(), d.clone(), int(customer)]).await?.number()?;
        target.execute(statements.lines, &[w, d, Value::Int(order)]).await?.row()?;
        Ok(())
    }
}
