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

# The same beside other stores (`just controls --workload w6`).
controls *ARGS:
    cargo run --release -p kiban-cli --features controls -- ab --controls lmdb,sqlite,fjall,redb {{ARGS}}

# A cache far smaller than the data: W1 with 32 MiB, in both layouts, beside other stores.
small-cache out="report/small-cache" *ARGS:
    cargo run --release -p kiban-cli --features controls -- ab --workload w1 --n 1000000 --layout bulk,normal \
        --cache-mib 32 --controls lmdb,sqlite,fjall,redb --trials 5 --time-box 30m --out {{out}} {{ARGS}}

# Flush and compaction of a million records with indexes on and off, by one and by two threads.
maintenance out="report/maintenance" *ARGS:
    cargo run --release -p kiban-cli -- ab --workload w3 --trials 5 --time-box 30m --out {{out}} {{ARGS}}

# Index size and cold latency as tables grow, 10^5 to 10^7 records; the largest takes 7 GB of disk.
growth out="report/growth" *ARGS:
    #!/usr/bin/env bash
    set -euo pipefail
    for n in 100000 1000000 10000000; do
        cargo run --release -p kiban-cli -- ab --shape w1 --n "$n" --stages point,cold --advice random,default \
            --trials 5 --time-box 30m --out "{{out}}/$n" {{ARGS}}
    done

# Parts by themselves: perfect hash, accessors, page search, filter, CRC, get (`just bench get`).
bench *ARGS:
    cargo bench -p kiban-benches --features mphf-crates {{ if ARGS == "" { "" } else { "--bench " + ARGS } }}

# Measures the README's table anew and writes it, with the numbers it is rendered from. From a clean commit.
readme:
    cargo run --release -p kiban-cli -- ab --out target/readme --force
    KIBAN_README_FROM="$PWD/target/readme/ab.json" KIBAN_README_DATE="$(date -u +%F)" \
        cargo test -p kiban-benches --test readme

# What the comparison finds: an index slowed by a quarter in 9 runs of 10; an index beside itself in none. A quiet machine.
detects:
    cargo test --release -p kiban-benches --test detects -- --ignored --nocapture --test-threads 1

# Writes the annotated golden dumps, and the sample report, again; read the difference before committing it.
golden:
    KIBAN_UPDATE_GOLDEN=1 cargo test -p kiban-formats
    KIBAN_UPDATE_GOLDEN=1 cargo test -p kiban-indexes golden
    KIBAN_UPDATE_GOLDEN=1 cargo test -p kiban-benches --lib golden
    git diff --stat -- formats/golden indexes/golden benches/golden

# Power cuts and sudden deaths over many seeds; goes on where it stopped (`just crash-long 5000000`).
crash-long seeds="1000000": (seeds-long "crash" "every_death_leaves_a_prefix_of_history" seeds "1000")

# Random operations against a model, long walks; goes on where it stopped.
soak seeds="100000" steps="4000": (seeds-long "model" "" seeds "200" steps)

# A perfect hash of 10^8 keys: every key is found, no page falls back. Needs 6 GiB of memory.
hundred-million:
    cargo test --release -p kiban-indexes a_hundred_million -- --ignored

# The longest value there is: 4 GiB less one byte. Needs 16 GiB of memory, 9 GiB of disk.
big-values:
    cargo test --release -p kiban --test big_values -- --ignored

# Runs seeds 0 to `seeds` of a test in steps of `chunk`, and keeps the next one in the target folder.
[private]
seeds-long test name seeds chunk steps="400":
    #!/usr/bin/env bash
    set -euo pipefail
    state="${CARGO_TARGET_DIR:-target}/{{test}}-long.next"
    next="$(cat "$state" 2>/dev/null || echo 0)"
    echo "{{test}}: from seed $next; remove $state to begin again"
    began="$SECONDS" first="$next"
    while [ "$next" -lt "{{seeds}}" ]; do
        KIBAN_SEED_FROM="$next" KIBAN_SEEDS="{{chunk}}" KIBAN_MODEL_STEPS="{{steps}}" \
            cargo test -q -p kiban --test "{{test}}" {{name}}
        next=$((next + {{chunk}}))
        echo "$next" >"$state"
        seconds=$((SECONDS - began > 0 ? SECONDS - began : 1))
        echo "{{test}}: seeds below $next passed, $(((next - first) / seconds)) a second"
    done
