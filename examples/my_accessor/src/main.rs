//! The program `kiban` with an index of your own: every command knows it.
//!
//! `cargo run --release -- ab --accessors sorted,ph4,rows --out report`

mod rows;

use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    kiban_cli::main_with(vec![Arc::new(rows::Rows)])
}
