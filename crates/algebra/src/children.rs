//! The parts of an expression, and walks over all of them.
//!
//! Plans and relations inside subqueries are no parts; what a subquery is compared with is.

use crate::{Expr, SubqueryKind};

impl Expr {
    /// The direct parts, left to right.
    pub fn children(&self) -> Vec<&Expr> {
        let mut children = Vec::new();
        self.for_each_child(&mut |child| children.push(child));
        children
    }

    /// The same, to be changed.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        let mut children = Vec::new();
        self.for_each_child_mut(&mut |child| children.push(child));
        children
    }

    /// Calls `f` on each of [`Expr::children`], without making a list of them.
    pub fn for_each_child<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        match self {
            Expr::Column(_) | Expr::Literal { .. } | Expr::Parameter { .. } => {}
            Expr::Cast { arg, .. } | Expr::Not(arg) | Expr::IsNull { arg, .. } => f(arg),
            Expr::IsTruth { arg, .. } | Expr::Negate { arg, .. } => f(arg),
            Expr::Compare { left, right, .. } | Expr::Arithmetic { left, right, .. } => {
                f(left);
                f(right);
            }
            Expr::Logic { args, .. } | Expr::Call { args, .. } => args.iter().for_each(f),
            Expr::InList { arg, list, .. } => {
                f(arg);
                list.iter().for_each(f);
            }
            Expr::Like { arg, pattern, .. } => {
                f(arg);
                f(pattern);
            }
            Expr::Case { branches, otherwise, .. } => {
                branches.iter().flat_map(|(c, r)| [c, r]).chain(otherwise.as_deref()).for_each(f);
            }
            Expr::Subquery(q) => compared_with(&q.kind).iter().for_each(f),
            Expr::Subplan(p) => compared_with(&p.kind).iter().for_each(f),
        }
    }

    /// The same, to be changed.
    pub fn for_each_child_mut<'a>(&'a mut self, f: &mut dyn FnMut(&'a mut Expr)) {
        match self {
            Expr::Column(_) | Expr::Literal { .. } | Expr::Parameter { .. } => {}
            Expr::Cast { arg, .. } | Expr::Not(arg) | Expr::IsNull { arg, .. } => f(arg),
            Expr::IsTruth { arg, .. } | Expr::Negate { arg, .. } => f(arg),
            Expr::Compare { left, right, .. } | Expr::Arithmetic { left, right, .. } => {
                f(left);
                f(right);
            }
            Expr::Logic { args, .. } | Expr::Call { args, .. } => args.iter_mut().for_each(f),
            Expr::InList { arg, list, .. } => {
                f(arg);
                list.iter_mut().for_each(f);
            }
            Expr::Like { arg, pattern, .. } => {
                f(arg);
                f(pattern);
            }
            Expr::Case { branches, otherwise, .. } => {
                branches.iter_mut().flat_map(|(c, r)| [c, r]).chain(otherwise.as_deref_mut()).for_each(f);
            }
            Expr::Subquery(q) => compared_with_mut(&mut q.kind).iter_mut().for_each(f),
            Expr::Subplan(p) => compared_with_mut(&mut p.kind).iter_mut().for_each(f),
        }
    }

    /// Calls `f` on this expression and all its parts, parents first.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        self.for_each_child(&mut |child| child.visit(f));
    }

    /// Rebuilds the expression bottom-up; `f` sees each node after its parts were rebuilt.
    pub fn rewrite(mut self, f: &mut dyn FnMut(Expr) -> Expr) -> Expr {
        self.for_each_child_mut(&mut |child| {
            let taken = std::mem::replace(child, Expr::bool(true));
            *child = taken.rewrite(f);
        });
        f(self)
    }

    /// Changes the expression bottom-up, in place; `f` sees each node after its parts were changed. What `f` leaves
    /// alone is neither moved nor made anew.
    pub fn update(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.for_each_child_mut(&mut |child| child.update(f));
        f(self);
    }
}

/// What a subquery is compared with.
fn compared_with(kind: &SubqueryKind) -> &[Expr] {
    match kind {
        SubqueryKind::Scalar | SubqueryKind::Exists { .. } | SubqueryKind::Rows => &[],
        SubqueryKind::In { left, .. } => left,
        SubqueryKind::Compare { left, .. } => std::slice::from_ref(left),
    }
}

fn compared_with_mut(kind: &mut SubqueryKind) -> &mut [Expr] {
    match kind {
        SubqueryKind::Scalar | SubqueryKind::Exists { .. } | SubqueryKind::Rows => &mut [],
        SubqueryKind::In { left, .. } => left,
        SubqueryKind::Compare { left, .. } => std::slice::from_mut(left),
    }
}
