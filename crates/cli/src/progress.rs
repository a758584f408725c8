//! Progress bars of loads.

use crate::print::print_line;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use muster_engine::LoadProgress;
use muster_lab::{DataTable, load::LoadObserver};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

const TICK: Duration = Duration::from_millis(100);

/// A bar for each table, fed from the load's counters; a line for each table when there is no terminal.
pub struct LoadBars {
    title: String,
    bars: MultiProgress,
    current: Mutex<Option<Running>>,
}

struct Running {
    bar: ProgressBar,
    stop: Arc<AtomicBool>,
    since: Instant,
}

impl LoadBars {
    pub fn new(title: &str) -> LoadBars {
        LoadBars { title: title.to_string(), bars: MultiProgress::new(), current: Mutex::new(None) }
    }

    pub fn start(&self, table: &str, rows: Option<u64>, progress: Arc<LoadProgress>) {
        let template = match rows {
            Some(_) => "{prefix:22} {bar:32} {human_pos:>11} rows {msg}",
            None => "{prefix:22} {spinner} {human_pos:>11} rows {msg}",
        };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = self.bars.add(ProgressBar::new(rows.unwrap_or(0)).with_style(style));
        bar.set_prefix(format!("{}.{table}", self.title));
        let stop = Arc::new(AtomicBool::new(false));
        let (shown, done) = (bar.clone(), stop.clone());
        std::thread::spawn(move || {
            while !done.load(Relaxed) {
                shown.set_position(progress.rows_read.load(Relaxed));
                let entries = progress.entries_written.load(Relaxed);
                if entries > 0 {
                    shown.set_message(format!("{entries} entries written"));
                }
                std::thread::sleep(TICK);
            }
        });
        *self.current.lock().unwrap_or_else(|e| e.into_inner()) = Some(Running { bar, stop, since: Instant::now() });
    }

    pub fn finish(&self, table: &str, rows: u64) {
        let Some(running) = self.current.lock().unwrap_or_else(|e| e.into_inner()).take() else { return };
        running.stop.store(true, Relaxed);
        running.bar.finish_and_clear();
        let seconds = running.since.elapsed().as_secs_f64();
        let line = format!("{:22} {rows:>11} rows  {seconds:6.2} s", format!("{}.{table}", self.title));
        // Without a terminal the bars print nothing.
        if self.bars.println(&line).is_err() || self.bars.is_hidden() {
            // The load goes on without a reader.
            let _ = print_line(line);
        }
    }
}

impl Drop for LoadBars {
    fn drop(&mut self) {
        if let Some(running) = self.current.lock().unwrap_or_else(|e| e.into_inner()).take() {
            running.stop.store(true, Relaxed);
            running.bar.finish_and_clear();
        }
    }
}

impl LoadObserver for LoadBars {
    fn table_started(&self, table: &DataTable, progress: Arc<LoadProgress>) {
        self.start(&table.name, Some(table.rows), progress);
    }

    fn table_finished(&self, table: &DataTable, rows: u64) {
        self.finish(&table.name, rows);
    }
}
