//! All numbers of the engine in one flat, printable struct.
//!
//! Nothing here is stored: settings may change at each open. Each default is a constant of
//! [`defaults`]; a value out of range is refused with the field's name, never clamped.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The defaults of [`Settings`], and the least and greatest values it takes.
pub mod defaults {
    /// [`Settings::cache_bytes`](super::Settings::cache_bytes): 64 MiB.
    pub const CACHE_BYTES: u64 = 64 << 20;
    /// [`Settings::memtable_bytes`](super::Settings::memtable_bytes): 16 MiB.
    pub const MEMTABLE_BYTES: u64 = 16 << 20;
    /// [`Settings::memtables_total_bytes`](super::Settings::memtables_total_bytes): four memtables.
    pub const MEMTABLES_TOTAL_BYTES: u64 = 4 * MEMTABLE_BYTES;
    /// [`Settings::table_bytes`](super::Settings::table_bytes): 64 MiB.
    pub const TABLE_BYTES: u64 = 64 << 20;
    /// [`Settings::level_ratio`](super::Settings::level_ratio).
    pub const LEVEL_RATIO: u32 = 10;
    /// [`Settings::level0_tables`](super::Settings::level0_tables).
    pub const LEVEL0_TABLES: u32 = 4;
    /// [`Settings::level0_stall_tables`](super::Settings::level0_stall_tables).
    pub const LEVEL0_STALL_TABLES: u32 = 20;
    /// [`Settings::background_threads`](super::Settings::background_threads): this, or the number of cores if that is less.
    pub const BACKGROUND_THREADS: u32 = 4;
    /// [`Settings::filter_bits_per_key`](super::Settings::filter_bits_per_key).
    pub const FILTER_BITS_PER_KEY: u32 = 10;
    /// [`Settings::log_bytes_max`](super::Settings::log_bytes_max): four times the default of all memtables, 256 MiB.
    pub const LOG_BYTES_MAX: u64 = 4 * MEMTABLES_TOTAL_BYTES;
    /// [`Settings::open_files_max`](super::Settings::open_files_max): this, or half of `RLIMIT_NOFILE` if that is less.
    pub const OPEN_FILES_MAX: u32 = 512;
    /// [`Settings::build_bytes`](super::Settings::build_bytes): 32 MiB.
    pub const BUILD_BYTES: u64 = 32 << 20;
    /// [`Settings::absent_check_every`](super::Settings::absent_check_every).
    pub const ABSENT_CHECK_EVERY: u32 = 64;

    /// No byte count may be larger: 1 PiB. Sums and small multiples stay far from overflow.
    pub const BYTES_MAX: u64 = 1 << 50;
    /// The smallest memtable, and the smallest sum of memtables.
    pub const MEMTABLE_BYTES_MIN: u64 = 1 << 10;
    /// The smallest table, and the smallest `log_bytes_max`.
    pub const TABLE_BYTES_MIN: u64 = 4 << 10;
    /// The fewest descriptors the table cache works with.
    pub const OPEN_FILES_MIN: u32 = 16;
}

use defaults::{BYTES_MAX, MEMTABLE_BYTES_MIN, OPEN_FILES_MIN, TABLE_BYTES_MIN};

/// When an acknowledged write is safe.
///
/// Written as `Buffered` and `Sync`; read also in lower case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Durability {
    /// The write reached the operating system: it survives the death of the process, and a
    /// power cut takes at most a suffix of such writes.
    #[default]
    #[serde(alias = "buffered")]
    Buffered,
    /// The write, and all before it, survive a power cut.
    #[serde(alias = "sync")]
    Sync,
}

/// What opening does about damage in the middle of the log.
///
/// Written as `Strict` and `PointInTime`; read also as `strict` and `point_in_time`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RecoveryMode {
    /// Refuse, and name the file and the offset.
    #[default]
    #[serde(alias = "strict")]
    Strict,
    /// Stop there: the store is as it was before the damaged record.
    #[serde(alias = "point_in_time")]
    PointInTime,
}

/// All numbers of the engine. As JSON or TOML: flat, these names, unknown names are errors, and
/// a name left out has its default.
///
/// ```
/// let settings = kiban::Settings { cache_bytes: 0, memtable_bytes: 4 << 20, ..Default::default() };
/// settings.validate()?;
/// # Ok::<(), kiban::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The hard memory budget in bytes: pages, resident indexes and filters, table handles.
    /// Larger: fewer reads from disk. 0 is allowed.
    pub cache_bytes: u64,
    /// Bytes of one memtable, per keyspace, before it is sealed and flushed; at least 1 KiB.
    /// Larger: fewer and larger tables of level 0, longer recovery. A memtable is sealed at half
    /// of `memtables_total_bytes` if that is less.
    pub memtable_bytes: u64,
    /// Bytes of all memtables of the store, active and sealed, above which writers wait; at least 1 KiB.
    pub memtables_total_bytes: u64,
    /// Bytes at which a flush or a compaction begins its next table; at least 4 KiB.
    /// Larger: fewer files, larger steps of compaction.
    pub table_bytes: u64,
    /// How many times larger each level is than the one above; 2 to 1,000. Larger: fewer levels
    /// to read, more bytes rewritten.
    pub level_ratio: u32,
    /// Tables of level 0 at which they are compacted; at least 1.
    pub level0_tables: u32,
    /// Tables of level 0 at which writers wait; at least `level0_tables`.
    pub level0_stall_tables: u32,
    /// Threads for flushes, compactions and index builds; 1 to 256.
    pub background_threads: u32,
    /// Levels from 0 to this one are read through a memory map, deeper ones by `pread`; `None`: no map at
    /// all. A map saves system calls, with two limits that `pread` does not have: a mapped part of
    /// an index that was evicted and came back damaged could hide a key, and a device error, or a
    /// file shortened by somebody else, ends the process (SIGBUS).
    pub mmap_max_level: Option<u32>,
    /// Whether the system may read ahead of the table pages and the mapped indexes that are asked for. It
    /// does so by up to some 128 KiB: good for scans, compaction and stores that fit into memory. Off
    /// suits single gets in a store larger than memory: each reads its own page and no more.
    pub read_ahead: bool,
    /// Filter bits a key in each new table; 0 (no filter) to 32. Larger: fewer probes for absent keys.
    pub filter_bits_per_key: u32,
    /// The durability of `put` and `delete`.
    pub durability: Durability,
    /// What opening does about damage in the middle of the log.
    pub recovery: RecoveryMode,
    /// Bytes of log files above which the keyspace that keeps the oldest one is flushed; at least
    /// 4 KiB. Larger: longer recovery, fewer small tables of rarely written keyspaces.
    pub log_bytes_max: u64,
    /// Table files kept open at once; at least 16.
    pub open_files_max: u32,
    /// Bytes of memory for building indexes, of the whole store: half for what is collected while
    /// tables are written, half for scans. Builds that do not fit take several passes, or decline.
    pub build_bytes: u64,
    /// Of the answers `Absent` and `Deleted` of a registered (plug-in) format, one in this many
    /// is checked against the sorted index; 0: none.
    pub absent_check_every: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cache_bytes: defaults::CACHE_BYTES,
            memtable_bytes: defaults::MEMTABLE_BYTES,
            memtables_total_bytes: defaults::MEMTABLES_TOTAL_BYTES,
            table_bytes: defaults::TABLE_BYTES,
            level_ratio: defaults::LEVEL_RATIO,
            level0_tables: defaults::LEVEL0_TABLES,
            level0_stall_tables: defaults::LEVEL0_STALL_TABLES,
            background_threads: background_threads(),
            mmap_max_level: None,
            read_ahead: true,
            filter_bits_per_key: defaults::FILTER_BITS_PER_KEY,
            durability: Durability::default(),
            recovery: RecoveryMode::default(),
            log_bytes_max: defaults::LOG_BYTES_MAX,
            open_files_max: open_files_max(descriptor_limit()),
            build_bytes: defaults::BUILD_BYTES,
            absent_check_every: defaults::ABSENT_CHECK_EVERY,
        }
    }
}

impl Settings {
    /// Refuses values out of range.
    ///
    /// # Errors
    /// `InvalidArgument` that names the first such field, its value and what is allowed.
    pub fn validate(&self) -> Result<()> {
        let bytes = |name, value, least| within(name, value, least, BYTES_MAX);
        let count = |name, value, least, most| within(name, u64::from(value), least, most);
        bytes("cache_bytes", self.cache_bytes, 0)?;
        bytes("memtable_bytes", self.memtable_bytes, MEMTABLE_BYTES_MIN)?;
        bytes("memtables_total_bytes", self.memtables_total_bytes, MEMTABLE_BYTES_MIN)?;
        bytes("table_bytes", self.table_bytes, TABLE_BYTES_MIN)?;
        count("level_ratio", self.level_ratio, 2, 1_000)?;
        count("level0_tables", self.level0_tables, 1, 10_000)?;
        let stall_least = u64::from(self.level0_tables);
        count("level0_stall_tables", self.level0_stall_tables, stall_least, 100_000)?;
        count("background_threads", self.background_threads, 1, 256)?;
        count("filter_bits_per_key", self.filter_bits_per_key, 0, 32)?;
        bytes("log_bytes_max", self.log_bytes_max, TABLE_BYTES_MIN)?;
        count("open_files_max", self.open_files_max, u64::from(OPEN_FILES_MIN), 1 << 24)?;
        bytes("build_bytes", self.build_bytes, 0)
    }

    /// The size at which a memtable is sealed: two of them fit under `memtables_total_bytes`, so
    /// that writers go on while one is flushed.
    pub(crate) fn memtable_seal_bytes(&self) -> u64 {
        self.memtable_bytes.min(self.memtables_total_bytes / 2)
    }
}

fn within(name: &str, value: u64, least: u64, most: u64) -> Result<()> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Error::invalid(format!("setting `{name}` is {value}; allowed are {least} to {most}")))
}

fn background_threads() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores).map_or(defaults::BACKGROUND_THREADS, |cores| cores.min(defaults::BACKGROUND_THREADS))
}

/// Half of the limit is left to the program around the store.
fn open_files_max(descriptor_limit: Option<u64>) -> u32 {
    let half = descriptor_limit.and_then(|limit| u32::try_from(limit / 2).ok());
    half.map_or(defaults::OPEN_FILES_MAX, |half| half.clamp(OPEN_FILES_MIN, defaults::OPEN_FILES_MAX))
}

#[cfg(unix)]
fn descriptor_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

#[cfg(not(unix))]
fn descriptor_limit() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn defaults_are_valid() {
        Settings::default().validate().unwrap();
    }

    #[test]
    fn small_values_of_the_api_page_are_valid() {
        let memtable_bytes = 4 << 10;
        let settings = Settings {
            cache_bytes: 0,
            memtable_bytes,
            memtables_total_bytes: 4 * memtable_bytes,
            table_bytes: 4 << 10,
            level_ratio: 4,
            level0_tables: 2,
            level0_stall_tables: 8,
            log_bytes_max: 4 * memtable_bytes,
            background_threads: 1,
            filter_bits_per_key: 0,
            open_files_max: 16,
            absent_check_every: 0,
            ..Settings::default()
        };
        settings.validate().unwrap();
        assert_eq!(settings.memtable_seal_bytes(), memtable_bytes);
    }

    #[test]
    fn a_large_memtable_alone_is_sealed_at_half_of_the_total() {
        let settings = Settings { memtable_bytes: 128 << 20, ..Settings::default() };
        settings.validate().unwrap();
        assert_eq!(settings.memtable_seal_bytes(), defaults::MEMTABLES_TOTAL_BYTES / 2);
    }

    #[test]
    fn out_of_range_is_refused_with_the_name_and_the_allowed_values() {
        let standard = Settings::default;
        let bad = [
            ("cache_bytes", Settings { cache_bytes: u64::MAX, ..standard() }),
            ("memtable_bytes", Settings { memtable_bytes: 0, ..standard() }),
            ("memtables_total_bytes", Settings { memtables_total_bytes: 1, ..standard() }),
            ("table_bytes", Settings { table_bytes: 4095, ..standard() }),
            ("level_ratio", Settings { level_ratio: 1, ..standard() }),
            ("level0_tables", Settings { level0_tables: 0, ..standard() }),
            ("level0_stall_tables", Settings { level0_stall_tables: 3, ..standard() }),
            ("background_threads", Settings { background_threads: 0, ..standard() }),
            ("filter_bits_per_key", Settings { filter_bits_per_key: 33, ..standard() }),
            ("log_bytes_max", Settings { log_bytes_max: 0, ..standard() }),
            ("open_files_max", Settings { open_files_max: 15, ..standard() }),
            ("build_bytes", Settings { build_bytes: u64::MAX, ..standard() }),
        ];
        for (name, settings) in bad {
            let error = settings.validate().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name}");
            assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
            assert!(error.to_string().contains("allowed are"), "{error}");
        }
    }

    #[test]
    fn text_is_flat_partial_and_round_trips() {
        let settings: Settings =
            toml::from_str("cache_bytes = 0\nmmap_max_level = 3\ndurability = \"sync\"").unwrap();
        assert_eq!((settings.cache_bytes, settings.mmap_max_level), (0, Some(3)));
        assert_eq!(settings.durability, Durability::Sync);
        assert_eq!(settings.level_ratio, defaults::LEVEL_RATIO);
        assert_eq!(toml::from_str::<Settings>(&toml::to_string(&settings).unwrap()).unwrap(), settings);
        let json = serde_json::to_string(&settings).unwrap();
        assert!(json.contains(r#""durability":"Sync""#), "{json}");
        assert_eq!(serde_json::from_str::<Settings>(&json).unwrap(), settings);
    }

    #[test]
    fn unknown_names_are_errors() {
        let error = toml::from_str::<Settings>("cache_byte = 1").unwrap_err();
        assert!(error.to_string().contains("cache_byte"), "{error}");
        assert!(serde_json::from_str::<Settings>(r#"{"recovery":"lenient"}"#).is_err());
    }

    #[test]
    fn open_files_default_leaves_half_of_the_descriptors() {
        assert_eq!(open_files_max(Some(64)), 32);
        assert_eq!(open_files_max(Some(1 << 20)), defaults::OPEN_FILES_MAX);
        assert_eq!(open_files_max(None), defaults::OPEN_FILES_MAX);
        assert_eq!(open_files_max(Some(3)), OPEN_FILES_MIN);
    }
}
