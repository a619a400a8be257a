//! `kiban ab`: accessors measured side by side on the same records, every answer checked.

mod cold;
mod error;
mod options;
mod outcome;
mod provenance;
mod reads;
mod run;
mod settle;
mod stage;
mod upkeep;
mod warnings;
mod writes;

pub use error::AbError;
pub use options::{
    ACCESSORS_DEFAULT, AUTO_PAIRS_MIN, AbOptions, BACKGROUND_THREADS_MAX, CACHE_MIB_DEFAULT, CACHE_MIB_MAX,
    N_DEFAULT, N_MAX, N_UPKEEP, PAIRS_MAX, PAIRS_MIN, READERS_MAX, SEED_DEFAULT, TIME_BOX_DEFAULT, Trials,
};
pub use run::{AbReport, Progress, run};
