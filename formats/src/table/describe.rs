//! The annotated dump of a whole table file.

use crate::describe::Dump;
use crate::fence::{describe_fence, describe_top, fence_units};
use crate::filter::describe_filter;
use crate::footer::{FOOTER_BYTES, Footer, Section, describe_footer};
use crate::page::{Jumbo, Page, TableSalt, describe_jumbo, describe_page, is_jumbo};
use crate::properties::describe_properties;
use crate::{FormatError, PageNo, Problem, UNIT_BYTES};

/// Writes all fields of a table file. What does not parse is noted where it is, and ends the part.
///
/// # Errors
/// The footer does not decode: nothing else can be found without it.
pub fn describe_table(file: &[u8], dump: &mut Dump) -> Result<(), FormatError> {
    let file_bytes = file.len() as u64;
    let footer_at = file.len().checked_sub(FOOTER_BYTES).ok_or_else(|| {
        let problem = Problem::Truncated { needed: FOOTER_BYTES as u64, have: file_bytes };
        FormatError::new("footer", 0, problem)
    })?;
    let footer = Footer::decode(&file[footer_at..], file_bytes)?;
    let salt = TableSalt::new(footer.table_id);
    let data_end = footer.data_units as usize * UNIT_BYTES;
    let fences_end = footer.sections_start() as usize;
    let data = describe_data(file, data_end, &footer, salt, dump);
    note(data, dump);
    let fences = describe_fences(file, data_end..fences_end, dump);
    note(fences, dump);
    dump.heading("filter");
    describe_filter(part(file, &footer.filter), footer.filter.offset, dump);
    dump.heading("top tier");
    note(describe_top(part(file, &footer.top_tier), salt, footer.top_tier.offset, dump), dump);
    dump.heading("properties");
    note(describe_properties(part(file, &footer.properties), footer.properties.offset, dump), dump);
    dump.heading("footer");
    describe_footer(&file[footer_at..], file_bytes, dump)
}

fn note(result: Result<(), FormatError>, dump: &mut Dump) {
    if let Err(error) = result {
        dump.note(format!("UNREADABLE: {error}"));
    }
}

/// A section's bytes; the footer has been checked against the file.
fn part<'a>(file: &'a [u8], section: &Section) -> &'a [u8] {
    let start = section.offset as usize;
    file.get(start..start + section.len as usize).unwrap_or_default()
}

fn describe_data(
    file: &[u8],
    end: usize,
    footer: &Footer,
    salt: TableSalt,
    dump: &mut Dump,
) -> Result<(), FormatError> {
    let mut at = 0;
    while at < end {
        let page = PageNo((at / UNIT_BYTES) as u32);
        let rest = &file[at..end];
        let located = |error: FormatError| error.moved_by(at as u64);
        if is_jumbo(rest) {
            dump.heading(format!("data page {page}, a jumbo run"));
            let run = Jumbo::parse(rest, salt.page(page)).map_err(located)?.units as usize * UNIT_BYTES;
            let run = run.min(rest.len());
            describe_jumbo(&rest[..run], salt.page(page), at as u64, dump).map_err(located)?;
            at += run;
        } else {
            dump.heading(format!("data page {page}"));
            let bytes = &rest[..footer.shape.page_bytes().min(rest.len())];
            describe_page(bytes, at as u64, dump).map_err(located)?;
            at += Page::parse(bytes).map_err(located)?.bytes().len();
        }
    }
    Ok(())
}

fn describe_fences(file: &[u8], range: std::ops::Range<usize>, dump: &mut Dump) -> Result<(), FormatError> {
    let mut at = range.start;
    while at < range.end {
        dump.heading(format!("fence page {}", at / UNIT_BYTES));
        let located = |error: FormatError| error.moved_by(at as u64);
        let rest = &file[at..range.end];
        let units = usize::from(fence_units(rest).map_err(located)?);
        let bytes = &rest[..rest.len().min(units * UNIT_BYTES)];
        describe_fence(bytes, at as u64, dump).map_err(located)?;
        at += bytes.len();
    }
    Ok(())
}
