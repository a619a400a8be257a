//! Kiban's file formats: bytes to typed views and back. No I/O, no threads, no clocks.
//!
//! Every module holds one format: its offset table, an encoder, a decoder that never
//! panics, over-allocates or loops on any bytes, and `describe`, which prints offset,
//! bytes and meaning. Annotated golden dumps under `formats/golden/` are regenerated
//! by the tests, so the tables in the docs are executed.
#![forbid(unsafe_code)]

pub mod accessor_file;
pub mod crc;
pub mod describe;
mod entry_crc;
mod error;
pub mod fence;
mod fields;
pub mod filter;
pub mod footer;
pub mod frame;
pub mod log;
pub mod manifest;
pub mod page;
mod pointer;
pub mod properties;
pub mod table;
mod types;
pub mod varint;

pub use entry_crc::{EntryHead, NEWEST_BIT, payload_crc};
pub use error::{FormatError, Problem};
pub use manifest::TableMeta;
pub use pointer::{POINTER_BYTES, Pointer, describe_pointer};
pub use types::{FileNo, KeyspaceId, Kind, Level, PageNo, SeqNo, SlotNo, StoreId, TableId, UNIT_BYTES};
