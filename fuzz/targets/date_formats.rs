#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| muster_functions::fuzz::date_formats(bytes));
