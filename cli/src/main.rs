//! The program `kiban`.

use std::process::ExitCode;

fn main() -> ExitCode {
    kiban_cli::main()
}
