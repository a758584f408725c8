//! Two doubly linked lists over the numbers of frames; a frame is in one of them or in none.

use super::frames::Frames;
use std::sync::atomic::Ordering::Relaxed;

const NIL: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum List {
    None = 0,
    Young = 1,
    Old = 2,
}

#[derive(Debug, Clone, Copy)]
struct Ends {
    head: u32,
    tail: u32,
    len: u32,
}

const EMPTY: Ends = Ends { head: NIL, tail: NIL, len: 0 };

/// The lists. Which one a frame is in also stands in the frame, where it can be read without a lock.
pub(super) struct Lists {
    prev: Box<[u32]>,
    next: Box<[u32]>,
    young: Ends,
    old: Ends,
}

impl Lists {
    pub fn new(frames: usize) -> Lists {
        Lists { prev: vec![NIL; frames].into(), next: vec![NIL; frames].into(), young: EMPTY, old: EMPTY }
    }

    pub fn len(&self, list: List) -> u32 {
        self.ends(list).len
    }

    /// The frame at the end of a list, if it has one.
    pub fn tail(&self, list: List) -> Option<u32> {
        Some(self.ends(list).tail).filter(|tail| *tail != NIL)
    }

    /// A list's frames from its tail to its head.
    pub fn tail_first(&self, list: List) -> impl Iterator<Item = u32> {
        std::iter::successors(self.tail(list), |frame| Some(self.prev[*frame as usize]).filter(|prev| *prev != NIL))
    }

    /// Puts a frame at the head of a list, taking it out of the one it is in.
    pub fn push_head(&mut self, frames: &Frames, list: List, frame: u32) {
        self.remove(frames, frame);
        let head = self.ends(list).head;
        self.prev[frame as usize] = NIL;
        self.next[frame as usize] = head;
        match head {
            NIL => self.ends_mut(list).tail = frame,
            _ => self.prev[head as usize] = frame,
        }
        let ends = self.ends_mut(list);
        (ends.head, ends.len) = (frame, ends.len + 1);
        frames.get(frame).list.store(list as u32, Relaxed);
    }

    /// Takes a frame out of the list it is in, which is returned.
    pub fn remove(&mut self, frames: &Frames, frame: u32) -> List {
        let list = List::of(frames, frame);
        if list == List::None {
            return list;
        }
        let (prev, next) = (self.prev[frame as usize], self.next[frame as usize]);
        match prev {
            NIL => self.ends_mut(list).head = next,
            _ => self.next[prev as usize] = next,
        }
        match next {
            NIL => self.ends_mut(list).tail = prev,
            _ => self.prev[next as usize] = prev,
        }
        self.ends_mut(list).len -= 1;
        frames.get(frame).list.store(List::None as u32, Relaxed);
        list
    }

    fn ends(&self, list: List) -> &Ends {
        if list == List::Young { &self.young } else { &self.old }
    }

    fn ends_mut(&mut self, list: List) -> &mut Ends {
        if list == List::Young { &mut self.young } else { &mut self.old }
    }
}

impl List {
    /// The list that a frame is in. Without the lock of the lists: was in a moment ago.
    pub fn of(frames: &Frames, frame: u32) -> List {
        match frames.get(frame).list.load(Relaxed) {
            1 => List::Young,
            2 => List::Old,
            _ => List::None,
        }
    }
}
