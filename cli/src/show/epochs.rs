//! What `show` says of epochs: a line where one begins, and at the end what the boundaries come to.
//!
//! With `epochs=barrier` all threads begin an epoch together: one line for that, which names the markers that they
//! waited at. Else each thread has epochs of its own: a line for each of its stops.

use super::text::place_words;
use super::View;
use covsched_core::schedule::{Boundary, Marker};

/// A line between two events.
pub(super) struct Separator {
    /// How many events come before it.
    pub place: usize,
    /// What it says, in parts that belong together; the first is what begins.
    pub parts: Vec<String>,
}

/// The lines for what is shown, in order.
pub(super) fn separators(view: &View<'_>) -> Vec<Separator> {
    let schedule = view.schedule;
    if schedule.has_global_epochs() {
        let starts = schedule.epochs.iter().filter_map(|each| match each.boundary {
            Boundary::Start { number, id } => Some((each.place, number, id)),
            Boundary::Marker(_) => None,
        });
        let waiting = schedule.markers_at_starts();
        return starts
            .zip(waiting)
            .map(|((place, number, id), markers)| {
                let mut parts = vec![format!("epoch {number}, id {id}")];
                parts.extend(by_place(view, &markers));
                Separator { place, parts }
            })
            .collect();
    }
    let mut stops = vec![0u64; schedule.threads.len()];
    let mut separators = Vec::new();
    for each in &schedule.epochs {
        let Boundary::Marker(marker) = &each.boundary else { continue };
        let number = &mut stops[marker.thread.0 as usize];
        *number += 1;
        if view.shows_thread(marker.thread) {
            let mut parts = vec![format!("{} epoch {number}", marker.thread), place_of(view, marker)];
            parts.extend(passed_by(u64::from(marker.passed_short), u64::from(marker.passed_balance)));
            parts.extend(marker.instructions.map(|count| plural(u64::from(count), "instruction")));
            separators.push(Separator { place: each.place, parts });
        }
    }
    separators
}

/// `t0, t2 at queue.c:30 worker`, for each marker that threads wait at.
fn by_place(view: &View<'_>, markers: &[&Marker]) -> Vec<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for marker in markers {
        let (place, thread) = (place_of(view, marker), marker.thread.to_string());
        match groups.iter_mut().find(|(known, _)| *known == place) {
            Some((_, threads)) => threads.push(thread),
            None => groups.push((place, vec![thread])),
        }
    }
    groups.into_iter().map(|(place, threads)| format!("{} {place}", threads.join(", "))).collect()
}

fn place_of(view: &View<'_>, marker: &Marker) -> String {
    match view.place(marker.site).map(place_words).filter(|words| !words.is_empty()) {
        Some(words) => format!("at {words}"),
        None => "at an unknown marker".to_owned(),
    }
}

fn passed_by(short: u64, balance: u64) -> Option<String> {
    match (short, balance) {
        (0, 0) => None,
        (short, 0) => Some(format!("passed by {short} for length")),
        (0, balance) => Some(format!("passed by {balance} for balance")),
        (short, balance) => Some(format!("passed by {short} for length, {balance} for balance")),
    }
}

fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// What the whole schedule's boundaries come to, in lines; none without epochs.
pub(super) fn summary(view: &View<'_>) -> Vec<String> {
    if view.schedule.epochs.is_empty() {
        return Vec::new();
    }
    let counts = view.schedule.epoch_counts();
    // The first epoch has no boundary at its begin.
    let epochs = match counts.starts {
        0 => format!("each thread has its own, at most {}", counts.most_stops + 1),
        starts => format!("{} of all threads", starts + 1),
    };
    let (short, balance) = (counts.passed_short, counts.passed_balance);
    let mut lines = vec![
        format!("epochs    {epochs}"),
        format!(
            "markers   stopped at {}, passed by {short} for length, {balance} for balance",
            counts.stopped
        ),
    ];
    if let Some([least, median, most]) = counts.instructions {
        lines.push(format!("instructions a thread's epoch: min {least}, median {median}, max {most}"));
    }
    lines
}

/// A separator in lines of at most `width` columns, as far as its parts allow.
pub(super) fn wrapped(parts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let joint = if number == 1 { ": " } else { "; " };
        match lines.last_mut() {
            None => lines.push(format!("--- {part}")),
            Some(last) if last.chars().count() + joint.len() + part.chars().count() < width => {
                last.push_str(joint);
                last.push_str(part);
            }
            Some(last) => {
                last.push_str(joint.trim_end());
                lines.push(format!("    {part}"));
            }
        }
    }
    lines
}
