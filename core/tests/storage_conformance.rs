//! One contract, every storage: what the seam promises holds on disk, in memory, in the
//! simulator and behind the counter.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use kiban::storage::{CountingStorage, FsStorage, LockMode, MemStorage, SimStorage, Storage};

/// Runs `check` on every implementation, in a directory that exists and is empty.
fn on_every_storage(check: impl Fn(&dyn Storage, &Path)) {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("fs");
    let fs = FsStorage::new();
    fs.create_dir_all(&dir).unwrap();
    check(&fs, &dir);

    let counted_dir = scratch.path().join("counted");
    let counted = CountingStorage::new(Arc::new(FsStorage::new()));
    counted.create_dir_all(&counted_dir).unwrap();
    check(&counted, &counted_dir);

    let dir = Path::new("/some/dir");
    let mem = MemStorage::new(1);
    mem.create_dir_all(dir).unwrap();
    check(&mem, dir);

    let sim = SimStorage::new(1);
    sim.create_dir_all(dir).unwrap();
    check(&sim, dir);
}

fn write(storage: &dyn Storage, path: &Path, bytes: &[u8]) {
    storage.create(path).unwrap().append(&[bytes]).unwrap();
}

fn read(storage: &dyn Storage, path: &Path) -> Vec<u8> {
    let file = storage.open(path).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn names(storage: &dyn Storage, dir: &Path) -> Vec<(String, u64)> {
    let mut names: Vec<_> =
        storage.list(dir).unwrap().into_iter().map(|entry| (entry.name, entry.len)).collect();
    names.sort();
    names
}

#[test]
fn appended_parts_are_read_back_in_order_at_once() {
    on_every_storage(|storage, dir| {
        let path = dir.join("a");
        let mut writer = storage.create(&path).unwrap();
        let reader = storage.open(&path).unwrap();
        writer.append(&[b"one", b"", b"two"]).unwrap();
        writer.append(&[]).unwrap();
        writer.append(&[b""]).unwrap();
        writer.append(&[b"three"]).unwrap();
        assert_eq!(reader.len().unwrap(), 11);
        assert_eq!(read(storage, &path), b"onetwothree");
        let mut middle = [0; 4];
        reader.read_at(&mut middle, 2).unwrap();
        assert_eq!(&middle, b"etwo");
    });
}

#[test]
fn appends_fill_what_is_reserved_and_a_trim_gives_the_rest_back() {
    on_every_storage(|storage, dir| {
        let path = dir.join("roomy");
        let mut writer = storage.create(&path).unwrap();
        writer.append(&[b"one"]).unwrap();
        writer.reserve(10).unwrap();
        assert_eq!(read(storage, &path), b"one\0\0\0\0\0\0\0\0\0\0");
        writer.append(&[b"two", b"three"]).unwrap();
        assert_eq!(read(storage, &path), b"onetwothree\0\0");
        writer.reserve(1).unwrap();
        assert_eq!(read(storage, &path).len(), 13, "less is no trim");
        writer.append(&[b"four", b"five"]).unwrap();
        assert_eq!(read(storage, &path), b"onetwothreefourfive", "past what was reserved");
        writer.reserve(5000).unwrap();
        writer.append(&[b"six"]).unwrap();
        writer.sync().unwrap();
        writer.trim().unwrap();
        assert_eq!(read(storage, &path), b"onetwothreefourfivesix");
        writer.trim().unwrap();
        writer.append(&[b"7"]).unwrap();
        assert!(writer.reserve(u64::MAX).is_err());
        writer.append(&[b"8"]).unwrap();
        writer.trim().unwrap();
        assert_eq!(read(storage, &path), b"onetwothreefourfivesix78");
    });
}

#[test]
fn more_parts_than_one_system_call_takes_are_all_written() {
    on_every_storage(|storage, dir| {
        let path = dir.join("many");
        let numbers: Vec<[u8; 4]> = (0..5000_u32).map(u32::to_le_bytes).collect();
        let parts: Vec<&[u8]> = numbers.iter().map(|number| &number[..]).collect();
        storage.create(&path).unwrap().append(&parts).unwrap();
        assert_eq!(read(storage, &path), numbers.concat());
    });
}

#[test]
fn a_read_past_the_end_is_an_error_and_of_nothing_is_not() {
    on_every_storage(|storage, dir| {
        let path = dir.join("short");
        write(storage, &path, b"12345");
        let file = storage.open(&path).unwrap();
        let kind = |len: usize, offset| file.read_at(&mut vec![0; len], offset).map_err(|error| error.kind());
        assert_eq!(kind(6, 0), Err(ErrorKind::UnexpectedEof));
        assert_eq!(kind(1, 5), Err(ErrorKind::UnexpectedEof));
        assert_eq!(kind(2, 4), Err(ErrorKind::UnexpectedEof));
        assert_eq!(kind(1, i64::MAX as u64 - 1), Err(ErrorKind::UnexpectedEof));
        assert_eq!(kind(0, 5), Ok(()));
        assert_eq!(kind(5, 0), Ok(()));
    });
}

#[test]
fn a_file_that_is_read_at_random_shows_the_same_bytes() {
    on_every_storage(|storage, dir| {
        let path = dir.join("random");
        write(storage, &path, &[7; 10_000]);
        let file = storage.open(&path).unwrap();
        file.expect_random_reads();
        let mut part = [0; 100];
        file.read_at(&mut part, 9_900).unwrap();
        assert_eq!(part, [7; 100]);
        if let Ok(map) = file.map(10_000) {
            assert_eq!(map[..], [7; 10_000]);
        }
    });
}

#[test]
fn a_map_shows_the_bytes_and_never_more_than_there_are() {
    on_every_storage(|storage, dir| {
        let path = dir.join("mapped");
        write(storage, &path, b"mapped bytes");
        let file = storage.open(&path).unwrap();
        assert_eq!(&**file.map(12).unwrap(), b"mapped bytes");
        assert_eq!(&**file.map(6).unwrap(), b"mapped");
        assert_eq!(&**file.map(0).unwrap(), b"");
        assert_eq!(file.map(13).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(file.map(u64::MAX).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    });
}

#[test]
fn maps_and_open_files_outlive_their_name() {
    on_every_storage(|storage, dir| {
        let path = dir.join("gone");
        write(storage, &path, b"still here");
        let file = storage.open(&path).unwrap();
        let map = file.map(10).unwrap();
        storage.remove(&path).unwrap();
        assert_eq!(&**map, b"still here");
        let mut bytes = [0; 10];
        file.read_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"still here");
        assert_eq!(storage.open(&path).unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn create_never_takes_an_existing_name() {
    on_every_storage(|storage, dir| {
        let path = dir.join("taken");
        write(storage, &path, b"first");
        assert_eq!(storage.create(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(read(storage, &path), b"first");
        assert_eq!(storage.create(&dir.join("no/such")).unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn rename_replaces_its_target_and_takes_the_old_name_away() {
    on_every_storage(|storage, dir| {
        let (from, to) = (dir.join("new"), dir.join("old"));
        write(storage, &from, b"new");
        write(storage, &to, b"old, longer");
        let mut writer = storage.create(&dir.join("writing")).unwrap();
        storage.rename(&from, &to).unwrap();
        assert_eq!(read(storage, &to), b"new");
        assert_eq!(storage.open(&from).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(storage.rename(&from, &to).unwrap_err().kind(), ErrorKind::NotFound);

        // A writer follows its file, not the name.
        storage.rename(&dir.join("writing"), &dir.join("written")).unwrap();
        writer.append(&[b"late"]).unwrap();
        writer.sync().unwrap();
        assert_eq!(read(storage, &dir.join("written")), b"late");
        storage.sync_dir(dir).unwrap();
    });
}

#[test]
fn a_link_is_the_same_file_until_either_name_goes() {
    on_every_storage(|storage, dir| {
        let (first, second) = (dir.join("first"), dir.join("second"));
        write(storage, &first, b"shared");
        storage.link(&first, &second).unwrap();
        assert_eq!(storage.link(&first, &second).unwrap_err().kind(), ErrorKind::AlreadyExists);
        storage.remove(&first).unwrap();
        assert_eq!(read(storage, &second), b"shared");
        assert_eq!(storage.remove(&first).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(storage.link(&first, &dir.join("third")).unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn a_moved_directory_takes_its_files_along_and_never_a_taken_name() {
    on_every_storage(|storage, dir| {
        let (from, to) = (dir.join("new"), dir.join("made"));
        storage.create_dir_all(&from.join("below")).unwrap();
        storage.create_dir_all(&dir.join("newer")).unwrap();
        write(storage, &from.join("a"), b"1");
        write(storage, &from.join("below/b"), b"22");
        let mut writer = storage.create(&from.join("writing")).unwrap();
        storage.rename_dir(&from, &to).unwrap();
        assert_eq!(storage.list(&from).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(names(storage, &to), [("a".into(), 1), ("writing".into(), 0)]);
        assert_eq!(names(storage, &to.join("below")), [("b".into(), 2)]);
        writer.append(&[b"late"]).unwrap();
        assert_eq!(read(storage, &to.join("writing")), b"late");
        assert_eq!(names(storage, &dir.join("newer")), [], "a name that only begins the same stays");

        assert_eq!(storage.rename_dir(&from, &to).unwrap_err().kind(), ErrorKind::NotFound);
        storage.create_dir_all(&from).unwrap();
        assert_eq!(storage.rename_dir(&to, &from).unwrap_err().kind(), ErrorKind::AlreadyExists);
        write(storage, &dir.join("file"), b"");
        assert_eq!(storage.rename_dir(&to, &dir.join("file")).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(
            storage.rename_dir(&dir.join("file"), &dir.join("x")).unwrap_err().kind(),
            ErrorKind::NotFound
        );
        storage.sync_dir(dir).unwrap();
    });
}

#[test]
fn only_an_empty_directory_is_removed() {
    on_every_storage(|storage, dir| {
        let made = dir.join("made");
        storage.create_dir_all(&made.join("below")).unwrap();
        assert_eq!(storage.remove_dir(&made).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
        storage.remove_dir(&made.join("below")).unwrap();
        write(storage, &made.join("file"), b"");
        assert_eq!(storage.remove_dir(&made).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
        storage.remove(&made.join("file")).unwrap();
        storage.remove_dir(&made).unwrap();
        assert_eq!(storage.list(&made).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(storage.remove_dir(&made).unwrap_err().kind(), ErrorKind::NotFound);
        storage.create_dir_all(&made).unwrap();
        assert_eq!(names(storage, &made), []);
    });
}

#[test]
fn list_shows_plain_files_with_lengths_and_no_directories() {
    on_every_storage(|storage, dir| {
        assert_eq!(names(storage, dir), []);
        write(storage, &dir.join("b"), b"22");
        write(storage, &dir.join("a"), b"");
        storage.create_dir_all(&dir.join("below/deeper")).unwrap();
        write(storage, &dir.join("below/c"), b"333");
        assert_eq!(names(storage, dir), [("a".into(), 0), ("b".into(), 2)]);
        assert_eq!(names(storage, &dir.join("below")), [("c".into(), 3)]);
        assert_eq!(storage.list(&dir.join("nowhere")).unwrap_err().kind(), ErrorKind::NotFound);
        storage.create_dir_all(&dir.join("below")).unwrap();
        assert_eq!(names(storage, &dir.join("below")), [("c".into(), 3)]);
    });
}

#[test]
fn a_directory_is_never_made_where_a_file_stands() {
    on_every_storage(|storage, dir| {
        write(storage, &dir.join("file"), b"");
        assert!(storage.create_dir_all(&dir.join("file")).is_err());
        assert!(storage.create_dir_all(&dir.join("file/below")).is_err());
        assert_eq!(names(storage, dir), [("file".into(), 0)]);
        assert!(storage.open(dir).is_err());
    });
}

#[test]
fn syncs_work_from_another_thread_and_on_files_of_another_writer() {
    on_every_storage(|storage, dir| {
        let path = dir.join("log");
        let mut writer = storage.create(&path).unwrap();
        let syncer = writer.syncer().unwrap();
        writer.append(&[b"1"]).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| syncer.sync().unwrap());
            writer.append(&[b"2"]).unwrap();
        });
        drop(writer);
        syncer.sync().unwrap();
        storage.open_sync(&path).unwrap().sync().unwrap();
        assert_eq!(storage.open_sync(&dir.join("none")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(storage.sync_dir(&dir.join("none")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(read(storage, &path), b"12");
    });
}

#[test]
fn one_writer_or_many_readers_hold_a_lock() {
    on_every_storage(|storage, dir| {
        let path = dir.join("LOCK");
        let lock = |mode| storage.lock(&path, mode).map_err(|error| error.kind());
        assert_eq!(lock(LockMode::Shared).unwrap_err(), ErrorKind::NotFound);
        let writer = lock(LockMode::Exclusive).unwrap();
        assert_eq!(lock(LockMode::Exclusive).unwrap_err(), ErrorKind::WouldBlock);
        assert_eq!(lock(LockMode::Shared).unwrap_err(), ErrorKind::WouldBlock);
        drop(writer);
        let readers = (lock(LockMode::Shared).unwrap(), lock(LockMode::Shared).unwrap());
        assert_eq!(lock(LockMode::Exclusive).unwrap_err(), ErrorKind::WouldBlock);
        drop(readers.0);
        assert_eq!(lock(LockMode::Exclusive).unwrap_err(), ErrorKind::WouldBlock);
        drop(readers.1);
        drop(lock(LockMode::Exclusive).unwrap());
        assert_eq!(names(storage, dir), [("LOCK".into(), 0)]);
    });
}

#[test]
fn clocks_never_go_back_and_random_numbers_differ() {
    on_every_storage(|storage, _| {
        let began = storage.now();
        let numbers: std::collections::BTreeSet<u64> = (0..100).map(|_| storage.random_u64()).collect();
        assert_eq!(numbers.len(), 100);
        assert!(storage.now() >= began);
    });
}

/// A store is nobody else's business, whatever the umask lets through.
#[cfg(unix)]
#[test]
fn the_file_system_makes_files_and_directories_for_the_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let scratch = tempfile::tempdir().unwrap();
    let storage = FsStorage::new();
    let dir = scratch.path().join("made/by/us");
    storage.create_dir_all(&dir).unwrap();
    write(&storage, &dir.join("file"), b"");
    drop(storage.lock(&dir.join("LOCK"), LockMode::Exclusive).unwrap());
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir.join("file")), 0o600);
    assert_eq!(mode(&dir.join("LOCK")), 0o600);
    for made in [dir.as_path(), dir.parent().unwrap(), &scratch.path().join("made")] {
        assert_eq!(mode(made), 0o700, "{}", made.display());
    }
}

#[test]
fn the_counter_counts_by_name() {
    let counted = CountingStorage::new(Arc::new(MemStorage::new(1)));
    let dir = Path::new("/store");
    counted.create_dir_all(dir).unwrap();
    let mut writer = counted.create(&dir.join("log")).unwrap();
    writer.append(&[b"12", b"345"]).unwrap();
    writer.reserve(9).unwrap();
    writer.trim().unwrap();
    writer.trim().unwrap();
    writer.sync().unwrap();
    writer.syncer().unwrap().sync().unwrap();
    counted.sync_dir(dir).unwrap();
    counted.rename(&dir.join("log"), &dir.join("old")).unwrap();
    assert_eq!(read(&counted, &dir.join("old")), b"12345");

    let counts = counted.counts();
    let log = counts["log"];
    assert_eq!((log.creates, log.appends, log.append_bytes, log.syncs), (1, 1, 5, 2));
    assert_eq!((log.names_taken, log.opens), (1, 0));
    assert_eq!((log.reserves, log.trims), (1, 2));
    let old = counts["old"];
    assert_eq!((old.names_given, old.opens, old.reads, old.read_bytes), (1, 1, 1, 5));
    assert_eq!(counts["store"].dir_syncs, 1);

    counted.reset();
    assert!(counted.counts().is_empty());
}

#[test]
fn a_fork_of_memory_is_another_storage_with_the_same_files_and_no_locks() {
    let first = MemStorage::new(1);
    let path = Path::new("/file");
    write(&first, path, b"before");
    let held = first.lock(Path::new("/LOCK"), LockMode::Exclusive).unwrap();
    let second = first.fork();
    second.set_bytes(path, b"after".to_vec());
    assert_eq!(first.bytes(path).unwrap(), b"before");
    assert_eq!(read(&second, path), b"after");
    second.lock(Path::new("/LOCK"), LockMode::Exclusive).unwrap();
    drop(held);
}
