//! The names of an in-memory file system, now and after a crash.

use super::content::MemFile;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a name stands for.
#[derive(Clone)]
pub(super) enum Node {
    Dir,
    File(Arc<MemFile>),
}

impl Node {
    fn is_same(&self, other: &Node) -> bool {
        match (self, other) {
            (Node::Dir, Node::Dir) => true,
            (Node::File(a), Node::File(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// Names by path from the root. The root itself is not in it.
pub(super) type Tree = BTreeMap<PathBuf, Node>;

/// The current directory tree, the durable one, and the operations between the two.
#[derive(Default)]
pub(super) struct Names {
    pub current: Tree,
    pub durable: Tree,
    pub pending: Vec<DirOp>,
}

/// A directory operation that is not durable yet.
#[derive(Clone)]
pub(super) enum DirOp {
    /// A name for a node: create, link, make a directory.
    Add(PathBuf, Node),
    Remove(PathBuf, Node),
    Rename(PathBuf, PathBuf, Node),
}

impl DirOp {
    /// Whether `sync_dir(dir)` makes the operation durable.
    fn is_covered_by(&self, dir: &Path) -> bool {
        match self {
            DirOp::Add(path, Node::Dir) => {
                dir.starts_with(path) || path.parent().is_some_and(|p| p == dir)
            }
            DirOp::Add(path, _) | DirOp::Remove(path, _) => path.parent() == Some(dir),
            DirOp::Rename(from, to, _) => from.parent() == Some(dir) || to.parent() == Some(dir),
        }
    }

    /// Applies the operation to `tree`, where earlier operations may be missing.
    pub fn apply(&self, tree: &mut Tree) {
        match self {
            DirOp::Add(path, node) => {
                tree.insert(path.clone(), node.clone());
            }
            DirOp::Remove(path, node) => {
                if tree.get(path).is_some_and(|n| n.is_same(node)) {
                    tree.remove(path);
                }
            }
            DirOp::Rename(from, to, node) => {
                if tree.get(from).is_some_and(|n| n.is_same(node)) {
                    tree.remove(from);
                }
                tree.insert(to.clone(), node.clone());
                if matches!(node, Node::Dir) {
                    move_children(tree, from, to);
                }
            }
        }
    }
}

/// Renames everything below the directory `from`.
fn move_children(tree: &mut Tree, from: &Path, to: &Path) {
    let below: Vec<PathBuf> = tree
        .keys()
        .filter(|p| p.starts_with(from) && *p != from)
        .cloned()
        .collect();
    for path in below {
        if let (Ok(rest), Some(node)) = (path.strip_prefix(from), tree.remove(&path)) {
            tree.insert(to.join(rest), node);
        }
    }
}

impl Names {
    /// Performs `op`, which becomes durable later.
    pub fn perform(&mut self, op: DirOp) {
        op.apply(&mut self.current);
        self.pending.push(op);
    }

    /// The file at `path`.
    pub fn file(&self, path: &Path) -> io::Result<Arc<MemFile>> {
        match self.current.get(path) {
            Some(Node::File(file)) => Ok(file.clone()),
            Some(Node::Dir) => Err(ErrorKind::IsADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Whether `path` is a directory; the root is one.
    pub fn is_dir(&self, path: &Path) -> bool {
        path.parent().is_none() || matches!(self.current.get(path), Some(Node::Dir))
    }

    /// Fails unless a file may be put at `path`.
    pub fn check_parent(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(dir) if self.is_dir(dir) => Ok(()),
            _ => Err(ErrorKind::NotFound.into()),
        }
    }

    /// The file at `path`, which is created if missing.
    pub fn open_or_create(&mut self, path: &Path) -> io::Result<Arc<MemFile>> {
        match self.file(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                self.check_parent(path)?;
                let file = Arc::new(MemFile::default());
                self.perform(DirOp::Add(path.to_path_buf(), Node::File(file.clone())));
                Ok(file)
            }
            other => other,
        }
    }

    /// Renames a file, possibly replacing another one, or renames a directory.
    pub fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let node = self.current.get(from).ok_or(ErrorKind::NotFound)?.clone();
        self.check_parent(to)?;
        match (&node, self.current.get(to)) {
            (Node::File(_), Some(Node::Dir)) => return Err(ErrorKind::IsADirectory.into()),
            (Node::Dir, Some(_)) => return Err(ErrorKind::AlreadyExists.into()),
            _ => {}
        }
        if from != to {
            self.perform(DirOp::Rename(from.to_path_buf(), to.to_path_buf(), node));
        }
        Ok(())
    }

    /// The paths directly below `dir`.
    pub fn children<'a>(&'a self, dir: &'a Path) -> impl Iterator<Item = &'a Path> {
        self.current
            .range(dir.to_path_buf()..)
            .map(|(path, _)| path.as_path())
            .take_while(move |path| path.starts_with(dir))
            .filter(move |path| path.parent() == Some(dir))
    }

    /// Makes the operations on the entries of `dir` durable.
    pub fn sync_dir(&mut self, dir: &Path) {
        let pending = std::mem::take(&mut self.pending);
        for op in pending {
            if op.is_covered_by(dir) {
                op.apply(&mut self.durable);
            } else {
                self.pending.push(op);
            }
        }
    }
}
