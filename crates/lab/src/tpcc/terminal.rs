//! One client: draws a transaction, runs it, repeats it after a conflict, counts it; without think times.

use super::{
    Statements, Tally,
    deck::Deck,
    run::Clock,
    transactions::{Ended, Input, InputSource},
};
use crate::target::{Result, TargetError, TargetSession};
use muster_engine::io::simulated::SimulatedDisk;
use std::{sync::Arc, time::Instant};

/// A transaction that meets so many conflicts is given up.
const RETRIES_MAX: u32 = 100;

pub struct Terminal<T: TargetSession> {
    pub target: T,
    pub statements: Statements,
    pub source: InputSource,
    deck: Deck,
    pub tally: Tally,
    /// Keep the keys of orders that were acknowledged.
    keeps_orders: bool,
    /// End at the first error that is no conflict.
    pub ends_at_error: bool,
    pub machine: Option<Arc<SimulatedDisk>>,
}

impl<T: TargetSession> Terminal<T> {
    pub async fn open(mut target: T, source: InputSource, keeps_orders: bool) -> Result<Terminal<T>> {
        let statements = Statements::prepare(&mut target).await?;
        let (deck, tally) = (Deck::default(), Tally::default());
        Ok(Terminal { target, statements, source, deck, tally, keeps_orders, ends_at_error: false, machine: None })
    }

    /// Runs transactions until the clock stops. Error: the connection has ended, or another error if that ends a run.
    pub async fn work(&mut self, clock: &Clock) -> Result<()> {
        while !clock.is_over() {
            let kind = self.deck.draw(&mut self.source.random);
            let input = self.source.draw(kind);
            self.transact(&input, clock).await?;
        }
        Ok(())
    }

    /// One transaction, with its repetitions. It is counted if it ends within the measured time.
    async fn transact(&mut self, input: &Input, clock: &Clock) -> Result<()> {
        let (kind, began) = (input.kind(), Instant::now());
        for attempt in 0.. {
            let result = input.run(&mut self.target, &self.statements).await;
            if self.machine.as_ref().is_some_and(|machine| machine.is_off()) {
                return Err(TargetError::Connection("the machine has no power".into()));
            }
            let now = Instant::now();
            let measured = clock.measured(now);
            match result {
                Ok(ended) => {
                    if let Ended::Ordered(order) = ended
                        && self.keeps_orders
                    {
                        self.tally.acknowledged.push(order);
                    }
                    if let Some(after) = measured {
                        self.tally.ended(kind, after, now - began);
                        let counts = self.tally.kind_mut(kind);
                        match ended {
                            Ended::RolledBack => counts.rolled_back += 1,
                            Ended::Committed | Ended::Ordered(_) => counts.committed += 1,
                        }
                    }
                    return Ok(());
                }
                Err(error) => {
                    if error.is_fatal() || self.ends_at_error && error.conflict().is_none() {
                        return Err(error);
                    }
                    self.roll_back().await?;
                    match error.conflict() {
                        Some(conflict) if attempt < RETRIES_MAX => {
                            if measured.is_some() {
                                self.tally.kind_mut(kind).retries.count(conflict);
                            }
                        }
                        _ => {
                            self.tally.failed(kind, &error);
                            return Ok(());
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends a transaction that has failed. A deadlock has ended it already, and a rollback of nothing does no harm.
    async fn roll_back(&mut self) -> Result<()> {
        match self.target.rollback().await {
            Err(e @ TargetError::Connection(_)) => Err(e),
            _ => Ok(()),
        }
    }
}
