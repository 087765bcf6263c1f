//! The ring, the slot and the lane under every interleaving.
//!
//! loom fails a model in which a box is left over: every element is taken once, by somebody.

use super::lane::Owner;
use super::{Lane, Pointer, SharedQueue};
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread;
use std::ptr::NonNull;
use std::sync::Arc;

/// An element: a number on memory whose use loom checks.
struct Element(Box<(usize, loom::cell::UnsafeCell<()>)>);

// SAFETY: loom checks that the cell is not touched by two threads at once; nothing is in it.
unsafe impl Send for Element {}
// SAFETY: Likewise.
unsafe impl Sync for Element {}

impl Element {
    fn new(number: usize) -> Self {
        let element = Self(Box::new((number, loom::cell::UnsafeCell::new(()))));
        element.touch();
        element
    }

    fn touch(&self) -> usize {
        self.0.1.with_mut(|_| ());
        self.0.0
    }
}

impl Pointer for Element {
    fn into_pointer(self) -> NonNull<()> {
        NonNull::from(Box::leak(self.0)).cast()
    }

    unsafe fn from_pointer(pointer: NonNull<()>) -> Self {
        // SAFETY: It was made by `into_pointer`, and the caller turns it back once.
        Self(unsafe { Box::from_raw(pointer.cast().as_ptr()) })
    }
}

/// What was taken of the numbers that were added, as bits.
struct Taken(AtomicUsize);

impl Taken {
    /// Marks a number, which must not have been taken before.
    fn mark(&self, element: &Element) {
        let bit = 1 << element.touch();
        assert_eq!(self.0.fetch_or(bit, Relaxed) & bit, 0, "taken twice");
    }
}

struct Model {
    shared: Arc<SharedQueue<Element>>,
    lane: Arc<Lane<Element>>,
    taken: Taken,
}

fn model() -> (Arc<Model>, Owner<Element>) {
    let shared = Arc::new(SharedQueue::default());
    let owner = Owner::new(shared.clone(), true);
    let model = Model {
        shared,
        lane: owner.lane().clone(),
        taken: Taken(AtomicUsize::new(0)),
    };
    (Arc::new(model), owner)
}

impl Model {
    /// Takes what is left, by the owner and out of the shared queue, and checks that all
    /// `elements` were taken.
    fn finish(&self, mut owner: Owner<Element>, elements: usize) {
        while let Some(element) = owner.pop() {
            self.taken.mark(&element);
        }
        while let Some(element) = self.shared.take(|_| 1, |_| ()) {
            self.taken.mark(&element);
        }
        assert_eq!(self.taken.0.load(Relaxed), (1 << elements) - 1);
    }
}

fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_duration = Some(std::time::Duration::from_secs(8));
    builder.check(model);
}

/// Steals as a worker with a queue of its own, and marks what it gets.
fn steal(model: &Model) {
    let mut thief = Owner::new(model.shared.clone(), true);
    if let Some(element) = thief.steal(&model.lane) {
        model.taken.mark(&element);
    }
    while let Some(element) = thief.pop() {
        model.taken.mark(&element);
    }
}

#[test]
fn loom_owner_and_thief_take_each_element_once() {
    explore(3, || {
        let (model, mut owner) = model();
        owner.push_back(Element::new(0));
        owner.push_back(Element::new(1));
        let thief = {
            let model = model.clone();
            thread::spawn(move || steal(&model))
        };
        if let Some(element) = owner.pop() {
            model.taken.mark(&element);
        }
        owner.push_back(Element::new(2));
        thief.join().unwrap();
        model.finish(owner, 3);
    });
}

#[test]
fn loom_places_are_filled_again_only_when_they_are_free() {
    explore(3, || {
        let (model, mut owner) = model();
        for number in 0..4 {
            owner.push_back(Element::new(number));
        }
        let thief = {
            let model = model.clone();
            thread::spawn(move || steal(&model))
        };
        // There is no room unless the thief has made some: or else two go to the shared queue.
        owner.push_back(Element::new(4));
        thief.join().unwrap();
        model.finish(owner, 5);
    });
}

#[test]
fn loom_two_thieves() {
    explore(2, || {
        let (model, mut owner) = model();
        for number in 0..3 {
            owner.push_back(Element::new(number));
        }
        let thieves = [0, 1].map(|_| {
            let model = model.clone();
            thread::spawn(move || steal(&model))
        });
        if let Some(element) = owner.pop() {
            model.taken.mark(&element);
        }
        for thief in thieves {
            thief.join().unwrap();
        }
        model.finish(owner, 3);
    });
}

#[test]
fn loom_taking_all_over_from_a_worker_that_is_not_stuck_after_all() {
    explore(3, || {
        let (model, mut owner) = model();
        owner.push(Element::new(0));
        owner.push(Element::new(1));
        let rescuer = {
            let model = model.clone();
            thread::spawn(move || model.lane.move_all(&model.shared))
        };
        if let Some(element) = owner.pop() {
            model.taken.mark(&element);
        }
        owner.push(Element::new(2));
        rescuer.join().unwrap();
        model.finish(owner, 3);
    });
}
