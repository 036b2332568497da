#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| whitewater::fuzzing::run("database", data));
