//! The pointer file.

use kiban_formats::{FileNo, Pointer, describe_pointer};

use super::checks::{STORE, check_damage, check_dump};

#[test]
fn a_pointer_is_the_golden_one_and_shows_damage() {
    let file = Pointer { store_id: STORE, manifest: FileNo(7) }.encode();
    check_dump("pointer", &file, describe_pointer);
    check_damage(&file, Pointer::decode, |_| false);
}
