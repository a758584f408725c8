//! The twelve consistency conditions of clause 3.3.2, each as one statement that counts what violates it.
//!
//! Every statement starts from the table whose rows the condition speaks of and keeps those to which nothing
//! corresponds, so that a missing row is a violation and not an empty join.

use super::Scale;
use crate::target::{Result, TargetSession};
use serde::Serialize;
use std::time::Instant;

/// A consistency condition.
#[derive(Debug, Clone, Copy)]
pub struct Condition {
    /// 1 to 12, as in clauses 3.3.2.1 to 3.3.2.12.
    pub number: u32,
    pub name: &'static str,
    /// Counts violations. `{delivered}` stands for the orders of a district that were delivered from the beginning.
    sql: &'static str,
}

/// The outcome of a check.
#[derive(Debug, Clone, Serialize)]
pub struct ConditionResult {
    pub number: u32,
    pub name: &'static str,
    /// Rows, districts or warehouses that violate the condition.
    pub violations: u64,
    pub seconds: f64,
}

impl ConditionResult {
    pub fn holds(&self) -> bool {
        self.violations == 0
    }
}

impl Condition {
    /// Counts violations in the current database of the target.
    pub async fn check<T: TargetSession>(&self, target: &mut T, scale: Scale) -> Result<ConditionResult> {
        let since = Instant::now();
        let sql = self.sql.replace("{delivered}", &scale.delivered().to_string());
        let violations = target.query(&sql).await?.number()?.unsigned_abs();
        let seconds = since.elapsed().as_secs_f64();
        Ok(ConditionResult { number: self.number, name: self.name, violations, seconds })
    }
}

/// Checks all conditions in the current database of the target.
pub async fn check_all<T: TargetSession>(target: &mut T, scale: Scale) -> Result<Vec<ConditionResult>> {
    let mut results = Vec::new();
    for condition in CONDITIONS {
        results.push(condition.check(target, scale).await?);
    }
    Ok(results)
}

pub const CONDITIONS: [Condition; 12] = [
    Condition {
        number: 1,
        name: "W_YTD = sum(D_YTD) of the warehouse's districts",
        sql: "SELECT COUNT(*) FROM warehouse LEFT JOIN \
              (SELECT d_w_id, SUM(d_ytd) AS paid FROM district GROUP BY d_w_id) AS d ON d_w_id = w_id \
              WHERE NOT (w_ytd <=> paid)",
    },
    Condition {
        number: 2,
        name: "D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)",
        // The clause leaves out districts without new orders.
        sql: "SELECT COUNT(*) FROM district LEFT JOIN \
              (SELECT o_w_id, o_d_id, MAX(o_id) AS last_order FROM orders GROUP BY o_w_id, o_d_id) AS o \
              ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN \
              (SELECT no_w_id, no_d_id, MAX(no_o_id) AS last_new FROM new_orders GROUP BY no_w_id, no_d_id) AS n \
              ON no_w_id = d_w_id AND no_d_id = d_id \
              WHERE NOT (d_next_o_id - 1 <=> last_order) OR last_new <> d_next_o_id - 1",
    },
    Condition {
        number: 3,
        name: "max(NO_O_ID) - min(NO_O_ID) + 1 = rows of NEW-ORDER in the district",
        sql: "SELECT COUNT(*) FROM (SELECT no_w_id, no_d_id, MIN(no_o_id) AS first_new, MAX(no_o_id) AS last_new, \
              COUNT(*) AS number_of_new FROM new_orders GROUP BY no_w_id, no_d_id) AS n \
              WHERE last_new - first_new + 1 <> number_of_new",
    },
    Condition {
        number: 4,
        name: "sum(O_OL_CNT) = rows of ORDER-LINE in the district",
        sql: "SELECT COUNT(*) FROM district LEFT JOIN \
              (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS announced FROM orders GROUP BY o_w_id, o_d_id) AS o \
              ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN \
              (SELECT ol_w_id, ol_d_id, COUNT(*) AS present FROM order_line GROUP BY ol_w_id, ol_d_id) AS l \
              ON ol_w_id = d_w_id AND ol_d_id = d_id WHERE NOT (announced <=> present)",
    },
    Condition {
        number: 5,
        name: "O_CARRIER_ID is null exactly where NEW-ORDER has the order",
        sql: "SELECT (SELECT COUNT(*) FROM orders LEFT JOIN new_orders \
              ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
              WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)) \
              + (SELECT COUNT(*) FROM new_orders LEFT JOIN orders \
              ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id WHERE o_id IS NULL)",
    },
    Condition {
        number: 6,
        name: "O_OL_CNT = rows of ORDER-LINE of the order",
        sql: "SELECT COUNT(*) FROM orders LEFT JOIN \
              (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS present FROM order_line \
              GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
              WHERE NOT (o_ol_cnt <=> present)",
    },
    Condition {
        number: 7,
        name: "OL_DELIVERY_D is null exactly where the order's O_CARRIER_ID is null",
        sql: "SELECT COUNT(*) FROM order_line LEFT JOIN orders \
              ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
              WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    },
    Condition {
        number: 8,
        name: "W_YTD = sum(H_AMOUNT) of the warehouse",
        sql: "SELECT COUNT(*) FROM warehouse LEFT JOIN \
              (SELECT h_w_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id) AS h ON h_w_id = w_id \
              WHERE NOT (w_ytd <=> paid)",
    },
    Condition {
        number: 9,
        name: "D_YTD = sum(H_AMOUNT) of the district",
        sql: "SELECT COUNT(*) FROM district LEFT JOIN \
              (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) AS h \
              ON h_w_id = d_w_id AND h_d_id = d_id WHERE NOT (d_ytd <=> paid)",
    },
    Condition {
        number: 10,
        name: "C_BALANCE = sum(OL_AMOUNT) of delivered lines - sum(H_AMOUNT) of the customer",
        sql: "SELECT COUNT(*) FROM customer LEFT JOIN \
              (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS bought FROM orders JOIN order_line \
              ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL \
              GROUP BY o_w_id, o_d_id, o_c_id) AS o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id LEFT JOIN \
              (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history \
              GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
              WHERE c_balance <> COALESCE(bought, 0) - COALESCE(paid, 0)",
    },
    Condition {
        number: 11,
        name: "rows of ORDER - rows of NEW-ORDER = 2100 + deliveries of the district",
        // The clause says 2100, which holds until something is delivered; C_DELIVERY_CNT counts what is.
        sql: "SELECT COUNT(*) FROM district LEFT JOIN \
              (SELECT o_w_id, o_d_id, COUNT(*) AS ordered FROM orders GROUP BY o_w_id, o_d_id) AS o \
              ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN \
              (SELECT no_w_id, no_d_id, COUNT(*) AS waiting FROM new_orders GROUP BY no_w_id, no_d_id) AS n \
              ON no_w_id = d_w_id AND no_d_id = d_id LEFT JOIN \
              (SELECT c_w_id, c_d_id, SUM(c_delivery_cnt) AS deliveries FROM customer GROUP BY c_w_id, c_d_id) AS c \
              ON c_w_id = d_w_id AND c_d_id = d_id \
              WHERE NOT (ordered - COALESCE(waiting, 0) <=> {delivered} + deliveries)",
    },
    Condition {
        number: 12,
        name: "C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT) of the customer's delivered lines",
        sql: "SELECT COUNT(*) FROM customer LEFT JOIN \
              (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS bought FROM orders JOIN order_line \
              ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL \
              GROUP BY o_w_id, o_d_id, o_c_id) AS o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id \
              WHERE c_balance + c_ytd_payment <> COALESCE(bought, 0)",
    },
];
