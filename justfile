# Recipes for daily work. `.ci/run` needs no `just`; these are shorter names and the long runs.

export RUST_BACKTRACE := env("RUST_BACKTRACE", "1")

# The list of recipes.
default:
    @just --list

# All tests of all crates.
test *ARGS:
    cargo test --workspace {{ARGS}}

# Formatting and lints, as CI holds them.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --all-features -- -D warnings

# The documentation, warnings refused.
docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Everything CI runs.
ci:
    .ci/run

# Licences, bans, sources and advisories (needs cargo-deny and the network).
deny:
    cargo deny check

# The main job: indexes measured on the shipped file and on W1.
ab *ARGS:
    cargo run --release -p kiban-cli -- ab {{ARGS}}

# Writes the annotated golden dumps again; read the difference before committing it.
golden:
    KIBAN_UPDATE_GOLDEN=1 cargo test -p kiban-formats
    git diff --stat -- formats/golden
