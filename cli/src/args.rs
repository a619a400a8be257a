//! The command line: commands, and the options that several of them share.

use std::ffi::OsString;
use std::ops::Bound;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use kiban::accessor::{AccessorFormat, Registry};

use crate::cmd;
use crate::text::from_text;

const ABOUT: &str =
    "An embedded key-value store with exchangeable point indexes: load, read, inspect, measure";

const AFTER_HELP: &str = "\
Keys and values are printed as text if they are valid UTF-8, not empty, without control characters and do not
begin with `hex:`; else as `hex:` and hex digits. Input that begins with `hex:` is always hex.

Exit codes: 0 done; 1 a finding (an absent key, a refused line of input, a wrong answer); 2 a wrong option or
argument; 3 a store or file that is missing, damaged, locked, newer, or cannot be read or written. Where several
hold, the highest.";

/// The program's arguments.
#[derive(Debug, Parser)]
#[command(name = "kiban", version, about = ABOUT, after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct GlobalArgs {
    /// No progress and no summary on standard error
    #[arg(short, long, global = true, display_order = 100)]
    pub(crate) quiet: bool,
    /// Tell the store's events (recovery, flushes, stalls) on standard error
    #[arg(short, long, global = true, display_order = 101)]
    pub(crate) verbose: bool,
}

/// What every command is given: options, and the index formats that the program adds to Kiban's own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Global<'a> {
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    pub(crate) formats: &'a [Arc<dyn AccessorFormat>],
    /// These and Kiban's own.
    pub(crate) registry: &'a Registry,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Load(cmd::load::LoadArgs),
    Get(cmd::get::GetArgs),
    Put(cmd::put::PutArgs),
    Delete(cmd::delete::DeleteArgs),
    Contains(cmd::contains::ContainsArgs),
    Scan(cmd::scan::ScanArgs),
    Count(cmd::count::CountArgs),
    Dump(cmd::dump::DumpArgs),
    Restore(cmd::restore::RestoreArgs),
    Stats(cmd::stats::StatsArgs),
    Levels(cmd::levels::LevelsArgs),
    Explain(cmd::explain::ExplainArgs),
    Reindex(cmd::reindex::ReindexArgs),
    Inspect(cmd::inspect::InspectArgs),
    Verify(cmd::verify::VerifyArgs),
    Compact(cmd::compact::CompactArgs),
    Checkpoint(cmd::checkpoint::CheckpointArgs),
    Repair(cmd::repair::RepairArgs),
    Memlat(cmd::memlat::MemlatArgs),
    Ab(Box<cmd::ab::AbArgs>),
    Completions(cmd::completions::CompletionsArgs),
    Man(cmd::man::ManArgs),
}

/// Which store.
#[derive(Debug, Args)]
pub(crate) struct DirArgs {
    /// The store's directory
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
}

/// Which store and keyspace.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// The store's directory
    #[arg(value_name = "DB")]
    pub(crate) db: PathBuf,
    /// The keyspace; if not given `default`, of `stats` and `compact` all
    #[arg(long, value_name = "K")]
    pub(crate) keyspace: Option<String>,
}

/// A key or value on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// `-`: standard input.
    Stdin,
    /// These bytes.
    Bytes(Vec<u8>),
}

impl Operand {
    /// Reads an operand; text that begins with `hex:` is hex.
    pub(crate) fn parser() -> impl TypedValueParser<Value = Self> {
        OsStringValueParser::new().try_map(|text: OsString| {
            if text == "-" { Ok(Self::Stdin) } else { parse_bytes(text).map(Self::Bytes) }
        })
    }
}

/// A key where `-` means itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Bytes {
    /// Reads bytes; text that begins with `hex:` is hex.
    pub(crate) fn parser() -> impl TypedValueParser<Value = Self> {
        OsStringValueParser::new().try_map(|text: OsString| parse_bytes(text).map(Self))
    }
}

fn parse_bytes(text: OsString) -> Result<Vec<u8>, String> {
    Ok(from_text(&text.into_vec())?.into_owned())
}

/// Which keys of a keyspace.
#[derive(Debug, Default, Args)]
pub(crate) struct RangeArgs {
    /// Only keys that begin with P
    #[arg(long, value_name = "P", value_parser = Bytes::parser(), allow_hyphen_values = true)]
    pub(crate) prefix: Option<Bytes>,
    /// Only keys from A on
    #[arg(long, value_name = "A", value_parser = Bytes::parser(), allow_hyphen_values = true)]
    pub(crate) from: Option<Bytes>,
    /// Only keys before B
    #[arg(long, value_name = "B", value_parser = Bytes::parser(), allow_hyphen_values = true)]
    pub(crate) to: Option<Bytes>,
    /// At most N keys
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

impl RangeArgs {
    /// The keys that are asked for: those with the prefix, inside of `from` and `to`.
    pub(crate) fn bounds(&self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        let prefix = self.prefix.as_ref().map(|prefix| &prefix.0);
        let from = self.from.as_ref().map(|from| &from.0);
        // A key that begins with the prefix is not less than the prefix.
        let lower = prefix.max(from).map_or(Bound::Unbounded, |key| Bound::Included(key.clone()));
        let behind = prefix.and_then(|prefix| behind(prefix));
        let to = self.to.as_ref().map(|to| to.0.clone());
        let upper = match (behind, to) {
            (Some(behind), Some(to)) => Some(behind.min(to)),
            (behind, to) => behind.or(to),
        };
        (lower, upper.map_or(Bound::Unbounded, Bound::Excluded))
    }
}

/// The least key behind all that begin with `prefix`, if any key is.
fn behind(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut key = prefix[..=last].to_vec();
    key[last] += 1;
    Some(key)
}

#[cfg(test)]
mod tests {
    use std::ops::RangeBounds as _;

    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_and_option_says_what_it_does() {
        for command in Cli::command().get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
            }
        }
    }

    #[test]
    fn a_range_is_what_prefix_and_bounds_have_in_common() {
        let keys: [&[u8]; 9] =
            [b"", b"a", b"ab", b"ab\xff", b"ab\xff\xff", b"ac", b"b", b"\xff", b"\xff\xff"];
        let choices = || keys.iter().map(|key| Some(Bytes(key.to_vec()))).chain([None]);
        for prefix in choices() {
            for from in choices() {
                for to in choices() {
                    let range = RangeArgs { prefix: prefix.clone(), from: from.clone(), to, limit: None };
                    for key in keys {
                        let asked = prefix.as_ref().is_none_or(|prefix| key.starts_with(&prefix.0))
                            && from.as_ref().is_none_or(|from| key >= &from.0[..])
                            && range.to.as_ref().is_none_or(|to| key < &to.0[..]);
                        let bounds = range.bounds();
                        assert_eq!(bounds.contains(&key.to_vec()), asked, "{range:?} {key:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn operands_may_be_hex_standard_input_and_no_utf8() {
        let keys = |arguments: &[&[u8]]| {
            let words = ["kiban", "get", "db"].map(OsString::from).into_iter();
            let arguments = arguments.iter().map(|bytes| OsString::from_vec(bytes.to_vec()));
            match Cli::try_parse_from(words.chain(arguments)).map(|cli| cli.command) {
                Ok(Command::Get(get)) => Some(get.keys),
                _ => None,
            }
        };
        let bytes = |bytes: &[u8]| Operand::Bytes(bytes.to_vec());
        assert_eq!(keys(&[b"-"]), Some(vec![Operand::Stdin]));
        assert_eq!(
            keys(&[b"a", b"hex:00", b"\xff", b"-5"]),
            Some(vec![bytes(b"a"), bytes(b"\0"), bytes(b"\xff"), bytes(b"-5")])
        );
        assert_eq!(keys(&[b""]), Some(vec![bytes(b"")]));
        assert_eq!(keys(&[b"hex:0"]), None);
        assert_eq!(keys(&[]), None);
    }
}
