//! Standard output: records a line, and tables in four formats.

use std::io::{self, BufWriter, StdoutLock, Write as _};

use clap::ValueEnum;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table as TextTable};
use serde::Serialize;

use crate::exit::Failure;
use crate::text::push_text;

/// Standard output, buffered. What is written is data; everything else goes to standard error.
pub(crate) struct Out {
    inner: BufWriter<StdoutLock<'static>>,
    line: Vec<u8>,
}

impl Out {
    /// Locks standard output.
    pub(crate) fn new() -> Self {
        Self { inner: BufWriter::with_capacity(64 << 10, io::stdout().lock()), line: Vec::new() }
    }

    /// Writes bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.inner.write_all(bytes).map_err(|error| Failure::stdout(&error))
    }

    /// Writes fields as text, TABs between them, and ends the line.
    pub(crate) fn fields(&mut self, fields: &[&[u8]], hex: bool) -> Result<(), Failure> {
        self.line.clear();
        for (at, field) in fields.iter().enumerate() {
            if at > 0 {
                self.line.push(b'\t');
            }
            push_text(&mut self.line, field, hex);
        }
        self.line.push(b'\n');
        self.inner.write_all(&self.line).map_err(|error| Failure::stdout(&error))
    }

    /// Writes a key as text and plain words behind it.
    pub(crate) fn labelled(&mut self, key: &[u8], words: &[u8], hex: bool) -> Result<(), Failure> {
        self.line.clear();
        push_text(&mut self.line, key, hex);
        self.line.push(b'\t');
        self.line.extend_from_slice(words);
        self.line.push(b'\n');
        self.inner.write_all(&self.line).map_err(|error| Failure::stdout(&error))
    }

    /// Writes what is buffered. Without it a full disk behind standard output would go unseen.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.inner.flush().map_err(|error| Failure::stdout(&error))
    }

    /// The stream itself.
    pub(crate) fn stream(&mut self) -> &mut dyn io::Write {
        &mut self.inner
    }
}

/// How a table is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// columns for people
    #[default]
    Table,
    /// one JSON value
    Json,
    /// a header line and comma-separated values
    Csv,
    /// a Markdown table
    Markdown,
}

/// Rows of text and numbers.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: &'static [&'static str],
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// The table in a format other than JSON, with a line end.
    pub(crate) fn render(&self, format: TableFormat) -> Result<String, Failure> {
        Ok(match format {
            TableFormat::Table | TableFormat::Json => self.text(),
            TableFormat::Markdown => self.markdown(),
            TableFormat::Csv => self.csv().map_err(|error| Failure::trouble(format!("csv: {error}")))?,
        })
    }

    fn text(&self) -> String {
        let mut table = TextTable::new();
        table.load_style(NOTHING).set_header(self.columns.to_vec());
        for row in &self.rows {
            table.add_row(row);
        }
        for (at, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if self.rows.iter().all(|row| row[at].parse::<f64>().is_ok()) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let lines = table.lines().map(|line| line.trim_end().to_owned() + "\n");
        lines.collect()
    }

    fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let escaped = |cell: &String| cell.replace('|', "\\|");
        let mut text = line(self.columns.iter().map(|name| (*name).to_owned()).collect());
        text.push_str(&line(vec!["---".to_owned(); self.columns.len()]));
        self.rows.iter().for_each(|row| text.push_str(&line(row.iter().map(escaped).collect())));
        text
    }

    fn csv(&self) -> Result<String, Box<dyn std::error::Error>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.columns)?;
        for row in &self.rows {
            writer.write_record(row)?;
        }
        Ok(String::from_utf8(writer.into_inner()?)?)
    }
}

/// Prints a report: as JSON whole, else its table, which people need not see if it is empty.
pub(crate) fn print_report(
    format: TableFormat,
    report: &impl Serialize,
    table: &Table,
) -> Result<(), Failure> {
    let text = match format {
        TableFormat::Json => {
            let json = serde_json::to_string_pretty(report);
            json.map_err(|error| Failure::trouble(format!("json: {error}")))? + "\n"
        }
        TableFormat::Table if table.rows.is_empty() => String::new(),
        format => table.render(format)?,
    };
    let mut out = Out::new();
    out.raw(text.as_bytes())?;
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let row = |name: &str, value: &str| vec![name.to_owned(), value.to_owned()];
        Table { columns: &["name", "value"], rows: vec![row("a", "5"), row("b|\"c\",", "12345678")] }
    }

    #[test]
    fn numbers_stand_right() {
        let text = table().render(TableFormat::Table).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].ends_with("       5"), "{text}");
        assert!(lines.iter().all(|line| line.len() == lines[1].len()), "{text}");
    }

    #[test]
    fn what_a_format_gives_a_meaning_is_quoted() {
        let csv = table().render(TableFormat::Csv).unwrap();
        assert_eq!(csv, "name,value\na,5\n\"b|\"\"c\"\",\",12345678\n");
        let markdown = table().render(TableFormat::Markdown).unwrap();
        assert_eq!(markdown, "| name | value |\n| --- | --- |\n| a | 5 |\n| b\\|\"c\", | 12345678 |\n");
    }
}
