//! `show --format html`: one page without other files; one row an event or a begin of an epoch, one column a thread.

use super::epochs::{separators, summary, Separator};
use super::text::{operation_of, shell_words, target_of, where_of};
use super::View;
use covsched_core::schedule::Completeness;
use std::io::{self, Write};

const STYLE: &str = "body{font:14px sans-serif;margin:1em}table{border-collapse:collapse}\
th{position:sticky;top:0;background:#eee;text-align:left}th,td{padding:2px 8px;border-left:1px solid #ddd}\
td{vertical-align:top;white-space:nowrap}tr:hover{background:#f4f8ff}.n{color:#888;text-align:right}\
.derived{color:#888}.entry,.exit{color:#06c}.where{color:#666;font-size:12px}\
.epoch{background:#eef6ee;border-top:1px solid #8a8}";

pub(super) fn write(view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let schedule = view.schedule;
    let command = escape(&shell_words(&schedule.command));
    let state = match &schedule.completeness {
        Completeness::Complete => "complete".to_owned(),
        Completeness::Incomplete(reason) => format!("incomplete: {}", escape(reason)),
    };
    writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{command}</title>"
    )?;
    writeln!(out, "<style>{STYLE}</style></head>\n<body><h1><code>{command}</code></h1>")?;
    writeln!(out, "<p>{state}, {} events</p>\n<table>\n<tr><th></th>", schedule.events.len())?;
    for (number, thread) in schedule.threads.iter().enumerate() {
        let function = thread.entry.and_then(|site| view.place(site)).map(|place| escape(&place.function));
        writeln!(out, "<th>t{number} <span class=\"where\">{}</span></th>", function.unwrap_or_default())?;
    }
    writeln!(out, "</tr>")?;
    let columns = schedule.threads.len();
    let mut separators = separators(view).into_iter().peekable();
    for (seq, event, site) in view.events_in_user_code() {
        while let Some(reached) = separators.next_if(|separator| separator.place < seq) {
            write_separator(&reached, columns, out)?;
        }
        let column = event.thread.0 as usize;
        write!(out, "<tr><td class=\"n\">{seq}</td>{}", "<td></td>".repeat(column))?;
        let words = [operation_of(view, event), target_of(view, event)];
        let words = words.iter().filter(|word| !word.is_empty()).map(|word| escape(word)).collect::<Vec<_>>();
        write!(out, "<td class=\"{}\">{}", event.kind().name(), words.join(" "))?;
        write!(out, "<br><span class=\"where\">{}</span></td>", escape(&where_of(view, event, site)))?;
        writeln!(out, "{}</tr>", "<td></td>".repeat(columns - column - 1))?;
    }
    for rest in separators {
        write_separator(&rest, columns, out)?;
    }
    writeln!(out, "</table>")?;
    for line in summary(view) {
        writeln!(out, "<p>{}</p>", escape(&line))?;
    }
    writeln!(out, "</body></html>")
}

fn write_separator(separator: &Separator, columns: usize, out: &mut dyn Write) -> io::Result<()> {
    let words = escape(&separator.parts.join("; "));
    writeln!(out, "<tr class=\"epoch\"><td></td><td colspan=\"{columns}\">{words}</td></tr>")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
