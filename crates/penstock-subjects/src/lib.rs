//! penstock-subjects.
