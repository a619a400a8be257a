//! Opening a file of input: plain, gzip or zstd, from a path or from standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const BUFFER_BYTES: usize = 256 << 10;

/// Where input comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A file.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

/// How input is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    Plain,
    Gzip,
    Zstd,
}

impl Origin {
    /// `-` is standard input.
    pub(crate) fn of(path: &Path) -> Self {
        if path == Path::new("-") { Self::Stdin } else { Self::File(path.to_owned()) }
    }

    /// The name in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdin => "standard input".to_owned(),
        }
    }

    /// The name without `.gz` or `.zst`, which says the format.
    pub(super) fn inner_extension(&self) -> Option<String> {
        let Self::File(path) = self else { return None };
        let mut name = Path::new(path.file_name()?);
        if compression_of_name(path).is_some() {
            name = Path::new(name.file_stem()?);
        }
        Some(name.extension()?.to_str()?.to_ascii_lowercase())
    }

    /// A file that can be read twice: not standard input, no pipe.
    pub(crate) fn is_rereadable(&self) -> bool {
        match self {
            Self::File(path) => path.metadata().is_ok_and(|metadata| metadata.is_file()),
            Self::Stdin => false,
        }
    }

    /// Bytes of the file as it lies on the disk, if it has a size.
    pub(crate) fn len(&self) -> Option<u64> {
        match self {
            Self::File(path) => {
                path.metadata().ok().filter(std::fs::Metadata::is_file).map(|file| file.len())
            }
            Self::Stdin => None,
        }
    }

    /// Opens it. `consumed` counts the bytes read from the disk.
    pub(super) fn open(&self, consumed: &Arc<AtomicU64>) -> io::Result<Box<dyn BufRead>> {
        let (raw, named): (Box<dyn Read>, _) = match self {
            Self::File(path) => (Box::new(File::open(path)?), compression_of_name(path)),
            Self::Stdin => (Box::new(io::stdin()), None),
        };
        let counted = Counted { inner: raw, consumed: consumed.clone() };
        decompress(BufReader::with_capacity(BUFFER_BYTES, counted), named)
    }
}

fn compression_of_name(path: &Path) -> Option<Compression> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "gz" => Some(Compression::Gzip),
        "zst" => Some(Compression::Zstd),
        _ => None,
    }
}

/// The first bytes say how the input is compressed, whatever its name. A name that says
/// otherwise is a file that was cut or damaged.
fn decompress(
    mut input: BufReader<Counted<Box<dyn Read>>>,
    named: Option<Compression>,
) -> io::Result<Box<dyn BufRead>> {
    let start = input.fill_buf()?;
    let found = if start.starts_with(GZIP_MAGIC) {
        Compression::Gzip
    } else if start.starts_with(ZSTD_MAGIC) {
        Compression::Zstd
    } else {
        Compression::Plain
    };
    if let Some(named) = named
        && named != found
    {
        return Err(io::Error::new(io::ErrorKind::InvalidData, named.complaint("it does not begin as")));
    }
    Ok(match found {
        Compression::Plain => Box::new(input),
        Compression::Gzip => buffered(Explained { inner: MultiGzDecoder::new(input), of: found }),
        Compression::Zstd => {
            buffered(Explained { inner: zstd::stream::read::Decoder::with_buffer(input)?, of: found })
        }
    })
}

fn buffered(decoder: impl Read + 'static) -> Box<dyn BufRead> {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder))
}

impl Compression {
    fn complaint(self, what: &str) -> String {
        let name = match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        };
        format!("{what} {name} data")
    }
}

/// Says what a decoder's error means to somebody who only sees a file.
struct Explained<R> {
    inner: R,
    of: Compression,
}

impl<R: Read> Read for Explained<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buf).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(error.kind(), self.of.complaint("the file ends in the middle of"))
            }
            io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, format!("{}: {error}", self.of.complaint("damaged"))),
        })
    }
}

/// Counts what is read.
struct Counted<R> {
    inner: R,
    consumed: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buf)?;
        self.consumed.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression as Level;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Level::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 1).unwrap()
    }

    fn read_as(name: &str, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let consumed = Arc::default();
        let mut text = Vec::new();
        Origin::of(&path).open(&consumed)?.read_to_end(&mut text)?;
        assert_eq!(consumed.load(Ordering::Relaxed), bytes.len() as u64);
        Ok(text)
    }

    /// Bytes that do not compress to nothing.
    fn noise(len: u32) -> Vec<u8> {
        (0..len).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
    }

    #[test]
    fn compressed_files_are_told_by_name_and_by_their_first_bytes() {
        let text = noise(100_000);
        for name in ["a.tsv.gz", "a.tsv", "a", "a.GZ"] {
            assert_eq!(read_as(name, &gzip(&text)).unwrap(), text, "{name}");
        }
        for name in ["a.tsv.zst", "a.tsv", "a"] {
            assert_eq!(read_as(name, &zstd(&text)).unwrap(), text, "{name}");
        }
        assert_eq!(read_as("a.tsv", b"plain").unwrap(), b"plain");
        assert_eq!(read_as("a.tsv", b"").unwrap(), b"");
    }

    #[test]
    fn all_members_of_a_file_are_read() {
        let two = [gzip(b"one\n"), gzip(b"two\n")].concat();
        assert_eq!(read_as("a.gz", &two).unwrap(), b"one\ntwo\n");
        let two = [zstd(b"one\n"), zstd(b"two\n")].concat();
        assert_eq!(read_as("a.zst", &two).unwrap(), b"one\ntwo\n");
    }

    #[test]
    fn a_cut_file_is_an_error_wherever_it_is_cut() {
        let whole = gzip(&noise(300));
        for cut in 0..whole.len() {
            assert!(read_as("a.gz", &whole[..cut]).is_err(), "gzip cut at {cut} of {}", whole.len());
        }
        let whole = zstd(&noise(300));
        for cut in 0..whole.len() {
            assert!(read_as("a.zst", &whole[..cut]).is_err(), "zstd cut at {cut} of {}", whole.len());
        }
        let message = read_as("a.gz", &gzip(b"text")[..20]).unwrap_err().to_string();
        assert_eq!(message, "the file ends in the middle of gzip data");
    }

    #[test]
    fn a_name_that_promises_compression_is_held_to_it() {
        let message = read_as("a.gz", b"plain\ttext\n").unwrap_err().to_string();
        assert_eq!(message, "it does not begin as gzip data");
        assert!(read_as("a.zst", b"").is_err());
    }

    #[test]
    fn the_extension_under_the_compression_is_found() {
        let inner = |name: &str| Origin::of(Path::new(name)).inner_extension();
        assert_eq!(inner("a.csv.gz").as_deref(), Some("csv"));
        assert_eq!(inner("dir.x/a.JSONL").as_deref(), Some("jsonl"));
        assert_eq!(inner("a.gz"), None);
        assert_eq!(inner("-"), None);
    }
}
