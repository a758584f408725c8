#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| muster_sql::fuzz::sql_parser(bytes));
