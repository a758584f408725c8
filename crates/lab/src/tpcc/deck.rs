//! The mix of transactions: a deck of a hundred cards, which is shuffled when all have been drawn (clause 5.2.4.2).

use super::{Kind, random::TpccRandom};

/// How many of a hundred transactions are of each kind: the standard's minima, and New-Order in the rest.
const SHARES: [(Kind, usize); 5] =
    [(Kind::NewOrder, 45), (Kind::Payment, 43), (Kind::OrderStatus, 4), (Kind::Delivery, 4), (Kind::StockLevel, 4)];

#[derive(Default)]
pub struct Deck {
    cards: Vec<Kind>,
}

impl Deck {
    pub fn draw(&mut self, random: &mut TpccRandom) -> Kind {
        if self.cards.is_empty() {
            self.cards.extend(SHARES.iter().flat_map(|(kind, share)| std::iter::repeat_n(*kind, *share)));
            random.shuffle(&mut self.cards);
        }
        self.cards.pop().expect("the deck has cards")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hundred_has_the_standards_mix() {
        let (mut deck, mut random) = (Deck::default(), TpccRandom::new(1, 1));
        let mut orders = Vec::new();
        for _ in 0..3 {
            let drawn: Vec<Kind> = (0..100).map(|_| deck.draw(&mut random)).collect();
            for (kind, share) in SHARES {
                assert_eq!(drawn.iter().filter(|k| **k == kind).count(), share, "{kind:?}");
            }
            orders.push(drawn);
        }
        assert_ne!(orders[0], orders[1]);
    }
}
