//! Workloads, paired trials, statistics and reports for Kiban.
