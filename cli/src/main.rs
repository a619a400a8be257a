//! The kiban program.
fn main() {}
