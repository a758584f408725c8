#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| muster_functions::fuzz::regular_expressions(bytes));
