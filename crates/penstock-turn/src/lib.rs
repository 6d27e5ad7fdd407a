//! penstock-turn.
