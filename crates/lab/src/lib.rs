//! Workloads and experiments: DBT-3, SSB
