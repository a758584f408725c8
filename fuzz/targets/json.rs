#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| muster_types::json::fuzz::documents(bytes));
