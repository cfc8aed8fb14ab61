//! Reads and writes numbers and bytes with a checksum at the end.

use std::fs::File;
use std::io::{self, Write as _};

use super::coding::Malformed;
use crate::hash::{Hashing, Secret};

/// A checksum is taken of so many bytes at a time, and of the one before.
const BLOCK_BYTES: usize = 1 << 16;

/// Any key will do: the checksum is for accidents, and the file is its owner's alone.
fn checksum(before: u64, block: &[u8]) -> u64 {
    Hashing::Sip(Secret(0x746f_6c6c, 0x6761_7465)).of_name(before).of(block)
}

/// Writes, and sums up.
pub(super) struct Writer {
    file: File,
    block: Vec<u8>,
    sum: u64,
    /// The first thing that went wrong.
    result: io::Result<()>,
}

impl Writer {
    pub(super) fn new(file: File) -> Self {
        Self { file, block: Vec::with_capacity(BLOCK_BYTES), sum: 0, result: Ok(()) }
    }

    pub(super) fn number(&mut self, number: u64) {
        self.put(&number.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.put(bytes);
    }

    fn put(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.block.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if self.block.len() == BLOCK_BYTES {
                self.close_block();
            }
        }
    }

    fn close_block(&mut self) {
        self.sum = checksum(self.sum, &self.block);
        if self.result.is_ok() {
            self.result = self.file.write_all(&self.block);
        }
        self.block.clear();
    }

    /// Writes the checksum.
    pub(super) fn finish(mut self) -> io::Result<File> {
        self.close_block();
        self.result?;
        self.file.write_all(&self.sum.to_le_bytes())?;
        Ok(self.file)
    }
}

/// Reads what has been found to be whole.
pub(super) struct Reader<'a> {
    all: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    /// Reads from a position on; `None` if the checksum at the end does not fit.
    pub(super) fn new(all: &'a [u8], position: usize) -> Option<Self> {
        let (rest, sum) = all.get(position..)?.split_last_chunk::<8>()?;
        let mut blocks = rest.chunks_exact(BLOCK_BYTES);
        let whole = blocks.by_ref().fold(0, checksum);
        let found = checksum(whole, blocks.remainder());
        (found == u64::from_le_bytes(*sum)).then_some(Self::at(all, position))
    }

    /// Reads again, from another position on.
    pub(super) const fn at(all: &'a [u8], position: usize) -> Self {
        Self { all, position }
    }

    /// Where it is.
    pub(super) const fn position(&self) -> usize {
        self.position
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let end = self.position.checked_add(length).ok_or(Malformed)?;
        let taken = self.all.get(self.position..end).ok_or(Malformed)?;
        self.position = end;
        Ok(taken)
    }

    pub(super) fn number(&mut self) -> Result<u64, Malformed> {
        let bytes = self.take(8)?.try_into().map_err(|_| Malformed)?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.number()?).map_err(|_| Malformed)?;
        self.take(length)
    }
}
