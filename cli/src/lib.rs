//! The program `kiban` as a library: [`main`] is all of it, [`main_with`] the same with index formats of
//! somebody else.
//!
//! Standard output is data; progress, summaries and errors go to standard error. No command has
//! logic of its own: it opens a store, asks it, and prints.

mod args;
mod cmd;
mod dump;
mod exit;
mod input;
mod output;
mod policy;
mod progress;
#[cfg(unix)]
mod signals;
mod store;
mod text;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use clap::error::ErrorKind;
use kiban::accessor::{AccessorFormat, Registry};

use args::{Cli, Command, Global, GlobalArgs};
use exit::{Exit, Failure};

/// Runs the program on the arguments of this process.
pub fn main() -> ExitCode {
    main_with(Vec::new())
}

/// Runs the program with index formats beside Kiban's own: every command that opens a store knows them,
/// and `kiban ab` measures them.
///
/// ```no_run
/// # fn formats() -> Vec<std::sync::Arc<dyn kiban::accessor::AccessorFormat>> { Vec::new() }
/// fn main() -> std::process::ExitCode {
///     kiban_cli::main_with(formats())
/// }
/// ```
pub fn main_with(formats: Vec<Arc<dyn AccessorFormat>>) -> ExitCode {
    #[cfg(unix)]
    signals::outlive_a_file_that_may_not_grow();
    let exit = match Cli::try_parse() {
        Ok(cli) => run(cli, &formats).unwrap_or_else(tell),
        Err(error) => refuse(&error),
    };
    exit.into()
}

fn run(cli: Cli, formats: &[Arc<dyn AccessorFormat>]) -> Result<Exit, Failure> {
    let GlobalArgs { quiet, verbose } = cli.global;
    let mut registry = Registry::built_in();
    for format in formats {
        registry.register(format.clone()).map_err(|error| Failure::trouble(error.to_string()))?;
    }
    let global = Global { quiet, verbose, formats, registry: &registry };
    match cli.command {
        Command::Load(load) => load.run(global),
        Command::Get(get) => get.run(global),
        Command::Put(put) => put.run(global),
        Command::Delete(delete) => delete.run(global),
        Command::Contains(contains) => contains.run(global),
        Command::Scan(scan) => scan.run(global),
        Command::Count(count) => count.run(global),
        Command::Dump(dump) => dump.run(global),
        Command::Restore(restore) => restore.run(global),
        Command::Stats(stats) => stats.run(global),
        Command::Levels(levels) => levels.run(global),
        Command::Explain(explain) => explain.run(global),
        Command::Reindex(reindex) => reindex.run(global),
        Command::Inspect(inspect) => inspect.run(global),
        Command::Verify(verify) => verify.run(global),
        Command::Compact(compact) => compact.run(global),
        Command::Checkpoint(checkpoint) => checkpoint.run(global),
        Command::Repair(repair) => repair.run(global),
        Command::Memlat(memlat) => memlat.run(global),
        Command::Ab(ab) => ab.run(global),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(global),
    }
}

/// Says what went wrong.
fn tell(failure: Failure) -> Exit {
    match failure {
        Failure::ReaderGone => Exit::Done,
        Failure::Said { exit, message } => {
            eprintln!("kiban: {message}");
            exit
        }
    }
}

/// Prints help where it was asked for, else what is wrong with the command line in one sentence.
fn refuse(error: &clap::Error) -> Exit {
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_help {
        // A reader that has gone away needs no help.
        let _ = error.print();
    } else {
        eprintln!("kiban: {}", sentence(&error.render().to_string()));
    }
    if error.use_stderr() { Exit::Usage } else { Exit::Done }
}

/// The parser's message without the usage below it, on one line.
fn sentence(message: &str) -> String {
    let lines = message.lines().map(str::trim);
    let said =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let words: Vec<&str> = said.filter(|line| !line.is_empty()).collect();
    let text = words.join(" ").replace(" tip: ", "; ");
    text.strip_prefix("error: ").map(str::to_owned).unwrap_or(text)
}

/// The program in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usage_error_is_one_line_that_names_the_option() {
        let message = |words: &[&str]| {
            let error = Cli::try_parse_from(words).unwrap_err();
            sentence(&error.render().to_string())
        };
        assert_eq!(
            message(&["kiban", "load", "db", "f", "--format", "nonsense"]),
            "invalid value 'nonsense' for '--format <FORMAT>' [possible values: tsv, csv, jsonl, lines, bin]"
        );
        let missing = message(&["kiban", "get", "db"]);
        assert_eq!(missing, "the following required arguments were not provided: <KEY>...");
        assert!(
            message(&["kiban", "scan", "db", "--form", "a"])
                .starts_with("unexpected argument '--form' found")
        );
    }
}
