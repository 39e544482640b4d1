"use strict";
// How good the simulation of the chosen site is: scores, flow duration, scatter; and how the model learned.
(() => {
  const m = window.mclstm;

  const draw_scores = () => {
    const scores = m.about.sites[m.chosen.site].scores, names = Object.keys(m.about.metrics);
    const known = names.filter(name => Object.values(scores).some(row => row[name] !== null && row[name] !== undefined));
    if (!known.length) return m.find("scores").replaceChildren(m.make("p", {}, "There are no observations to compare with."));
    const rows = Object.entries(scores).map(([model, row]) => m.make("tr", {}, m.make("td", {}, m.label(model)),
      ...known.map(name => m.make("td", { class: "number" }, m.number(row[name])))));
    const head = m.make("tr", {}, m.make("th", {}, "model"), ...known.map(name => m.make("th", { class: "number" }, m.about.metrics[name])));
    return m.find("scores").replaceChildren(m.make("div", { class: "wide" }, m.make("table", {}, m.make("thead", {}, head), m.make("tbody", {}, ...rows))));
  };

  // The value that is exceeded in so many percent of all steps, at 200 places, close together at both ends.
  const exceedance = values => {
    const sorted = values.filter(value => value !== null).sort((a, b) => b - a);
    return PLACES.map(place => sorted.length ? sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(place / 100 * (sorted.length + 1)) - 1))] : null);
  };
  const PLACES = Array.from({ length: 201 }, (_, at) => 50 * (1 - Math.cos(Math.PI * at / 200)));
  const draw_duration = () => {
    const target = m.target(), both = step => !target.observed || target.observed[step] !== null;
    const lines = Object.entries(target.simulated).map(([name, values]) => [m.label(name), m.model_colour(name), values.filter((_, step) => both(step))]);
    if (target.observed) lines.unshift(["observed", m.colour("observed"), target.observed]);
    const columns = lines.map(([, , values]) => exceedance(values));
    const positive = columns.flat().filter(value => value > 0), log = positive.length > 0.9 * columns.flat().length;
    m.find("duration").dataset.title = m.with_unit(`flow duration: ${target.name}`, target.unit);
    m.chart(m.find("duration"), {
      height: 280,
      scales: { x: { time: false, range: [0, 100] }, y: log ? { distr: 3 } : {} },
      axes: [{ label: "steps with a higher value (%)", labelSize: 22 }, { size: 60 }],
      series: [{ label: "%", value: (_, value) => m.number(value) },
        ...lines.map(([label, stroke]) => ({ label, stroke, width: 1.6, points: { show: false }, value: (_, value) => m.number(value) }))],
    }, [PLACES, ...columns.map(column => log ? column.map(value => value > 0 ? value : null) : column)]);
  };

  const draw_scatter = () => {
    const target = m.target(), holder = m.find("scatter"), width = Math.min(440, Math.max(260, holder.clientWidth));
    if (!target.observed) return holder.replaceChildren(m.make("p", {}, "There are no observations to compare with."));
    const pairs = Object.entries(target.simulated).map(([name, values]) => [name, values.map((value, step) => [target.observed[step], value]).filter(([a, b]) => a !== null && b !== null)]);
    const all = pairs.flatMap(([, points]) => points.flat()), log = all.filter(value => value > 0).length > 0.95 * all.length && Math.max(...all) > 0;
    const positive = all.filter(value => value > 0);
    const low = log ? lowest(positive) : Math.min(0, lowest(all)), high = highest(all) * 1.05 || 1;
    const axis = what => ({ low, high, log, label: m.with_unit(what, target.unit) });
    const { svg, at } = m.frame(width, width, axis("observed"), axis("simulated"));
    const [x0, y0] = at(low, low), [x1, y1] = at(high, high);
    svg.append(m.svg("path", { d: `M${x0} ${y0}L${x1} ${y1}`, stroke: m.colour("guide"), "stroke-dasharray": "5 3" }));
    for (const [name, points] of pairs) {
      // One path of dots: thousands of circles would be slow.
      const dots = points.filter(([a, b]) => !log || (a > 0 && b > 0)).map(([a, b]) => {
        const [x, y] = at(a, b);
        return `M${x.toFixed(1)} ${y.toFixed(1)}h0`;
      });
      svg.append(m.svg("path", { d: dots.join("") || "M0 0", class: "dots", stroke: m.model_colour(name), "stroke-width": 4, "stroke-linecap": "round", "stroke-opacity": 0.35, fill: "none" }));
    }
    return holder.replaceChildren(svg);
  };
  const lowest = values => values.reduce((least, value) => Math.min(least, value), Infinity);
  const highest = values => values.reduce((most, value) => Math.max(most, value), -Infinity);

  const draw_curves = () => {
    const holder = m.find("curves"), labels = [...new Set(m.about.models.flatMap(model => model.curves.map(curve => curve.label)))];
    for (const old of holder.children) old.chart?.destroy();
    holder.replaceChildren();
    if (!labels.length) holder.append(m.make("p", {}, "This page was made without a record of training."));
    for (const label of labels) {
      const lines = m.about.models.flatMap(model => model.curves.filter(curve => curve.label === label).map(curve => [model, curve]));
      const updates = [...new Set(lines.flatMap(([, curve]) => curve.updates))].sort((a, b) => a - b);
      const columns = lines.map(([, curve]) => {
        const known = new Map(curve.updates.map((update, at) => [update, curve.values[at]]));
        return updates.map(update => known.get(update) ?? null);
      });
      const values = columns.flat().filter(value => value !== null);
      const log = !label.includes("NSE") && values.every(value => value > 0);
      m.chart(holder.appendChild(m.make("div")), {
        title: label, height: 170,
        scales: { x: { time: false }, y: log ? { distr: 3 } : label.includes("NSE") ? { range: (_, low, high) => [Math.max(-1, low ?? 0), Math.min(1, (high ?? 1) + 0.05)] } : {} },
        axes: [{}, { size: 70 }],
        series: [{ label: "update", value: (_, value) => m.number(value) }, ...lines.map(([model]) => ({ label: model.label, stroke: m.model_colour(model.name), width: 1.4, spanGaps: true, points: { show: updates.length < 60 }, value: (_, value) => m.number(value) }))],
      }, [updates, ...columns]);
    }
  };

  m.views.push(() => {
    draw_scores();
    draw_duration();
    draw_scatter();
    draw_curves();
  });
  m.savers["duration-png"] = () => m.save_charts(m.file_name("flow-duration", "png"), [m.find("duration")]);
  m.savers["scatter-png"] = () => m.save_svg(m.file_name("scatter", "png"), m.find("scatter").querySelector("svg"));
})();
