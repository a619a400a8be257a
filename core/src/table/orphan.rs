//! Tables of which only the file's name is known.

use std::path::Path;

use kiban_formats::footer::Footer;
use kiban_formats::{FileNo, Level, SeqNo, StoreId, TableMeta};

use super::context::TableContext;
use super::pages::read_error;
use super::reader::{Table, Tail, read_footer};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::Storage;

/// What a table file is good for.
#[derive(Debug)]
pub(crate) enum Condition {
    /// All of it is right. Of an ingested table the sequence is the least that it can have.
    Whole(Footer, TableMeta),
    /// Its footer is right, and something else is not.
    Damaged(Footer, Error),
    /// It is no table, or another store's.
    Unusable(Error),
}

/// Reads all of a table file. `known`: what the manifest says of it.
///
/// # Errors
/// A newer format, which is no damage.
pub(crate) fn examine(
    context: &TableContext,
    path: &Path,
    no: FileNo,
    known: Option<&TableMeta>,
) -> Result<Condition> {
    let footer = match read_own_footer(context, path) {
        Ok(Some(footer)) => footer,
        Ok(None) => {
            return Ok(Condition::Unusable(Error::corruption(path, "it is a table of another store")));
        }
        Err(error) => return damage(error).map(Condition::Unusable),
    };
    if known.is_some_and(|known| known.id != footer.table_id) {
        let error = Error::corruption(path, "it is another table than the manifest names");
        return Ok(Condition::Unusable(error));
    }
    match read_all(context, path, &footer, no, known) {
        Ok(meta) => Ok(Condition::Whole(footer, meta)),
        Err(error) => damage(error).map(|error| Condition::Damaged(footer, error)),
    }
}

/// The store that a table is of.
pub(crate) fn owner(storage: &dyn Storage, path: &Path) -> Result<StoreId> {
    footer_of(storage, path).map(|footer| footer.store_id)
}

fn footer_of(storage: &dyn Storage, path: &Path) -> Result<Footer> {
    let file = storage.open(path).map_err(|source| Error::io("open", path, source))?;
    let file_bytes = file.len().map_err(|source| read_error(path, source))?;
    read_footer(&*file, path, file_bytes)
}

/// What a device cannot read is damaged as well.
fn damage(error: Error) -> Result<Error> {
    if error.kind() == ErrorKind::Unsupported { Err(error) } else { Ok(error) }
}

fn read_own_footer(context: &TableContext, path: &Path) -> Result<Option<Footer>> {
    let footer = footer_of(&*context.storage, path)?;
    Ok((footer.store_id == context.store_id).then_some(footer))
}

fn read_all(
    context: &TableContext,
    path: &Path,
    footer: &Footer,
    no: FileNo,
    known: Option<&TableMeta>,
) -> Result<TableMeta> {
    let meta = match known {
        Some(known) => known.clone(),
        None => read_meta(context, path, footer, no)?,
    };
    let problems = Table::open(context, path, &meta)?.verify()?;
    match problems.first() {
        None => Ok(meta),
        Some(problem) => {
            let what = format!("{}, offset {}: {}", problem.section, problem.offset, problem.what);
            Err(Error::corruption(path, what))
        }
    }
}

fn read_meta(context: &TableContext, path: &Path, footer: &Footer, no: FileNo) -> Result<TableMeta> {
    let file = context.storage.open(path).map_err(|source| Error::io("open", path, source))?;
    let properties = Tail::read(&*file, path, footer)?.properties(footer);
    let properties = properties.map_err(|error| Error::format(path, error))?;
    let meta = TableMeta::of(no, Level(0), footer, properties);
    Ok(if footer.base_seq.0 > 0 { meta.at(footer.base_seq) } else { meta })
}

/// The greatest sequence in a table; `None` if it is not a whole table of this store. An ingested
/// one has none: without the log nothing says that it was committed.
pub(crate) fn greatest_seq(context: &TableContext, path: &Path) -> Result<Option<SeqNo>> {
    let read = || -> Result<Option<SeqNo>> {
        let Some(footer) = read_own_footer(context, path)? else { return Ok(None) };
        let meta = read_meta(context, path, &footer, FileNo(0))?;
        Ok(Some(meta.max_seq).filter(|_| footer.base_seq.0 == 0))
    };
    match read() {
        // Ingested, then cleared: the replay of the log removed it.
        Err(error) if error.is_missing_file() => Ok(None),
        Err(error) if error.kind() != ErrorKind::Io => Ok(None),
        result => result,
    }
}
