//! The Payment transaction (clause 2.5).

use super::{CustomerChoice, InputSource, changed_one, customer_of, int, middle_row};
use crate::{
    target::{Result, TargetSession, text},
    tpcc::{Statements, rows::money},
};
use muster_engine::types::Value;

/// Characters of `c_data`.
const DATA_LENGTH: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentInput {
    pub warehouse: u32,
    pub district: u32,
    pub customer_warehouse: u32,
    pub customer_district: u32,
    pub customer: CustomerChoice,
    pub cents: u32,
}

impl PaymentInput {
    /// Clause 2.5.1: 15 of 100 customers belong to another warehouse.
    pub fn draw(source: &mut InputSource) -> PaymentInput {
        let (warehouse, district) = (source.warehouse(), source.district());
        let (customer_warehouse, customer_district) = match source.random.percent(85) {
            true => (warehouse, district),
            false => (source.other_warehouse(warehouse), source.district()),
        };
        let customer = source.customer();
        let cents = source.random.number(100, 500_000);
        PaymentInput { warehouse, district, customer_warehouse, customer_district, customer, cents }
    }

    pub(super) async fn run<T: TargetSession>(&self, target: &mut T, statements: &Statements) -> Result<()> {
        let amount = money(self.cents.into());
        let (w, d) = (int(self.warehouse), int(self.district));
        changed_one(&target.execute(statements.pay_warehouse, &[amount.clone(), w.clone()]).await?, "w_ytd")?;
        let warehouse = target.execute(statements.warehouse, std::slice::from_ref(&w)).await?;
        let paid = target.execute(statements.pay_district, &[amount.clone(), w.clone(), d.clone()]).await?;
        changed_one(&paid, "d_ytd")?;
        let district = target.execute(statements.district, &[w.clone(), d.clone()]).await?;
        let data = format!("{}    {}", text(&warehouse.row()?[5])?, text(&district.row()?[5])?);
        let customer = self.customer(target, statements).await?;
        self.pay_customer(target, statements, &amount, customer).await?;
        let key = [int(customer), int(self.customer_district), int(self.customer_warehouse)];
        let rest = [d, w, amount, Value::Text(data)];
        target.execute(statements.insert_history, &[&key[..], &rest].concat()).await?;
        Ok(())
    }

    /// The customer's number.
    async fn customer<T: TargetSession>(&self, target: &mut T, statements: &Statements) -> Result<u32> {
        match &self.customer {
            CustomerChoice::Id(id) => Ok(*id),
            CustomerChoice::LastName(name) => {
                let key = [int(self.customer_warehouse), int(self.customer_district), Value::Text(name.clone())];
                customer_of(middle_row(&target.execute(statements.customers_of_name, &key).await?)?)
            }
        }
    }

    async fn pay_customer<T: TargetSession>(
        &self,
        target: &mut T,
        statements: &Statements,
        amount: &Value,
        customer: u32,
    ) -> Result<()> {
        let key = [int(self.customer_warehouse), int(self.customer_district), int(customer)];
        let found = target.execute(statements.customer_to_pay, &key).await?;
        let is_bad = text(&found.row()?[9])? == "BC";
        let amounts = [amount.clone(), amount.clone()];
        let paid = if is_bad {
            let data = text(&target.execute(statements.customer_data, &key).await?.row()?[0])?;
            let data = Value::Text(self.data(customer, &data));
            let values = [&amounts[..], &[data], &key].concat();
            target.execute(statements.pay_customer_with_data, &values).await?
        } else {
            target.execute(statements.pay_customer, &[&amounts[..], &key].concat()).await?
        };
        changed_one(&paid, "c_balance")
    }

    /// The payment in front of what the customer's data were, cut to their length.
    fn data(&self, customer: u32, before: &str) -> String {
        let PaymentInput { warehouse, district, customer_warehouse, customer_district, cents, .. } = self;
        let (whole, hundredths) = (cents / 100, cents % 100);
        let payment = format!(
            "{customer} {customer_district} {customer_warehouse} {district} {warehouse} {whole}.{hundredths:02}|"
        );
        (payment + before).chars().take(DATA_LENGTH).collect()
    }
}
