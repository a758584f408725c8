//! The state of binding one statement.

use super::{
    BindEnv, column_rights::ColumnRights, declared::as_operand, dependency::Dependencies, hints::Block,
    numbering::Expressions, rollup::GroupingCall, scope::FromClause, star::Star, window::WindowCalls,
    written_null::WrittenParts,
};
use crate::typing::{Derivation, Item, arithmetic::KEPT_DIGITS, collation, length, text_type};
use muster_algebra::{
    AggregateCall, AggregateFunction, ColId, Columns, Expr, Rel, ScalarFunction, Subquery, SubqueryKind, TableId,
};
use muster_types::{
    Collation, ErrorCode, Result, SqlError, SqlType, Value,
    cast::{cast_dated, cast_from},
    sql_type::DECIMAL_MAX_PRECISION,
    temporal::{DateModes, FSP_MAX},
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Most tables of one FROM clause (MySQL's own limit).
pub(crate) const MAX_TABLES: usize = 61;
/// Most tables of one statement, those inside views and WITH tables counted at each use.
const MAX_TABLES_IN_STATEMENT: usize = 4096;
/// Digits of the longest decimal.
const LONGEST_DECIMAL: u32 = DECIMAL_MAX_PRECISION as u32;
/// Most warnings kept (`max_error_count`).
const MAX_WARNINGS: usize = 1024;
/// Digits of a date and time as a number, with its microseconds.
const MOMENT_DIGITS: u32 = 20;

pub(crate) struct Binder<'a> {
    pub env: &'a BindEnv<'a>,
    pub columns: Columns,
    /// Columns that an outer join can make NULL.
    pub null_extended: HashSet<ColId>,
    pub dependencies: Dependencies,
    pub tables: Vec<(String, String)>,
    /// See [`super::Bound::stars`].
    pub stars: Vec<Star>,
    /// Columns of queries that are hexadecimal literals.
    pub hexadecimal_columns: HashSet<ColId>,
    /// See [`super::Bound::generated_names`].
    pub generated_names: Vec<bool>,
    /// See [`super::Bound::written_names`].
    pub written_names: Vec<String>,
    /// See [`super::Bound::made`].
    pub made: BTreeMap<ColId, SqlType>,
    /// See [`super::Bound::uses_variables`].
    pub uses_variables: bool,
    /// See [`super::Bound::aggregated`].
    pub aggregated: bool,
    /// See [`super::Bound::first_table_again`].
    pub first_table_again: bool,
    /// See [`super::dml::Surroundings::tables_again`].
    pub tables_again: Vec<(String, String)>,
    pub warnings: Vec<SqlError>,
    /// What is told as a note.
    pub notes: Vec<SqlError>,
    pub blocks: Vec<Block>,
    /// Position of the query block that is being bound.
    pub block: Option<usize>,
    /// The query expressions begun so far, and the one that is being bound.
    pub expressions: Expressions,
    pub tables_bound: usize,
    /// Recursive tables that have been bound.
    pub recursive_tables: usize,
    /// Stored tables that are read, once for each mention.
    pub reads: Vec<TableRead>,
    /// The stored column behind each column that is read in another form: TIMESTAMP in local time, padded CHAR.
    pub stored_columns: HashMap<ColId, ColId>,
    /// Conditions that the views bound so far in a query check.
    pub view_checks: Vec<Expr>,
    /// True for a statement that changes rows and takes values that do not fit for errors.
    pub changes_strictly: bool,
    /// Asks the next SELECT that is bound for the columns of its FROM clause, unless it groups their rows.
    pub wants_from: bool,
    /// Asks the next SELECT that is bound for what a client is shown: see [`Item::shown`].
    pub is_for_client: bool,
    /// Which columns of the next query block are stored as texts or byte strings.
    pub stored_texts: Vec<bool>,
    pub from: Option<FromClause>,
    /// Asks the next query that is bound to leave the cut of its rows to the engine, which counts them
    /// (SQL_CALC_FOUND_ROWS).
    pub counts_rows: bool,
    /// The columns of aggregates that have been bound.
    pub aggregated_columns: HashSet<ColId>,
    /// Those of BIT_AND and its kin that are integers.
    pub aggregated_bits: HashSet<ColId>,
    /// The calls of NULLIF, each with the integer that it is where a date or time is wanted (MySQL: `Item_func_nullif`
    /// is a kind of `Item_int_func`).
    pub null_if_numbers: Vec<(Expr, Expr)>,
    /// Those of GROUP_CONCAT.
    pub joined_texts: HashSet<ColId>,
    /// Keys of rollups, which are NULL where they are rolled up.
    pub rolled_up: HashSet<ColId>,
    /// Those of sums, averages and deviations that are doubles.
    pub summed_doubles: HashSet<ColId>,
    /// The row to insert, for `VALUES(column)`.
    pub inserted_row: Option<FromClause>,
    /// Expressions of generated columns with an index, each with the column.
    pub generated: Vec<(Expr, ColId)>,
    /// The columns of derived tables and views that are not merged into the query around them.
    pub kept_apart_columns: HashSet<ColId>,
    /// The collations of texts that the statement assigns to user variables, by name in lower case.
    pub assigned_collations: HashMap<String, Collation>,
    /// User variables that LOAD DATA reads fields into, by name in lower case, and true if they are bytes, not texts.
    pub field_variables: Vec<String>,
    pub fields_are_bytes: bool,
    /// What is known of the parts of select items.
    pub parts: WrittenParts,
    pub column_rights: ColumnRights,
}

/// A mention of a stored table.
#[derive(Debug, Clone)]
pub(crate) struct TableRead {
    pub table: TableId,
    /// Its name in the query.
    pub alias: String,
    /// The outermost view that mentions it, by its name in the statement.
    pub view: Option<String>,
    /// True if the rows that the statement changes can be none of those that it reads: they are in a derived table that
    /// is computed before.
    pub is_sheltered: bool,
}

/// A bound query: its rows and what its columns are called.
#[derive(Debug, Clone)]
pub(crate) struct BoundQuery {
    pub rel: Rel,
    pub outputs: Vec<Output>,
}

#[derive(Debug, Clone)]
pub(crate) struct Output {
    pub id: ColId,
    pub name: String,
    pub derivation: Derivation,
    /// As of the item that it is computed from.
    pub is_ascii: bool,
}

impl Output {
    pub fn new(id: ColId, name: String, item: &Item) -> Output {
        Output { id, name, derivation: item.derivation, is_ascii: item.is_ascii }
    }
}

/// Aggregates met while the expressions of a query block are bound, each once.
#[derive(Debug, Default)]
pub(crate) struct Aggregates {
    pub calls: Vec<(ColId, AggregateCall)>,
    /// Calls of GROUPING().
    pub groupings: Vec<GroupingCall>,
    /// Window functions, which are computed behind the aggregates.
    pub windows: WindowCalls,
}

impl Aggregates {
    /// Returns true if there is an aggregate that makes one row of many: ANY_VALUE alone does not.
    pub fn reduce_rows(&self) -> bool {
        self.calls.iter().any(|(_, call)| call.function != AggregateFunction::AnyValue)
    }

    /// The columns of the results of all aggregate functions, GROUPING() included.
    pub fn results(&self) -> Vec<ColId> {
        let calls = self.calls.iter().map(|(id, _)| *id);
        calls.chain(self.groupings.iter().map(|call| call.id)).collect()
    }

    /// Returns true for the column of a call of GROUPING().
    pub fn is_grouping(&self, id: &ColId) -> bool {
        self.groupings.iter().any(|call| call.id == *id)
    }

    /// Takes all calls of ANY_VALUE away: in a query without groups the function gives what it is given.
    pub fn replace_any_values<'e>(&mut self, exprs: impl Iterator<Item = &'e mut Expr>) {
        if !self.calls.is_empty() {
            exprs.for_each(|expr| replace_calls(expr, &self.calls));
            self.windows.exprs_mut().for_each(|expr| replace_calls(expr, &self.calls));
            self.calls.clear();
        }
    }
}

/// Replaces the columns of calls by the first argument of these.
fn replace_calls(expr: &mut Expr, calls: &[(ColId, AggregateCall)]) {
    let call = match expr {
        Expr::Column(id) => calls.iter().find(|(column, _)| column == id),
        _ => None,
    };
    match call.and_then(|(_, call)| call.args.first()) {
        Some(arg) => *expr = arg.clone(),
        None => expr.children_mut().into_iter().for_each(|child| replace_calls(child, calls)),
    }
}

impl<'a> Binder<'a> {
    pub fn new(env: &'a BindEnv<'a>) -> Binder<'a> {
        Binder {
            env,
            columns: Columns::default(),
            null_extended: HashSet::new(),
            dependencies: Dependencies::default(),
            tables: Vec::new(),
            stars: Vec::new(),
            hexadecimal_columns: HashSet::new(),
            generated_names: Vec::new(),
            written_names: Vec::new(),
            made: BTreeMap::new(),
            uses_variables: false,
            aggregated: false,
            first_table_again: false,
            tables_again: Vec::new(),
            warnings: Vec::new(),
            notes: Vec::new(),
            blocks: Vec::new(),
            block: None,
            expressions: Expressions::default(),
            tables_bound: 0,
            recursive_tables: 0,
            reads: Vec::new(),
            stored_columns: HashMap::new(),
            view_checks: Vec::new(),
            changes_strictly: false,
            wants_from: false,
            is_for_client: false,
            stored_texts: Vec::new(),
            from: None,
            counts_rows: false,
            aggregated_columns: HashSet::new(),
            aggregated_bits: HashSet::new(),
            joined_texts: HashSet::new(),
            null_if_numbers: Vec::new(),
            rolled_up: HashSet::new(),
            summed_doubles: HashSet::new(),
            inserted_row: None,
            generated: Vec::new(),
            kept_apart_columns: HashSet::new(),
            assigned_collations: HashMap::new(),
            field_variables: Vec::new(),
            fields_are_bytes: false,
            parts: WrittenParts::default(),
            column_rights: ColumnRights::default(),
        }
    }

    /// Counts a table of the statement.
    pub fn count_table(&mut self) -> Result<()> {
        self.env.session.check_interrupt()?;
        self.tables_bound += 1;
        if self.tables_bound > MAX_TABLES_IN_STATEMENT {
            return Err(SqlError::new(
                ErrorCode::TooManyTables,
                format!("Too many tables; Muster can only use {MAX_TABLES_IN_STATEMENT} tables in a statement"),
            ));
        }
        Ok(())
    }

    pub fn warn(&mut self, code: ErrorCode, message: impl Into<String>) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(SqlError::new(code, message));
        }
    }

    /// The collation of literals and of numbers made text.
    pub fn default_collation(&self) -> Collation {
        self.env.session.default_collation()
    }

    /// A column of a query's result as an operand of a query around it.
    pub fn output_item(&self, output: &Output) -> Item {
        let Output { derivation, is_ascii, .. } = *output;
        Item { derivation, is_ascii, ..self.column_item(output.id) }
    }

    pub fn column_item(&self, id: ColId) -> Item {
        let item = Item::new(Expr::Column(id), self.columns.ty(id));
        Item { decimals: self.columns.get(id).decimals, ..as_operand(item) }
    }

    /// The value as type `ty`, where MySQL asks it for a value of that type: a number that a text stands for need not
    /// be the one that CAST reads, and a quotient has all its digits.
    pub fn convert(&mut self, item: Item, ty: SqlType) -> Item {
        if ty.is_numeric() && item.ty != ty {
            if let Some(number) = self.of_each_moment(&item, ty, &mut |binder, of| binder.convert(of, ty).expr) {
                return number;
            }
            if let Some(number) = self.number_of_text(&item, ty) {
                return number;
            }
            if !matches!(ty, SqlType::Decimal { .. }) {
                let item = item.unrounded(KEPT_DIGITS);
                return match self.computed_integer(&item, ty) {
                    Some(integer) => integer,
                    None => self.cast_to(item, ty),
                };
            }
        }
        self.cast_to(item, ty)
    }

    /// The value as type `ty`: literals at once, all else by a cast.
    pub fn cast_to(&mut self, item: Item, ty: SqlType) -> Item {
        let ty = Binder::widened_variable(&item.expr, ty);
        let item = self.whole_moment(item, ty);
        let item = if ty.is_text() || ty.is_bytes() { self.as_shown(item) } else { item };
        let item = match ty.is_temporal() {
            true => {
                let item = self.bits_as_bytes(item);
                self.cut_beyond_micros(item)
            }
            false => item,
        };
        if let Some(chosen) = self.of_each_value(&item, ty) {
            return chosen;
        }
        let item = match (item.ty, ty) {
            // A decimal has the digits of the double.
            (SqlType::Float, SqlType::Decimal { .. }) => self.cast_to(item, SqlType::Double),
            (
                SqlType::Time { .. },
                SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. } | SqlType::Year,
            ) => self.dated(item),
            _ => item,
        };
        if item.ty == ty {
            return item;
        }
        if let Some(cut) = self.with_fraction_cut(&item, ty) {
            return cut;
        }
        let item = self.declared_if_wanted(item, ty);
        let item = match (item.decimals, ty.is_numeric()) {
            (_, true) => self.number_of_bytes(item),
            // As text it has the digits that it shows.
            (Some(decimals), false) if matches!(item.ty, SqlType::Float | SqlType::Double) => {
                self.convert(item, SqlType::decimal(LONGEST_DECIMAL, decimals as u32))
            }
            (None, false) if ty == SqlType::Year => self.number_of_bytes(item),
            (_, false) => item,
        };
        let is_float = |ty| matches!(ty, SqlType::Float | SqlType::Double);
        let is_ascii = item.is_ascii;
        let decimals = item.decimals.filter(|_| is_float(ty));
        let derivation = match (ty.collation(), item.ty.collation()) {
            (Some(_), Some(_)) => item.derivation,
            (Some(_), None) if item.is_null_literal() => Derivation::Ignorable,
            (Some(_), None) => Derivation::Numeric,
            _ => Item::new(Expr::null(ty), ty).derivation,
        };
        let expr = match item.expr {
            Expr::Literal { value, ty: from } => {
                let value_before = value;
                let (value, warning) = match reads_date(from, ty) {
                    true => cast_dated(&value_before, ty, self.env.session.date_modes()),
                    false => cast_from(&value_before, Some(from), ty),
                };
                // Of a constant that is too large for an integer MySQL says nothing.
                let is_told = !(ty.is_integer() && matches!(value_before, Value::Double(_) | Value::Float(_)));
                for w in warning.into_iter().filter(|_| is_told) {
                    self.warn(w.code, w.message);
                }
                Expr::Literal { value, ty }
            }
            expr if reads_date(item.ty, ty) && self.has_other_date_modes() => {
                let args = vec![expr, self.date_modes()];
                Expr::Call { function: ScalarFunction::ReadDate, args, ty }
            }
            expr => Expr::Cast { arg: Box::new(expr), ty },
        };
        Item { derivation, decimals, is_ascii, ..Item::new(expr, ty) }
    }

    /// A date or time with a fraction of a second that becomes an integer, as what is rounded: the moment itself, or
    /// the number that it is where MySQL rounds that (`Item_temporal_hybrid_func`, and aggregates), so that 59.5
    /// seconds are 60.
    fn whole_moment(&mut self, item: Item, ty: SqlType) -> Item {
        use ScalarFunction::{DateAdd, DateSub, Library};
        if !matches!(ty, SqlType::Int { .. }) || item.ty.fsp() == 0 {
            return item;
        }
        let is_number = match &item.expr {
            Expr::Call { function: DateAdd(_) | DateSub(_), .. } => true,
            Expr::Call { function: Library(function), args, .. } => match function.name {
                "ADDTIME" | "SUBTIME" | "STR_TO_DATE" => true,
                "TIMESTAMP" => args.len() > 1 + function.session.len(),
                _ => false,
            },
            Expr::Column(id) if self.aggregated_columns.contains(id) => true,
            // A column's is rounded in all modes.
            Expr::Column(_) => return item,
            _ => false,
        };
        let whole = match item.ty {
            SqlType::Time { .. } => SqlType::Time { fsp: 0 },
            SqlType::Timestamp { .. } => SqlType::Timestamp { fsp: 0 },
            _ => SqlType::DateTime { fsp: 0 },
        };
        let exact = SqlType::decimal(MOMENT_DIGITS, FSP_MAX.into());
        match is_number {
            true => Item::new(Expr::Cast { arg: Box::new(item.expr), ty: exact }, exact),
            false => self.with_fraction_cut(&item, whole).unwrap_or(item),
        }
    }

    /// The integer of a floating-point number that was computed: beyond BIGINT it is error 1690 (MySQL:
    /// `Item_func::llrint_with_overflow_check`). Of a CASE each result is asked for its integer.
    pub fn computed_integer(&mut self, item: &Item, ty: SqlType) -> Option<Item> {
        let is_integer = matches!(ty, SqlType::Int { .. });
        if !is_integer || !matches!(item.ty, SqlType::Float | SqlType::Double) {
            return None;
        }
        let expr = match &item.expr {
            Expr::Column(id) if !self.summed_doubles.contains(id) => return None,
            Expr::Column(_) | Expr::Call { .. } | Expr::Arithmetic { .. } | Expr::Negate { .. } => {
                Expr::Call { function: ScalarFunction::ComputedInteger, args: vec![item.expr.clone()], ty }
            }
            // One that CAST has made.
            Expr::Cast { arg, .. } if self.type_of(arg) == item.ty => {
                Expr::Call { function: ScalarFunction::ComputedInteger, args: vec![item.expr.clone()], ty }
            }
            Expr::Subquery(subquery) if is_computed_without_tables(subquery) => {
                Expr::Call { function: ScalarFunction::ComputedInteger, args: vec![item.expr.clone()], ty }
            }
            Expr::Case { branches, otherwise, .. } => {
                let mut whole = |result: &Expr| {
                    let result = match result {
                        Expr::Cast { arg, .. } if matches!(self.type_of(arg), SqlType::Decimal { .. }) => arg,
                        result => result,
                    };
                    let item = Item::new(result.clone(), self.type_of(result));
                    self.convert(item, ty).expr
                };
                let branches = branches.iter().map(|(test, result)| (test.clone(), whole(result))).collect();
                Expr::Case { branches, otherwise: otherwise.as_deref().map(|result| Box::new(whole(result))), ty }
            }
            _ => return None,
        };
        Some(Item::new(expr, ty))
    }

    /// Returns true if the session's modes of dates are not the default ones, which casts and functions of dates have.
    pub fn has_other_date_modes(&self) -> bool {
        self.env.session.date_modes() != DateModes::DEFAULT
    }

    /// The session's modes of dates, as an argument of a function that reads them.
    pub fn date_modes(&self) -> Expr {
        Expr::literal(Value::Int(self.env.session.date_modes().bits()), SqlType::BIGINT)
    }

    /// The value as text under `collation`; text of that collation stays as it is.
    pub fn convert_to_text(&mut self, item: Item, collation: Collation) -> Item {
        // A YEAR is shorter as a text than the number that it is as an operand.
        let declared = self.declared_type(&item).unwrap_or(item.ty);
        let ty = match text_type(declared, collation) {
            _ if matches!(declared, SqlType::Int { .. }) => SqlType::varchar(self.text_length(&item), collation),
            SqlType::Bytes { length, .. } => SqlType::varchar(length, collation),
            ty => collation::with_collation(ty, collation),
        };
        self.convert(item, ty)
    }

    /// Most characters of the value as text.
    pub fn text_length(&self, item: &Item) -> u32 {
        match item.ty {
            SqlType::Int { .. } if item.as_literal().is_some() => item.text_length(),
            SqlType::Int { .. } => length::of_text(&item.expr, &self.columns).unwrap_or_else(|| item.text_length()),
            _ => item.text_length(),
        }
    }

    /// The item with the characters that it has as an integer: decimals and texts that are made of it have as many.
    pub fn measured(&self, item: Item) -> Item {
        let characters = match item.ty {
            SqlType::Int { .. } if item.as_literal().is_none() => length::of_operand(&item.expr, &self.columns),
            _ => None,
        };
        Item { characters: characters.and_then(|characters| characters.try_into().ok()), ..item }
    }

    /// The value as a condition: not zero, not NULL.
    pub fn condition(&mut self, item: Item) -> Expr {
        if item.ty == SqlType::Json {
            return self.document_condition(item);
        }
        self.convert(item, SqlType::Bool).expr
    }

    /// A document as a condition: it is another one than 0. Warning 3986.
    fn document_condition(&mut self, item: Item) -> Expr {
        let message = "Evaluating a JSON value in SQL boolean context does an implicit comparison against JSON integer 0; \
                       if this is not what you want, consider converting JSON to a SQL numeric type with JSON_VALUE \
                       RETURNING";
        self.warn(ErrorCode::JsonInBooleanContext, message);
        let zero = self.given(Value::Int(0));
        let zero = self.cast_to(zero, SqlType::Json);
        Expr::compare(muster_algebra::CompareOp::NotEq, item.expr, zero.expr)
    }

    /// Adds a computed column.
    pub fn new_column(&mut self, name: &str, expr: &Expr, ty: SqlType) -> ColId {
        let nullable = self.nullable(expr);
        let length = length::of_integer(expr, &self.columns);
        let id = self.columns.add_computed(name, ty, nullable);
        self.columns.set_length(id, length);
        id
    }

    /// Returns true if the expression can be NULL.
    pub fn nullable(&self, expr: &Expr) -> bool {
        use muster_algebra::{ArithmeticOp, CompareOp};
        use muster_functions::Nullability;
        let any = |args: Vec<&Expr>| args.into_iter().any(|a| self.nullable(a));
        match expr {
            Expr::Column(id) => self.columns.get(*id).nullable || self.null_extended.contains(id),
            Expr::Literal { value, .. } => value.is_null(),
            Expr::Compare { op: CompareOp::NullSafeEq, .. } | Expr::IsNull { .. } | Expr::IsTruth { .. } => false,
            Expr::Arithmetic { op: ArithmeticOp::Div | ArithmeticOp::IntDiv | ArithmeticOp::Mod, .. } => true,
            // Numbers stay numbers; what becomes a date may be none.
            Expr::Cast { arg, ty } if !ty.is_temporal() || self.type_of(arg).is_temporal() => self.nullable(arg),
            Expr::Cast { .. } => true,
            Expr::Case { branches, otherwise, .. } => {
                otherwise.as_ref().is_none_or(|o| self.nullable(o)) || branches.iter().any(|(_, r)| self.nullable(r))
            }
            Expr::Call { function: ScalarFunction::Coalesce, args, .. } => args.iter().all(|a| self.nullable(a)),
            Expr::Call { function, args, .. } => match function {
                ScalarFunction::Upper
                | ScalarFunction::Lower
                | ScalarFunction::CharLength
                | ScalarFunction::Length
                | ScalarFunction::Substring
                | ScalarFunction::Abs
                | ScalarFunction::Round
                | ScalarFunction::Truncate
                | ScalarFunction::BitCount
                | ScalarFunction::BitAnd
                | ScalarFunction::BitOr
                | ScalarFunction::BitXor
                | ScalarFunction::BitNot
                | ScalarFunction::ShiftLeft
                | ScalarFunction::ShiftRight
                | ScalarFunction::Sign
                | ScalarFunction::Ascii
                | ScalarFunction::Locate
                | ScalarFunction::Crc32
                | ScalarFunction::Ceil
                | ScalarFunction::ReadNumber(_)
                | ScalarFunction::MomentNumber
                | ScalarFunction::Floor => any(args.iter().collect()),
                // Next to a date a text may be none.
                ScalarFunction::Greatest | ScalarFunction::Least => {
                    let is_dated_text = |a: &Expr| self.type_of(expr).is_text() && self.type_of(a).is_temporal();
                    args.iter().any(|a| self.nullable(a) || is_dated_text(a))
                }
                ScalarFunction::Library(function) => match function.nullability {
                    Nullability::Always => true,
                    Nullability::OfArguments => any(function.given(args).iter().collect()),
                    Nullability::Never => false,
                },
                // A value that is no date or time has no parts.
                ScalarFunction::Extract(_) => args.iter().any(|a| self.nullable(a) || !self.type_of(a).is_temporal()),
                _ => true,
            },
            Expr::Subquery(q) => !matches!(q.kind, SubqueryKind::Exists { .. }),
            Expr::Subplan(p) => !matches!(p.kind, SubqueryKind::Exists { .. }),
            other => any(other.children()),
        }
    }

    pub fn type_of(&self, expr: &Expr) -> SqlType {
        expr.ty(&self.columns)
    }
}

/// Returns true for `(SELECT expression)`, if that computes a value.
fn is_computed_without_tables(subquery: &Subquery) -> bool {
    let (SubqueryKind::Scalar, Rel::Project { input, exprs }) = (&subquery.kind, &*subquery.rel) else { return false };
    let is_computed = |expr: &Expr| matches!(expr, Expr::Call { .. } | Expr::Arithmetic { .. } | Expr::Negate { .. });
    **input == Rel::dual() && exprs.iter().any(|(id, expr)| subquery.outputs.first() == Some(id) && is_computed(expr))
}

/// Returns true if a conversion reads a text or number as a date, which depends on the session's modes of dates.
fn reads_date(from: SqlType, to: SqlType) -> bool {
    to.is_temporal() && !from.is_temporal() && from != SqlType::Null
}
