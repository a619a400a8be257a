//! The commands, a file each: arguments, and what is done with them.

pub(crate) mod ab;
pub(crate) mod checkpoint;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod contains;
pub(crate) mod count;
pub(crate) mod delete;
pub(crate) mod dump;
pub(crate) mod explain;
pub(crate) mod get;
pub(crate) mod inspect;
mod keys;
pub(crate) mod levels;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod memlat;
pub(crate) mod put;
pub(crate) mod reindex;
pub(crate) mod repair;
pub(crate) mod restore;
pub(crate) mod scan;
pub(crate) mod stats;
pub(crate) mod verify;
