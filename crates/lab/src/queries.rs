//! The query texts, one file each under `queries/`.

use crate::Query;

macro_rules! queries {
    ($folder:literal: $($name:literal)*) => {
        &[$(Query { name: $name, sql: include_str!(concat!("../queries/", $folder, "/", $name, ".sql")) }),*]
    };
}

/// The 22 queries of DBT-3, with the specification's validation parameters.
pub const DBT3: &[Query] = queries!("dbt3":
    "q01" "q02" "q03" "q04" "q05" "q06" "q07" "q08" "q09" "q10" "q11" "q12"
    "q13" "q14" "q15" "q16" "q17" "q18" "q19" "q20" "q21" "q22"
);

/// The 13 queries of the Star Schema Benchmark.
pub const SSB: &[Query] = queries!("ssb":
    "q1.1" "q1.2" "q1.3" "q2.1" "q2.2" "q2.3" "q3.1" "q3.2" "q3.3" "q3.4" "q4.1" "q4.2" "q4.3"
);
