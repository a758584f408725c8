//! DBT-3 data that are neither uniform nor independent, to see what an optimizer makes of them. Rows are the
//! generator's but for:
//!
//! ```text
//!   l_partkey        Zipf: the part of rank k has a share proportional to 1 / k^exponent; ranks are spread
//!   l_suppkey        one of the part's four suppliers, as ever
//!   l_shipdate       1 to 7 days after the order (instead of 1 to 121); l_receiptdate and l_commitdate move along
//!   l_linestatus, l_returnflag, l_extendedprice, o_orderstatus, o_totalprice  made of these by the rules
//! ```
//!
//! What is random depends on the order's key and the line's number alone, so data are the same every time.

use super::{Table, chunks, lineitems, orders};
use crate::random;
use arrow_array::RecordBatch;
use std::{
    io::{self, Write},
    iter::Peekable,
};
use tpchgen::{
    dates::{MIN_GENERATE_DATE, TPCHDate},
    decimal::TPCHDecimal,
    generators::{
        LineItem, LineItemGenerator, Order, OrderGenerator, OrderStatus, PartGeneratorIterator,
        PartSuppGeneratorIterator,
    },
};

/// Days between an order and its shipping at most.
const SHIP_DAYS: u64 = 7;
const SUPPLIERS_OF_PART: u64 = 4;
/// What the random numbers of lines begin with.
const SEED: u64 = 0x6d75_7374_6572;

/// How uneven part keys are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Skew {
    exponent: f64,
}

/// No such skew can be made.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("the skew must be from 0 to 3, not {0}")]
pub struct NoSuchSkew(pub f64);

impl Skew {
    /// Zipf's law itself.
    pub const ZIPF: Skew = Skew { exponent: 1.0 };

    /// The exponent of Zipf's law: 0 is uniform, 1 is the law itself.
    pub fn new(exponent: f64) -> Result<Skew, NoSuchSkew> {
        match (0.0..=3.0).contains(&exponent) {
            true => Ok(Skew { exponent }),
            false => Err(NoSuchSkew(exponent)),
        }
    }

    /// As [`Table::batches`].
    pub fn batches(self, table: Table, scale: f64, take: &mut dyn FnMut(RecordBatch) -> bool) {
        match table {
            Table::Orders => chunks(self.orders(scale), orders, take),
            Table::Lineitem => chunks(self.lines(scale), lineitems, take),
            other => other.batches(scale, take),
        }
    }

    /// As [`Table::write_tbl`].
    pub fn write_tbl(self, table: Table, scale: f64, out: &mut dyn Write) -> io::Result<()> {
        match table {
            Table::Orders => self.orders(scale).try_for_each(|r| writeln!(out, "{r}")),
            Table::Lineitem => self.lines(scale).try_for_each(|r| writeln!(out, "{r}")),
            other => other.write_tbl(scale, out),
        }
    }

    /// The lines, those of an order together, orders by key.
    fn lines(self, scale: f64) -> impl Iterator<Item = LineItem<'static>> {
        let parts = PartKeys::new(Table::Part.rows(scale).max(1), self.exponent);
        let mut orders = OrderGenerator::new(scale, 1, 1).iter();
        let mut order: Option<(i64, i32)> = None;
        LineItemGenerator::new(scale, 1, 1).iter().map(move |line| {
            while order.is_none_or(|(key, _)| key < line.l_orderkey) {
                let Some(next) = orders.next() else { break };
                order = Some((next.o_orderkey, next.o_orderdate.into_inner()));
            }
            let ordered = order.map_or(0, |(_, date)| date);
            skewed(line, ordered, &parts, scale)
        })
    }

    /// The orders, with the status and the price that their lines make.
    fn orders(self, scale: f64) -> impl Iterator<Item = Order<'static>> {
        let mut lines = self.lines(scale).peekable();
        OrderGenerator::new(scale, 1, 1).iter().map(move |order| completed(order, &mut lines))
    }
}

/// The order with the price and the status that its lines make, which are taken.
fn completed<'a>(mut order: Order<'a>, lines: &mut Peekable<impl Iterator<Item = LineItem<'static>>>) -> Order<'a> {
    let (mut price, mut open, mut all) = (0, 0, 0);
    while let Some(line) = lines.next_if(|l| l.l_orderkey == order.o_orderkey) {
        let discounted = line.l_extendedprice.0 * (100 - line.l_discount.0) / 100;
        price += discounted * (100 + line.l_tax.0) / 100;
        open += u32::from(line.l_linestatus == "O");
        all += 1;
    }
    order.o_totalprice = TPCHDecimal(price);
    order.o_orderstatus = match open {
        0 => OrderStatus::Fulfilled,
        open if open == all => OrderStatus::Open,
        _ => OrderStatus::Pending,
    };
    order
}

/// A line of an order of this day (from 1992-01-01) with another part and other dates.
fn skewed<'a>(mut line: LineItem<'a>, ordered: i32, parts: &PartKeys, scale: f64) -> LineItem<'a> {
    let mut state = random::next(SEED ^ (line.l_orderkey as u64 * 8 + line.l_linenumber as u64));
    let mut draw = || {
        state = random::next(state);
        state
    };
    line.l_partkey = parts.draw(&mut draw);
    let supplier = (draw() % SUPPLIERS_OF_PART) as i64;
    line.l_suppkey = PartSuppGeneratorIterator::select_part_supplier(line.l_partkey, supplier, scale);
    line.l_extendedprice = TPCHDecimal(PartGeneratorIterator::calculate_part_price(line.l_partkey) * line.l_quantity);
    let (ship, commit, receipt) =
        (line.l_shipdate.into_inner(), line.l_commitdate.into_inner(), line.l_receiptdate.into_inner());
    let shipped = ordered + 1 + (draw() % SHIP_DAYS) as i32;
    let received = receipt + shipped - ship;
    line.l_shipdate = TPCHDate::new(MIN_GENERATE_DATE + shipped);
    line.l_receiptdate = TPCHDate::new(MIN_GENERATE_DATE + received);
    line.l_commitdate = TPCHDate::new(MIN_GENERATE_DATE + (commit + shipped - ship).max(ordered));
    line.l_linestatus = if TPCHDate::is_in_past(MIN_GENERATE_DATE + shipped) { "F" } else { "O" };
    line.l_returnflag = match TPCHDate::is_in_past(MIN_GENERATE_DATE + received) {
        true if draw() % 2 == 0 => "R",
        true => "A",
        false => "N",
    };
    line
}

/// Part keys by Zipf's law. Ranks are drawn by rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to
/// generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996), which needs no table of all parts.
struct PartKeys {
    count: u64,
    exponent: f64,
    /// The integral of the density at 3/2, less the share of rank 1.
    first: f64,
    /// The integral at `count` + 1/2.
    last: f64,
    /// A rank this close above the point drawn is taken without a further test.
    close: f64,
    /// Neighbouring ranks are so many keys apart; it has no divisor in common with `count`.
    stride: u64,
}

impl PartKeys {
    fn new(count: u64, exponent: f64) -> PartKeys {
        let mut keys = PartKeys { count, exponent, first: 0.0, last: 0.0, close: 0.0, stride: 1 };
        keys.first = keys.integral(1.5) - 1.0;
        keys.last = keys.integral(count as f64 + 0.5);
        keys.close = 2.0 - keys.inverse(keys.integral(2.5) - keys.density(2.0));
        let golden = (count as f64 * 0.618_034) as u64;
        keys.stride = (golden.max(1)..).find(|stride| divisor(*stride, count) == 1).unwrap_or(1);
        keys
    }

    fn draw(&self, random: &mut dyn FnMut() -> u64) -> i64 {
        let rank = self.rank(random);
        ((u128::from(rank) * u128::from(self.stride)) % u128::from(self.count)) as i64 + 1
    }

    /// A rank from 1 to `count`.
    fn rank(&self, random: &mut dyn FnMut() -> u64) -> u64 {
        loop {
            let at = self.last + random::unit(random()) * (self.first - self.last);
            let x = self.inverse(at);
            let rank = x.round().clamp(1.0, self.count as f64);
            if rank - x <= self.close || at >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// The integral of the density from 1 to x.
    fn integral(&self, x: f64) -> f64 {
        let rest = 1.0 - self.exponent;
        if rest == 0.0 { x.ln() } else { (x.powf(rest) - 1.0) / rest }
    }

    fn inverse(&self, y: f64) -> f64 {
        let rest = 1.0 - self.exponent;
        if rest == 0.0 { y.exp() } else { (y * rest + 1.0).max(0.0).powf(1.0 / rest) }
    }
}

/// The greatest common divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::super::BATCH_ROWS;
    use super::*;
    use sha2::{Digest, Sha256};
    use std::collections::{BTreeMap, HashSet};

    const SCALE: f64 = 0.01;

    fn text(table: Table, skew: Option<Skew>) -> Vec<u8> {
        let mut out = Vec::new();
        match skew {
            Some(skew) => skew.write_tbl(table, SCALE, &mut out).expect("memory can be written to"),
            None => table.write_tbl(SCALE, &mut out).expect("memory can be written to"),
        }
        out
    }

    #[test]
    fn ranks_follow_the_law() {
        for exponent in [0.0, 0.5, 1.0, 1.5] {
            let keys = PartKeys::new(1000, exponent);
            let (mut state, mut counts) = (1, vec![0u32; 1001]);
            let draws = 200_000;
            for _ in 0..draws {
                let mut draw = || {
                    state = random::next(state);
                    state
                };
                counts[keys.rank(&mut draw) as usize] += 1;
            }
            let total: f64 = (1..=1000).map(|k| f64::from(k).powf(-exponent)).sum();
            for rank in [1, 2, 3, 10, 100, 1000] {
                let expected = f64::from(draws) * f64::from(rank).powf(-exponent) / total;
                let error = (f64::from(counts[rank as usize]) - expected).abs();
                assert!(
                    error < 5.0 * expected.sqrt() + 1.0,
                    "{exponent}, {rank}: {} {expected}",
                    counts[rank as usize]
                );
            }
        }
    }

    #[test]
    fn each_rank_has_a_key_of_its_own() {
        for count in [1, 2, 10, 2000, 2001] {
            let keys = PartKeys::new(count, 1.0);
            let of = |rank: u64| (rank * keys.stride) % count + 1;
            let all: HashSet<u64> = (1..=count).map(of).collect();
            assert!(all.len() as u64 == count && all.iter().all(|k| (1..=count).contains(k)), "{count}");
        }
    }

    #[test]
    fn lines_and_orders_are_as_said() {
        let plain: Vec<_> = LineItemGenerator::new(SCALE, 1, 1).iter().collect();
        let (lines, orders): (Vec<_>, Vec<_>) = (Skew::ZIPF.lines(SCALE).collect(), Skew::ZIPF.orders(SCALE).collect());
        let by_key: BTreeMap<i64, &Order> = orders.iter().map(|o| (o.o_orderkey, o)).collect();
        assert_eq!((lines.len(), orders.len()), (plain.len(), 15_000));
        let (mut parts, mut late) = (BTreeMap::<i64, usize>::new(), 0);
        for (line, plain) in lines.iter().zip(&plain) {
            assert_eq!(
                (line.l_orderkey, line.l_linenumber, line.l_quantity),
                (plain.l_orderkey, plain.l_linenumber, plain.l_quantity)
            );
            let order = by_key[&line.l_orderkey];
            let days = line.l_shipdate.into_inner() - order.o_orderdate.into_inner();
            assert!((1..=7).contains(&days), "{days} days");
            assert!(line.l_receiptdate > line.l_shipdate && line.l_commitdate >= order.o_orderdate);
            assert_eq!(line.l_linestatus == "F", line.l_shipdate.to_unix_epoch() <= 9298, "1995-06-17");
            assert!(order.o_orderstatus == OrderStatus::Pending || order.o_orderstatus.as_str() == line.l_linestatus);
            let suppliers = |s| PartSuppGeneratorIterator::select_part_supplier(line.l_partkey, s, SCALE);
            assert!((0..4).map(suppliers).any(|s| s == line.l_suppkey));
            *parts.entry(line.l_partkey).or_default() += 1;
            late += usize::from(line.l_receiptdate > line.l_commitdate);
        }
        // 2,000 parts: the first has 1 / H(2000) = 12.2 % of the lines.
        let most = parts.values().max().copied().unwrap_or(0) as f64 / lines.len() as f64;
        assert!((0.117..0.127).contains(&most), "{most}");
        assert!((0.4..0.9).contains(&(late as f64 / lines.len() as f64)));
        let pending = orders.iter().filter(|o| o.o_orderstatus == OrderStatus::Pending).count();
        assert!((1..150).contains(&pending), "{pending}");
    }

    #[test]
    fn orders_are_made_of_lines_as_the_generator_makes_them() {
        let mut lines = LineItemGenerator::new(SCALE, 1, 1).iter().peekable();
        for order in OrderGenerator::new(SCALE, 1, 1).iter() {
            let (key, price, status) = (order.o_orderkey, order.o_totalprice, order.o_orderstatus);
            let made = completed(order, &mut lines);
            assert_eq!((made.o_totalprice.0, made.o_orderstatus), (price.0, status), "order {key}");
        }
    }

    #[test]
    fn same_data_every_time_and_other_tables_as_ever() {
        let hash = |bytes: &[u8]| format!("{:x}", Sha256::digest(bytes));
        let begins = |table, skew, with: &str| {
            let hash = hash(&text(table, skew));
            assert!(hash.starts_with(with), "{table:?} {skew:?}: {hash}");
        };
        begins(Table::Orders, None, "07cc8b362fda6d0b");
        begins(Table::Lineitem, None, "ee411d23efcd2943");
        begins(Table::Orders, Some(Skew::ZIPF), "7fbcae818bb5c85e");
        begins(Table::Lineitem, Some(Skew::ZIPF), "dc7a765176006cf1");
        for table in [Table::Orders, Table::Lineitem] {
            assert_eq!(hash(&text(table, Some(Skew::ZIPF))), hash(&text(table, Some(Skew::ZIPF))));
            assert_ne!(hash(&text(table, Some(Skew::ZIPF))), hash(&text(table, None)));
        }
        assert_eq!(hash(&text(Table::Part, Some(Skew::ZIPF))), hash(&text(Table::Part, None)));
    }

    #[test]
    fn batches_have_the_rows_of_the_text() {
        let mut rows = 0;
        Skew::ZIPF.batches(Table::Lineitem, SCALE, &mut |batch| {
            assert!(batch.num_rows() <= BATCH_ROWS);
            rows += batch.num_rows();
            true
        });
        assert_eq!(rows, text(Table::Lineitem, Some(Skew::ZIPF)).split(|b| *b == b'\n').count() - 1);
    }

    #[test]
    fn skews_that_cannot_be_made() {
        assert!([-0.1, 3.1, f64::NAN].iter().all(|x| Skew::new(*x).is_err()));
    }
}
