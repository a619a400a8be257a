//! Annotated dumps of fence pages and the top tier.

use super::{FenceNode, NODE_HEADER_BYTES, TOP_SECTION, TopTier};
use crate::describe::{Dump, printable};
use crate::fields::Fields;
use crate::page::TableSalt;
use crate::{FormatError, PageNo};

/// Writes a fence page's fields; `base` is where it starts in the file.
///
/// # Errors
/// What does not parse.
pub fn describe_fence(bytes: &[u8], base: u64, dump: &mut Dump) -> Result<(), FormatError> {
    describe_node(&FenceNode::parse(bytes)?, bytes, base, dump)
}

/// Writes the top tier's fields.
///
/// # Errors
/// What does not parse, and a wrong checksum.
pub fn describe_top(bytes: &[u8], salt: TableSalt, base: u64, dump: &mut Dump) -> Result<(), FormatError> {
    let top = TopTier::decode(bytes, salt)?;
    let len_bytes = top.node_offset() as usize - top.common().len();
    dump.field(base, &bytes[..len_bytes], format!("{} bytes that all keys share", top.common().len()));
    if !top.common().is_empty() {
        dump.field(base + len_bytes as u64, top.common(), printable(top.common()));
    }
    describe_node(&top.node(), &bytes[len_bytes + top.common().len()..], base + top.node_offset(), dump)
}

fn describe_node(node: &FenceNode<'_>, bytes: &[u8], base: u64, dump: &mut Dump) -> Result<(), FormatError> {
    let mut fields = Fields::new(TOP_SECTION, bytes);
    let (count, first, stride, units) = (fields.u32()?, fields.u32()?, fields.u16()?, fields.u16()?);
    dump.field(base, &bytes[..4], format!("{count} children"));
    dump.field(base + 4, &bytes[4..8], format!("first child {}", PageNo(first)));
    let strides =
        if stride == 0 { "each child listed".to_owned() } else { format!("a child every {stride} units") };
    dump.field(base + 8, &bytes[8..10], strides);
    let size = if units == 0 { "top tier".to_owned() } else { format!("{units} units") };
    dump.field(base + 10, &bytes[10..12], size);
    dump.field(base + 12, &bytes[12..16], "checksum");
    dump.field(base + 16, &bytes[NODE_HEADER_BYTES..], "places and separators");
    for (separator, child) in node.separators()? {
        let seq = separator.seq.map_or(String::new(), |seq| format!(" at sequence {seq}"));
        dump.note(format!("page {child} from {}{seq}", printable(&separator.key)));
    }
    Ok(())
}
