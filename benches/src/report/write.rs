//! A report in a directory: the JSON and what is rendered from it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Report;
use crate::ab::AbError;

/// Files of a report; the first one is the source of the others.
pub const REPORT_FILES: [&str; 4] = ["ab.json", "ab.csv", "ab.md", "ab.html"];

/// Makes the directory if it is missing, and refuses one that has a report.
///
/// # Errors
/// `Usage` that names the file in the way, unless `force`; `Io` if the directory cannot be made.
pub fn check_dir(dir: &Path, force: bool) -> Result<(), AbError> {
    fs::create_dir_all(dir).map_err(|error| AbError::io(dir, error))?;
    match REPORT_FILES.iter().map(|name| dir.join(name)).find(|file| file.exists()) {
        Some(file) if !force => {
            Err(AbError::Usage(format!("--out: {} exists; --force overwrites it", file.display())))
        }
        _ => Ok(()),
    }
}

/// Writes all files of the report, and names them.
///
/// # Errors
/// As of [`check_dir`], and `Io` that names the file.
pub fn write_dir(report: &Report, dir: &Path, force: bool) -> Result<Vec<PathBuf>, AbError> {
    check_dir(dir, force)?;
    let json_file = dir.join(REPORT_FILES[0]);
    let json = report.json().map_err(|error| AbError::io(&json_file, error.into()))?;
    let write = |(name, text): (&&str, String)| {
        let file = dir.join(name);
        fs::write(&file, text).map_err(|error| AbError::io(&file, error))?;
        Ok(file)
    };
    REPORT_FILES.iter().zip([json, report.csv(), report.markdown(), report.html()]).map(write).collect()
}

impl Report {
    /// The report as JSON, one line.
    ///
    /// # Errors
    /// None that a report made by this crate can cause.
    pub fn json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string(self)? + "\n")
    }

    /// A report read back from its JSON.
    ///
    /// # Errors
    /// `InvalidData` if it is no report, or of another version.
    pub fn from_json(text: &str) -> io::Result<Self> {
        let report: Self = serde_json::from_str(text).map_err(io::Error::from)?;
        if report.schema_version != super::SCHEMA_VERSION {
            let (found, known) = (report.schema_version, super::SCHEMA_VERSION);
            let message = format!("report of schema version {found}; this build reads {known}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(report)
    }
}
