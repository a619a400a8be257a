//! Tables that no manifest names.

use std::path::Path;

use kiban_formats::SeqNo;

use super::context::TableContext;
use super::pages::read_error;
use super::reader::{Tail, read_footer};
use crate::error::{Error, ErrorKind, Result};

/// The greatest sequence in a table of which only its name is known; `None` if it is not a whole
/// table of this store.
pub(crate) fn greatest_seq(context: &TableContext, path: &Path) -> Result<Option<SeqNo>> {
    let read = || {
        let file = match context.storage.open(path) {
            // Ingested, then cleared: the replay of the log removed it.
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|source| Error::io("open", path, source))?,
        };
        let file_bytes = file.len().map_err(|source| read_error(path, source))?;
        let footer = read_footer(&*file, path, file_bytes)?;
        if footer.store_id != context.store_id {
            return Ok(None);
        }
        let properties = Tail::read(&*file, path, &footer)?.properties(&footer);
        properties.map(|properties| Some(properties.max_seq)).map_err(|error| Error::format(path, error))
    };
    match read() {
        Err(error) if error.kind() != ErrorKind::Io => Ok(None),
        result => result,
    }
}
