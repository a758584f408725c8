//! Leaves: tables and literal rows.

use super::{Lowerer, Node, df, field_name, width};
use crate::{
    arrow_value::{array_of, arrow_type},
    expr::{Scope, scope::TraitMap},
    ops::{
        compact::used_bytes,
        scan::{ScanConditions, ScanExec},
        scan_filter::ScanFilter,
        values::ValuesExec,
    },
    runtime::BATCH_ROWS,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use muster_algebra::{ColId, Expr, Plan, RowFetch, Scan};
use muster_storage::{Fetch, ScanRequest, Steering, Table, dictionary_type};
use muster_types::{Collation, Result, SqlError, SqlType, Value, collation::TextTraits};
use std::sync::Arc;

/// A column with more values is not delivered as a dictionary.
const CODED_VALUES_MAX: f64 = 256.0;

/// Fewer rows at a time cost more than they save.
const PORTION_MIN: u64 = 128;

impl Lowerer<'_> {
    pub(super) fn scan(&mut self, plan: &Plan, scan: &Scan) -> Result<Node> {
        let (codable, watch) = (std::mem::take(&mut self.coded), self.watch.take());
        let portion = self.portion.take().map(|rows| rows.max(PORTION_MIN));
        if let Some(rows) = self.context.tables.virtual_rows(&scan.table)? {
            return self.virtual_scan(plan, scan, &rows);
        }
        let table = self.context.tables.storage(scan.table.id)?;
        let traits = table_traits(&table, scan.columns.iter().chain(&scan.filter_columns));
        let coded = self.coded(&table, scan, &codable, &traits);
        let schema = with_dictionaries(&self.table_schema(&table, &scan.columns)?, &coded);
        let row_bytes = width::of_table(&table, scan.columns.iter().map(|(_, c)| *c));
        self.row_bytes += row_bytes;
        let batch_rows = self.context.runtime.batch_rows(self.threads(), row_bytes);
        let conditions = ScanConditions {
            on_entries: self.scan_filter(&table, scan, &scan.index_condition)?,
            on_rows: self.scan_filter(&table, scan, &scan.filter)?,
        };
        let request = ScanRequest {
            view: self.context.view.clone(),
            counters: watch.as_ref().map_or_else(|| self.counters(plan).storage().clone(), |w| w.counters().clone()),
            until: watch.map(|watch| Arc::new(move || watch.ends_scan()) as Arc<dyn Fn() -> bool + Send + Sync>),
            index: scan.index,
            ranges: scan.ranges.clone(),
            steering: Steering { parts: scan.steering.clone() },
            distinct_prefix: scan.distinct_prefix,
            columns: scan.columns.iter().map(|(_, c)| *c).collect(),
            coded,
            index_filter: None,
            filter: None,
            fetch: self.fetch(scan.fetch),
            ordered: scan.ordered,
            reverse: scan.reverse,
            limit: scan.limit,
            batch_rows: scan.limit.or(portion).map_or(batch_rows, |n| n.clamp(1, batch_rows as u64) as usize),
        };
        let columns = scan.columns.iter().map(|(id, _)| *id).collect();
        let exec = ScanExec::new(table, scan.alias.clone(), request, conditions, schema, plan.partitions);
        Ok(Node::new(Arc::new(exec), columns, traits))
    }

    /// The positions of the columns that are delivered as dictionaries: of `codable`, those with few values, which the
    /// bytes alone tell apart.
    fn coded(&self, table: &Table, scan: &Scan, codable: &[ColId], traits: &TraitMap) -> Vec<usize> {
        let statistics = table.statistics();
        let few =
            |column: usize| statistics.columns.get(column).is_some_and(|known| known.distinct <= CODED_VALUES_MAX);
        let by_bytes = |id: ColId| match self.columns.ty(id) {
            SqlType::Text { collation, .. } => {
                collation == Collation::Binary || traits.get(&id).is_some_and(|t| t.bytes_decide_equality(collation))
            }
            ty => ty.is_bytes(),
        };
        let positions = scan.columns.iter().enumerate();
        let coded = positions.filter(|(_, (id, column))| codable.contains(id) && few(*column) && by_bytes(*id));
        coded.map(|(position, _)| position).collect()
    }

    /// Conditions of a scan as storage runs them, over the columns they mention; `None` if there are none.
    pub(super) fn scan_filter(&self, table: &Table, scan: &Scan, conditions: &[Expr]) -> Result<Option<ScanFilter>> {
        if conditions.is_empty() {
            return Ok(None);
        }
        let mentioned: Vec<ColId> = conditions.iter().flat_map(Expr::columns).collect();
        let mut columns: Vec<(ColId, usize)> = Vec::new();
        for pair in scan.columns.iter().chain(&scan.filter_columns) {
            if mentioned.contains(&pair.0) && !columns.contains(pair) {
                columns.push(*pair);
            }
        }
        let scope = Scope {
            schema: self.table_schema(table, &columns)?,
            columns: columns.iter().map(|(id, _)| *id).collect(),
            traits: table_traits(table, columns.iter()),
        };
        let compiler = self.compiler(&scope);
        let conjuncts = conditions.iter().cloned().flat_map(Expr::into_conjuncts);
        let predicates = conjuncts.map(|e| compiler.predicate(&e)).collect::<Result<_>>()?;
        let columns: Vec<usize> = columns.iter().map(|(_, c)| *c).collect();
        df(ScanFilter::new(&columns, &scope.schema, predicates)).map(Some)
    }

    /// How rows are fetched, with the session's buffer.
    pub(super) fn fetch(&self, fetch: RowFetch) -> Fetch {
        match fetch {
            RowFetch::KeyOrder => Fetch::KeyOrder { buffer_bytes: self.context.buffers.mrr_bytes },
            RowFetch::EntryOrder => Fetch::EntryOrder,
        }
    }

    pub(super) fn table_schema(&self, table: &Table, columns: &[(ColId, usize)]) -> Result<Arc<Schema>> {
        let fields = columns.iter().map(|(id, column)| {
            let column = table
                .schema()
                .readable_column(*column)
                .ok_or_else(|| SqlError::internal(format!("table has no column {column}")))?;
            Ok(Field::new(field_name(*id), arrow_type(&column.ty), column.nullable))
        });
        Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?)))
    }

    pub(super) fn values(&mut self, rows: &[Vec<Expr>], output: &[ColId]) -> Result<Node> {
        let types: Vec<_> = output.iter().map(|id| self.columns.ty(*id)).collect();
        if let Some(row) = rows.iter().find(|r| r.len() != output.len()) {
            return Err(SqlError::internal(format!("{} values for {} columns", row.len(), output.len())));
        }
        let dual = Scope { schema: Arc::new(Schema::empty()), columns: Vec::new(), traits: TraitMap::new() };
        let one_row = df(RecordBatch::try_new_with_options(
            dual.schema.clone(),
            Vec::new(),
            &RecordBatchOptions::new().with_row_count(Some(1)),
        )
        .map_err(Into::into))?;
        let compiler = self.compiler(&dual);
        let value = |(expr, ty): (&Expr, &SqlType)| match expr {
            Expr::Literal { value, ty: from } if from == ty || value.is_null() => Ok(value.clone()),
            expr => {
                let scalar = df(compiler.compile_as(expr, *ty)?.evaluate(&one_row))?;
                let array = df(scalar.into_array(1))?;
                crate::arrow_value::value_at(array.as_ref(), 0)
            }
        };
        let rows = rows.iter().map(|row| row.iter().zip(&types).map(value).collect());
        let rows: Vec<Vec<Value>> = rows.collect::<Result<_>>()?;
        self.rows_in_memory(&rows, output, 1)
    }

    /// Rows that are there when the plan starts, of the columns' types.
    pub(super) fn rows_in_memory(&mut self, rows: &[Vec<Value>], output: &[ColId], partitions: usize) -> Result<Node> {
        let types: Vec<SqlType> = output.iter().map(|id| self.columns.ty(*id)).collect();
        let mut known = vec![TextTraits::default(); types.len()];
        let schema = self.schema(output);
        let mut batches = Vec::new();
        let mut bytes = 0;
        // Each batch with buffers of its own, or an operator that accounts for one would count all.
        for chunk in rows.chunks(BATCH_ROWS) {
            let mut arrays: Vec<ArrayRef> = Vec::with_capacity(types.len());
            for (i, ty) in types.iter().enumerate() {
                let column = chunk.iter().map(|row| &row[i]);
                column.clone().for_each(|v| {
                    if let Value::Text(text) = v {
                        known[i].add(text.as_bytes());
                    }
                });
                arrays.push(array_of(column, *ty)?);
            }
            let options = RecordBatchOptions::new().with_row_count(Some(chunk.len()));
            let batch = RecordBatch::try_new_with_options(schema.clone(), arrays, &options).map_err(Into::into);
            let batch = df(batch)?;
            bytes += df(used_bytes(&batch))?;
            batches.push(batch);
        }
        self.row_bytes += bytes as f64 / rows.len().max(1) as f64;
        let texts = output.iter().zip(&types).zip(known).filter(|((_, ty), _)| ty.is_text());
        let traits = texts.map(|((id, _), known)| (*id, known)).collect();
        Ok(Node::new(Arc::new(ValuesExec::new(schema, batches, partitions)), output.to_vec(), traits))
    }
}

/// A schema in which the columns at these positions are dictionaries.
fn with_dictionaries(schema: &SchemaRef, coded: &[usize]) -> SchemaRef {
    let field = |(i, field): (usize, &FieldRef)| match coded.contains(&i) {
        true => Arc::new(field.as_ref().clone().with_data_type(dictionary_type(field.data_type().clone()))),
        false => field.clone(),
    };
    Arc::new(Schema::new(schema.fields().iter().enumerate().map(field).collect::<Vec<_>>()))
}

/// The traits of a table's texts. A row that has others is seen only by views that are made after they are known.
pub(super) fn table_traits<'a>(table: &Table, columns: impl Iterator<Item = &'a (ColId, usize)>) -> TraitMap {
    columns
        .filter(|(_, column)| table.schema().columns.get(*column).is_some_and(|c| c.ty.is_text()))
        .filter_map(|(id, column)| Some((*id, table.text_traits(*column)?)))
        .collect()
}
