//! Gives the library the name that programs were linked with.

fn main() {
    let feature = |name: &str| std::env::var_os(format!("CARGO_FEATURE_{name}")).is_some();
    let version = match (feature("ABI_7"), feature("ABI_11")) {
        (true, false) => "7.8",
        (false, true) => "11",
        (false, false) => "10",
        (true, true) => panic!("abi-7 and abi-11 are of different versions"),
    };
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,librocksdb.so.{version}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
