//! The program on the command line: output, messages and exit codes of every command.
//!
//! `TRYCMD=overwrite cargo test -p kiban-cli --test cmd` writes the expected output again.

#[test]
fn the_program_answers_as_the_cases_say() {
    trycmd::TestCases::new().env("NO_COLOR", "1").case("tests/cmd/*.trycmd");
}

#[cfg(not(feature = "controls"))]
#[test]
fn a_program_without_other_stores_says_which_feature_has_them() {
    trycmd::TestCases::new().env("NO_COLOR", "1").case("tests/cmd/without-controls/*.trycmd");
}
