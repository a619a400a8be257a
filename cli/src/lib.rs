//! The program `kiban` as a library: [`main`] is all of it.
//!
//! Standard output is data; progress, summaries and errors go to standard error. No command has
//! logic of its own: it opens a store, asks it, and prints.

mod args;
mod cmd;
mod exit;
mod input;
mod output;
mod progress;
#[cfg(unix)]
mod signals;
mod store;
mod text;

use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;

use args::{Cli, Command};
use exit::{Exit, Failure};

/// Runs the program on the arguments of this process.
pub fn main() -> ExitCode {
    #[cfg(unix)]
    signals::outlive_a_file_that_may_not_grow();
    let exit = match Cli::try_parse() {
        Ok(cli) => run(&cli).unwrap_or_else(tell),
        Err(error) => refuse(&error),
    };
    exit.into()
}

fn run(cli: &Cli) -> Result<Exit, Failure> {
    match &cli.command {
        Command::Load(load) => load.run(cli.global),
        Command::Get(get) => get.run(cli.global),
        Command::Put(put) => put.run(cli.global),
        Command::Delete(delete) => delete.run(cli.global),
        Command::Contains(contains) => contains.run(cli.global),
        Command::Scan(scan) => scan.run(cli.global),
        Command::Count(count) => count.run(cli.global),
        Command::Stats(stats) => stats.run(cli.global),
        Command::Inspect(inspect) => inspect.run(cli.global),
        Command::Verify(verify) => verify.run(cli.global),
        Command::Compact(compact) => compact.run(cli.global),
        Command::Checkpoint(checkpoint) => checkpoint.run(cli.global),
        Command::Repair(repair) => repair.run(cli.global),
        Command::Ab(ab) => ab.run(cli.global),
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
            "invalid value 'nonsense' for '--format <FORMAT>' [possible values: tsv, csv, jsonl, lines]"
        );
        let missing = message(&["kiban", "get", "db"]);
        assert_eq!(missing, "the following required arguments were not provided: <KEY>...");
        assert!(
            message(&["kiban", "scan", "db", "--form", "a"])
                .starts_with("unexpected argument '--form' found")
        );
    }
}
