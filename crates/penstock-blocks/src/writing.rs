//! From memory to the files: `write_out` hands buffers to the operating system, `sync` makes them
//! durable.

use crate::error::Result;
use crate::note;
use crate::store::Store;

const NOTE_BYTES: usize = 64; // a note without its ranges, generously

impl Store {
    /// Writes everything to the files, without waiting for the disk. After an error it can be
    /// called again and goes on where it was.
    pub fn write_out(&mut self) -> Result<()> {
        let Some(files) = &self.files else {
            return Ok(());
        };
        files.check()?;
        self.note_removals()?;
        while let Some(number) = self.unwritten.first().copied() {
            if let (Some(loaded), Some(files)) = (self.cache.get_mut(number), &mut self.files) {
                files.write(
                    number,
                    loaded.written as u64,
                    &loaded.data[loaded.written..],
                )?;
                loaded.written = loaded.data.len();
            }
            self.unwritten.remove(0);
        }
        if let (Some(tail), Some(block), Some(files)) =
            (&mut self.tail, self.blocks.back(), &mut self.files)
            && tail.is_pinned()
        {
            files.write(
                block.number,
                tail.written as u64,
                &tail.data[tail.written..],
            )?;
            tail.written = tail.data.len();
        }
        Ok(())
    }

    /// Puts what was removed since the last time into the last block.
    pub(crate) fn note_removals(&mut self) -> Result<()> {
        let is_noted = self.erasures_noted == self.erasures.len();
        if is_noted && self.removals.is_empty() && self.first == self.first_noted {
            return Ok(());
        }
        self.make_room(NOTE_BYTES)?;
        let mut ranges = std::mem::take(&mut self.removals);
        if self.first > 1 {
            ranges.retain(|(_, last)| *last >= self.first);
            if self.first != self.first_noted {
                ranges.push((1, self.first - 1));
            }
        }
        note::join(&mut ranges);
        self.first_noted = self.first;
        let (Some(tail), Some(block)) = (&mut self.tail, self.blocks.back_mut()) else {
            return Ok(());
        };
        let Some(key) = &self.tail_key else {
            return Ok(());
        };
        if !ranges.is_empty() {
            note::write_removed(&mut tail.data, key, self.last_timestamp_ns, &ranges);
        }
        let unnoted = self.erasures[self.erasures_noted..].iter();
        let mut erasures: Vec<_> = unnoted.map(|sequence| (*sequence, *sequence)).collect();
        note::join(&mut erasures);
        note::write_erasures(&mut tail.data, key, self.last_timestamp_ns, &erasures);
        self.erasures_noted = self.erasures.len();
        block.note_bytes += tail.data.len() as u64 - block.length;
        block.length = tail.data.len() as u64;
        tail.removals.extend(ranges);
        tail.removals.extend(erasures);
        Ok(())
    }

    /// Bytes that a checkpoint would write; a block without messages goes before.
    #[must_use]
    pub fn unwritten_bytes(&self) -> u64 {
        let tail = self.tail.iter();
        let sealed = self
            .unwritten
            .iter()
            .filter(|number| !self.is_empty_block(**number))
            .filter_map(|number| self.cache.get(*number));
        tail.chain(sealed)
            .map(|loaded| (loaded.data.len() - loaded.written) as u64)
            .sum()
    }

    /// Makes everything durable, with a seal behind it.
    pub fn sync(&mut self) -> Result<()> {
        if self.files.is_some() {
            self.note_removals()?;
            self.write_seal(false);
        }
        self.write_out()?;
        match &mut self.files {
            Some(files) => files.sync(),
            None => Ok(()),
        }
    }
}
