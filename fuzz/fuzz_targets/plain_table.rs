#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| whitewater_storage::fuzzing::run("plain_table", data));
