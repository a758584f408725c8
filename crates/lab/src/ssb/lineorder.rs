//! The fact table: orders of one to seven lines, one row each.

use super::{
    Scale,
    date::{date_key, first_day},
    stream::Stream,
    vocabulary::{PRIORITIES, SHIP_MODES},
};
use std::{fmt, ops::Range};

const LINES_MAX: u64 = 7;

/// One line of an order. Money in cents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineorder {
    pub order_key: i64,
    pub line_number: i64,
    pub customer_key: i64,
    pub part_key: i64,
    pub supplier_key: i64,
    pub order_date: i64,
    pub priority: &'static str,
    pub quantity: i64,
    pub extended_price: i64,
    pub order_total: i64,
    /// Percent.
    pub discount: i64,
    pub revenue: i64,
    pub supply_cost: i64,
    /// Percent.
    pub tax: i64,
    pub commit_date: i64,
    pub ship_mode: &'static str,
}

/// The lines of the orders `range` (positions from 0).
pub fn rows(scale: Scale, range: Range<u64>) -> impl Iterator<Item = Lineorder> {
    let n = range.start;
    // Every date row pushed these streams on by one draw.
    let per_order = |seed| Stream::at(seed, scale.counted_dates + n);
    let per_line = |seed| Stream::at(seed, LINES_MAX * n);
    let mut orders = OrderStreams {
        scale,
        date: per_order(1_066_728_069),
        customer: per_order(851_767_375),
        priority: per_order(591_449_447),
        lines: per_order(1_434_868_289),
        part: per_line(1_808_217_256),
        supplier: per_line(2_095_021_727),
        quantity: per_line(209_208_115),
        discount: per_line(554_590_007),
        tax: per_line(721_958_466),
        commit: per_line(904_914_315),
        ship_mode: per_line(675_466_456),
    };
    range.flat_map(move |n| orders.order(n))
}

struct OrderStreams {
    scale: Scale,
    date: Stream,
    customer: Stream,
    priority: Stream,
    lines: Stream,
    part: Stream,
    supplier: Stream,
    quantity: Stream,
    discount: Stream,
    tax: Stream,
    commit: Stream,
    ship_mode: Stream,
}

impl OrderStreams {
    fn order(&mut self, n: u64) -> Vec<Lineorder> {
        let index = n as i64 + 1;
        let day = first_day() + self.date.uniform(92_001, 94_406) as i32 - 92_001;
        let customers = self.scale.customers as i64;
        let mut customer = self.customer.uniform(1, customers);
        let mut step = 1;
        // Customers whose key is a multiple of three never order.
        while customer % 3 == 0 {
            customer = (customer + step).min(customers);
            step = -step;
        }
        let priority = self.priority.pick(&PRIORITIES);
        let count = self.lines.uniform(1, LINES_MAX as i64);
        let mut total = 0;
        let mut lines: Vec<Lineorder> = (1..=count)
            .map(|number| {
                let part = self.part.uniform(1, self.scale.ordered_parts as i64);
                let quantity = self.quantity.uniform(1, 50);
                let discount = self.discount.uniform(0, 10);
                let tax = self.tax.uniform(0, 8);
                let unit_price = 90_000 + part / 10 % 20_001 + 100 * (part % 1000);
                let extended_price = unit_price * quantity;
                let revenue = extended_price * (100 - discount) / 100;
                total += revenue * (100 + tax) / 100;
                Lineorder {
                    order_key: ((index >> 3) << 5) | (index & 7),
                    line_number: number,
                    customer_key: customer,
                    part_key: part,
                    supplier_key: self.supplier.uniform(1, self.scale.suppliers as i64),
                    order_date: date_key(day),
                    priority,
                    quantity,
                    extended_price,
                    order_total: 0,
                    discount,
                    revenue,
                    supply_cost: 6 * unit_price / 10,
                    tax,
                    commit_date: date_key(day + self.commit.uniform(30, 90) as i32),
                    ship_mode: self.ship_mode.pick(&SHIP_MODES),
                }
            })
            .collect();
        lines.iter_mut().for_each(|line| line.order_total = total);
        let unused = LINES_MAX - count as u64;
        for stream in [
            &mut self.part,
            &mut self.supplier,
            &mut self.quantity,
            &mut self.discount,
            &mut self.tax,
            &mut self.commit,
            &mut self.ship_mode,
        ] {
            stream.skip(unused);
        }
        lines
    }
}

impl fmt::Display for Lineorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}|{}|{}|", self.order_key, self.line_number, self.customer_key)?;
        write!(f, "{}|{}|{}|{}|0|", self.part_key, self.supplier_key, self.order_date, self.priority)?;
        write!(f, "{}|{}|{}|{}|", self.quantity, self.extended_price, self.order_total, self.discount)?;
        write!(f, "{}|{}|{}|{}|{}|", self.revenue, self.supply_cost, self.tax, self.commit_date, self.ship_mode)
    }
}
