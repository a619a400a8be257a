//! All records of a store, compared with those that it must hold.

use crate::engine::Store;
use crate::trial::Failure;

/// Appends the key and the value of the record at a rank.
type Record<'a> = &'a dyn Fn(usize, &mut Vec<u8>, &mut Vec<u8>);

/// Compares; `ranks` are those of all records that must be there, in key order. Returns how many
/// records were compared.
pub(crate) fn read_back(
    store: &mut dyn Store,
    ranks: &mut dyn Iterator<Item = usize>,
    record: Record<'_>,
) -> Result<u64, Failure> {
    let (mut right_key, mut right_value) = (Vec::new(), Vec::new());
    let (mut checked, mut wrong) = (0, None);
    store
        .scan(&mut |key, value| {
            if wrong.is_some() {
                return;
            }
            right_key.clear();
            right_value.clear();
            match ranks.next() {
                Some(rank) => record(rank, &mut right_key, &mut right_value),
                None => wrong = Some(format!("read back: key \"{}\" was never put", key.escape_ascii())),
            }
            if wrong.is_none() && (key, value) != (&right_key[..], &right_value[..]) {
                let (found, right) = (key.escape_ascii(), right_key.escape_ascii());
                wrong = Some(match key == right_key {
                    true => format!("read back: key \"{found}\" has not the value put last"),
                    false => format!("read back: expected key \"{right}\", got \"{found}\""),
                });
            }
            checked += 1;
        })
        .map_err(Failure::Error)?;
    match (wrong, ranks.next()) {
        (Some(sentence), _) => Err(Failure::Told(sentence)),
        (None, None) => Ok(checked),
        (None, Some(rank)) => {
            right_key.clear();
            record(rank, &mut right_key, &mut right_value);
            Err(Failure::Told(format!("read back: key \"{}\" is missing", right_key.escape_ascii())))
        }
    }
}
