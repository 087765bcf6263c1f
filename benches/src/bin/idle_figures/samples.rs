//! What was measured, and how it spreads.

use std::fmt;

use crate::Failure;

/// The samples of a run.
pub(crate) struct Samples {
    /// The lines of the head: where and how they were measured.
    pub(crate) head: Vec<String>,
    /// One for each round, server and number of idle connections.
    all: Vec<Sample>,
}

/// One server with one number of idle connections in one round.
pub(crate) struct Sample {
    /// The round.
    round: u32,
    /// The name of the server.
    server: String,
    /// How many connections were idle.
    idle: u64,
    /// How many requests were answered each second.
    pub(crate) rate: f64,
    /// Microseconds of the server's processor time for each request.
    pub(crate) cost: f64,
    /// Changes of interest for each request, where they are counted.
    pub(crate) changes: Option<f64>,
}

/// A number that is measured.
pub(crate) type Measure = fn(&Sample) -> f64;

impl Samples {
    /// Reads what the script has written.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let (head, lines): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with('#'));
        let all = lines
            .iter()
            .skip(1)
            .map(|line| Sample::parse(line).ok_or_else(|| format!("not a sample: {line}").into()))
            .collect::<Result<Vec<_>, Failure>>()?;
        if all.is_empty() {
            return Err("no samples".into());
        }
        let head = head.iter().map(|line| line[1..].trim().to_owned());
        Ok(Samples {
            head: head.collect(),
            all,
        })
    }

    /// Returns the servers, in the order of their names.
    pub(crate) fn servers(&self) -> Vec<&str> {
        let mut servers: Vec<_> = self.all.iter().map(|one| one.server.as_str()).collect();
        servers.sort_unstable();
        servers.dedup();
        servers
    }

    /// Returns the numbers of idle connections, from the lowest to the highest.
    pub(crate) fn idle_counts(&self) -> Vec<u64> {
        let mut counts: Vec<_> = self.all.iter().map(|one| one.idle).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// Returns how `measure` spreads over the rounds for one server and number of connections.
    pub(crate) fn spread(&self, server: &str, idle: u64, measure: Measure) -> Option<Spread> {
        Spread::of(self.of(server, idle).map(measure).collect())
    }

    /// Returns how the ratio of `measure` between two points of the same round spreads.
    pub(crate) fn ratio(
        &self,
        over: (&str, u64),
        under: (&str, u64),
        measure: Measure,
    ) -> Option<Spread> {
        let ratios = self.of(over.0, over.1).filter_map(|one| {
            let mut others = self.of(under.0, under.1);
            let other = others.find(|other| other.round == one.round)?;
            Some(measure(one) / measure(other))
        });
        Spread::of(ratios.collect())
    }

    /// Returns the most changes of interest for each request that any sample has counted.
    pub(crate) fn most_changes(&self) -> Option<f64> {
        self.all
            .iter()
            .filter_map(|one| one.changes)
            .reduce(f64::max)
    }

    /// Returns the samples of one server with one number of connections.
    fn of(&self, server: &str, idle: u64) -> impl Iterator<Item = &Sample> {
        self.all
            .iter()
            .filter(move |one| one.server == server && one.idle == idle)
    }
}

impl Sample {
    /// Reads one line.
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<_> = line.split(',').collect();
        let [round, server, idle, requests, seconds, processor, changes] = fields[..] else {
            return None;
        };
        let requests: f64 = requests.parse().ok()?;
        let nanoseconds: f64 = processor.parse().ok()?;
        let changes = match changes {
            "" => None,
            counted => Some(counted.parse::<f64>().ok()? / requests),
        };
        Some(Sample {
            round: round.parse().ok()?,
            server: server.to_owned(),
            idle: idle.parse().ok()?,
            rate: requests / seconds.parse::<f64>().ok()?,
            cost: nanoseconds / 1e3 / requests,
            changes,
        })
    }
}

/// How a measured number spreads over the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The least.
    pub(crate) least: f64,
    /// The one in the middle, or the mean of the two.
    pub(crate) median: f64,
    /// The most.
    pub(crate) most: f64,
}

impl Spread {
    /// Returns the spread of `numbers`, if there are any.
    fn of(mut numbers: Vec<f64>) -> Option<Self> {
        numbers.sort_unstable_by(f64::total_cmp);
        let middle = numbers.len() / 2;
        let (least, most) = (*numbers.first()?, *numbers.last()?);
        let median = if numbers.len() % 2 == 1 {
            numbers[middle]
        } else {
            f64::midpoint(numbers[middle - 1], numbers[middle])
        };
        Some(Spread {
            least,
            median,
            most,
        })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = formatter.precision().unwrap_or(2);
        let Spread {
            least,
            median,
            most,
        } = self;
        write!(
            formatter,
            "{median:.digits$} ({least:.digits$} to {most:.digits$})"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Samples, Spread};

    const TEXT: &str = "# kernel: Linux\nround,server,...\n\
        0,a,0,100,2.0,1000000,0\n\
        0,a,8,50,1.0,1000000,25\n\
        1,a,8,50,1.0,4000000,0\n\
        1,a,0,100,1.0,2000000,0\n\
        1,b,0,100,1.0,2000000,\n";

    #[test]
    fn ratios_are_taken_within_a_round() {
        let samples = Samples::parse(TEXT).unwrap();
        let ratio = samples.ratio(("a", 8), ("a", 0), |one| one.cost).unwrap();
        assert_eq!((ratio.least, ratio.median, ratio.most), (2.0, 3.0, 4.0));
        assert_eq!(samples.ratio(("a", 8), ("b", 8), |one| one.cost), None);
    }

    #[test]
    fn numbers_are_for_each_request() {
        let samples = Samples::parse(TEXT).unwrap();
        let rate = samples.spread("a", 0, |one| one.rate).unwrap();
        assert_eq!((rate.least, rate.median, rate.most), (50.0, 75.0, 100.0));
        assert_eq!(samples.spread("b", 0, |one| one.cost).unwrap().median, 20.0);
        assert_eq!(samples.most_changes(), Some(0.5));
        assert_eq!(samples.head, ["kernel: Linux"]);
    }

    #[test]
    fn the_median_of_an_odd_number_is_the_one_in_the_middle() {
        let spread = Spread::of(vec![3.0, 1.0, 2.5]).unwrap();
        assert_eq!(format!("{spread:.1}"), "2.5 (1.0 to 3.0)");
        assert_eq!(Spread::of(Vec::new()), None);
    }

    #[test]
    fn what_is_no_sample_is_said() {
        let failure = Samples::parse("round\n1,a,2\n").err().unwrap();
        assert_eq!(failure.to_string(), "not a sample: 1,a,2");
        assert!(Samples::parse("round\n").is_err());
    }
}
