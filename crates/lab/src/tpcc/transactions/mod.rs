//! The five transactions (clauses 2.4 to 2.8): what a terminal draws for each, and its statements.
//!
//! An input is drawn once and kept when its transaction has to be repeated.

mod delivery;
mod new_order;
mod order_status;
mod payment;
mod stock_level;

pub use delivery::DeliveryInput;
pub use new_order::{LineInput, NewOrderInput};
pub use order_status::OrderStatusInput;
pub use payment::PaymentInput;
pub use stock_level::StockLevelInput;

use super::{
    Acknowledged, Scale, Statements,
    random::{NuRandConstants, TpccRandom, last_name},
    scale::DISTRICTS,
};
use crate::target::{Answer, Result, TargetError, TargetSession, integer};
use muster_engine::types::Value;
use serde::Serialize;

/// The kinds of transactions, by which reports are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::NewOrder, Kind::Payment, Kind::OrderStatus, Kind::Delivery, Kind::StockLevel];

    /// The standard's name.
    pub fn title(self) -> &'static str {
        match self {
            Kind::NewOrder => "New-Order",
            Kind::Payment => "Payment",
            Kind::OrderStatus => "Order-Status",
            Kind::Delivery => "Delivery",
            Kind::StockLevel => "Stock-Level",
        }
    }
}

/// How a transaction has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Committed,
    /// A New-Order has been committed, whose order is this one.
    Ordered(Acknowledged),
    /// A New-Order was rolled back for its unused item number (clause 2.4.1.4).
    RolledBack,
}

/// One transaction with its input.
pub enum Input {
    NewOrder(NewOrderInput),
    Payment(PaymentInput),
    OrderStatus(OrderStatusInput),
    Delivery(DeliveryInput),
    StockLevel(StockLevelInput),
}

/// What inputs are drawn from.
pub struct InputSource {
    pub random: TpccRandom,
    pub constants: NuRandConstants,
    pub scale: Scale,
}

impl InputSource {
    pub fn draw(&mut self, kind: Kind) -> Input {
        match kind {
            Kind::NewOrder => Input::NewOrder(NewOrderInput::draw(self)),
            Kind::Payment => Input::Payment(PaymentInput::draw(self)),
            Kind::OrderStatus => Input::OrderStatus(OrderStatusInput::draw(self)),
            Kind::Delivery => Input::Delivery(DeliveryInput::draw(self)),
            Kind::StockLevel => Input::StockLevel(StockLevelInput::draw(self)),
        }
    }

    fn warehouse(&mut self) -> u32 {
        self.random.number(1, self.scale.warehouses)
    }

    /// A warehouse other than `home`, or `home` if there is no other.
    fn other_warehouse(&mut self, home: u32) -> u32 {
        if self.scale.warehouses == 1 {
            return home;
        }
        let drawn = self.random.number(1, self.scale.warehouses - 1);
        if drawn < home { drawn } else { drawn + 1 }
    }

    fn district(&mut self) -> u32 {
        self.random.number(1, DISTRICTS)
    }

    fn customer_id(&mut self) -> u32 {
        self.random.non_uniform(1023, self.constants.customer, 1, self.scale.customers)
    }

    fn item(&mut self) -> u32 {
        self.random.non_uniform(8191, self.constants.item, 1, self.scale.items)
    }

    /// The customer of a Payment or an Order-Status: by last name in 60 of 100 cases.
    fn customer(&mut self) -> CustomerChoice {
        if self.random.percent(60) {
            let number = self.random.non_uniform(255, self.constants.last_name, 0, self.scale.last_names() - 1);
            CustomerChoice::LastName(last_name(number))
        } else {
            CustomerChoice::Id(self.customer_id())
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CustomerChoice {
    Id(u32),
    LastName(String),
}

impl Input {
    pub fn kind(&self) -> Kind {
        match self {
            Input::NewOrder(_) => Kind::NewOrder,
            Input::Payment(_) => Kind::Payment,
            Input::OrderStatus(_) => Kind::OrderStatus,
            Input::Delivery(_) => Kind::Delivery,
            Input::StockLevel(_) => Kind::StockLevel,
        }
    }

    /// Runs the transaction once. After an error it is still open, unless the database has ended it.
    pub async fn run<T: TargetSession>(&self, target: &mut T, statements: &Statements) -> Result<Ended> {
        target.begin().await?;
        let ended = match self {
            Input::NewOrder(input) => input.run(target, statements).await?,
            Input::Payment(input) => input.run(target, statements).await.map(|()| Ended::Committed)?,
            Input::OrderStatus(input) => input.run(target, statements).await.map(|()| Ended::Committed)?,
            Input::Delivery(input) => input.run(target, statements).await.map(|_| Ended::Committed)?,
            Input::StockLevel(input) => input.run(target, statements).await.map(|_| Ended::Committed)?,
        };
        match ended {
            Ended::RolledBack => target.rollback().await?,
            Ended::Committed | Ended::Ordered(_) => target.commit().await?,
        }
        Ok(ended)
    }
}

fn int(number: u32) -> Value {
    Value::Int(number.into())
}

/// Of all customers with a last name, by first names, the middle one: that at position n/2 rounded up (clause 2.5.2.2).
fn middle_row(answer: &Answer) -> Result<&[Value]> {
    let middle = answer.rows.get(answer.rows.len().div_ceil(2).saturating_sub(1));
    middle.map(Vec::as_slice).ok_or_else(|| TargetError::Answer("no customer has this last name".into()))
}

/// The first value of a row as a customer's number.
fn customer_of(row: &[Value]) -> Result<u32> {
    let number = integer(row.first().unwrap_or(&Value::Null))?;
    u32::try_from(number).map_err(|_| TargetError::Answer(format!("{number} is no customer")))
}

/// Error: a change did not find its row.
fn changed_one(answer: &Answer, what: &str) -> Result<()> {
    match answer.affected_rows {
        1 => Ok(()),
        rows => Err(TargetError::Answer(format!("{what}: {rows} rows were changed, not one"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(warehouses: u32) -> InputSource {
        let scale = Scale::standard(warehouses, 1).unwrap();
        InputSource { random: TpccRandom::new(1, 1), constants: NuRandConstants::of_run(1), scale }
    }

    #[test]
    fn the_middle_customer_is_rounded_up() {
        let answer = |n: i64| Answer { rows: (1..=n).map(|i| vec![Value::Int(i)]).collect(), affected_rows: 0 };
        for (n, middle) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)] {
            assert_eq!(customer_of(middle_row(&answer(n)).unwrap()), Ok(middle), "{n}");
        }
        assert!(middle_row(&answer(0)).is_err());
    }

    #[test]
    fn other_warehouses_are_others() {
        let mut source = source(3);
        for home in 1..=3 {
            let drawn: Vec<u32> = (0..100).map(|_| source.other_warehouse(home)).collect();
            assert!(drawn.iter().all(|w| *w != home && (1..=3).contains(w)));
        }
        assert_eq!(super::tests::source(1).other_warehouse(1), 1);
    }

    #[test]
    fn shares_are_those_of_the_standard() {
        let mut source = source(10);
        let near = |n: usize, all: usize, share: f64| (n as f64 / all as f64 - share).abs() < 0.15 * share;
        let orders: Vec<NewOrderInput> = (0..40_000).map(|_| NewOrderInput::draw(&mut source)).collect();
        assert!(near(orders.iter().filter(|o| o.is_rolled_back()).count(), orders.len(), 0.01));
        let lines: Vec<&LineInput> = orders.iter().flat_map(|o| &o.lines).collect();
        let remote = orders.iter().flat_map(|o| o.lines.iter().filter(|l| l.supply_warehouse != o.warehouse)).count();
        assert!(near(remote, lines.len(), 0.01));
        assert!(near(lines.len(), orders.len(), 10.0));
        let payments: Vec<PaymentInput> = (0..10_000).map(|_| PaymentInput::draw(&mut source)).collect();
        let remote = payments.iter().filter(|p| p.customer_warehouse != p.warehouse).count();
        assert!(near(remote, payments.len(), 0.15));
        let by_name = payments.iter().filter(|p| matches!(p.customer, CustomerChoice::LastName(_))).count();
        assert!(near(by_name, payments.len(), 0.6));
        assert!(payments.iter().all(|p| (100..=500_000).contains(&p.cents)));
    }
}
