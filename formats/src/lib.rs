//! Kiban's file formats: bytes to typed views and back. No I/O, no threads, no clocks.
//!
//! Every module holds one format: its offset table, an encoder, a decoder that never
//! panics, over-allocates or loops on any bytes, and `describe`, which prints offset,
//! bytes and meaning. Annotated golden dumps under `formats/golden/` are regenerated
//! by the tests, so the tables in the docs are executed.
#![forbid(unsafe_code)]

mod error;
mod types;

pub use error::{FormatError, Problem};
pub use types::{FileNo, KeyspaceId, Kind, Level, PageNo, SeqNo, SlotNo, StoreId, TableId, UNIT_BYTES};
