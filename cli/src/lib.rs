//! The kiban program.
