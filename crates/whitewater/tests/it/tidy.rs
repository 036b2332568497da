//! The source tree keeps the rules that reviews would otherwise have to keep.
//!
//! * Floors: a module of `whitewater` imports from lower floors only ([`FLOORS`]).
//! * A function of more than [`MOST_LINES`] lines of code has a comment `// Long: why` above it.
//! * A folder's module is its `mod.rs`; there is no `name.rs` beside a folder `name`.
//! * Comments end at column [`MOST_COLUMNS`], but for tables and links, which cannot be broken.
//! * Inline tests have at most [`MOST_INLINE_TEST_LINES`] lines; more of them stand in `tests.rs`.
//! * A module names each of its parts in a comment above the declarations.
//! * The engine and its files get the time and threads from `system`, so that a simulation
//!   decides about them ([`OF_THE_SYSTEM`]).
//!
//! The floors and the last rule are held for this crate, the others for all crates of the
//! workspace. What tests import is free: files named `tests.rs`, `testing.rs` and `model.rs`,
//! folders `tests`, and modules in a file that begin with `#[cfg(test)]`.

use crate::source_files::{self, rust_files};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The rooms of this crate by floor, highest first. A room imports nothing from a higher floor,
/// and nothing from another room of its own. The root, `lib.rs`, stands above all of them.
const FLOORS: &[&[&str]] = &[
    &["api", "fuzzing", "guide"],
    &["txn", "backups"],
    &["db"],
    &["external"],
    &["compact"],
    &["table_writer"],
    &["read", "write"],
    &["column_family"],
    &["memtable"],
    &["version"],
    &["slow_operations"],
    &["info_log"],
    &["options"],
    &["event_queue"],
    &["trace"],
    &["entry"],
    &[
        "listener",
        "logger",
        "thread_pools",
        "rate_limiter",
        "sst_file_manager",
        "write_buffer_manager",
        "operators",
    ],
    &["perf_context"],
    &["stats"],
    &[
        "clock",
        "empty_ranges",
        "malloc",
        "panics",
        "session_id",
        "snapshots",
        "sync_points",
    ],
];

/// The most lines of code of a function that needs no reason for its length.
const MOST_LINES: usize = 70;
/// The most columns of a comment.
const MOST_COLUMNS: usize = 100;
/// The most lines of tests inside a file of product code.
const MOST_INLINE_TEST_LINES: usize = 200;

/// What depends on the machine, with what `whitewater_concurrent::system` has instead. A run that
/// uses it is not the same each time.
const OF_THE_SYSTEM: &[(&str, &str)] = &[
    ("Instant::now", "now"),
    ("SystemTime::now", "wall_clock"),
    (".elapsed()", "since"),
    ("thread::sleep(", "sleep"),
    ("thread::yield_now(", "yield_now"),
    ("thread::spawn(", "spawn"),
    ("std::sync::Mutex", "Mutex"),
    ("std::sync::Condvar", "Condvar"),
];

/// A source file, as the rules look at it.
#[derive(Clone)]
struct Source {
    /// From the folder `crates` on.
    path: PathBuf,
    text: String,
    /// The text with comments, strings and characters blanked, byte by byte.
    code: String,
}

impl Source {
    fn new(path: PathBuf, text: String) -> Self {
        let code = blank(&text);
        Source { path, text, code }
    }

    /// The line, from 1 on, of the byte at `at`.
    fn line(&self, at: usize) -> usize {
        self.text.as_bytes()[..at]
            .iter()
            .filter(|b| **b == b'\n')
            .count()
            + 1
    }

    fn complain(&self, at: usize, what: &str) -> String {
        format!("{}:{}: {what}", self.path.display(), self.line(at))
    }

    /// Where inline modules of tests are.
    fn inline_tests(&self) -> Vec<Range<usize>> {
        let starts = self.code.match_indices("#[cfg(test)]");
        let module = |start: usize| {
            let rest = self.code[start..]
                .strip_prefix("#[cfg(test)]")?
                .trim_start();
            let open = self.code.len() - rest.len();
            let name = rest.strip_prefix("mod ")?;
            let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
            let body = name[end..].trim_start();
            (body.starts_with('{')).then(|| start..closing(&self.code, open))
        };
        starts.filter_map(|(start, _)| module(start)).collect()
    }
}

/// `text` with the insides of comments, strings and characters replaced by spaces.
fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let before = at.checked_sub(1).map_or(b' ', |i| bytes[i]);
        let end = if rest.starts_with(b"//") {
            at + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            at + text[at..].find("*/").map_or(rest.len(), |n| n + 2)
        } else if rest[0] == b'"' {
            end_of_string(bytes, at + 1)
        } else if rest[0] == b'r' && !is_name(before) && rest.len() > 1 {
            let hashes = rest[1..].iter().take_while(|b| **b == b'#').count();
            if rest.get(1 + hashes) == Some(&b'"') {
                let close = format!("\"{}", "#".repeat(hashes));
                let from = at + hashes + 2;
                from + text[from..].find(&close).unwrap_or(0) + close.len()
            } else {
                at += 1;
                continue;
            }
        } else if rest[0] == b'\'' {
            match text[at + 1..].char_indices().nth(1) {
                Some((n, '\'')) => at + n + 2,
                _ if rest.get(1) == Some(&b'\\') => {
                    at + 3 + rest[3..].iter().position(|b| *b == b'\'').unwrap_or(0) + 1
                }
                _ => at + 1,
            }
        } else {
            at += 1;
            continue;
        };
        for b in &mut out[at..end.min(bytes.len())] {
            if *b != b'\n' {
                *b = b' ';
            }
        }
        at = end;
    }
    String::from_utf8(out).expect("whole characters are blanked")
}

fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// The brace that closes the first one at or after `from`.
fn closing(code: &str, from: usize) -> usize {
    let mut depth = 0;
    for (i, c) in code[from..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return from + i,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

fn crates() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("the folder of all crates").to_owned()
}

/// The product code of all crates, or of those called `name`.
fn sources(name: Option<&str>) -> Vec<Source> {
    let crates = crates();
    let mut sources = Vec::new();
    for entry in fs::read_dir(&crates).expect("the folder of all crates") {
        let dir = entry.expect("an entry").path();
        let wanted = name.is_none_or(|name| dir.ends_with(name));
        if wanted && dir.join("src").is_dir() {
            for file in rust_files(&dir.join("src")) {
                let text = fs::read_to_string(&file).expect("a source");
                let path = file.strip_prefix(&crates).expect("below").to_owned();
                sources.push(Source::new(path, text));
            }
        }
    }
    sources
}

fn check(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

// Floors.

/// The floor of a room, from 0 for the highest one on.
fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

/// The module path of a file of this crate; empty for `lib.rs`.
fn module_of(path: &Path) -> Vec<String> {
    let inside: PathBuf = path.iter().skip(2).collect();
    let mut names = source_files::module_of(&inside);
    if names == ["lib"] {
        names.clear();
    }
    names
}

fn is_of_tests(module: &[String]) -> bool {
    let tests = ["tests", "testing", "model"];
    module.iter().any(|name| tests.contains(&name.as_str()))
}

/// The modules that a file names by `crate::` or `super::`, with where it does: each as the names
/// from the root on, of which only the first counts. `use` trees are followed one brace deep.
fn paths_of(module: &[String], code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].bytes().next_back().unwrap_or(b' ');
            // The middle of a path, or a macro's own crate.
            if is_name(before) || before == b':' || before == b'$' {
                continue;
            }
            let mut base = module.to_vec();
            let mut rest = &code[at..];
            if start == "crate::" {
                base.clear();
                rest = &rest[start.len()..];
            }
            while let Some(inner) = rest.strip_prefix("super::") {
                base.pop();
                rest = inner;
            }
            if let Some(root) = base.first() {
                found.push((at, root.clone()));
            } else if let Some(tree) = rest.strip_prefix('{') {
                let tree = &tree[..tree.find("};").unwrap_or(tree.len())];
                found.extend(branches(tree).into_iter().map(|name| (at, name)));
            } else {
                found.push((at, first_name(rest)));
            }
        }
    }
    found
}

fn first_name(path: &str) -> String {
    let is_name = |c: &char| c.is_alphanumeric() || *c == '_';
    path.trim_start().chars().take_while(is_name).collect()
}

/// The first names of the branches of a `use` tree.
fn branches(tree: &str) -> Vec<String> {
    let mut names = vec![first_name(tree)];
    let mut depth = 0;
    for (i, c) in tree.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(first_name(&tree[i + 1..])),
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// What `source` imports that it must not.
fn upward_imports(source: &Source) -> Vec<String> {
    let module = module_of(&source.path);
    let Some(room) = module.first() else {
        return Vec::new();
    };
    if is_of_tests(&module) {
        return Vec::new();
    }
    let Some(own) = floor(room) else {
        return vec![source.complain(0, &format!("`{room}` has no floor"))];
    };
    let tests = source.inline_tests();
    let mut complaints = Vec::new();
    for (at, target) in paths_of(&module, &source.code) {
        if tests.iter().any(|tests| tests.contains(&at)) || target == *room {
            continue;
        }
        // What is none of the rooms is what the root exports, which stands above all.
        let wrong = match floor(&target) {
            Some(floor) if floor < own => "which is on a higher floor",
            Some(floor) if floor == own => "another room of the same floor",
            Some(_) => continue,
            None if own == 0 => continue,
            None => "which the root exports: name the module",
        };
        complaints.push(source.complain(at, &format!("`{room}` imports `{target}`, {wrong}")));
    }
    complaints
}

#[test]
fn modules_import_from_lower_floors_only() {
    let sources = sources(Some("whitewater"));
    assert!(sources.len() > 200, "the scan finds {}", sources.len());
    let complaints: Vec<String> = sources.iter().flat_map(upward_imports).collect();
    check(&complaints);
}

/// Every module of the root has a floor, and every room a module: the table cannot grow stale.
#[test]
fn floors_and_modules_are_the_same() {
    let sources = sources(Some("whitewater"));
    let modules = sources.iter().map(|source| module_of(&source.path));
    let rooms: BTreeSet<String> = modules.filter_map(|m| m.first().cloned()).collect();
    let listed: BTreeSet<String> = FLOORS
        .iter()
        .copied()
        .flatten()
        .map(|room| (*room).to_owned())
        .collect();
    assert_eq!(rooms, listed);
}

// Functions.

/// The functions of `code`: where each begins, its name, and where its body is.
fn functions(code: &str) -> Vec<(usize, String, Range<usize>)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        if code[..at].bytes().next_back().is_some_and(is_name) {
            continue;
        }
        let name = first_name(&code[at + 3..]);
        if name.is_empty() {
            continue;
        }
        let mut depth = 0;
        let open = code[at..].char_indices().find(|(_, c)| {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                _ => {}
            }
            depth == 0 && matches!(c, '{' | ';')
        });
        if let Some((open, '{')) = open {
            let start = code[..at].rfind('\n').map_or(0, |n| n + 1);
            found.push((start, name, at + open..closing(code, at + open)));
        }
    }
    found
}

/// Whether the comments and attributes above `at` say why what follows is long.
fn has_reason(text: &str, at: usize) -> bool {
    let above = text[..at].lines().rev();
    let mut above = above.take_while(|line| {
        let line = line.trim_start();
        line.starts_with("//") || line.starts_with("#[")
    });
    above.any(|line| {
        let reason = line.trim_start().strip_prefix("// Long:");
        reason.is_some_and(|reason| reason.trim().len() > 10)
    })
}

fn long_functions(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    for (start, name, body) in functions(&source.code) {
        let lines = source.code[start..=body.end.min(source.code.len() - 1)].lines();
        let lines = lines.filter(|line| !line.trim().is_empty()).count();
        if lines > MOST_LINES && !has_reason(&source.text, start) {
            let what = format!("`{name}` has {lines} lines of code and no `// Long: why` above it");
            complaints.push(source.complain(start, &what));
        }
    }
    complaints
}

#[test]
fn long_functions_say_why() {
    let complaints: Vec<String> = sources(None).iter().flat_map(long_functions).collect();
    check(&complaints);
}

// Files.

#[test]
fn folders_have_a_mod_file() {
    let root = crates();
    let sources = sources(None);
    let beside = sources
        .iter()
        .filter(|source| root.join(source.path.with_extension("")).is_dir());
    let complaints: Vec<String> = beside
        .map(|source| source.complain(0, "stands beside the folder that it is the module of"))
        .collect();
    check(&complaints);
}

fn wide_comments(source: &Source) -> Vec<String> {
    let mut complaints = Vec::new();
    for (i, line) in source.text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            continue;
        };
        let words = comment.trim_start_matches(['/', '!']).trim();
        // A row of a table, the definition of a link, or a single word.
        let is_whole = words.starts_with('|')
            || (words.starts_with('[') && words.contains("]: "))
            || !words.contains(' ');
        let columns = line.chars().count();
        if columns > MOST_COLUMNS && !is_whole {
            complaints.push(format!(
                "{}:{}: a comment of {columns} columns",
                source.path.display(),
                i + 1
            ));
        }
    }
    complaints
}

#[test]
fn comments_are_not_too_wide() {
    let complaints: Vec<String> = sources(None).iter().flat_map(wide_comments).collect();
    check(&complaints);
}

fn long_inline_tests(source: &Source) -> Vec<String> {
    let tests = source.inline_tests().into_iter();
    let lines = |range: &Range<usize>| source.code[range.clone()].matches('\n').count();
    tests
        .filter(|range| lines(range) > MOST_INLINE_TEST_LINES)
        .map(|range| {
            let what = format!("{} lines of tests: move them to `tests.rs`", lines(&range));
            source.complain(range.start, &what)
        })
        .collect()
}

#[test]
fn inline_tests_are_short() {
    let complaints: Vec<String> = sources(None).iter().flat_map(long_inline_tests).collect();
    check(&complaints);
}

/// Declarations of modules in other files: where, and the names.
fn declarations(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut of_tests = false;
    for line in code.split_inclusive('\n') {
        let words = line.trim_end().strip_suffix(';').unwrap_or_default();
        if let Some((visibility, name)) = words.rsplit_once("mod ")
            && (visibility.is_empty() || visibility.starts_with("pub"))
            && !of_tests
        {
            found.push((at, name.to_owned()));
        }
        of_tests = line.contains("#[cfg(test)]") || (of_tests && line.starts_with("#["));
        at += line.len();
    }
    found
}

fn unnamed_modules(source: &Source) -> Vec<String> {
    let declared = declarations(&source.code);
    let Some((first, _)) = declared.first() else {
        return Vec::new();
    };
    let above = source.text[..*first]
        .lines()
        .filter(|line| line.starts_with("//"));
    // Code spans are at the odd places between backquotes; a link may lead into the module.
    let mut named: BTreeMap<&str, ()> = BTreeMap::new();
    for line in above {
        for span in line.split('`').skip(1).step_by(2) {
            named.extend(span.split("::").map(|name| (name, ())));
        }
    }
    declared
        .iter()
        .filter(|(_, name)| !["tests", "fuzzing"].contains(&name.as_str()))
        .filter(|(_, name)| !named.contains_key(name.as_str()))
        .map(|(at, name)| source.complain(*at, &format!("nothing above says what `{name}` is")))
        .collect()
}

#[test]
fn modules_name_their_parts() {
    let sources = ["whitewater", "storage", "concurrent"].map(|name| sources(Some(name)));
    let sources = sources.concat();
    // The root's head is for users.
    let inner = sources.iter().filter(|s| !s.path.ends_with("src/lib.rs"));
    let complaints: Vec<String> = inner.flat_map(unnamed_modules).collect();
    check(&complaints);
}

/// Uses of [`OF_THE_SYSTEM`] outside of tests.
fn unsimulated(source: &Source) -> Vec<String> {
    let tests = source.inline_tests();
    let mut complaints = Vec::new();
    for (name, instead) in OF_THE_SYSTEM {
        for (at, _) in source.code.match_indices(name) {
            let in_tests = tests.iter().any(|range| range.contains(&at));
            let of_system = source.code[..at].ends_with("system::");
            if !in_tests && !of_system {
                let what = format!("`{name}` is not simulated: use `system::{instead}`");
                complaints.push(source.complain(at, &what));
            }
        }
    }
    complaints
}

#[test]
fn time_and_threads_can_be_simulated() {
    let all = ["whitewater", "storage"].map(|name| sources(Some(name)));
    let product = all.iter().flatten().filter(|source| {
        let module = source_files::module_of(&source.path);
        !is_of_tests(&module)
    });
    let complaints: Vec<String> = product.flat_map(unsimulated).collect();
    check(&complaints);
}

// The rules themselves.

fn source(path: &str, text: &str) -> Source {
    Source::new(PathBuf::from(path), text.to_owned())
}

#[test]
fn upward_imports_are_found() {
    let said = |path: &str, text: &str| upward_imports(&source(path, text)).join("\n");
    let pick = "whitewater/src/compact/pick/mod.rs";
    assert_eq!(
        said(pick, "//! Head.\nuse crate::db::Engine;\n"),
        "whitewater/src/compact/pick/mod.rs:2: `compact` imports `db`, which is on a higher floor"
    );
    assert!(said(pick, "fn f() -> crate::db::Engine").contains("`db`"));
    assert!(said(pick, "use crate::{options::X, db::{A, B}};").contains("`db`"));
    assert!(said(pick, "use super::super::db::Engine;").contains("`db`"));
    assert!(said(pick, "use crate::Options;").contains("the root exports"));
    assert_eq!(
        said(pick, "use super::score::Moment;\nuse crate::version::X;"),
        ""
    );
    assert_eq!(
        said(pick, "// crate::db::X\nconst A: &str = \"crate::db\";"),
        ""
    );
    let test = "#[cfg(test)]\nmod tests {\n    use crate::db::X;\n}\nuse crate::db::Y;\n";
    let found = said(pick, test);
    assert!(found.contains(":5:") && !found.contains(":3:"), "{found}");
    assert!(said("whitewater/src/read/get.rs", "use crate::write::X;").contains("same floor"));
    assert!(said("whitewater/src/new_room.rs", "").contains("no floor"));
    assert_eq!(
        said("whitewater/src/compact/tests.rs", "use crate::db::X;"),
        ""
    );
}

#[test]
fn long_functions_are_found() {
    let lines = |n: usize| {
        format!(
            "/// Doc.\nfn long(a: [u8; 2]) {{\n{}}}\n",
            "    a();\n".repeat(n)
        )
    };
    let said = |text: &str| long_functions(&source("a/src/b.rs", text)).join("\n");
    assert_eq!(said(&lines(MOST_LINES - 2)), "");
    assert!(said(&lines(MOST_LINES - 1)).starts_with("a/src/b.rs:2: `long` has 71 lines"));
    let blank = lines(MOST_LINES - 2).replace("a();\n", "a();\n\n    // }\n");
    assert_eq!(said(&blank), "");
    let with_reason = format!("// Long: one arm for each option.\n{}", lines(MOST_LINES));
    assert_eq!(said(&with_reason), "");
    assert!(said(&format!("// Long:\n{}", lines(MOST_LINES))).contains("`long`"));
}

#[test]
fn other_faults_are_found() {
    let wide = format!(
        "let a = 1;\n/// {}\n//! | {}\n",
        "word ".repeat(20),
        "cell | ".repeat(20)
    );
    let said = wide_comments(&source("a/src/b.rs", &wide));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("a/src/b.rs:2:"), "{said:?}");

    let inline = format!(
        "#[cfg(test)]\nmod tests {{\n{}}}\n",
        "\n".repeat(MOST_INLINE_TEST_LINES)
    );
    assert_eq!(long_inline_tests(&source("a/src/b.rs", &inline)).len(), 1);

    let clocks = "fn f() { Instant::now(); system::now(); }\n// Instant::now\n\
        #[cfg(test)]\nmod tests {\n    fn f() { t.elapsed(); }\n}\n";
    let said = unsimulated(&source("storage/src/x.rs", clocks));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("storage/src/x.rs:1:"), "{said:?}");

    let text =
        "//! * [`a`]: one; `b`.\n\nmod a;\npub(crate) mod b;\n#[cfg(test)]\nmod tests;\nmod c;\n";
    let said = unnamed_modules(&source("whitewater/src/x/mod.rs", text));
    assert_eq!(
        said,
        ["whitewater/src/x/mod.rs:7: nothing above says what `c` is"]
    );
}
