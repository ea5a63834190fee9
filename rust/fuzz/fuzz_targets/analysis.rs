#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| retentive_fuzz::analysis::check(bytes));
