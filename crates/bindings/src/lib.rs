//! `tonnage._native`: the engine and the simulator as Python sees them. Thin on purpose; `python/tonnage/_native.pyi`
//! documents every call.
//!
//! ```text
//! tonnage.campaign, cluster ─ JSON ─→ Phase, Scratch, open (engine, storage)      ─ JSON ─→ a trial's line
//! tonnage.campaign (sim:)   ─ JSON ─→ Simulator (simulator)                       ─ JSON ─→ a trial's line
//! tonnage.records           ────────→ tables, histograms, rows, shares (records)  ────────→ columns
//! tonnage.staging           ─ JSON ─→ Mover (mover)                               ─ JSON ─→ status
//! ```

#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands owned values to its functions")]

mod beside;
mod errors;
mod phase;
mod rows;
mod scratch;
mod shares;
mod stage;
mod tables;
mod target;

use pyo3::prelude::*;

#[pymodule(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<scratch::Scratch>()?;
    module.add_class::<target::Target>()?;
    module.add_class::<phase::Phase>()?;
    module.add_class::<beside::Beside>()?;
    module.add_function(wrap_pyfunction!(tables::read_table, module)?)?;
    module.add_function(wrap_pyfunction!(tables::read_histograms, module)?)?;
    module.add_function(wrap_pyfunction!(tables::read_merged, module)?)?;
    module.add_function(wrap_pyfunction!(tables::write_series, module)?)?;
    module.add_class::<rows::Rows>()?;
    module.add_class::<rows::Row>()?;
    module.add_function(wrap_pyfunction!(target::memory_copy_bytes_per_s, module)?)?;
    module.add_function(wrap_pyfunction!(target::pool_free_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(scratch::pool_leftovers, module)?)?;
    module.add_function(wrap_pyfunction!(scratch::clean_pool, module)?)?;
    module.add_function(wrap_pyfunction!(target::export_facts, module)?)?;
    module.add_function(wrap_pyfunction!(target::check_bucket, module)?)?;
    module.add_function(wrap_pyfunction!(target::ask_monitor, module)?)?;
    module.add_function(wrap_pyfunction!(target::mpiio_shim, module)?)?;
    module.add_function(wrap_pyfunction!(target::clock_name, module)?)?;
    module.add_function(wrap_pyfunction!(target::sim_shares, module)?)?;
    module.add_function(wrap_pyfunction!(target::end_waits, module)?)?;
    module.add_function(wrap_pyfunction!(shares::merge_shares, module)?)?;
    module.add_function(wrap_pyfunction!(shares::write_share, module)?)?;
    module.add_class::<stage::Mover>()?;
    module.add_function(wrap_pyfunction!(stage::stage_status, module)?)?;
    module.add_function(wrap_pyfunction!(stage::stage_entries, module)?)?;
    module.add_function(wrap_pyfunction!(stage::stage_verify, module)?)?;
    module.add_function(wrap_pyfunction!(stage::stage_lost, module)?)?;
    Ok(())
}
