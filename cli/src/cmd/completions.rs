//! `kiban completions`.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::{Exit, Failure};
use crate::output::Out;

/// Print a script that completes commands and options in a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  kiban completions bash > ~/.local/share/bash-completion/completions/kiban")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "kiban", &mut script);
        let mut out = Out::new();
        out.raw(&script)?;
        out.finish()?;
        Ok(Exit::Done)
    }
}
