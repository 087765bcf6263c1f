//! The poller and the model side by side: what is done to both of them.

use crate::descriptors;
use crate::facts::{Facts, NONE};
use crate::reference::{FULL, Registered, State};
use crate::steps::{Kind, Step, Wish};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use windlass_reactor::{Backend, Features, Interest, Poller, Token};

/// What a sequence was found to do wrong.
pub(crate) type Checked<T = ()> = Result<T, String>;

/// More are not opened.
const MOST: usize = 6;
/// So many bytes leave room in every kind.
const SMALL: u64 = 32;

pub(crate) struct World<'p> {
    pub(crate) poller: &'p Poller,
    pub(crate) features: Features,
    objects: Vec<Object>,
    handles: Vec<Handle>,
    ghosts: Vec<Ghost>,
    next_token: u64,
    /// Each change of a registration gives it a new token.
    renames: bool,
    /// The tokens that must not come any more, since this was last emptied.
    pub(crate) retired: Vec<u64>,
}

/// An open file, its other end, and how many descriptors of ours name it.
struct Object {
    state: State,
    peer: Option<File>,
    names: usize,
}

struct Handle {
    file: File,
    object: usize,
    registered: Option<Registered>,
}

/// What was closed without removal.
struct Ghost {
    token: u64,
    number: RawFd,
    object: usize,
    /// How often it was reported.
    reports: usize,
}

impl<'p> World<'p> {
    pub(crate) fn new(poller: &'p Poller, renames: bool) -> Self {
        Self {
            poller,
            features: poller.features(),
            objects: Vec::new(),
            handles: Vec::new(),
            ghosts: Vec::new(),
            next_token: 1,
            renames,
            retired: Vec::new(),
        }
    }

    /// Takes a step other than waiting and notifying; one that makes no sense now does nothing.
    pub(crate) fn take(&mut self, step: Step) -> Checked {
        match step {
            Step::Open(kind) => self.open(kind),
            Step::Duplicate(one) => self.on(one, Self::duplicate),
            Step::Close(one) => self.on(one, Self::close),
            Step::Abandon(one) => self.on(one, Self::abandon),
            Step::Add(one, wish) => self.on(one, |world, at| world.add(at, wish)),
            Step::Modify(one, wish) => self.on(one, |world, at| world.modify(at, wish)),
            Step::Rearm(one, interest) => self.on(one, |world, at| world.rearm(at, interest)),
            Step::Remove(one) => self.on(one, Self::remove),
            Step::Read(one) => self.on(one, |world, at| world.read(at, false)),
            Step::Drain(one) => self.on(one, |world, at| world.read(at, true)),
            Step::Write(one) => self.on(one, Self::write),
            Step::Fill(one) => self.on(one, Self::fill),
            Step::Shutdown(one) => self.on(one, Self::shut_down),
            Step::PeerWrites(one) => self.on(one, Self::peer_writes),
            Step::PeerDrains(one) => self.on(one, Self::peer_drains),
            Step::PeerShutsDown(one) => self.on(one, Self::peer_shuts_down),
            Step::PeerCloses(one) => self.on(one, Self::peer_closes),
            Step::Notify | Step::Wait(_) => Ok(()),
        }
    }

    /// What the next wait must report, by token.
    pub(crate) fn expected(&self) -> Vec<(u64, Facts)> {
        let registered = self.handles.iter().filter_map(|handle| {
            let registered = handle.registered.as_ref()?;
            let state = &self.objects[handle.object].state;
            Some((registered.token, registered.must(state, self.features)))
        });
        registered.filter(|(_, facts)| *facts != NONE).collect()
    }

    /// The registration of `token`, and what has become of its file.
    pub(crate) fn registered(&mut self, token: u64) -> Option<(&mut Registered, &State)> {
        let handle = self.handles.iter_mut().find(|handle| {
            let registered = handle.registered.as_ref();
            registered.is_some_and(|registered| registered.token == token)
        })?;
        let state = &self.objects[handle.object].state;
        Some((handle.registered.as_mut()?, state))
    }

    /// Checks an event of a token that isn't registered: it must be of one that was closed without
    /// removal, and come once; unless its number is another's by now, or epoll, which goes by files,
    /// has it still.
    pub(crate) fn unregistered(&mut self, token: u64) -> Checked {
        let Some(at) = self.ghosts.iter().position(|ghost| ghost.token == token) else {
            return Err(format!("the token {token} is not registered"));
        };
        let ghost = &self.ghosts[at];
        if self.is_kept_by_epoll(ghost) || self.is_open(ghost.number) {
            return Ok(());
        }
        self.ghosts[at].reports += 1;
        if self.ghosts[at].reports > 1 {
            return Err(format!("the token {token} of what was closed comes again"));
        }
        Ok(())
    }

    /// Removes all that is registered.
    pub(crate) fn remove_all(&mut self) -> Checked {
        for at in 0..self.handles.len() {
            if self.handles[at].registered.is_some() {
                self.remove(at)?;
            }
        }
        Ok(())
    }

    fn on(&mut self, one: usize, act: impl FnOnce(&mut Self, usize) -> Checked) -> Checked {
        match self.handles.len() {
            0 => Ok(()),
            count => act(self, one % count),
        }
    }

    fn open(&mut self, kind: Kind) -> Checked {
        if self.handles.len() < MOST {
            let (file, peer) = descriptors::open(kind);
            self.objects.push(Object {
                state: State::new(kind),
                peer,
                names: 0,
            });
            self.name(file, self.objects.len() - 1);
        }
        Ok(())
    }

    fn duplicate(&mut self, at: usize) -> Checked {
        if self.handles.len() < MOST {
            let file = self.handles[at].file.try_clone().unwrap();
            self.name(file, self.handles[at].object);
        }
        Ok(())
    }

    fn name(&mut self, file: File, object: usize) {
        self.objects[object].names += 1;
        self.handles.push(Handle {
            file,
            object,
            registered: None,
        });
    }

    fn close(&mut self, at: usize) -> Checked {
        if self.handles[at].registered.is_some() {
            self.remove(at)?;
        }
        self.drop_handle(at);
        Ok(())
    }

    fn abandon(&mut self, at: usize) -> Checked {
        let handle = &mut self.handles[at];
        if let Some(registered) = handle.registered.take() {
            let number = handle.file.as_raw_fd();
            self.ghosts.push(Ghost {
                token: registered.token,
                number,
                object: handle.object,
                reports: 0,
            });
        }
        self.drop_handle(at);
        Ok(())
    }

    fn drop_handle(&mut self, at: usize) {
        let handle = self.handles.remove(at);
        let object = &mut self.objects[handle.object];
        object.names -= 1;
        drop(handle.file);
        if object.names == 0 {
            object.peer = None;
        }
    }

    fn add(&mut self, at: usize, wish: Wish) -> Checked {
        let token = self.next_token;
        let was_left = self.is_left(at);
        let mut added = self.call_add(at, token, wish);
        if was_left && is(&added, ErrorKind::AlreadyExists) && self.may_be_taken_for_ghost(at) {
            let _ = self.poller.remove(self.handles[at].file.as_fd());
            added = self.call_add(at, token, wish);
        }
        if self.handles[at].registered.is_some() {
            return expect(&added, Some(ErrorKind::AlreadyExists), "add, twice");
        }
        expect(&added, None, "add")?;
        self.exorcise(at);
        self.next_token += 1;
        let interest = self.allowed(at, wish);
        let wish = Wish { interest, ..wish };
        self.handles[at].registered = Some(Registered::new(token, wish));
        Ok(())
    }

    fn call_add(&self, at: usize, token: u64, wish: Wish) -> io::Result<()> {
        let (fd, interest) = (self.handles[at].file.as_fd(), self.allowed(at, wish));
        self.poller.add(fd, Token(token), interest, wish.mode)
    }

    fn modify(&mut self, at: usize, wish: Wish) -> Checked {
        if self.is_left(at) {
            return Ok(());
        }
        let before = self.handles[at]
            .registered
            .map(|registered| registered.token);
        let keeps = wish.keeps_token && !self.renames;
        let token = before.filter(|_| keeps).unwrap_or(self.next_token);
        let (fd, interest) = (self.handles[at].file.as_fd(), self.allowed(at, wish));
        let modified = self.poller.modify(fd, Token(token), interest, wish.mode);
        let Some(before) = before else {
            return expect(
                &modified,
                Some(ErrorKind::NotFound),
                "modify of the unknown",
            );
        };
        expect(&modified, None, "modify")?;
        if token != before {
            self.next_token += 1;
            self.retired.push(before);
        }
        let wish = Wish { interest, ..wish };
        self.handles[at].registered = Some(Registered::new(token, wish));
        Ok(())
    }

    fn rearm(&mut self, at: usize, interest: Interest) -> Checked {
        if self.is_left(at) {
            return Ok(());
        }
        let handle = &mut self.handles[at];
        let rearmed = self.poller.rearm(handle.file.as_fd(), interest);
        let Some(registered) = &mut handle.registered else {
            return expect(&rearmed, Some(ErrorKind::NotFound), "rearm of the unknown");
        };
        expect(&rearmed, None, "rearm")?;
        registered.rearm(interest);
        Ok(())
    }

    fn remove(&mut self, at: usize) -> Checked {
        let was_left = self.is_left(at);
        let handle = &mut self.handles[at];
        let removed = self.poller.remove(handle.file.as_fd());
        match handle.registered.take() {
            Some(registered) => {
                self.retired.push(registered.token);
                expect(&removed, None, "remove")
            }
            // What was left by a number's last owner may be known, or forgotten.
            None if was_left => {
                self.exorcise(at);
                Ok(())
            }
            None => expect(&removed, Some(ErrorKind::NotFound), "remove of the unknown"),
        }
    }

    fn read(&mut self, at: usize, all: bool) -> Checked {
        let handle = &mut self.handles[at];
        let state = &mut self.objects[handle.object].state;
        if state.kind == Kind::PipeWriter {
            return Ok(());
        }
        let did_block = if all {
            descriptors::drain(&handle.file)
        } else {
            descriptors::read(&handle.file, state.kind)
        };
        let takes_all = all || state.kind == Kind::Counter;
        let ends = if all {
            !state.peer_has_shut_down && !state.peer_has_closed
        } else {
            state.blocks_reads()
        };
        if did_block != ends {
            return Err(format!("a read of {state:?} blocks: {did_block}"));
        }
        if state.kind == Kind::Counter {
            state.is_full = false;
        }
        state.incoming = if takes_all {
            0
        } else {
            state.incoming.saturating_sub(1)
        };
        if let Some(registered) = handle.registered.as_mut().filter(|_| did_block) {
            registered.block(Interest::READABLE, self.features);
        }
        Ok(())
    }

    fn write(&mut self, at: usize) -> Checked {
        let handle = &mut self.handles[at];
        let state = &mut self.objects[handle.object].state;
        if state.kind == Kind::PipeReader || (state.outgoing > SMALL && !state.is_full) {
            return Ok(());
        }
        let should_block = state.blocks_writes();
        let did_block = descriptors::write(&handle.file, state.kind);
        if did_block != should_block {
            return Err(format!("a write to {state:?} blocks: {did_block}"));
        }
        match state.kind {
            Kind::Counter if !did_block => {
                state.incoming += 1;
                state.is_full = state.incoming == FULL;
            }
            _ if !did_block => state.outgoing += 1,
            _ => {}
        }
        if let Some(registered) = handle.registered.as_mut().filter(|_| did_block) {
            registered.block(Interest::WRITABLE, self.features);
        }
        Ok(())
    }

    fn fill(&mut self, at: usize) -> Checked {
        let handle = &mut self.handles[at];
        let state = &mut self.objects[handle.object].state;
        if state.kind == Kind::PipeReader || state.has_shut_down || state.peer_has_closed {
            return Ok(());
        }
        if state.kind == Kind::Counter {
            descriptors::count(&handle.file, FULL - state.incoming);
            state.incoming = FULL;
        } else {
            if !descriptors::fill(&handle.file) {
                return Err(format!("{state:?} does not fill"));
            }
            state.outgoing += 1;
            if let Some(registered) = &mut handle.registered {
                registered.block(Interest::WRITABLE, self.features);
            }
        }
        state.is_full = true;
        Ok(())
    }

    fn shut_down(&mut self, at: usize) -> Checked {
        let object = self.handles[at].object;
        let state = &mut self.objects[object].state;
        if state.kind == Kind::Stream && !state.peer_has_closed {
            rustix::net::shutdown(&self.handles[at].file, rustix::net::Shutdown::Write).unwrap();
            state.has_shut_down = true;
            for handle in self.handles.iter_mut().filter(|one| one.object == object) {
                if let Some(registered) = &mut handle.registered {
                    registered.shut_down();
                }
            }
        }
        Ok(())
    }

    fn peer_writes(&mut self, at: usize) -> Checked {
        let Object { state, peer, .. } = &mut self.objects[self.handles[at].object];
        if state.kind == Kind::Counter {
            return self.write(at);
        }
        let can = state.kind != Kind::PipeWriter && !state.peer_has_shut_down;
        if let Some(peer) = peer.as_ref().filter(|_| can && state.incoming < SMALL) {
            descriptors::write(peer, state.kind);
            state.incoming += 1;
        }
        Ok(())
    }

    fn peer_drains(&mut self, at: usize) -> Checked {
        let Object { state, peer, .. } = &mut self.objects[self.handles[at].object];
        if let Some(peer) = peer.as_ref().filter(|_| state.kind != Kind::PipeReader) {
            descriptors::drain(peer);
            state.outgoing = 0;
            state.is_full = false;
        }
        Ok(())
    }

    fn peer_shuts_down(&mut self, at: usize) -> Checked {
        let Object { state, peer, .. } = &mut self.objects[self.handles[at].object];
        if let Some(peer) = peer.as_ref().filter(|_| state.kind == Kind::Stream) {
            rustix::net::shutdown(peer, rustix::net::Shutdown::Write).unwrap();
            state.peer_has_shut_down = true;
        }
        Ok(())
    }

    fn peer_closes(&mut self, at: usize) -> Checked {
        let Object { state, peer, .. } = &mut self.objects[self.handles[at].object];
        if peer.take().is_some() {
            state.peer_has_closed = true;
            state.peer_has_shut_down |= state.kind != Kind::PipeWriter;
            state.was_reset = state.outgoing > 0;
        }
        Ok(())
    }

    /// What may be asked of a descriptor: nobody waits to write to the end that is read.
    fn allowed(&self, at: usize, wish: Wish) -> Interest {
        match self.objects[self.handles[at].object].state.kind {
            Kind::PipeReader => wish.interest.intersection(Interest::READABLE),
            _ => wish.interest,
        }
    }

    /// Says whether the number was closed without removal by the last who had it.
    fn is_left(&self, at: usize) -> bool {
        let handle = &self.handles[at];
        let number = handle.file.as_raw_fd();
        handle.registered.is_none() && self.ghosts.iter().any(|ghost| ghost.number == number)
    }

    /// Says whether the two can't be told apart: they are one file, or counters.
    fn may_be_taken_for_ghost(&self, at: usize) -> bool {
        let handle = &self.handles[at];
        let kind = |object: usize| self.objects[object].state.kind;
        let mut ghosts = self.ghosts.iter();
        ghosts.any(|ghost| {
            ghost.number == handle.file.as_raw_fd()
                && (ghost.object == handle.object
                    || (kind(ghost.object) == Kind::Counter
                        && kind(handle.object) == Kind::Counter))
        })
    }

    /// The number is its new owner's: what was left of it must not come any more.
    fn exorcise(&mut self, at: usize) {
        let (number, object) = (self.handles[at].file.as_raw_fd(), self.handles[at].object);
        let ghosts = std::mem::take(&mut self.ghosts);
        let keep = |ghost: &Ghost| {
            ghost.number != number || (ghost.object != object && self.is_kept_by_epoll(ghost))
        };
        self.ghosts = ghosts.into_iter().filter(keep).collect();
    }

    fn is_kept_by_epoll(&self, ghost: &Ghost) -> bool {
        self.poller.backend() == Backend::Epoll && self.objects[ghost.object].names > 0
    }

    fn is_open(&self, number: RawFd) -> bool {
        let ours = self.handles.iter().map(|handle| &handle.file);
        let theirs = self
            .objects
            .iter()
            .filter_map(|object| object.peer.as_ref());
        ours.chain(theirs).any(|file| file.as_raw_fd() == number)
    }
}

fn is(result: &io::Result<()>, kind: ErrorKind) -> bool {
    matches!(result, Err(error) if error.kind() == kind)
}

/// Fails if `result` is not what it is to be.
fn expect(result: &io::Result<()>, error: Option<ErrorKind>, what: &str) -> Checked {
    let kind = result.as_ref().err().map(io::Error::kind);
    if kind == error {
        return Ok(());
    }
    Err(format!("{what}: {result:?}, not {error:?}"))
}
