//! The `muster` command.
//!
//! ```text
//!   demo    generate, load, query, serve      demo.rs
//!   serve   the MySQL server                  serve.rs
//!   sql     the shell, embedded or remote     shell/
//!   dump    databases as a file of statements   dump/
//!   load    files or a workload into tables   load.rs
//!   generate  a workload as .tbl files        generate.rs
//!   calibrate the costs of this machine       calibrate.rs
//!   lab     experiments                       lab.rs, regret.rs, tpcc.rs, settings.rs
//! ```

mod affinity;
mod allocator;
mod calibrate;
mod database_arguments;
mod demo;
#[cfg(test)]
mod documented_commands_tests;
mod dump;
mod estimates;
mod files;
mod functions;
mod generate;
mod generated;
mod lab;
mod load;
mod log_arguments;
mod machine_arguments;
mod open;
mod pages;
mod print;
mod progress;
mod queries;
mod recovery;
mod regret;
mod serve;
mod server_arguments;
mod server_experiments;
mod settings;
mod shell;
mod size;
mod tpcc;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "muster",
    version,
    about = "A MySQL-compatible SQL engine for decision support on data bigger than memory"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Generate DBT-3 and SSB, load them, run all queries, and serve them
    Demo(demo::Arguments),
    /// Serve a data directory over the MySQL protocol
    Serve(serve::Arguments),
    /// The SQL shell, on a data directory or on a server
    Sql(shell::Arguments),
    /// Write databases as a file of statements, as they are at one moment
    Dump(dump::Arguments),
    /// The plan of a statement, as a tree or as a picture (SVG)
    Explain(shell::plan::Arguments),
    /// Load files into a table, or generated data (dbt3, ssb, sysbench) into a database
    Load(load::Arguments),
    /// Write generated data (dbt3, ssb, sysbench) as .tbl files
    Generate(generate::Arguments),
    /// Measure this machine, and have the optimizer reckon with what was measured
    Calibrate(calibrate::Arguments),
    /// Run experiments: access strategies side by side, on this machine and on modelled devices
    Lab(Box<lab::Arguments>),
}

fn main() -> std::process::ExitCode {
    allocator::keep_batches();
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::try_from_env("MUSTER_LOG").unwrap_or_else(|_| "warn".into()))
        .with_writer(std::io::stderr)
        .init();
    let command = Arguments::parse().command;
    if let Command::Lab(a) = &command
        && let Err(e) = a.pin()
    {
        eprintln!("muster: {e:#}");
        return std::process::ExitCode::FAILURE;
    }
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let runtime = match threads.thread_stack_size(muster_engine::STACK_BYTES).enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => {
            eprintln!("muster: {e}");
            return std::process::ExitCode::FAILURE;
        }
    };
    let done = match command {
        Command::Demo(a) => demo::run(&runtime, a),
        Command::Serve(a) => runtime.block_on(serve::run(a)),
        Command::Sql(a) => shell::run(&runtime, a),
        Command::Dump(a) => dump::run(&runtime, &a),
        Command::Explain(a) => shell::plan::run(&runtime, a),
        Command::Load(a) => runtime.block_on(load::run(a)),
        Command::Generate(a) => generate::run(a),
        Command::Calibrate(a) => runtime.block_on(calibrate::run(a)),
        Command::Lab(a) => runtime.block_on(lab::run(*a)),
    };
    // A statement that was left behind must not keep the process.
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    match done {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(e) if e.is::<print::OutputClosed>() => std::process::ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("muster: {e:#}");
            std::process::ExitCode::FAILURE
        }
    }
}
