#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| muster_storage::fuzz::page_decode(bytes));
