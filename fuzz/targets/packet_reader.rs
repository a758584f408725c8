#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| muster_protocol::fuzz::packet_reader(bytes));
