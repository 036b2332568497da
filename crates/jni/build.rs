//! Makes the natives that are not written by hand, out of `natives.tsv`: setters and getters of
//! options that are one value, and for all others one that refuses by its name.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// The classes whose options go by name.
const OPTIONS: [&str; 3] = ["Options", "DBOptions", "ColumnFamilyOptions"];

/// Options that Java does not call by RocksDB's name in another spelling.
const NAMES: &[(&str, &str)] = &[
    ("allow2pc", "allow_2pc"),
    ("allow_f_allocate", "allow_fallocate"),
    (
        "avoid_unnecessary_blocking_i_o",
        "avoid_unnecessary_blocking_io",
    ),
    ("bottommost_compression_type", "bottommost_compression"),
    ("compaction_priority", "compaction_pri"),
    ("compression_type", "compression"),
    (
        "level_zero_file_num_compaction_trigger",
        "level0_file_num_compaction_trigger",
    ),
    (
        "level_zero_slowdown_writes_trigger",
        "level0_slowdown_writes_trigger",
    ),
    (
        "level_zero_stop_writes_trigger",
        "level0_stop_writes_trigger",
    ),
    ("max_bg_error_resume_count", "max_bgerror_resume_count"),
    (
        "max_table_files_size_f_i_f_o",
        "compaction_options_fifo.max_table_files_size",
    ),
    ("wal_size_limit_m_b", "wal_size_limit_mb"),
];

/// Options of which Java has a number for each value.
const ENUMS: &[(&str, &str)] = &[
    ("blob_compression_type", "crate::options::COMPRESSION"),
    ("bottommost_compression", "crate::options::COMPRESSION"),
    ("compression", "crate::options::COMPRESSION"),
    ("compaction_style", "values::COMPACTION_STYLE"),
    ("compaction_pri", "values::COMPACTION_PRI"),
    ("info_log_level", "values::LOG_LEVEL"),
    ("prepopulate_blob_cache", "values::PREPOPULATE"),
    ("wal_recovery_mode", "values::RECOVERY_MODE"),
];

/// Setters of options that are objects which are not built.
const UNBUILT: &[&str] = &[
    "setBottommostCompressionOptions",
    "setCompactionOptionsFIFO",
    "setCompactionOptionsUniversal",
    "setCompactionThreadLimiter",
    "setComparatorHandle",
    "setCompressionOptions",
    "setLogger",
    "setSstFileManager",
    "setSstPartitionerFactory",
    "setWalFilter",
];

/// What the methods are that set or get no option of the name.
const NO_OPTIONS: &[&str] = &[
    "cfPathsLen",
    "dbPathsLen",
    "setIncreaseParallelism",
    "statistics",
];

/// A name as JNI writes it in symbols.
fn mangled(name: &str) -> String {
    let escaped = name.chars().map(|c| match c {
        '.' | '/' => "_".to_owned(),
        '_' => "_1".to_owned(),
        ';' => "_2".to_owned(),
        '[' => "_3".to_owned(),
        '$' => "_00024".to_owned(),
        c => c.to_string(),
    });
    escaped.collect()
}

/// The types of a descriptor: of the arguments, and of the result.
fn types(descriptor: &str) -> (Vec<&'static str>, &'static str) {
    let mut found = Vec::new();
    let mut rest = descriptor.trim_start_matches('(').chars();
    while let Some(c) = rest.next() {
        let ty = match c {
            ')' => continue,
            'V' => "()",
            'Z' => "bool",
            'B' => "i8",
            'I' => "i32",
            'J' => "i64",
            'C' => "u16",
            'D' => "f64",
            'L' => {
                rest.find(|c| *c == ';');
                "JObject<'l>"
            }
            '[' => {
                if rest.find(|c| *c != '[') == Some('L') {
                    rest.find(|c| *c == ';');
                }
                "JObject<'l>"
            }
            other => panic!("{descriptor}: {other} is no type that is known here"),
        };
        found.push(ty);
    }
    let result = found.pop().expect("every descriptor ends with a result");
    (found, result)
}

/// RocksDB's name of an option that Java calls `name`.
fn option_name(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    let other = NAMES.iter().find(|(java, _)| *java == snake);
    other.map_or(snake, |(_, name)| (*name).to_owned())
}

/// How the value of an option is written.
fn form(name: &str, ty: &str) -> String {
    let numbered = ENUMS.iter().find(|(option, _)| *option == name);
    match (numbered, ty) {
        (Some((_, values)), "i8") => format!("Form::Enum({values})"),
        (_, "bool") => "Form::Flag".to_owned(),
        _ => "Form::Plain".to_owned(),
    }
}

/// What a setter or getter of an option does.
fn of_option(class: &str, method: &str, args: &[&str], result: &str) -> Option<String> {
    if !OPTIONS.contains(&class) || NO_OPTIONS.contains(&method) {
        return None;
    }
    let is_value = |ty: &str| ["bool", "i8", "i32", "i64", "f64"].contains(&ty);
    if UNBUILT.contains(&method) {
        return Some(format!("crate::options::refuse(a0, {method:?})"));
    }
    match (method.strip_prefix("set"), args, result) {
        (Some(name), ["i64", ty], "()") if is_value(ty) => {
            let mut name = name.to_owned();
            name[..1].make_ascii_lowercase();
            let name = option_name(&name);
            let form = form(&name, ty);
            let value = if *ty == "bool" { "i32::from(a1)" } else { "a1" };
            Some(format!(
                "crate::options::set(a0, {name:?}, {form}, {value})"
            ))
        }
        (None, ["i64"], ty) if is_value(ty) => {
            let name = option_name(method);
            let form = form(&name, ty);
            let get = format!("crate::options::get(a0, {name:?}, {form})");
            let is_flag = ty == "bool";
            Some(if is_flag {
                format!("{get}.map(|flag: i32| flag != 0)")
            } else {
                get
            })
        }
        _ => None,
    }
}

/// The natives that the source has.
fn written(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("the source is there") {
        let file = entry.expect("the source can be listed").path();
        let text = fs::read_to_string(file).expect("the source can be read");
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let natives = words.filter(|word| word.starts_with("Java_org_rocksdb_"));
        found.extend(natives.map(str::to_owned));
    }
    found
}

fn main() {
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo says where the crate is");
    let root = Path::new(&root);
    let written = written(&root.join("src"));
    let list = fs::read_to_string(root.join("natives.tsv")).expect("the list is there");
    let (mut natives, mut all) = (String::from("natives! {\n"), BTreeSet::new());
    for line in list.lines() {
        let columns: Vec<_> = line.split('\t').collect();
        let [classes, method, descriptors] = columns[..] else {
            panic!("natives.tsv: {line}: not three columns");
        };
        let overloaded = descriptors.contains(' ');
        for (class, descriptor) in classes
            .split(' ')
            .flat_map(|class| descriptors.split(' ').map(move |types| (class, types)))
        {
            let mut name = format!("Java_org_rocksdb_{}_{}", mangled(class), mangled(method));
            if overloaded {
                let arguments = descriptor.trim_start_matches('(').split(')').next();
                name += &format!("__{}", mangled(arguments.unwrap_or_default()));
            }
            all.insert(name.clone());
            if written.contains(&name) {
                continue;
            }
            let (arguments, result) = types(descriptor);
            let body = of_option(class, method, &arguments, result);
            let list = arguments.iter().enumerate().map(|(at, ty)| {
                let name = format!("a{at}");
                let used = body.as_ref().is_some_and(|body| body.contains(&name));
                format!(", {}{name}: {ty}", if used { "" } else { "_" })
            });
            let list: String = list.collect();
            let body = body.unwrap_or_else(|| {
                let whole = format!("{class}.{method}");
                format!("Err(crate::border::not_implemented({whole:?}))")
            });
            let _ = writeln!(
                natives,
                "fn {name}<'l>(_env{list}) -> {result} {{ {body} }}"
            );
        }
    }
    let unknown: Vec<_> = written.difference(&all).collect();
    assert!(
        unknown.is_empty(),
        "no class has these natives: {unknown:?}"
    );
    natives.push_str("}\n");
    let out = env::var("OUT_DIR").expect("cargo says where to write");
    fs::write(Path::new(&out).join("natives.rs"), natives).expect("the natives can be written");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=natives.tsv");
    println!("cargo:rerun-if-changed=src");
}
