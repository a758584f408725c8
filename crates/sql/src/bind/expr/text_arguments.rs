//! The texts of a function come to one collation; with a byte string among them they are byte strings.

use crate::{
    bind::binder::Binder,
    typing::{Derivation, Item, bytes_of_length, collation, fold, result::byte_length, text_of_length},
};
use muster_algebra::{Decoding, Expr, ScalarFunction as F};
use muster_types::{Collation, Result, SqlError, SqlType, Value, charset::decode};

/// Functions that compare their texts and do not give one of them: their texts must have one collation.
const COMPARED: [&str; 6] = ["find_in_set", "regexp_instr", "regexp_like", "regexp_replace", "regexp_substr", "strcmp"];

impl Binder<'_> {
    /// All as text under the collation that decides, or as byte strings; and a model of the result's derivation.
    pub(super) fn texts(&mut self, items: Vec<Item>, name: &str) -> Result<(Vec<Item>, (Collation, Derivation))> {
        let items: Vec<Item> = items.into_iter().map(|item| self.bits_as_bytes(item)).collect();
        let items: Vec<Item> = items.into_iter().map(|item| self.json_as_text(item)).collect();
        let refs: Vec<&Item> = items.iter().collect();
        let operation = name.to_ascii_lowercase();
        // The replacement and the type of the match do not decide how texts compare.
        let refs = if operation.starts_with("regexp_") { &refs[..refs.len().min(2)] } else { &refs[..] };
        let model = match COMPARED.contains(&&*operation) {
            _ if are_null(&items) => NO_TEXT,
            true => collation::aggregate(refs, self.default_collation(), &operation)?,
            false => collation::aggregate_result(refs, self.default_collation(), &operation)?,
        };
        let items = items.into_iter().map(|item| self.text_or_bytes(item, model.0)).collect::<Result<_>>()?;
        Ok((items, model))
    }

    /// As [`Self::texts`], of a function whose result is what its first argument is: next to a text, a byte string
    /// stays as it is, and the function reads it as a text (error 3854 if it is none).
    pub(super) fn texts_like_first(
        &mut self,
        items: Vec<Item>,
        name: &str,
    ) -> Result<(Vec<Item>, (Collation, Derivation))> {
        let items: Vec<Item> = items.into_iter().map(|item| self.bits_as_bytes(item)).collect();
        let items: Vec<Item> = items.into_iter().map(|item| self.json_as_text(item)).collect();
        if are_null(&items[..items.len().min(1)]) {
            let items = items.into_iter().map(|item| self.text_or_bytes(item, Collation::Binary));
            return Ok((items.collect::<Result<_>>()?, NO_TEXT));
        }
        // The other arguments become what the first is, without a say in its collation or derivation.
        let model = collation::aggregate_result(
            &items.iter().take(1).collect::<Vec<_>>(),
            self.default_collation(),
            &name.to_ascii_lowercase(),
        )?;
        // SUBSTRING_INDEX compares, so that bytes which are no weaker than the text need not be one.
        let strength = items.first().map(|item| item.derivation).filter(|_| name == "SUBSTRING_INDEX");
        let convert = |item: Item| match item.ty {
            // A constant that is none is refused whatever the others are.
            SqlType::Bytes { .. }
                if strength.is_none_or(|first| first < item.derivation)
                    && check_constant_text(&item, model.0).is_err() =>
            {
                Ok(self.decoded(item, model.0))
            }
            SqlType::Bytes { .. } => Ok(item),
            _ => self.text_or_bytes(item, model.0),
        };
        Ok((items.into_iter().map(convert).collect::<Result<_>>()?, model))
    }

    /// A string as one of the collation that was decided on. Error 3854 for a byte string that is no text, for a
    /// constant at once.
    pub(super) fn text_or_bytes(&mut self, item: Item, collation: Collation) -> Result<Item> {
        Ok(match (collation, item.ty) {
            (Collation::Binary, SqlType::Bytes { .. }) => item,
            (Collation::Binary, ty) => self.convert(item, bytes_of_length(byte_length(ty).into())),
            (_, SqlType::Bytes { .. }) => {
                check_constant_text(&item, collation)?;
                match item.expr {
                    Expr::Literal { .. } | Expr::Parameter { .. } => self.convert_to_text(item, collation),
                    _ => self.decoded(item, collation),
                }
            }
            _ => self.convert_to_text(item, collation),
        })
    }

    /// Computed bytes as a text.
    fn decoded(&mut self, item: Item, collation: Collation) -> Item {
        let text = self.convert_to_text(item.clone(), collation);
        let expr = Expr::Call { function: F::DecodeText(Decoding::Refused), args: vec![item.expr], ty: text.ty };
        Item { expr, ..text }
    }

    /// A call whose result has so many characters, or bytes if the texts are byte strings.
    pub(super) fn text_call(&self, function: F, length: u64, args: Vec<Item>, model: (Collation, Derivation)) -> Item {
        let ty = text_result(length, model.0);
        let derivation = match model.1 {
            Derivation::Numeric => Derivation::Literal,
            derivation => derivation,
        };
        let of_ascii = !args.is_empty() && args.iter().all(|item| item.is_ascii);
        let args = args.into_iter().map(|item| item.expr).collect();
        let item = Item::new(Expr::Call { function, args, ty }, ty);
        Item { derivation, is_ascii: item.is_ascii || of_ascii, ..item }
    }
}

/// Error 3854 for a constant byte string that is no text of the collation's character set.
fn check_constant_text(item: &Item, collation: Collation) -> Result<()> {
    let constant = match item.as_literal() {
        Some(value) => Some(value.clone()),
        None => fold::constant(&item.expr),
    };
    match constant {
        Some(Value::Bytes(bytes))
            if collation != Collation::Binary && decode(collation.character_set(), &bytes).is_none() =>
        {
            Err(SqlError::cannot_convert_bytes(&bytes, collation.charset()))
        }
        _ => Ok(()),
    }
}

/// The collation of nothing but NULL, which is a byte string.
const NO_TEXT: (Collation, Derivation) = (Collation::Binary, Derivation::Ignorable);

fn are_null(items: &[Item]) -> bool {
    !items.is_empty() && items.iter().all(|item| item.ty == SqlType::Null)
}

/// Text of so many characters, or a byte string of so many bytes.
pub(super) fn text_result(length: u64, collation: Collation) -> SqlType {
    match collation {
        Collation::Binary => bytes_of_length(length),
        _ => text_of_length(length, collation),
    }
}
