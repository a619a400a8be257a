//! The longest value there is. Needs some 16 GiB of memory and 9 GiB of disk, so it runs by
//! `just big-values` only.

use kiban::{Db, Durability};

#[test]
#[ignore = "needs 16 GiB of memory: just big-values"]
fn h35_a_value_of_four_gib_less_one_byte_round_trips() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path()).unwrap();
    let space = db.default_keyspace();
    let mut value = vec![0; u32::MAX as usize];
    (value[0], value[1 << 31], value[u32::MAX as usize - 1]) = (1, 2, 3);
    space.put_with("big", &value, Durability::Sync).unwrap();
    space.put("small", "1").unwrap();
    let check = |db: &Db| {
        let space = db.default_keyspace();
        assert!(space.get("big").unwrap().unwrap()[..] == value[..]);
        assert_eq!(space.get("small").unwrap().unwrap(), b"1");
    };
    check(&db);
    db.close().unwrap();
    drop(db);
    let db = Db::open(scratch.path()).unwrap();
    check(&db);
    db.flush().unwrap();
    check(&db);
    db.close().unwrap();
    check(&Db::open(scratch.path()).unwrap());
}
