//! Applying one change.
//!
//! 1. A descriptor that is not open gives `EBADF`, whatever the change asks for.
//! 2. `EV_DELETE` removes the knote; `ENOENT` if it is not there.
//! 3. Without `EV_ADD`, a knote that is not there gives `ENOENT`.
//! 4. `EV_ADD` of a new knote fixes its mode (`EV_CLEAR`, `EV_ONESHOT`, `EV_DISPATCH`). `EV_ADD` of
//!    one that is there replaces udata, fflags and data, and leaves the mode alone.
//! 5. `EV_ADD` and `EV_ENABLE` enable, unless `EV_DISABLE` is there as well.
//! 6. In the end an enabled knote's filter is asked, so that what holds already is reported.

use std::os::fd::RawFd;

use crate::abi::{self, Kevent};
use crate::audit;
use crate::environment::environment;
use crate::filter::kind::{self, Admission, Kind};
use crate::filter::{timer, user};
use crate::knote::{Filter, Key, Knote, Source};
use crate::sys::probe::{self, Status};
use crate::sys::{self, Errno};
use crate::table::{QueueId, Table};
use crate::violations::{self, Kind as Breach};

impl Table {
    /// Applies a change to a queue.
    pub(crate) fn apply(&mut self, id: QueueId, change: &Kevent) -> Result<(), Errno> {
        let variant = &environment().variant;
        audit::flags(change, variant);
        let Some(filter) = Filter::of(change.filter) else {
            violations::record(Breach::UnknownFilter, format_args!("{change:?}"));
            return Err(libc::EINVAL);
        };
        if filter == Filter::User && variant.refuses_user {
            return Err(libc::EINVAL);
        }
        audit::notes(filter, change, variant);
        let key = Key {
            ident: change.ident,
            filter,
        };
        let status = match filter.watches_descriptor() {
            true => Some(self.open_descriptor(id, key, change)?),
            false => None,
        };
        let exists = self.queue(id).knotes.contains_key(&key);
        if change.flags & abi::EV_DELETE != 0 {
            self.delete(id, key)
        } else if exists {
            self.update(id, key, change)
        } else if change.flags & abi::EV_ADD != 0 {
            self.make(id, key, change, status)
        } else {
            audit::missing(key, change);
            Err(libc::ENOENT)
        }
    }

    /// Looks at the descriptor of a change (rule 1). A knote that belongs to an earlier file of
    /// that number, closed unseen, goes now; it would have gone by itself in a kernel.
    fn open_descriptor(&mut self, id: QueueId, key: Key, change: &Kevent) -> Result<Status, Errno> {
        let fd = RawFd::try_from(key.ident).unwrap_or(-1);
        let status = if self.owns(fd) {
            Err(libc::EBADF)
        } else {
            probe::status(fd)
        };
        let known = self
            .queue(id)
            .knotes
            .get(&key)
            .map(|knote| knote.source.clone());
        if let Some(Source::Descriptor { identity, .. }) = known {
            if status.as_ref().map(|status| status.identity) != Ok(identity) {
                violations::record(Breach::UnseenClose, format_args!("descriptor {fd}"));
                self.queue(id).remove(key);
            }
        }
        status.inspect_err(|_| {
            let went_with_close = self.queue(id).gone.remove(&key);
            if !(went_with_close && change.flags & abi::EV_DELETE != 0) {
                violations::record(Breach::ClosedDescriptor, format_args!("{change:?}"));
            }
        })
    }

    /// Tells whether a number is one of the emulation's own.
    pub(crate) fn owns(&self, fd: RawFd) -> bool {
        self.queues.values().any(|queue| queue.owns(fd))
    }

    /// Rule 2.
    fn delete(&mut self, id: QueueId, key: Key) -> Result<(), Errno> {
        let queue = self.queue(id);
        if queue.remove(key).is_some() {
            return Ok(());
        }
        if !queue.gone.remove(&key) {
            violations::record(Breach::DeleteMissing, format_args!("{key:?}"));
        }
        Err(libc::ENOENT)
    }

    /// Rule 4, for a knote that is there.
    fn update(&mut self, id: QueueId, key: Key, change: &Kevent) -> Result<(), Errno> {
        let variant = &environment().variant;
        let queue = self.queue(id);
        let Some(knote) = queue.knotes.get_mut(&key) else {
            return Err(libc::ENOENT);
        };
        audit::repeated(key, knote, change);
        if change.flags & abi::EV_KEEPUDATA == 0 {
            knote.udata = change.udata;
        }
        match key.filter {
            Filter::User => user::touch(knote, change, variant),
            Filter::Timer if change.flags & abi::EV_ADD == 0 => {}
            Filter::Timer => {
                knote.source = timer::new(change, variant, sys::now())?;
                (knote.fflags, knote.data) = (change.fflags, change.data);
                queue.unqueue(key);
            }
            Filter::Read | Filter::Write => {
                (knote.fflags, knote.data) = (change.fflags, change.data);
            }
        }
        self.switch(id, key, change.flags)
    }

    /// Rules 5 and 6.
    fn switch(&mut self, id: QueueId, key: Key, flags: u16) -> Result<(), Errno> {
        let queue = self.queue(id);
        let Some(knote) = queue.knotes.get_mut(&key) else {
            return Err(libc::ENOENT);
        };
        if flags & abi::EV_DISABLE != 0 {
            knote.enabled = false;
            queue.unwatch(key);
            queue.unqueue(key);
        } else if flags & (abi::EV_ADD | abi::EV_ENABLE) != 0 && !knote.enabled {
            knote.enabled = true;
            self.watch(id, key)?;
        }
        self.activate(id, key);
        Ok(())
    }

    /// Rule 4, for a new knote.
    fn make(
        &mut self,
        id: QueueId,
        key: Key,
        change: &Kevent,
        status: Option<Status>,
    ) -> Result<(), Errno> {
        let variant = &environment().variant;
        let (source, admission) = match (key.filter, status) {
            (Filter::User, _) => (user::new(change, variant), Admission::Accepted),
            (_, Some(status)) => self.descriptor_source(id, key, &status),
            (_, None) => (
                timer::new(change, variant, sys::now())?,
                Admission::Accepted,
            ),
        };
        if let Admission::Refused(error) = admission {
            return Err(error);
        }
        let knote = Knote::new(change, source);
        let enabled = knote.enabled;
        self.queue(id).insert(key, knote)?;
        if enabled {
            if let Err(error) = self.watch(id, key) {
                self.queue(id).remove(key);
                return Err(error);
            }
        }
        self.activate(id, key);
        match admission {
            Admission::AcceptedWith(error) => Err(error),
            _ => Ok(()),
        }
    }

    fn descriptor_source(&mut self, id: QueueId, key: Key, status: &Status) -> (Source, Admission) {
        let fd = key.descriptor();
        let kind = match self.queue_named(fd) {
            Some(_) => Kind::Queue,
            None => kind::classify(fd, status),
        };
        let variant = &environment().variant;
        let admission = kind::admit(fd, kind, status.device, key.filter, variant);
        let serial = self.queue(id).next_serial();
        (
            Source::Descriptor {
                kind,
                identity: status.identity,
                serial,
            },
            admission,
        )
    }

    /// Lets edges come to a knote. A regular file has none and is looked at in every call; what
    /// else the kernel cannot poll is refused.
    fn watch(&mut self, id: QueueId, key: Key) -> Result<(), Errno> {
        let queue = self.queue(id);
        let source = queue.knotes.get(&key).map(|knote| knote.source.clone());
        if let Some(Source::Descriptor {
            kind: Kind::File, ..
        }) = source
        {
            queue.unwatched.push(key);
            return Ok(());
        }
        queue.watch(key).map_err(|error| {
            if error == libc::EPERM {
                libc::EINVAL
            } else {
                error
            }
        })
    }
}
