//! Kiban: an embedded LSM key-value store whose point index is a plug-in.
