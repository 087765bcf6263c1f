//! A queue of one thread that mostly holds one task.

use std::collections::VecDeque;

/// First come, first served. A lone element has a place of its own, which is cheaper to fill and
/// to empty than the ring behind it.
#[derive(Debug)]
pub(crate) struct Line<T> {
    /// There is one unless the line is empty.
    first: Option<T>,
    rest: VecDeque<T>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self {
            first: None,
            rest: VecDeque::new(),
        }
    }
}

impl<T> Line<T> {
    #[inline(always)]
    pub(crate) fn push(&mut self, element: T) {
        if self.first.is_none() {
            self.first = Some(element);
        } else {
            self.rest.push_back(element);
        }
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<T> {
        let popped = self.first.take();
        if popped.is_some() && !self.rest.is_empty() {
            self.first = self.rest.pop_front();
        }
        popped
    }

    /// Adds an element and takes the one in front, which is the same if there are no others.
    #[inline(always)]
    pub(crate) fn exchange(&mut self, element: T) -> T {
        let Some(first) = self.first.take() else {
            return element;
        };
        self.first = match self.rest.pop_front() {
            None => Some(element),
            next => {
                self.rest.push_back(element);
                next
            }
        };
        first
    }

    /// Has the element at `index` change places with the first.
    pub(crate) fn bring_forward(&mut self, index: usize) {
        if let Some(behind) = index.checked_sub(1) {
            if let (Some(first), Some(other)) = (&mut self.first, self.rest.get_mut(behind)) {
                std::mem::swap(first, other);
            }
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }
}

impl<T> Extend<T> for Line<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        elements.into_iter().for_each(|element| self.push(element));
    }
}

impl<T> IntoIterator for Line<T> {
    type Item = T;
    type IntoIter =
        std::iter::Chain<std::option::IntoIter<T>, std::collections::vec_deque::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.rest)
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_comes_first_goes_first() {
        let mut line = Line::default();
        assert!(line.is_empty());
        line.extend(0..3);
        line.bring_forward(2);
        line.bring_forward(0);
        line.bring_forward(7);
        assert_eq!(line.pop(), Some(2));
        line.bring_forward(1);
        assert_eq!(line.pop(), Some(0));
        line.push(3);
        line.push(4);
        let popped: Vec<_> = std::iter::from_fn(|| line.pop()).collect();
        assert_eq!(popped, [1, 3, 4]);
        assert_eq!(line.exchange(5), 5);
        line.push(6);
        assert_eq!(line.exchange(7), 6);
        line.push(8);
        assert_eq!(line.exchange(5), 7);
        assert_eq!(line.pop(), Some(8));
        assert_eq!(line.into_iter().collect::<Vec<_>>(), [5]);
    }
}
