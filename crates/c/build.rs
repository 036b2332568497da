//! Gives the library the name that programs were linked with.

fn main() {
    let feature = |name: &str| std::env::var_os(format!("CARGO_FEATURE_{name}")).is_some();
    let versions = [("ABI_7", "7.8"), ("ABI_8", "8"), ("ABI_11", "11")];
    let mut asked = versions.iter().filter(|(name, _)| feature(name));
    let version = asked.next().map_or("10", |(_, version)| version);
    assert!(
        asked.next().is_none(),
        "the features abi-7, abi-8 and abi-11 are of different versions"
    );
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,librocksdb.so.{version}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
