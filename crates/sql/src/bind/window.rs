//! The windows of a query block: named ones, and the Window nodes of the functions that its expressions have.

use super::{aggregate::WindowParts, binder::Binder, select::Selected};
use muster_algebra::{ColId, Expr, Rel, SortKey, Window, WindowCall};
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::ast::{self, NamedWindowExpr, WindowSpec};

/// The name of a window without one, in error messages.
pub(super) const UNNAMED: &str = "<unnamed window>";

/// A window of the WINDOW clause.
#[derive(Debug, Clone)]
pub(crate) struct NamedWindow {
    pub name: String,
    pub spec: WindowSpec,
}

/// A bound window function.
#[derive(Debug)]
pub(crate) struct BoundWindow {
    /// The window's name in error messages.
    pub name: String,
    pub partition: Vec<Expr>,
    pub order: Vec<SortKey>,
    pub call: WindowCall,
}

/// Window functions met while the expressions of a query block are bound, each once.
#[derive(Debug, Default)]
pub(crate) struct WindowCalls {
    pub named: Vec<NamedWindow>,
    pub calls: Vec<(ColId, BoundWindow)>,
}

/// A window as the statement defines it, with its calls.
struct DefinedWindow {
    window: Window,
    /// The columns that rows are sorted by, and whether they descend.
    sort: Vec<(Expr, bool)>,
}

impl DefinedWindow {
    fn new(id: ColId, bound: BoundWindow) -> DefinedWindow {
        let BoundWindow { partition, order, call, .. } = bound;
        let divided = partition.iter().map(|expr| (expr.clone(), false));
        let sort = divided.chain(order.iter().map(|key| (key.expr.clone(), key.descending))).collect();
        DefinedWindow { window: Window { partition, order, calls: vec![(id, call)], limit: None }, sort }
    }
}

impl WindowCalls {
    /// The window of the WINDOW clause that has this name. Error 3579.
    pub fn named(&self, name: &str) -> Result<&NamedWindow> {
        let found = self.named.iter().find(|window| window.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            SqlError::new(ErrorCode::WindowNoSuchWindow, format!("Window name '{name}' is not defined."))
        })
    }

    /// The names of windows of the WINDOW clause that no function is over.
    pub fn unused(&self) -> Vec<String> {
        let is_used = |name: &String| self.calls.iter().any(|(_, call)| call.name == *name);
        self.named.iter().map(|window| window.name.clone()).filter(|name| !is_used(name)).collect()
    }

    /// The windows that calls are over, in MySQL's order of execution: those of the WINDOW clause, then those without
    /// a name, and each is followed by the next one that sorts alike.
    fn in_execution_order(self) -> Vec<Window> {
        let WindowCalls { named, calls } = self;
        let mut unnamed: Vec<DefinedWindow> = Vec::new();
        let mut by_name: Vec<Option<DefinedWindow>> = named.iter().map(|_| None).collect();
        for (id, bound) in calls {
            let place = named.iter().position(|window| bound.call.over.name.as_ref() == Some(&window.name));
            match place.map(|place| &mut by_name[place]) {
                Some(Some(known)) => known.window.calls.push((id, bound.call)),
                Some(unknown) => *unknown = Some(DefinedWindow::new(id, bound)),
                None => unnamed.push(DefinedWindow::new(id, bound)),
            }
        }
        let set = |defined: &mut DefinedWindow, position: usize| {
            defined.window.calls.iter_mut().for_each(|(_, call)| call.over.position = position as u32);
        };
        unnamed.iter_mut().enumerate().for_each(|(at, defined)| set(defined, at + 1));
        let first_named = unnamed.len() + 1;
        let mut defined: Vec<DefinedWindow> = Vec::new();
        for (at, window) in by_name.into_iter().enumerate() {
            defined.extend(window.map(|mut window| {
                set(&mut window, first_named + at);
                window
            }));
        }
        defined.extend(unnamed);
        for i in 0..defined.len() {
            if let Some(j) = (i + 1..defined.len()).find(|j| defined[*j].sort == defined[i].sort) {
                defined.swap(i + 1, j);
            }
        }
        defined.into_iter().map(|defined| defined.window).collect()
    }

    /// All expressions of the functions.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.calls.iter_mut().flat_map(|(_, bound)| {
            let keys = bound.partition.iter_mut().chain(bound.order.iter_mut().map(|key| &mut key.expr));
            keys.chain(bound.call.exprs_mut())
        })
    }

    /// The expressions, for a query that groups its rows.
    pub fn parts(&mut self) -> Vec<WindowParts<'_>> {
        self.calls
            .iter_mut()
            .map(|(_, bound)| WindowParts {
                name: &bound.name,
                keys: bound.partition.iter_mut().chain(bound.order.iter_mut().map(|key| &mut key.expr)).collect(),
                arguments: bound.call.exprs_mut(),
            })
            .collect()
    }

    /// Error 3594 for a condition of HAVING with the alias of a window function.
    pub fn refuse_in_having(&self, having: &[Expr], selected: &[Selected]) -> Result<()> {
        let is_window = |id: &ColId| self.calls.iter().any(|(own, _)| own == id);
        let used: Vec<ColId> = having.iter().flat_map(Expr::columns).filter(is_window).collect();
        let Some(id) = used.first() else { return Ok(()) };
        let name = selected.iter().find(|s| s.item.expr.columns().contains(id)).map_or("", |s| s.name.as_str());
        let message = format!(
            "You cannot use the alias '{name}' of an expression containing a window function in this context.'"
        );
        Err(SqlError::new(ErrorCode::WindowInvalidFunctionAliasUse, message))
    }
}

impl Binder<'_> {
    /// The windows of the WINDOW clause. Errors: 3579 for a window that refers to one that is not defined, 3580 for one
    /// that refers to itself, 3591 for a name that is defined twice.
    pub(super) fn window_definitions(&mut self, definitions: &[ast::NamedWindowDefinition]) -> Result<WindowCalls> {
        let mut windows = WindowCalls::default();
        for ast::NamedWindowDefinition(name, definition) in definitions {
            let name = name.value.clone();
            if windows.named(&name).is_ok() {
                let message = format!("Window '{name}' is defined twice.");
                return Err(SqlError::new(ErrorCode::WindowDuplicateName, message));
            }
            let spec = match definition {
                NamedWindowExpr::WindowSpec(spec) => spec.clone(),
                NamedWindowExpr::NamedWindow(other) => return Err(SqlError::syntax(&other.value, 1)),
            };
            windows.named.push(NamedWindow { name, spec });
        }
        for window in &windows.named {
            let (mut at, mut steps) = (window, 0);
            while let Some(next) = &at.spec.window_name {
                at = windows.named(&next.value)?;
                steps += 1;
                if steps > windows.named.len() {
                    let message = "There is a circularity in the window dependency graph.";
                    return Err(SqlError::new(ErrorCode::WindowCircularity, message));
                }
            }
        }
        Ok(windows)
    }

    /// Computes the window functions above the relation: one node for each division and order of the rows. What is no
    /// column is computed below.
    pub(super) fn windows(&mut self, mut rel: Rel, windows: WindowCalls) -> Rel {
        if windows.calls.is_empty() {
            return rel;
        }
        let mut nodes: Vec<Window> = Vec::new();
        for window in windows.in_execution_order() {
            let same = |node: &&mut Window| node.partition == window.partition && node.order == window.order;
            match nodes.iter_mut().find(same) {
                Some(node) => node.calls.extend(window.calls),
                None => nodes.push(window),
            }
        }
        let available = rel.output();
        let mut computed: Vec<(ColId, Expr)> = Vec::new();
        for expr in nodes.iter_mut().flat_map(Window::exprs_mut) {
            if matches!(expr, Expr::Column(_) | Expr::Literal { .. } | Expr::Parameter { .. }) {
                continue;
            }
            let id = match computed.iter().find(|(_, known)| known == expr && known.is_movable()) {
                Some((id, _)) => *id,
                None => {
                    let ty = self.type_of(expr);
                    let id = self.new_column("", expr, ty);
                    computed.push((id, expr.clone()));
                    id
                }
            };
            *expr = Expr::Column(id);
        }
        if !computed.is_empty() {
            let passed = available.iter().map(|id| (*id, Expr::Column(*id)));
            rel = Rel::Project { exprs: passed.chain(computed).collect(), input: Box::new(rel) };
        }
        for window in nodes {
            rel = Rel::Window { input: Box::new(rel), window };
        }
        rel
    }
}
