"use strict";
// Inflow, outflow and stores of the chosen site, linked in time; rings mark the peaks that were traced.
(() => {
  const m = window.mclstm;
  const panels = {};
  const panel = (name, title) => {
    panels[name] ??= m.find("panels").appendChild(m.make("div", { id: `panel-${name}` }));
    panels[name].dataset.title = title;
    return panels[name];
  };
  const line = (label, stroke, width = 1.4) => ({
    label, stroke, width, points: { show: false }, value: (_, value) => m.number(value),
  });
  const from_zero = (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.05];
  const step_word = { label: "date", value: (_, seconds) => seconds === null ? "–" : m.date(seconds) };

  const draw_inflow = () => {
    const title = m.with_unit("inflow", m.about.unit), colour = m.colour("inflow");
    m.chart(panel("inflow", title), {
      title, height: 130, link: true,
      scales: { x: { time: true }, y: { dir: -1, range: from_zero } },
      series: [step_word, { ...line("inflow", colour, 1), fill: colour, paths: uPlot.paths.bars({ size: [0.9, 60, 1] }) }],
      axes: [{}, { size: 60 }],
    }, [m.times(), m.content.inflow]);
  };

  const draw_flow = () => {
    const target = m.target(), title = m.with_unit(target.name, target.unit);
    const series = [step_word], data = [m.times()], bands = [];
    for (const [name, [low, high]] of Object.entries(target.members)) {
      const faint = `color-mix(in srgb, ${m.model_colour(name)} 45%, transparent)`;
      bands.push({ series: [series.length + 1, series.length], fill: faint });
      series.push(line(`${m.label(name)}, lowest`, faint, 0.5), line(`${m.label(name)}, highest`, faint, 0.5));
      data.push(low, high);
    }
    if (target.observed) {
      series.push(line("observed", m.colour("observed"), 1.2));
      data.push(target.observed);
    }
    for (const [name, values] of Object.entries(target.simulated)) {
      series.push(line(m.label(name), m.model_colour(name)));
      data.push(values);
    }
    const rings = peak_rings(target);
    const chart = m.chart(panel("flow", title), {
      title, height: 260, link: true, series, bands, scales: { x: { time: true }, y: { range: from_zero } }, axes: [{}, { size: 60 }],
      hooks: { draw: [self => rings.forEach(ring => place(self, ring))] },
    }, data);
    for (const { button } of rings) chart.over.append(button);
    rings.forEach(ring => place(chart, ring));
  };

  const peak_rings = target => {
    const ages = m.content.ages[m.chosen.model], values = target.simulated[m.chosen.model];
    if (!ages || !values || ages.outlet !== target.name) return [];
    return ages.peaks.map((peak, number) => ({
      seconds: m.times()[peak.at], value: values[peak.at],
      button: m.make("button", {
        type: "button", class: "ring", "data-peak": number, title: "What is behind this peak?",
        "aria-label": `Peak of ${m.date(m.times()[peak.at])}`, "aria-pressed": String(m.chosen.peak === number),
        mousedown: event => event.stopPropagation(), click: () => m.choose_peak(number),
      }),
    }));
  };
  const place = (chart, { seconds, value, button }) => {
    const x = chart.valToPos(seconds, "x"), y = chart.valToPos(value, "y");
    button.hidden = !(x >= 0 && x <= chart.over.clientWidth);
    button.style.left = `${x}px`;
    button.style.top = `${y}px`;
  };

  const draw_stores = () => {
    const stores = m.content.stores[m.chosen.model];
    const title = m.with_unit(`stores of ${m.label(m.chosen.model)}`, m.about.amount);
    const holder = panel("stores", title);
    if (!stores) return m.clear(holder);
    const layers = stores.layers.map(({ name, values, lost }, at) => ({ name, values, colour: m.colour(lost ? "losses" : `layer-${at % 6}`) }));
    const { series, columns } = m.stacked(layers, m.about.amount);
    return m.chart(holder, {
      title, height: 190, link: true, series: [step_word, ...series], scales: { x: { time: true }, y: { range: from_zero } }, axes: [{}, { size: 60 }],
    }, [m.coarse(), ...columns]);
  };

  m.views.push(() => {
    draw_inflow();
    draw_flow();
    draw_stores();
  });

  m.savers["series-csv"] = () => {
    const target = m.target(), head = ["date", m.with_unit("inflow", m.about.unit)], columns = [m.content.inflow];
    if (target.observed) {
      head.push(m.with_unit(`observed ${target.name}`, target.unit));
      columns.push(target.observed);
    }
    for (const [name, values] of Object.entries(target.simulated)) {
      head.push(m.with_unit(`${target.name} of ${name}`, target.unit));
      columns.push(values);
    }
    for (const [name, stores] of Object.entries(m.content.stores)) {
      head.push(m.with_unit(`stored by ${name}`, m.about.amount));
      columns.push(stores.stored);
    }
    const rows = m.times().map((seconds, step) => [m.date(seconds), ...columns.map(column => column[step])]);
    m.save_csv(m.file_name("series", "csv"), head, rows);
  };
  m.savers["series-png"] = () => m.save_charts(m.file_name("series", "png"), Object.values(panels));

  const keys = { ArrowLeft: "left", ArrowRight: "right", "+": "in", "=": "in", "-": "out", Home: "all" };
  m.find("panels").addEventListener("keydown", event => {
    if (!(event.key in keys) || event.target.closest("button")) return;
    event.preventDefault();
    m.move(keys[event.key]);
  });
  for (const button of document.querySelectorAll("[data-zoom]")) button.addEventListener("click", () => m.move(button.dataset.zoom));
})();
