//! One line a cell, numbers as they are, for other programs.

use super::upkeep::RATIOS;
use super::{Cell, Report, Status, UpkeepRow, text};

const COLUMNS: &str = "accessor,shape,n,layout,cache_mib,read,advice,stage,threads,status,trials,p50_ns,p99_ns,p999_ns,\
mean_ns,ops_per_s,ratio_to,p50_ratio,p50_ratio_min,p50_ratio_max,p50_ratio_low,p50_ratio_high,noise_floor,min_detectable,verdict,\
data_pages_per_op,index_pages_per_op,device_bytes_per_op,build_ns_per_key,table_bytes,accessor_bytes,filter_bytes,\
bytes_per_key,resident_bytes,publish_s,idle_s,cpu_s,bytes_written,publish_heap_bytes,idle_heap_bytes,\
publish_ratio,idle_ratio,cpu_ratio,written_ratio,checked,error";

impl Report {
    /// One line a cell and ratio; a cell without ratios has one line. RFC 4180, LF at line ends.
    pub fn csv(&self) -> String {
        let mut text = format!("{COLUMNS}\n");
        for cell in &self.cells {
            if cell.ratio_to.is_empty() {
                text.push_str(&line(cell, None));
            }
            cell.ratio_to.keys().for_each(|to| text.push_str(&line(cell, Some(to))));
        }
        text
    }
}

fn line(cell: &Cell, to: Option<&str>) -> String {
    let ratios = to.and_then(|to| cell.ratio_to.get(to));
    let ratio = ratios.and_then(|ratio| ratio.p50);
    let upkeep =
        |of: fn(&UpkeepRow) -> Option<f64>| known(cell.median_of(|trial| of(trial.upkeep.as_ref()?)));
    let upkeep_ratios = RATIOS.map(|(_, of)| known(ratios.and_then(of).map(|ratio| ratio.median)));
    let status = match cell.status {
        Status::Ok => "ok",
        Status::Partial => "partial",
        Status::Failed => "failed",
    };
    let mut fields = vec![
        quoted(&cell.accessor),
        quoted(&cell.shape),
        cell.n.to_string(),
        quoted(&cell.layout),
        known(cell.cache_mib),
        quoted(cell.read.as_deref().unwrap_or_default()),
        quoted(cell.advice.as_deref().unwrap_or_default()),
        quoted(&cell.stage),
        cell.threads.to_string(),
        status.to_owned(),
        cell.trials.len().to_string(),
        known(cell.median_of(|trial| trial.p50_ns)),
        known(cell.median_of(|trial| trial.p99_ns)),
        known(cell.median_of(|trial| trial.p999_ns)),
        known(cell.median_of(|trial| trial.mean_ns)),
        known(cell.median_of(|trial| trial.ops_per_s)),
        quoted(to.unwrap_or_default()),
        known(ratio.map(|ratio| ratio.median)),
        known(ratio.map(|ratio| ratio.min)),
        known(ratio.map(|ratio| ratio.max)),
        known(ratio.map(|ratio| ratio.low)),
        known(ratio.map(|ratio| ratio.high)),
        known(cell.noise_floor),
        known(cell.min_detectable),
        text::word(cell.verdict).to_owned(),
        known(cell.median_of(|trial| trial.data_pages_per_op)),
        known(cell.median_of(|trial| trial.index_pages_per_op)),
        known(cell.median_of(|trial| trial.device_bytes_per_op)),
        known(cell.build_ns_per_key),
        known(cell.disk_bytes.table),
        known(cell.disk_bytes.accessor),
        known(cell.disk_bytes.filter),
        known(cell.bytes_per_key),
        known(cell.resident_bytes),
        upkeep(|row| Some(row.publish_s)),
        upkeep(|row| Some(row.idle_s)),
        upkeep(|row| Some(row.cpu_s)),
        upkeep(|row| row.bytes_written.map(|bytes| bytes as f64)),
        upkeep(|row| Some(row.publish_heap_bytes as f64)),
        upkeep(|row| Some(row.idle_heap_bytes as f64)),
    ];
    fields.extend(upkeep_ratios);
    fields.extend([known(cell.checked), quoted(cell.error.as_deref().unwrap_or_default())]);
    format!("{}\n", fields.join(","))
}

/// An unknown number is an empty field.
fn known(number: Option<impl ToString>) -> String {
    number.map_or(String::new(), |number| number.to_string())
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use crate::report::sample;

    #[test]
    fn one_line_a_ratio_with_numbers_as_they_are() {
        let csv = sample::report().csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 1 + 2 * 2);
        assert!(lines[1].starts_with(
            "sorted,w1,1000,bulk,64,mmap,,point,1,ok,3,200,400,600,250,2000000,floor,2,1.5,2.5,1.75,2.25,"
        ));
        assert!(lines[1].ends_with(
            ",0.015,0.02,slower,1,1.25,4096,1000.5,10,20,30,1.5,40,,,,,,,,,,,70,\"nothing, \"\"really\"\"\""
        ));
    }

    #[test]
    fn upkeep_has_its_numbers_and_ratios() {
        let csv = sample::upkeep().csv();
        let line = csv.lines().nth(2).unwrap_or_default();
        assert!(line.ends_with(",1.5,2.5,3.5,4194304,5242880,6291456,1.02,1.1,1.2,1.01,70,"), "{line}");
        assert!(line.starts_with("ph4,w1,1000,level0,64,mmap,,compact,2,ok,1,,,,,,sorted,,"), "{line}");
    }

    #[test]
    fn unknown_is_empty_and_a_cell_without_ratios_has_a_line() {
        let mut report = sample::report();
        report.cells.truncate(1);
        let cell = &mut report.cells[0];
        (cell.cache_mib, cell.error) = (None, None);
        cell.trials.clear();
        cell.ratio_to.clear();
        let csv = report.csv();
        let (head, line) = csv.trim_end().split_once('\n').unwrap_or_default();
        assert!(line.starts_with("sorted,w1,1000,bulk,,mmap,,point,1,ok,0,,,,,,,,,,,,0.015,"), "{line}");
        assert_eq!(line.split(',').count(), head.split(',').count());
    }
}
