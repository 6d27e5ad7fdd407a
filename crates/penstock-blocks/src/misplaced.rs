//! Block files under the wrong name. The key of a block's hashes has its number in it, so the
//! first record tells which block it is.

use crate::error::Result;
use crate::recovery::Opening;

const NUMBERS_BEYOND: u32 = 64; // tried above the highest number there is

impl Opening {
    /// Gives blocks their own name back where nothing else has it.
    pub(crate) fn put_back_moved(&mut self) -> Result<()> {
        let (numbers, _) = self.files()?.numbers()?;
        let end = numbers
            .last()
            .map_or(0, |last| last.saturating_add(NUMBERS_BEYOND));
        for number in numbers {
            if self.files()?.length(number)? == 0 || self.begins_well(number, number)? {
                continue;
            }
            for other in (1..=end).filter(|other| *other != number) {
                if self.begins_well(number, other)? {
                    let path = self.files()?.block_path(number);
                    let aside = format!("{}.moved", self.files()?.block_path(other));
                    self.files()?.rename(&path, &aside)?;
                    self.report.moved.push((number, other));
                    break;
                }
            }
        }
        self.put_in_place()
    }

    /// Also ends what an earlier opening began.
    fn put_in_place(&mut self) -> Result<()> {
        let (numbers, others) = self.files()?.numbers()?;
        for name in others {
            let number = name
                .strip_suffix(".blk.moved")
                .and_then(|text| text.parse::<u32>().ok());
            let Some(number) = number else {
                continue;
            };
            let path = self.files()?.block_path(number);
            let aside = format!("{path}.moved");
            if numbers.contains(&number) {
                self.report.unreadable.push(aside); // a copy of a block that is there
            } else {
                self.files()?.rename(&aside, &path)?;
            }
        }
        Ok(())
    }
}
