//! Futures that must stay on their thread.

use std::cell::Cell;
use std::rc::Rc;
use std::thread;

use super::*;

/// A future that is not `Send`, is never ready and counts its polls; and the count.
fn at_home(polls: &Rc<Cell<usize>>) -> impl Future<Output = ()> + use<> {
    let polls = Rc::clone(polls);
    std::future::poll_fn(move |_| {
        polls.set(polls.get() + 1);
        Poll::Pending
    })
}

#[test]
fn aborting_from_elsewhere_drops_the_future_at_home() {
    let toy = Arc::new(Toy::default());
    let polls = Rc::new(Cell::new(0));
    let handle = toy.spawn_local(at_home(&polls));
    toy.run();
    thread::spawn(move || {
        handle.abort();
        drop(handle);
    })
    .join()
    .unwrap();
    assert_eq!(Rc::strong_count(&polls), 2);
    toy.run();
    assert_eq!(Rc::strong_count(&polls), 1);
    assert_eq!(polls.get(), 1);
    toy.assert_all_freed();
}

#[test]
fn running_elsewhere_is_refused() {
    let toy = Arc::new(Toy::default());
    let polls = Rc::new(Cell::new(0));
    let handle = toy.spawn_local(at_home(&polls));
    let stray = toy.next().unwrap();
    thread::spawn(move || assert!(stray.run().is_none()))
        .join()
        .unwrap();
    assert_eq!(polls.get(), 0);
    assert!(
        handle
            .wait()
            .unwrap_err()
            .to_string()
            .contains("bound to one thread")
    );
    // Leaked: the thread that noticed had no right to drop it.
    assert_eq!(Rc::strong_count(&polls), 2);
    // SAFETY: The leaked future had this count; it is given up so that leak checkers stay quiet.
    unsafe { Rc::decrement_strong_count(Rc::as_ptr(&polls)) };
    toy.assert_all_freed();
}

#[test]
fn losing_the_runnable_elsewhere_leaves_the_future_to_its_owner() {
    let toy = Arc::new(Toy::default());
    let polls = Rc::new(Cell::new(0));
    let handle = toy.spawn_local(at_home(&polls));
    let stray = toy.next().unwrap();
    thread::spawn(move || drop(stray)).join().unwrap();
    assert_eq!(Rc::strong_count(&polls), 2);
    toy.shut_down();
    assert_eq!(Rc::strong_count(&polls), 1);
    assert!(handle.wait().unwrap_err().is_cancelled());
    toy.assert_all_freed();
}

#[test]
fn the_output_need_not_be_send() {
    let toy = Arc::new(Toy::default());
    let handle = toy.spawn_local(async { Rc::new(7) });
    toy.run();
    assert_eq!(*handle.wait().unwrap(), 7);
    toy.assert_all_freed();
}
