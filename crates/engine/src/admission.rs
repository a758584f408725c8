//! Admission of heavy statements: so many compute at a time that each finds the memory it was planned for. The others
//! wait in a queue, first come, first served.
//!
//! A statement that was refused memory while others computed may ask to compute alone: then nobody else is admitted
//! until it has ended, and those who computed before end first. Light statements, which never wait, may still compute
//! beside it.

use muster_storage::mutex::Mutex;
use muster_types::{ErrorCode, Result, SqlError};
use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// What a statement asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// To compute beside other statements.
    Beside,
    /// To compute while no other heavy statement does.
    Alone,
}

/// How many statements may compute and wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Heavy statements that compute at a time.
    pub running: usize,
    /// Heavy statements that wait. A further one ends with an error.
    pub waiting: usize,
}

/// Figures since the database was opened, for SHOW STATUS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Heavy statements that compute now.
    pub running: usize,
    /// Those that wait now.
    pub waiting: usize,
    /// Those that were admitted, at once or after a wait.
    pub admitted: u64,
    /// Those that had to wait.
    pub waits: u64,
    /// Those that asked to compute alone, since there was no memory beside others.
    pub alone: u64,
    /// Those that found the queue full.
    pub refused: u64,
    /// Time that statements waited, all together.
    pub wait_time: Duration,
}

struct Waiting {
    number: u64,
    demand: Demand,
    granted: oneshot::Sender<()>,
}

struct AdmissionState {
    limits: Limits,
    /// A statement computes alone.
    alone: bool,
    queue: VecDeque<Waiting>,
    /// The number of the newest that waits or waited.
    newest: u64,
    /// Light statements that compute now.
    light: usize,
    /// Statements that have begun to compute, heavy and light.
    begun: u64,
    figures: Figures,
}

impl AdmissionState {
    fn new(limits: Limits) -> AdmissionState {
        AdmissionState {
            limits,
            alone: false,
            queue: VecDeque::new(),
            newest: 0,
            light: 0,
            begun: 0,
            figures: Figures::default(),
        }
    }

    fn has_room(&self, demand: Demand) -> bool {
        match demand {
            Demand::Alone => self.figures.running == 0,
            Demand::Beside => !self.alone && self.figures.running < self.limits.running,
        }
    }

    fn enter(&mut self, demand: Demand) {
        self.alone = demand == Demand::Alone;
        self.figures.running += 1;
        self.figures.admitted += 1;
        self.begun += 1;
    }

    fn leave(&mut self) {
        self.alone = false;
        self.figures.running -= 1;
    }

    /// Admits those at the head of the queue for whom there is room.
    fn admit_waiting(&mut self) {
        while self.queue.front().is_some_and(|w| self.has_room(w.demand)) {
            let Some(waiting) = self.queue.pop_front() else { return };
            self.enter(waiting.demand);
            // One that was stopped just now leaves with its place.
            let _ = waiting.granted.send(());
        }
        self.figures.waiting = self.queue.len();
    }
}

/// The admission of one database.
pub struct Admission {
    state: Mutex<AdmissionState>,
}

/// A statement that computes. Dropping this lets the next one in.
pub struct Admitted {
    admission: Arc<Admission>,
    heavy: bool,
    /// Statements that had begun to compute when this one did, itself included.
    begun: u64,
    /// Others computed when this one began.
    beside: bool,
}

impl Admission {
    pub fn new(limits: Limits) -> Arc<Admission> {
        Arc::new(Admission { state: Mutex::new(AdmissionState::new(limits)) })
    }

    /// Changes the limits. Statements that compute go on, also if they are more than the new limit.
    pub fn set_limits(&self, limits: Limits) {
        let mut state = self.state.lock();
        state.limits = limits;
        state.admit_waiting();
    }

    /// Notes that a light statement computes, which never waits.
    pub fn note_light(self: &Arc<Self>) -> Admitted {
        let mut state = self.state.lock();
        state.light += 1;
        state.begun += 1;
        self.admitted(&state, false)
    }

    pub fn figures(&self) -> Figures {
        self.state.lock().figures
    }

    /// Waits for admission, until `stopped` yields the error that the statement ends with. `waiting` is called once if
    /// there is need to wait. Error 1226 when the queue is full.
    pub async fn admit(
        self: &Arc<Self>,
        demand: Demand,
        stopped: impl Future<Output = SqlError>,
        waiting: impl FnOnce(),
    ) -> Result<Admitted> {
        let Some((mut place, mut granted)) = self.join_queue(demand)? else {
            return Ok(self.admitted(&self.state.lock(), true));
        };
        waiting();
        let since = Instant::now();
        let ended = tokio::select! {
            biased;
            _ = &mut granted => Ok(()),
            error = stopped => Err(error),
        };
        let mut state = self.state.lock();
        state.figures.wait_time += since.elapsed();
        place.admitted = ended.is_ok();
        let admitted = ended.map(|()| self.admitted(&state, true));
        drop(state);
        admitted
    }

    /// Admits at once if there is room and nobody waits; otherwise returns a place in the queue.
    fn join_queue(self: &Arc<Self>, demand: Demand) -> Result<Option<(Place, oneshot::Receiver<()>)>> {
        let mut state = self.state.lock();
        if demand == Demand::Alone {
            state.figures.alone += 1;
        }
        if state.queue.is_empty() && state.has_room(demand) {
            state.enter(demand);
            return Ok(None);
        }
        if state.queue.len() >= state.limits.waiting {
            state.figures.refused += 1;
            return Err(queue_is_full(state.limits.waiting));
        }
        let (granted, receiver) = oneshot::channel();
        state.newest += 1;
        let number = state.newest;
        state.queue.push_back(Waiting { number, demand, granted });
        state.figures.waits += 1;
        state.figures.waiting = state.queue.len();
        Ok(Some((Place { admission: self.clone(), number, admitted: false }, receiver)))
    }

    fn admitted(self: &Arc<Self>, state: &AdmissionState, heavy: bool) -> Admitted {
        let beside = state.figures.running + state.light > 1;
        Admitted { admission: self.clone(), heavy, begun: state.begun, beside }
    }
}

impl Admitted {
    /// Returns true if another statement has computed since this one began.
    pub fn had_company(&self) -> bool {
        self.beside || self.admission.state.lock().begun > self.begun
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut state = self.admission.state.lock();
        if !self.heavy {
            // Nobody waits for a light statement.
            state.light -= 1;
            return;
        }
        state.leave();
        state.admit_waiting();
    }
}

/// A place in the queue, given up when the statement ends before it is admitted.
struct Place {
    admission: Arc<Admission>,
    number: u64,
    admitted: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.admitted {
            return;
        }
        let mut state = self.admission.state.lock();
        match state.queue.iter().position(|w| w.number == self.number) {
            Some(at) => drop(state.queue.remove(at)),
            // It was admitted at the very moment it was stopped.
            None => state.leave(),
        }
        state.admit_waiting();
    }
}

fn queue_is_full(most: usize) -> SqlError {
    let message = format!("The queue of heavy statements is full (admission_queue_size: {most}); try again later");
    SqlError::new(ErrorCode::UserLimitReached, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt, future, future::BoxFuture};

    const LIMITS: Limits = Limits { running: 2, waiting: 3 };

    /// A statement that nothing stops.
    fn arrive(admission: &Arc<Admission>, demand: Demand) -> BoxFuture<'static, Result<Admitted>> {
        let admission = admission.clone();
        async move { admission.admit(demand, future::pending(), || ()).await }.boxed()
    }

    fn now(statement: &mut BoxFuture<'static, Result<Admitted>>) -> Option<Result<Admitted>> {
        statement.now_or_never()
    }

    fn admitted(statement: &mut BoxFuture<'static, Result<Admitted>>) -> Admitted {
        now(statement).expect("there is room").expect("nothing stops it")
    }

    #[test]
    fn those_who_wait_come_in_their_order() {
        let admission = Admission::new(LIMITS);
        let first = admitted(&mut arrive(&admission, Demand::Beside));
        let second = admitted(&mut arrive(&admission, Demand::Beside));
        let (mut third, mut fourth) = (arrive(&admission, Demand::Beside), arrive(&admission, Demand::Beside));
        assert!(now(&mut third).is_none() && now(&mut fourth).is_none());
        drop(second);
        assert!(now(&mut fourth).is_none(), "the third came before");
        let third = admitted(&mut third);
        drop((first, third));
        drop(admitted(&mut fourth));
        let figures = admission.figures();
        assert_eq!((figures.running, figures.waiting, figures.admitted, figures.waits), (0, 0, 4, 2));
    }

    #[test]
    fn one_computes_alone() {
        let admission = Admission::new(LIMITS);
        let first = admitted(&mut arrive(&admission, Demand::Beside));
        let mut alone = arrive(&admission, Demand::Alone);
        assert!(now(&mut alone).is_none());
        let mut behind = arrive(&admission, Demand::Beside);
        assert!(now(&mut behind).is_none(), "nobody overtakes it");
        assert!(!first.had_company());
        drop(first);
        let alone = admitted(&mut alone);
        assert!(now(&mut behind).is_none());
        assert!(!alone.had_company());
        drop(alone);
        admitted(&mut behind);
    }

    #[test]
    fn company_is_who_computes_meanwhile() {
        let admission = Admission::new(LIMITS);
        let first = admitted(&mut arrive(&admission, Demand::Beside));
        assert!(!first.had_company());
        let second = admitted(&mut arrive(&admission, Demand::Beside));
        drop(second);
        assert!(first.had_company());
        let third = admitted(&mut arrive(&admission, Demand::Beside));
        assert!(third.had_company());
    }

    #[test]
    fn light_statements_never_wait_and_are_company() {
        let admission = Admission::new(Limits { running: 1, waiting: 0 });
        let heavy = admitted(&mut arrive(&admission, Demand::Alone));
        assert!(!heavy.had_company());
        drop(admission.note_light());
        assert!(heavy.had_company());
        let light = admission.note_light();
        assert!(light.had_company());
        drop((heavy, light));
        assert!(!admission.note_light().had_company());
        assert_eq!(admission.figures().running, 0);
    }

    #[test]
    fn a_full_queue_refuses() {
        let admission = Admission::new(LIMITS);
        let mut all: Vec<_> = (0..5).map(|_| arrive(&admission, Demand::Beside)).collect();
        let kept: Vec<_> = all.iter_mut().map(now).collect();
        let error = now(&mut arrive(&admission, Demand::Beside)).expect("it does not wait").err();
        assert_eq!(error.map(|e| e.code), Some(ErrorCode::UserLimitReached));
        assert_eq!(admission.figures().refused, 1);
        drop(kept);
    }

    #[test]
    fn who_is_stopped_leaves_the_queue() {
        let admission = Admission::new(Limits { running: 1, waiting: 3 });
        let first = admitted(&mut arrive(&admission, Demand::Beside));
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = stopped.map(|_| SqlError::interrupted());
        let mut second = admission.clone().admit_boxed(stopped.boxed());
        let mut third = arrive(&admission, Demand::Beside);
        assert!(now(&mut second).is_none() && now(&mut third).is_none());
        stop.send(()).expect("it waits");
        assert_eq!(now(&mut second).expect("it is stopped").err(), Some(SqlError::interrupted()));
        assert_eq!(admission.figures().waiting, 1);
        drop(first);
        admitted(&mut third);
    }

    #[test]
    fn who_goes_away_when_admitted_leaves() {
        let admission = Admission::new(Limits { running: 1, waiting: 3 });
        let first = admitted(&mut arrive(&admission, Demand::Beside));
        let (mut second, mut third) = (arrive(&admission, Demand::Beside), arrive(&admission, Demand::Beside));
        assert!(now(&mut second).is_none() && now(&mut third).is_none());
        drop(first);
        assert_eq!(admission.figures().running, 1, "the second is in, and does not know it yet");
        drop(second);
        drop(admitted(&mut third));
        assert_eq!(admission.figures().running, 0);
    }

    #[test]
    fn a_higher_limit_lets_more_in() {
        let admission = Admission::new(Limits { running: 1, waiting: 3 });
        let first = admitted(&mut arrive(&admission, Demand::Beside));
        let mut second = arrive(&admission, Demand::Beside);
        assert!(now(&mut second).is_none());
        admission.set_limits(LIMITS);
        drop((first, admitted(&mut second)));
    }

    impl Admission {
        fn admit_boxed(self: Arc<Self>, stopped: BoxFuture<'static, SqlError>) -> BoxFuture<'static, Result<Admitted>> {
            async move { self.admit(Demand::Beside, stopped, || ()).await }.boxed()
        }
    }
}
