//! Functions of text whose arguments are not all text, or whose result's length takes some thought.

use super::function::call;
use crate::{
    bind::binder::Binder,
    typing::{Derivation, Item, bytes_of_length, collation, display_length, fold, result::byte_length},
};
use muster_algebra::{ArithmeticOp, Expr, ScalarFunction as F};
use muster_types::{Collation, Result, SqlError, SqlType, Value};

impl Binder<'_> {
    fn charset_or_collation(&mut self, name: &str, of: &Item) -> Item {
        let collation = match of.ty.collation() {
            Some(collation) => collation,
            // One of dates and times of several types is declared as a text.
            None if self.of_each_moment(of, SqlType::Null, &mut |_, of| of.expr).is_some() => self.default_collation(),
            None => Collation::Binary,
        };
        let text = if name == "CHARSET" { collation.charset() } else { collation.name() };
        // It is no text of the statement, which a conversion to a decimal tells from others.
        let text = self.system_text(Value::Text(text.into()));
        let expr = Expr::Cast { arg: Box::new(text.expr), ty: text.ty };
        Item { expr, derivation: Derivation::Literal, ..Item::new(Expr::null(text.ty), text.ty) }
    }

    /// LENGTH in bytes, or in bits.
    fn length(&mut self, name: &str, item: Item) -> Result<Item> {
        let arg = if item.ty.is_bytes() { item } else { self.texts(vec![item], name)?.0.remove(0) };
        let length = call(F::Length, vec![arg], SqlType::BIGINT);
        let eight = self.given(Value::Int(8));
        Ok(if name == "BIT_LENGTH" { self.arithmetic(ArithmeticOp::Mul, length, eight) } else { length })
    }

    fn coercibility(&mut self, item: &Item) -> Item {
        let derivation = match self.declared_type(item) {
            Some(SqlType::Bit { .. }) => Derivation::Implicit,
            // One of dates and times of several types is declared as a text.
            _ if self.of_each_moment(item, SqlType::Null, &mut |_, of| of.expr).is_some() => Derivation::Literal,
            _ => derivation_of(item),
        };
        self.given(Value::Int(derivation.coercibility()))
    }

    pub(super) fn text_function(&mut self, name: &str, mut items: Vec<Item>) -> Result<Item> {
        match name {
            "ISNULL" => {
                let item = items.remove(0);
                return Ok(Item::bool(self.null_test(item, false)));
            }
            "SLEEP" => {
                let seconds = self.convert(items.remove(0), SqlType::Double);
                return Ok(call(F::Sleep, vec![seconds], SqlType::BIGINT));
            }
            "CHARSET" | "COLLATION" => return Ok(self.charset_or_collation(name, &items[0])),
            "LENGTH" | "OCTET_LENGTH" | "BIT_LENGTH" => return self.length(name, items.remove(0)),
            "COERCIBILITY" => return Ok(self.coercibility(&items[0])),
            "SPACE" => {
                let blank = self.given(Value::Text(" ".into()));
                items.insert(0, blank);
                return self.text_function("REPEAT", items);
            }
            "INSTR" => items.swap(0, 1),
            _ => {}
        }
        // Which arguments are text; the others are integers.
        let (function, text): (F, &[usize]) = match name {
            "SUBSTRING" | "SUBSTR" | "MID" => (F::Substring, &[0]),
            "LEFT" => (F::Left, &[0]),
            "RIGHT" => (F::Right, &[0]),
            "REPEAT" => (F::Repeat, &[0]),
            "LPAD" => (F::LPad, &[0, 2]),
            "RPAD" => (F::RPad, &[0, 2]),
            "REPLACE" => (F::Replace, &[0, 1, 2]),
            "INSTR" | "LOCATE" => (F::Locate, &[0, 1]),
            other => return Err(SqlError::internal(format!("no rule for {other}"))),
        };
        let texts: Vec<Item> = text.iter().map(|i| items[*i].clone()).collect();
        let searched = texts.get(1).and_then(Item::collation);
        let (texts, model) = match function {
            F::LPad | F::RPad | F::Replace => self.texts_like_first(texts, name)?,
            F::Locate => self.searched_texts(texts, name)?,
            _ => self.texts(texts, name)?,
        };
        let warnings = self.warnings.len();
        let is_null = matches!(function, F::LPad | F::RPad) && texts[0].is_null_literal();
        let mut texts = texts.into_iter();
        let mut args = Vec::with_capacity(items.len());
        for (i, item) in items.into_iter().enumerate() {
            args.push(match text.contains(&i).then(|| texts.next()).flatten() {
                Some(text) => text,
                None => self.count(item),
            });
        }
        if is_null && !args.iter().any(|arg| arg.expr.has_subquery()) {
            // What fills up NULL is not asked for.
            self.forget_conversions(warnings);
            args[1..].iter_mut().for_each(|arg| arg.expr = Expr::null(arg.ty));
        }
        if function == F::Locate {
            // As a text the position has the collation of the text that is searched.
            let (collation, derivation) = model;
            let position = call(function, args, SqlType::BIGINT);
            return Ok(match searched.is_some() {
                true => Item { text_collation: Some(collation), derivation, ..position },
                false => position,
            });
        }
        let length = result_characters(function, &args);
        Ok(self.text_call(function, length, args, model))
    }

    /// The texts of a search, the needle first: the collation of the other one decides.
    fn searched_texts(&mut self, texts: Vec<Item>, name: &str) -> Result<(Vec<Item>, (Collation, Derivation))> {
        let texts: Vec<Item> = texts.into_iter().map(|item| self.json_as_text(item)).collect();
        let refs: Vec<&Item> = texts.iter().collect();
        let decided = collation::aggregate_result(&refs, self.default_collation(), &name.to_ascii_lowercase());
        let own_model = (texts[1].ty.collation().unwrap_or(Collation::Binary), texts[1].derivation);
        let model = match decided {
            Err(_) if texts.iter().all(|item| item.derivation == Derivation::Explicit) => own_model,
            decided => decided?,
        };
        let own = texts[1].ty.collation().unwrap_or(model.0);
        // Bytes that are searched for have to be a text if the other one is.
        let mut texts = texts;
        if own != Collation::Binary && texts[0].ty.is_bytes() && texts[1].derivation < texts[0].derivation {
            texts[0] = self.text_or_bytes(texts[0].clone(), own)?;
        }
        let convert = |item: Item| match (own, item.ty) {
            (_, SqlType::Bytes { .. }) => item,
            (Collation::Binary, ty) => self.convert(item, bytes_of_length(byte_length(ty).into())),
            _ => self.convert_to_text(item, own),
        };
        Ok((texts.into_iter().map(convert).collect(), (own, model.1)))
    }

    /// A number of characters or digits as a signed integer; an unsigned number beyond those is the largest of them.
    pub(super) fn count(&mut self, item: Item) -> Item {
        let most = i64::MAX;
        match item.as_literal() {
            Some(Value::UInt(n)) => self.given(Value::Int(i64::try_from(*n).unwrap_or(most))),
            None if item.ty == SqlType::BIGINT_UNSIGNED => {
                let most = Item::literal(Value::UInt(most as u64), SqlType::BIGINT_UNSIGNED);
                let cut = call(F::Least, vec![item, most], SqlType::BIGINT_UNSIGNED);
                self.convert(cut, SqlType::BIGINT)
            }
            _ => self.convert(item, SqlType::BIGINT),
        }
    }
}

/// Most characters of the result of a function of text.
fn result_characters(function: F, args: &[Item]) -> u64 {
    let own = display_length(args[0].ty) as u64;
    let count = |i: usize| match args.get(i).and_then(|item| fold::constant(&item.expr)) {
        Some(Value::Int(n)) => Some(n.max(0) as u64),
        _ => None,
    };
    const LONGEST: u64 = u32::MAX as u64;
    match function {
        // From a position behind the longest text on there is nothing, nor from 0 on.
        F::Substring if is_empty_from(&args[1], own) => 0,
        F::Substring => count(2).unwrap_or(own).min(own),
        F::Left | F::Right => count(1).unwrap_or(own).min(own),
        F::Repeat => count(1).map_or(LONGEST, |n| own.saturating_mul(n)),
        // A negative number is one without a sign.
        F::LPad | F::RPad => match args.get(1).and_then(|item| fold::constant(&item.expr)) {
            Some(Value::Int(n @ 0..)) => n as u64,
            _ => LONGEST,
        },
        _ => {
            let (from, to) = (display_length(args[1].ty) as u64, display_length(args[2].ty) as u64);
            // At worst each character is replaced.
            if to > from.min(1) { own.saturating_mul(to.max(1)) } else { own }
        }
    }
}

/// The derivation that COERCIBILITY() shows: that of a user variable whatever its value is.
fn derivation_of(item: &Item) -> Derivation {
    match item.collation() {
        _ if item.derivation == Derivation::Implicit => Derivation::Implicit,
        None if item.ty != SqlType::Null => Derivation::Numeric,
        _ if item.is_null_literal() => Derivation::Ignorable,
        Some(_) => item.derivation,
        None => Derivation::Numeric,
    }
}

/// Returns true for a constant position from which on texts of so many characters have none.
fn is_empty_from(position: &Item, characters: u64) -> bool {
    match fold::constant(&position.expr) {
        Some(Value::Int(position)) => position == 0 || u64::try_from(position).is_ok_and(|start| start > characters),
        _ => false,
    }
}
