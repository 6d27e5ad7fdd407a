//! One pattern against one subject, the slow way: token by token. Also the generators: few
//! tokens, so that patterns overlap and the same subject comes again.

use proptest::prelude::*;

pub fn pattern_matches(pattern: &str, subject: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('.').collect();
    let subject: Vec<&str> = subject.split('.').collect();
    if subject.iter().any(|token| token.is_empty()) {
        return false; // as the reference: an empty token is heard by nobody
    }
    for (index, token) in pattern.iter().enumerate() {
        match (*token, subject.get(index)) {
            (_, None) => return false,
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (literal, Some(other)) if literal == *other => {}
            _ => return false,
        }
    }
    pattern.len() == subject.len()
}

pub fn subject() -> impl Strategy<Value = String> {
    "[ab*>](\\.[abc*>]){0,3}|[a.]{1,4}"
}

pub fn pattern() -> impl Strategy<Value = String> {
    "[ab*](\\.[abc*]){0,3}(\\.>)?|>|\\*a\\.b|a>"
}
