//! CPU time from /proc, read at the marks of a run.
//!
//! The server's is that of the whole process in clock ticks (10 ms), so a window of two seconds is
//! known to about a half of one per cent; the generator's own is that of its only busy thread.

const TICKS_PER_SECOND: f64 = 100.0; // USER_HZ, the same on every Linux that this runs on
const USER_TICKS_FIELD: usize = 11; // after the command's closing bracket; system ticks follow

fn ticks(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(USER_TICKS_FIELD);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) as f64)
}

/// User and system seconds of a process; none once it has gone.
pub fn process_seconds(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(ticks(&stat)? / TICKS_PER_SECOND)
}

pub fn own_seconds() -> f64 {
    process_seconds(std::process::id()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::{process_seconds, ticks};

    #[test]
    fn a_command_may_hold_brackets_and_spaces() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 9 0 1 2 3";
        assert_eq!(ticks(stat), Some(300.0));
        assert_eq!(ticks("nonsense"), None);
    }

    #[test]
    fn a_process_that_is_not_there_has_none() {
        assert!(process_seconds(std::process::id()).is_some());
        assert!(process_seconds(u32::MAX).is_none());
    }
}
