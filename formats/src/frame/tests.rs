use super::*;
use crate::{FileNo, SeqNo, StoreId};

const HEADER: FileHeader = FileHeader {
    kind: FileKind::Log,
    store_id: StoreId([7; 16]),
    no: FileNo(3),
    previous: FileNo(0),
    previous_len: 0,
    first_seq: SeqNo(1),
    durable_seq: SeqNo(0),
};

/// A file of frames; frame `i` has kind 1, payload `payloads[i]` and mark `durable(i)`.
fn file(payloads: &[Vec<u8>], durable: impl Fn(usize) -> u64) -> Vec<u8> {
    let mut bytes = HEADER.encode().to_vec();
    for (ordinal, payload) in payloads.iter().enumerate() {
        let header = FrameHeader::new(1, durable(ordinal), bytes.len() as u64, &[payload]);
        bytes.extend_from_slice(&header.encode(HEADER.salt()));
        bytes.extend_from_slice(payload);
        bytes.extend_from_slice(frame_tail(payload.len() as u64));
    }
    bytes
}

/// The payloads read, and how it ended. Frame `i` holds "sequence" `i + 1`.
fn read(bytes: &[u8]) -> (Vec<Vec<u8>>, Result<Tail, ReadError>) {
    let mut reader = FrameReader::new(bytes, &HEADER, FILE_HEADER_BYTES as u64, u64::MAX);
    let mut payloads = Vec::new();
    loop {
        match reader.next(payloads.len() as u64 + 1) {
            Ok(Next::Frame(frame)) => payloads.push(frame.payload.to_vec()),
            Ok(Next::End(tail)) => return (payloads, Ok(tail)),
            Err(error) => return (payloads, Err(error)),
        }
    }
}

fn payloads() -> Vec<Vec<u8>> {
    vec![b"first".to_vec(), vec![1; 700], b"".to_vec(), vec![0; 1600]]
}

fn is_damage(end: &Result<Tail, ReadError>) -> bool {
    matches!(end, Err(ReadError::Format(_)))
}

#[test]
fn frames_come_back_and_end_clean() {
    let bytes = file(&payloads(), |_| 0);
    assert_eq!(bytes.len() % 8, 0);
    let (read, end) = read(&bytes);
    assert_eq!(read, payloads());
    assert_eq!(end.unwrap(), Tail::Clean);
}

#[test]
fn a_file_header_comes_back_and_every_changed_bit_is_refused() {
    let bytes = HEADER.encode();
    assert_eq!(FileHeader::decode(&bytes, FileKind::Log), Ok(HEADER));
    assert!(FileHeader::decode(&bytes, FileKind::Manifest).is_err());
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(FileHeader::decode(&changed, FileKind::Log).is_err(), "bit {bit}");
    }
}

#[test]
fn every_changed_byte_of_a_whole_frame_is_damage() {
    let whole = file(&payloads(), |_| 0);
    for place in FILE_HEADER_BYTES..whole.len() {
        for change in [0x01, 0x80, 0xFF] {
            let mut bytes = whole.clone();
            bytes[place] ^= change;
            let (read, end) = read(&bytes);
            assert!(is_damage(&end), "byte {place} changed by {change:02x}: {} frames, {end:?}", read.len());
            assert_eq!(read, payloads()[..read.len()]);
        }
    }
}

#[test]
fn every_cut_is_a_torn_tail_or_a_clean_end() {
    let whole = file(&payloads(), |ordinal| ordinal as u64);
    for len in FILE_HEADER_BYTES..whole.len() {
        let (read, end) = read(&whole[..len]);
        assert!(end.is_ok(), "cut to {len}: {end:?}");
        assert_eq!(read, payloads()[..read.len()]);
        assert!(read.len() < payloads().len());
    }
}

/// An append into reserved space that was cut short.
#[test]
fn every_cut_that_zeros_follow_is_a_torn_tail_or_the_end() {
    let whole = file(&payloads(), |ordinal| ordinal as u64);
    for len in FILE_HEADER_BYTES..=whole.len() {
        for zeros in [8, 40, 600, 5000] {
            let (read, end) = read(&[&whole[..len], &vec![0; zeros]].concat());
            assert!(end.is_ok(), "cut to {len}, {zeros} zeros: {end:?}");
            assert_eq!(read, payloads()[..read.len()]);
            // The padding is zeros too.
            assert_eq!(read.len() == payloads().len(), len + 7 >= whole.len(), "cut to {len}");
        }
    }
}

#[test]
fn every_changed_bit_is_damage_also_before_zeros() {
    let whole = file(&payloads(), |_| 0);
    for bit in FILE_HEADER_BYTES * 8..whole.len() * 8 {
        let mut bytes = [&whole[..], &[0; 1000]].concat();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(is_damage(&read(&bytes).1), "bit {bit}");
    }
}

/// Appends into reserved space reach the disk in any order.
#[test]
fn a_whole_frame_behind_a_hole_is_dropped_unless_it_says_that_the_hole_was_durable() {
    let (second, third) = (512, 512 + 1024);
    let first = second - FILE_HEADER_BYTES - FRAME_HEADER_BYTES - 8;
    let written = [vec![1; first], vec![2; third - second - FRAME_HEADER_BYTES - 8], vec![3; 400]];
    for durable in [1, 2] {
        let mut bytes = file(&written, |ordinal| if ordinal == 2 { durable } else { 0 });
        bytes.resize(bytes.len() + 4096, 0);
        bytes[second..third].fill(0);
        let (frames, end) = read(&bytes);
        assert_eq!(frames, written[..1]);
        assert_eq!(is_damage(&end), durable == 2, "{end:?}");
    }
}

#[test]
fn a_torn_tail_is_counted_to_its_last_byte_that_is_no_zero() {
    let mut bytes = file(&payloads(), |_| 0);
    bytes.extend_from_slice(&[0, 0, 7, 0, 9]);
    for zeros in [0, 5000] {
        bytes.resize(bytes.len() + zeros, 0);
        let mut reader = FrameReader::new(&bytes[..], &HEADER, FILE_HEADER_BYTES as u64, u64::MAX);
        while let Next::Frame(_) = reader.next(u64::MAX).unwrap() {}
        assert_eq!(reader.torn_bytes(), 5);
    }
}

#[test]
fn zeros_behind_the_last_frame_are_its_end() {
    for zeros in [1, 31, 32, 4096, 1 << 20] {
        let mut bytes = file(&payloads(), |_| 0);
        bytes.resize(bytes.len() + zeros, 0);
        let (read, end) = read(&bytes);
        assert_eq!((read, end.unwrap()), (payloads(), Tail::Zeros));
        bytes.extend_from_slice(&[9, 8, 7]);
        let (read, end) = self::read(&bytes);
        assert_eq!((read, end.unwrap()), (payloads(), Tail::Torn));
    }
}

#[test]
fn foreign_bytes_behind_the_last_frame_are_a_torn_tail() {
    for len in [1, 17, 31, 32, 200, 3000] {
        let mut bytes = file(&payloads(), |_| 0);
        let mut word = 0x9E37_79B9_7F4A_7C15_u64;
        for _ in 0..len {
            word = word.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
            bytes.push((word >> 56) as u8);
        }
        let (read, end) = read(&bytes);
        assert_eq!((read, end.unwrap()), (payloads(), Tail::Torn), "{len} bytes");
    }
}

#[test]
fn a_frame_of_another_file_is_not_ours() {
    let other = FileHeader { no: FileNo(4), ..HEADER };
    let mut bytes = file(&payloads(), |_| 0);
    let header = FrameHeader::new(1, 0, bytes.len() as u64, &[]);
    bytes.extend_from_slice(&header.encode(other.salt()));
    bytes.extend_from_slice(frame_tail(0));
    let (read, end) = read(&bytes);
    assert_eq!((read, end.unwrap()), (payloads(), Tail::Torn));
}

/// A power cut leaves whole sectors of zeros of what was not synced, also before later frames.
#[test]
fn an_unwritten_sector_is_torn_unless_a_later_mark_covers_it() {
    let many: Vec<Vec<u8>> = (0..20).map(|byte| vec![byte + 1; 100]).collect();
    for sector in 1..4 {
        for durable in [0, 20] {
            let mut bytes = file(&many, |ordinal| if ordinal == 19 { durable } else { 0 });
            bytes[sector * 512..(sector + 1) * 512].fill(0);
            let (read, end) = read(&bytes);
            assert_eq!(read, many[..read.len()]);
            assert!(read.len() < many.len());
            assert_eq!(is_damage(&end), durable > 0, "sector {sector}, mark {durable}: {end:?}");
        }
    }
}

/// A power cut may drop any sectors of what was not synced, and cut the rest; never is that taken
/// for damage, and never is a frame given that was not written.
#[test]
fn every_set_of_dropped_sectors_is_a_torn_tail() {
    let mut mixed = vec![0; 700];
    mixed.extend_from_slice(&[7; 100]);
    let written = [payloads(), vec![mixed, vec![2; 5]]].concat();
    let whole = file(&written, |_| 0);
    let sectors = whole.len().div_ceil(512);
    assert!(sectors < 12);
    for dropped in 0_u32..1 << sectors {
        let mut bytes = whole.clone();
        for sector in (0..sectors).filter(|sector| dropped >> sector & 1 == 1) {
            let end = whole.len().min((sector + 1) * 512);
            bytes[(sector * 512).max(FILE_HEADER_BYTES)..end].fill(0);
        }
        let (read, end) = read(&bytes);
        assert!(end.is_ok(), "sectors {dropped:b}: {end:?}");
        assert_eq!(read, written[..read.len()], "sectors {dropped:b}");
        assert_eq!(read.len() == written.len(), bytes == whole, "sectors {dropped:b}");
    }
}

/// A mark counts by its header's checksum alone.
#[test]
fn a_mark_of_a_frame_that_is_not_whole_proves_what_was_before_it() {
    let whole = file(&payloads(), |ordinal| if ordinal == 3 { 3 } else { 0 });
    let cut = whole.len() - 700;
    let mut bytes = whole[..cut].to_vec();
    let (frames, end) = read(&bytes);
    assert_eq!((frames.len(), end.unwrap()), (3, Tail::Torn));
    // The second frame's payload is lost.
    bytes[512..800].fill(0);
    let (frames, end) = read(&bytes);
    assert_eq!(frames.len(), 1);
    assert!(is_damage(&end), "{end:?}");
}

/// Somebody may store a log in a store.
#[test]
fn frames_inside_a_torn_payload_are_not_taken_for_frames() {
    let inner = file(&[b"inner".to_vec()], |_| 99);
    let mut bytes = file(&[inner[FILE_HEADER_BYTES..].repeat(40)], |_| 0);
    bytes[512..1024].fill(0);
    let (frames, end) = read(&bytes);
    assert_eq!((frames.len(), end.unwrap()), (0, Tail::Torn));
}

#[test]
fn a_header_with_several_changed_bytes_is_damage() {
    let whole = file(&payloads(), |_| 0);
    let last = whole.len() - (FRAME_HEADER_BYTES + 1600 + 8);
    let mut bytes = whole.clone();
    bytes[last + 4..last + FRAME_HEADER_BYTES].fill(0x55);
    assert!(is_damage(&read(&bytes).1));
    // Without the salt nothing says that it was a header of ours.
    bytes[last..last + 4].fill(0x55);
    assert_eq!(read(&bytes).1.unwrap(), Tail::Torn);
}

#[test]
fn a_senseless_length_with_a_right_checksum_allocates_nothing() {
    let mut bytes = file(&payloads(), |_| 0);
    for payload_len in [u64::MAX, u64::MAX - 33, 1 << 40] {
        let header = FrameHeader { payload_len, ..FrameHeader::new(1, 0, 0, &[]) };
        bytes.extend_from_slice(&header.encode(HEADER.salt()));
        let (read, end) = read(&bytes);
        assert_eq!((read, end.unwrap()), (payloads(), Tail::Torn));
        bytes.truncate(bytes.len() - FRAME_HEADER_BYTES);
    }
}
