//! Who is whose child among the tokens of one family.
//!
//! Each member has the key of its entry; who is gone leaves an entry behind only as long as it holds
//! two branches or more together. So there are fewer entries of those that are gone than of those
//! that are there, however the family came about. Nothing here recurses: families may be deep.
//!
//! An entry has its member behind a weak reference, and the lock is held while members are looked
//! up. They are handed out, not dropped, for dropping the last reference takes the lock.

use crate::sync::Mutex;
use slab::Slab;
use std::sync::{Arc, Weak};

/// A family of members of type `M`.
#[derive(Debug)]
pub(super) struct Tree<M>(Mutex<Slab<Entry<M>>>);

#[derive(Debug)]
struct Entry<M> {
    /// Whose entry it is; nobody's once that is gone.
    member: Option<Weak<M>>,
    parent: Option<usize>,
    first_child: Option<usize>,
    /// The brother that was born after it.
    previous: Option<usize>,
    /// The brother that was born before it.
    next: Option<usize>,
}

impl<M> Tree<M> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Slab::new()))
    }

    /// Makes the first member; `make` gets its key.
    pub(super) fn root(&self, make: impl FnOnce(usize) -> M) -> Arc<M> {
        insert(&mut self.0.lock(), None, make)
    }

    /// Makes a child of the member with this key.
    ///
    /// # Errors
    ///
    /// What would have made it, if the parent was taken out of the family.
    pub(super) fn child<F: FnOnce(usize) -> M>(
        &self,
        parent: usize,
        is_parent: impl FnOnce(*const M) -> bool,
        make: F,
    ) -> Result<Arc<M>, F> {
        let mut entries = self.0.lock();
        if !is_entry_of(&entries, parent, is_parent) {
            return Err(make);
        }
        Ok(insert(&mut entries, Some(parent), make))
    }

    /// Takes out a member that nobody refers to any more; its children stay in the family.
    pub(super) fn leave(&self, key: usize, is_member: impl FnOnce(*const M) -> bool) {
        let mut entries = self.0.lock();
        if is_entry_of(&entries, key, is_member) {
            entries[key].member = None;
            tidy(&mut entries, key);
        }
    }

    /// Takes a member and all its descendants out of the family, and gives those that are there.
    /// Each is marked first, with the lock held: so all are once anybody finds one of them missing.
    pub(super) fn take(
        &self,
        key: usize,
        is_member: impl FnOnce(*const M) -> bool,
        mark: impl Fn(&M),
    ) -> Vec<Arc<M>> {
        let mut entries = self.0.lock();
        if !is_entry_of(&entries, key, is_member) {
            return Vec::new();
        }
        let parent = entries[key].parent;
        unlink(&mut entries, key);
        let mut members = Vec::new();
        let mut keys = vec![key];
        while let Some(key) = keys.pop() {
            let entry = entries.remove(key);
            if let Some(member) = entry.member.and_then(|member| member.upgrade()) {
                mark(&member);
                members.push(member);
            }
            let mut child = entry.first_child;
            while let Some(key) = child {
                keys.push(key);
                child = entries[key].next;
            }
        }
        if let Some(parent) = parent.filter(|parent| entries[*parent].member.is_none()) {
            tidy(&mut entries, parent);
        }
        members
    }

    /// Returns how many entries there are.
    #[cfg(all(test, not(windlass_loom)))]
    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }
}

/// Says whether the entry with this key is still that of a member: it may have been taken out, and
/// the key be another's by now.
fn is_entry_of<M>(
    entries: &Slab<Entry<M>>,
    key: usize,
    is_member: impl FnOnce(*const M) -> bool,
) -> bool {
    let member = entries.get(key).and_then(|entry| entry.member.as_ref());
    // A weak reference keeps the memory, so an address means one member.
    member.is_some_and(|member| is_member(member.as_ptr()))
}

/// Adds a member, as the first child of `parent` if it has one.
fn insert<M>(
    entries: &mut Slab<Entry<M>>,
    parent: Option<usize>,
    make: impl FnOnce(usize) -> M,
) -> Arc<M> {
    let vacant = entries.vacant_entry();
    let key = vacant.key();
    let member = Arc::new(make(key));
    vacant.insert(Entry {
        member: Some(Arc::downgrade(&member)),
        parent: None,
        first_child: None,
        previous: None,
        next: None,
    });
    if let Some(parent) = parent {
        let next = entries[parent].first_child.replace(key);
        if let Some(next) = next {
            entries[next].previous = Some(key);
        }
        entries[key].parent = Some(parent);
        entries[key].next = next;
    }
    member
}

/// Removes the entry of a member that is gone if it holds less than two branches together, and then
/// those above it for which that is true as well.
fn tidy<M>(entries: &mut Slab<Entry<M>>, mut key: usize) {
    loop {
        let parent = entries[key].parent;
        match entries[key].first_child {
            None => {
                unlink(entries, key);
                entries.remove(key);
            }
            Some(child) if entries[child].next.is_none() => {
                put_in_place_of(entries, child, key);
                return;
            }
            Some(_) => return,
        }
        match parent {
            Some(parent) if entries[parent].member.is_none() => key = parent,
            _ => return,
        }
    }
}

/// Takes an entry out of the list of its parent's children.
fn unlink<M>(entries: &mut Slab<Entry<M>>, key: usize) {
    let Entry {
        parent,
        previous,
        next,
        ..
    } = entries[key];
    replace_link(entries, parent, previous, next);
    if let Some(next) = next {
        entries[next].previous = previous;
    }
}

/// Puts an only child where its parent was, and removes that.
fn put_in_place_of<M>(entries: &mut Slab<Entry<M>>, child: usize, key: usize) {
    let gone = entries.remove(key);
    replace_link(entries, gone.parent, gone.previous, Some(child));
    if let Some(next) = gone.next {
        entries[next].previous = Some(child);
    }
    let child = &mut entries[child];
    child.parent = gone.parent;
    child.previous = gone.previous;
    child.next = gone.next;
}

/// Has whatever leads to the entry between `previous` and what follows lead to `target`.
fn replace_link<M>(
    entries: &mut Slab<Entry<M>>,
    parent: Option<usize>,
    previous: Option<usize>,
    target: Option<usize>,
) {
    match (previous, parent) {
        (Some(previous), _) => entries[previous].next = target,
        (None, Some(parent)) => entries[parent].first_child = target,
        (None, None) => {}
    }
}
