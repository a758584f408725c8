//! The optimizer trace: the events of one statement as JSON with MySQL's keys (manual 10.15), kept for
//! `information_schema.OPTIMIZER_TRACE`.
//!
//! Costs are milliseconds. One `join_optimization` tells of all tables of a query block.

use crate::{
    processes::OptimizerTrace,
    statement::StatementContext,
    variables::{Variables, flag_is_on},
};
use muster_algebra::{BlockId, ColId, Columns, Cost, Expr, Rel, TableDef};
use muster_explain::{Named, document::Document, range_texts};
use muster_optimizer::trace::{Event, JoinWay, NoPath, TracedPath, TracedTable};
use std::collections::BTreeMap;

/// The variables of the trace.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceSettings {
    one_line: bool,
    /// `optimizer_trace_features`: the steps that are told.
    greedy_search: bool,
    range_optimizer: bool,
    bytes_max: usize,
    /// `optimizer_trace_offset` and `optimizer_trace_limit`.
    window: (i64, u64),
}

impl TraceSettings {
    pub fn of(variables: &Variables) -> TraceSettings {
        let features = variables.text("optimizer_trace_features");
        let offset = match variables.get("optimizer_trace_offset") {
            muster_types::Value::Int(offset) => offset,
            _ => -1,
        };
        TraceSettings {
            one_line: flag_is_on(&variables.text("optimizer_trace"), "one_line"),
            greedy_search: flag_is_on(&features, "greedy_search"),
            range_optimizer: flag_is_on(&features, "range_optimizer"),
            bytes_max: usize::try_from(variables.unsigned("optimizer_trace_max_mem_size")).unwrap_or(usize::MAX),
            window: (offset, variables.unsigned("optimizer_trace_limit")),
        }
    }
}

/// Keeps the trace of a statement that has ended. A statement for which nothing was planned has none.
pub fn keep(context: &StatementContext, query: &str) {
    let Some(trace) = context.trace.get() else { return };
    let events = trace.take();
    let Some(columns) = events.iter().rev().find_map(|event| match event {
        Event::Planned { columns, .. } => Some(&**columns),
        _ => None,
    }) else {
        return;
    };
    let settings = TraceSettings::of(&context.session.variables);
    let document = Printer { columns, settings: &settings }.document(&events);
    let mut text = if settings.one_line { document.one_line() } else { document.pretty() };
    let most = settings.bytes_max.saturating_sub(query.len());
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let missing_bytes = (text.len() - end) as u64;
    text.truncate(end);
    let trace = OptimizerTrace { query: query.to_string(), trace: text, missing_bytes };
    context.process.optimizer_traces.lock().push(trace, settings.window);
}

struct Printer<'a> {
    columns: &'a Columns,
    settings: &'a TraceSettings,
}

/// An object with one member.
fn member(name: &str, value: impl Into<Document>) -> Document {
    let mut out = Document::object();
    out.add(name, value);
    out
}

impl Printer<'_> {
    fn document(&self, events: &[Event]) -> Document {
        let mut steps = vec![self.preparation(events)];
        for (number, block) in self.blocks(events) {
            let mut optimization = Document::object();
            optimization.add("select#", number);
            optimization.add("steps", self.block_steps(&block));
            steps.push(member("join_optimization", optimization));
        }
        let mut execution = Document::object();
        execution.add("select#", 1.0);
        execution.add("steps", Vec::new());
        steps.push(member("join_execution", execution));
        member("steps", steps)
    }

    /// The events of tables and joins by the number of their block.
    fn blocks<'e>(&self, events: &'e [Event]) -> BTreeMap<u32, Vec<&'e Event>> {
        let mut blocks: BTreeMap<u32, Vec<&Event>> = BTreeMap::new();
        for event in events {
            let column = match event {
                Event::Paths { table, .. } | Event::Keys { table, .. } | Event::Alternative { table, .. } => {
                    table.column
                }
                Event::Joined { column, .. } => *column,
                _ => continue,
            };
            blocks.entry(self.number(column)).or_default().push(event);
        }
        blocks
    }

    fn number(&self, column: Option<ColId>) -> u32 {
        let blocks = &self.columns.blocks;
        let made: Option<BlockId> = column.and_then(|id| blocks.made(id)).map(|id| blocks.effective(id));
        made.and_then(|id| blocks.get(id)).map_or(1, |block| block.number)
    }

    fn named(&self) -> Named<'_> {
        Named { columns: self.columns, block: None }
    }

    fn preparation(&self, events: &[Event]) -> Document {
        let mut steps = Vec::new();
        for event in events {
            match event {
                Event::Began { relation } => steps.push(member("expanded_query", self.query(relation))),
                Event::Rewrote { pass } => {
                    let mut transformation = Document::object();
                    transformation.add("transformation", *pass);
                    transformation.add("chosen", true);
                    steps.push(member("transformation", transformation));
                }
                Event::Rewritten { relation } => {
                    let transformed = member("expanded_query", self.query(relation));
                    steps.push(member("transformations_to_nested_joins", transformed));
                }
                _ => {}
            }
        }
        let mut preparation = Document::object();
        preparation.add("select#", 1.0);
        preparation.add("steps", steps);
        member("join_preparation", preparation)
    }

    fn query(&self, relation: &Rel) -> String {
        let outputs: Vec<(ColId, String)> =
            relation.output().into_iter().map(|id| (id, self.columns.get(id).name.clone())).collect();
        muster_explain::rewritten(relation, &outputs, self.columns)
    }

    fn block_steps(&self, events: &[&Event]) -> Vec<Document> {
        let mut steps = Vec::new();
        let conditions = self.conditions(events);
        if !conditions.is_empty() {
            let mut processing = Document::object();
            processing.add("condition", "WHERE");
            processing.add("original_condition", self.named().conditions(&conditions));
            processing.add("steps", Vec::new());
            steps.push(member("condition_processing", processing));
        }
        steps.push(member("table_dependencies", self.dependencies(events)));
        steps.push(member("ref_optimizer_key_uses", self.key_uses(events)));
        if self.settings.range_optimizer {
            steps.push(member("rows_estimation", self.estimations(events)));
        }
        if self.settings.greedy_search {
            steps.push(member("considered_execution_plans", self.considered(events)));
        }
        let mut attaching = Document::object();
        attaching.add("original_condition", self.named().conditions(&conditions));
        attaching.add("attached_conditions_computation", Vec::new());
        attaching.add("attached_conditions_summary", self.attached(events));
        steps.push(member("attaching_conditions_to_tables", attaching));
        let refined = self.tables(events).into_iter().map(|table| member("table", quoted_table(table)));
        steps.push(member("refine_plan", refined.collect::<Vec<_>>()));
        steps
    }

    /// The tables of a block, each once.
    fn tables<'e>(&self, events: &[&'e Event]) -> Vec<&'e TracedTable> {
        let mut tables: Vec<&TracedTable> = Vec::new();
        for event in events {
            if let Event::Paths { table, .. } = event
                && !tables.iter().any(|known| known.alias == table.alias && known.table.id == table.table.id)
            {
                tables.push(table);
            }
        }
        tables
    }

    fn conditions(&self, events: &[&Event]) -> Vec<Expr> {
        let mut all: Vec<Expr> = Vec::new();
        for event in events {
            if let Event::Paths { conjuncts, .. } = event {
                for conjunct in conjuncts {
                    if !all.contains(conjunct) {
                        all.push(conjunct.clone());
                    }
                }
            }
        }
        all
    }

    fn dependencies(&self, events: &[&Event]) -> Vec<Document> {
        let tables = self.tables(events).into_iter().enumerate().map(|(at, table)| {
            let mut one = Document::object();
            one.add("table", quoted_table(table));
            one.add("row_may_be_null", false);
            one.add("map_bit", at as f64);
            one.add("depends_on_map_bits", Vec::new());
            one
        });
        tables.collect()
    }

    fn key_uses(&self, events: &[&Event]) -> Vec<Document> {
        let mut uses: Vec<Document> = Vec::new();
        for event in events {
            let Event::Keys { table, index, parts } = event else { continue };
            for (column, equal) in parts {
                let mut one = Document::object();
                one.add("table", quoted_table(table));
                one.add("field", table.table.columns[*column].name.as_str());
                one.add("equals", self.named().text(equal));
                one.add("null_rejecting", table.table.columns[*column].nullable);
                one.add("index", table.table.indexes[*index].name.as_str());
                if !uses.contains(&one) {
                    uses.push(one);
                }
            }
        }
        uses
    }

    fn estimations(&self, events: &[&Event]) -> Vec<Document> {
        let estimation = |event: &&Event| match event {
            Event::Paths { table, rows, filtered_rows, paths, without, .. } => {
                Some(self.estimation(table, (*rows, *filtered_rows), paths, without))
            }
            _ => None,
        };
        events.iter().filter_map(estimation).collect()
    }

    fn estimation(
        &self,
        table: &TracedTable,
        (rows, filtered): (f64, f64),
        paths: &[TracedPath],
        without: &[(usize, NoPath)],
    ) -> Document {
        let mut analysis = Document::object();
        if let Some(scan) = paths.iter().find(|path| path.index == 0 && path.ranges.is_none()) {
            let mut whole = Document::object();
            whole.add("rows", scan.rows);
            whole.add("cost", scan.cost.compared_ms());
            whole.add("cost_terms", cost_terms(scan.cost));
            analysis.add("table_scan", whole);
        }
        let potential = (0..table.table.indexes.len()).map(|index| potential(&table.table, index, paths, without));
        analysis.add("potential_range_indexes", potential.collect::<Vec<_>>());
        analysis.add("setup_range_conditions", Vec::new());
        let alternatives = paths.iter().filter(|path| path.ranges.is_some() || path.skips);
        let alternatives: Vec<Document> = alternatives.map(|path| alternative(&table.table, path)).collect();
        analysis.add("analyzing_range_alternatives", member("range_scan_alternatives", alternatives));
        if let Some(chosen) = paths.iter().find(|path| path.chosen) {
            analysis.add("chosen_range_access_summary", chosen_summary(&table.table, chosen, filtered));
        }
        let mut out = Document::object();
        out.add("table", quoted_table(table));
        out.add("rows", rows);
        out.add("range_analysis", analysis);
        out
    }

    /// The joins that were considered, in order; a block of one table has its paths.
    fn considered(&self, events: &[&Event]) -> Vec<Document> {
        let mut plans = Vec::new();
        let has_joins = events.iter().any(|event| matches!(event, Event::Joined { .. }));
        for event in events {
            match event {
                Event::Joined { left, right, way, kind, rows, cost_ms, kept, .. } => {
                    let mut one = Document::object();
                    let prefix = left.iter().map(|name| quoted(name).into()).collect::<Vec<Document>>();
                    one.add("plan_prefix", prefix);
                    one.add("table", right.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(","));
                    let mut path = Document::object();
                    path.add("access_type", way_name(*way));
                    if let Some(kind) = kind {
                        path.add("join", format!("{kind:?}").to_lowercase());
                    }
                    path.add("chosen", *kept);
                    one.add("best_access_path", member("considered_access_paths", vec![path]));
                    one.add("rows_for_plan", *rows);
                    one.add("cost_for_plan", *cost_ms);
                    one.add("chosen", *kept);
                    if !kept {
                        one.add("pruned_by_cost", true);
                    }
                    plans.push(one);
                }
                Event::Paths { table, filtered_rows, paths, .. } if !has_joins => {
                    let mut one = Document::object();
                    one.add("plan_prefix", Vec::new());
                    one.add("table", quoted_table(table));
                    let access = paths.iter().map(|path| access_path(&table.table, path)).collect::<Vec<_>>();
                    one.add("best_access_path", member("considered_access_paths", access));
                    one.add("rows_for_plan", *filtered_rows);
                    one.add(
                        "cost_for_plan",
                        paths.iter().find(|path| path.chosen).map_or(0.0, |path| path.cost.compared_ms()),
                    );
                    one.add("chosen", true);
                    plans.push(one);
                }
                Event::Alternative { table, name, cost, chosen } => {
                    let mut one = Document::object();
                    one.add("table", quoted_table(table));
                    one.add("alternative", *name);
                    one.add("cost", cost.compared_ms());
                    one.add("chosen", *chosen);
                    plans.push(one);
                }
                _ => {}
            }
        }
        plans
    }

    fn attached(&self, events: &[&Event]) -> Vec<Document> {
        let mut attached: Vec<Document> = Vec::new();
        for table in self.tables(events) {
            let conjuncts = events.iter().rev().find_map(|event| match event {
                Event::Paths { table: other, conjuncts, .. } if other == table => Some(conjuncts),
                _ => None,
            });
            let mut one = Document::object();
            one.add("table", quoted_table(table));
            match conjuncts.filter(|conjuncts| !conjuncts.is_empty()) {
                Some(conjuncts) => one.add("attached", self.named().conditions(conjuncts)),
                None => one.add("attached", Document::Null),
            }
            attached.push(one);
        }
        attached
    }
}

fn quoted(name: &str) -> String {
    format!("`{name}`")
}

fn quoted_table(table: &TracedTable) -> String {
    match table.alias == table.table.name {
        true => quoted(&table.alias),
        false => format!("{} {}", quoted(&table.table.name), quoted(&table.alias)),
    }
}

fn way_name(way: JoinWay) -> &'static str {
    match way {
        JoinWay::First => "scan",
        JoinWay::Inputs => "hash_join",
        JoinWay::Lookup => "ref",
        JoinWay::Merge => "merge_join",
    }
}

fn potential(table: &TableDef, index: usize, paths: &[TracedPath], without: &[(usize, NoPath)]) -> Document {
    let mut one = Document::object();
    one.add("index", table.indexes[index].name.as_str());
    let restricts = paths.iter().any(|path| path.index == index && path.ranges.is_some());
    one.add("usable", restricts);
    if restricts {
        let parts = table.key_parts(index);
        let names = parts.iter().map(|part| table.columns[part.column].name.as_str().into());
        one.add("key_parts", names.collect::<Vec<Document>>());
    } else {
        let reason = without.iter().find(|(at, _)| *at == index).map(|(_, reason)| *reason);
        one.add("cause", if reason == Some(NoPath::Forbidden) { "forbidden" } else { "not_applicable" });
    }
    one
}

fn alternative(table: &TableDef, path: &TracedPath) -> Document {
    let mut one = Document::object();
    one.add("index", table.indexes[path.index].name.as_str());
    let mut ranges = range_texts(table, path.index, path.ranges.as_deref().unwrap_or_default());
    if path.range_count > ranges.len() {
        ranges.push(format!("{} more", path.range_count - ranges.len()));
    }
    one.add("ranges", ranges.into_iter().map(Document::Text).collect::<Vec<_>>());
    one.add("index_dives_for_eq_ranges", true);
    one.add("rowid_ordered", path.index == 0);
    one.add("using_mrr", path.index != 0 && !path.covering);
    one.add("index_only", path.covering);
    one.add("skip_scan", path.skips);
    one.add("rows", path.rows);
    one.add("cost", path.cost.compared_ms());
    one.add("cost_terms", cost_terms(path.cost));
    one.add("chosen", path.chosen);
    if !path.chosen {
        one.add("cause", "cost");
    }
    one
}

/// The parts of a cost, whose sum it is.
fn cost_terms(cost: Cost) -> Document {
    let mut out = Document::object();
    out.add("cpu", cost.cpu_ms);
    out.add("io", cost.io_ms);
    out.add("before_first_row", cost.startup_ms);
    out
}

fn chosen_summary(table: &TableDef, path: &TracedPath, rows: f64) -> Document {
    let mut plan = Document::object();
    plan.add("type", if path.ranges.is_some() { "range_scan" } else { "scan" });
    plan.add("index", table.indexes[path.index].name.as_str());
    plan.add("rows", path.rows);
    let ranges = range_texts(table, path.index, path.ranges.as_deref().unwrap_or_default());
    plan.add("ranges", ranges.into_iter().map(Document::Text).collect::<Vec<_>>());
    let mut out = Document::object();
    out.add("range_access_plan", plan);
    out.add("rows_for_plan", rows);
    out.add("cost_for_plan", path.cost.compared_ms());
    out.add("chosen", true);
    out
}

fn access_path(table: &TableDef, path: &TracedPath) -> Document {
    let mut one = Document::object();
    let name = match (&path.ranges, path.index) {
        (Some(_), _) => "range",
        (None, 0) if path.ordered.is_none() => "scan",
        (None, _) => "index_scan",
    };
    one.add("access_type", name);
    if name != "scan" {
        one.add("index", table.indexes[path.index].name.as_str());
    }
    if let Some(backward) = path.ordered {
        one.add("ordered", true);
        one.add("backward", backward);
    }
    one.add("rows", path.rows);
    one.add("cost", path.cost.compared_ms());
    one.add("chosen", path.chosen);
    one
}

/// Rows of `information_schema.OPTIMIZER_TRACE`.
pub fn rows(context: &StatementContext) -> Vec<(String, String, u64)> {
    let traces = context.process.optimizer_traces.lock();
    traces.shown().map(|trace| (trace.query.clone(), trace.trace.clone(), trace.missing_bytes)).collect()
}
