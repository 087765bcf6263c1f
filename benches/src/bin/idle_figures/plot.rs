//! The plot: two panels with a line for each server.

use plotters::chart::SeriesLabelPosition;
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::Failure;
use crate::samples::{Measure, Samples};

/// The size of the whole.
const SIZE: (u32, u32) = (1_100, 460);
/// The text of the axes and of the legend.
const TEXT: (&str, i32) = ("sans-serif", 14);
/// The text of the titles.
const TITLE: (&str, i32) = ("sans-serif", 17);

/// Where the plot is drawn: into a string.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws the plot and returns it as SVG.
pub(crate) fn draw(samples: &Samples) -> Result<String, Failure> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let (left, right) = area.split_horizontally(SIZE.0 / 2);
        panel(&left, "requests per second", samples, |one| one.rate)?;
        let title = "processor time per request, µs";
        panel(&right, title, samples, |one| one.cost)?;
        area.present()?;
    }
    Ok(svg)
}

/// Draws one panel: medians as a line, least to most as a bar, on a logarithmic scale.
fn panel(area: &Area<'_>, title: &str, samples: &Samples, measure: Measure) -> Result<(), Failure> {
    let counts = samples.idle_counts();
    let last = counts.last().copied().unwrap_or(1).max(1) as f64;
    let (low, high) = bounds(samples, measure);
    let mut chart = ChartBuilder::on(area)
        .caption(title, TITLE)
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(64)
        .build_cartesian_2d(-last * 0.02..last * 1.02, (low..high).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("idle connections")
        .x_labels(9)
        .x_label_formatter(&|count| format!("{count:.0}"))
        .y_label_formatter(&|number| format!("{number}"))
        .label_style(TEXT)
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .draw()?;

    for server in samples.servers() {
        let style = style(server);
        let points = counts.iter().filter_map(|&idle| {
            let spread = samples.spread(server, idle, measure)?;
            Some((idle as f64, spread))
        });
        let points: Vec<_> = points.collect();
        let medians = points.iter().map(|(idle, spread)| (*idle, spread.median));
        chart
            .draw_series(LineSeries::new(medians.clone(), style))?
            .label(server)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], style));
        chart.draw_series(medians.map(|point| Circle::new(point, 3, style.filled())))?;
        chart.draw_series(points.iter().map(|(idle, spread)| {
            PathElement::new([(*idle, spread.least), (*idle, spread.most)], style)
        }))?;
    }
    // Between the lines of the mechanisms, which part as the connections grow.
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleRight)
        .margin(16)
        .label_font(TEXT)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.2))
        .draw()?;
    Ok(())
}

/// Returns the powers of ten around everything that is drawn.
fn bounds(samples: &Samples, measure: Measure) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::MIN_POSITIVE);
    for server in samples.servers() {
        for idle in samples.idle_counts() {
            if let Some(spread) = samples.spread(server, idle, measure) {
                low = low.min(spread.least);
                high = high.max(spread.most);
            }
        }
    }
    let power = |number: f64| 10_f64.powf(number);
    (power(low.log10().floor()), power(high.log10().ceil()))
}

/// Returns the line of a server: one colour for a family, lighter where it is on poll.
fn style(server: &str) -> ShapeStyle {
    let color = match server {
        "windlass-epoll" => RGBColor(0, 90, 181),
        "windlass-poll" => RGBColor(94, 165, 235),
        "bare-epoll" => RGBColor(70, 70, 70),
        "bare-poll" => RGBColor(165, 165, 165),
        "tokio" => RGBColor(220, 95, 20),
        _ => RGBColor(30, 140, 70),
    };
    color.stroke_width(2)
}
