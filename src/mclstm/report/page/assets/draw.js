"use strict";
// Drawing: charts over time by uPlot, everything else as SVG; both can be saved as PNG.
(() => {
  const m = window.mclstm;
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const linked = new Set(); // charts that share their stretch of time
  m.range = null; // the shared stretch of time, null for all of it

  m.svg = (tag, attributes = {}, ...children) =>
    m.dress(document.createElementNS(NAMESPACE, tag), attributes, children);

  m.chart = (holder, options, data) => {
    holder.chart?.destroy();
    holder.replaceChildren();
    holder.classList.add("chart");
    const { link = false, height = 200, hooks = {}, ...rest } = options;
    const ink = m.colour("soft"), line = m.colour("line");
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "12px system-ui" };
    const chart = new uPlot({
      width: Math.max(240, holder.clientWidth), height,
      tzDate: seconds => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      ...rest,
      cursor: { drag: { x: true, y: false }, ...(link ? { sync: { key: "time", scales: ["x", null] } } : {}), ...rest.cursor },
      axes: (rest.axes ?? [{}, {}]).map((own, at) => ({ ...axis, ...(at ? { values: tick_words } : {}), ...own })),
      hooks: { ...hooks, setScale: [...(hooks.setScale ?? []), (self, key) => { if (link && key === "x") follow(self); }] },
    }, data, holder);
    holder.chart = chart;
    holder.link = link;
    if (link) linked.add(holder);
    if (link && m.range) chart.setScale("x", { min: m.range[0], max: m.range[1] });
    new ResizeObserver(() => {
      const width = Math.max(240, holder.clientWidth);
      if (holder.chart === chart && width !== chart.width) chart.setSize({ width, height });
    }).observe(holder);
    return chart;
  };
  // Charts are as wide as their place. On paper they have the width of a page, which no layout tells before it is printed.
  const PAPER = 680;
  const widen = width => {
    for (const holder of document.querySelectorAll(".chart")) {
      holder.chart?.setSize({ width: width ?? Math.max(240, holder.clientWidth), height: holder.chart.height });
    }
  };
  addEventListener("beforeprint", () => widen(PAPER));
  addEventListener("afterprint", () => widen());

  const tick_words = (_, values) => values.map(value => value === null ? "" : m.number(value)); // null: no room for it
  m.clear = holder => {
    holder.chart?.destroy();
    holder.chart = null;
    linked.delete(holder);
    holder.replaceChildren();
  };

  let moving = false;
  const follow = chart => {
    const { min, max } = chart.scales.x;
    if (!moving && min !== null) m.zoom(min, max);
  };
  m.zoom = (min, max) => {
    const times = m.times(), first = times[0], last = times[times.length - 1];
    m.range = min <= first && max >= last ? null : [Math.max(min, first), Math.min(max, last)];
    moving = true;
    for (const holder of linked) holder.chart?.setScale("x", { min: m.range?.[0] ?? first, max: m.range?.[1] ?? last });
    moving = false;
  };
  m.move = how => {
    const times = m.times(), [min, max] = m.range ?? [times[0], times[times.length - 1]];
    const width = max - min, middle = (min + max) / 2;
    const ends = {
      all: [times[0], times[times.length - 1]], in: [middle - width / 4, middle + width / 4],
      out: [middle - width, middle + width], left: [min - width / 2, max - width / 2], right: [min + width / 2, max + width / 2],
    }[how];
    // Moving past an end stops there and keeps the width.
    const shift = how === "left" ? Math.max(0, times[0] - ends[0]) : how === "right" ? Math.min(0, times[times.length - 1] - ends[1]) : 0;
    m.zoom(ends[0] + shift, ends[1] + shift);
  };

  // Areas on top of each other: the highest sum is drawn first, and the legend tells each part by itself.
  m.stacked = (layers, unit) => {
    const sums = [];
    layers.forEach((layer, at) => sums.push(layer.values.map((value, step) =>
      value === null ? null : value + (at ? sums[at - 1][step] ?? 0 : 0))));
    const order = layers.map((_, at) => layers.length - 1 - at);
    const series = order.map(at => ({
      label: layers[at].name, stroke: layers[at].colour, fill: layers[at].colour, width: 0, points: { show: false },
      value: (_, __, ___, step) => step === null ? "–" : `${m.number(layers[at].values[step])} ${unit}`.trim(),
    }));
    return { series, columns: order.map(at => sums[at]) };
  };

  m.ticks = (low, high, many = 5) => {
    const raw = (high - low || 1) / many, size = 10 ** Math.floor(Math.log10(raw));
    const step = size * [1, 2, 5, 10].find(each => each * size >= raw);
    const values = [];
    for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) values.push(+value.toPrecision(12));
    return values;
  };

  // An SVG with two axes; `at` gives the place of a point on it.
  m.frame = (width, height, x, y) => {
    const left = 56, bottom = 40, top = 8, right = 12;
    const scaled = (axis, from, to) => {
      const go = axis.log ? Math.log10 : value => value;
      return value => from + (go(value) - go(axis.low)) / (go(axis.high) - go(axis.low) || 1) * (to - from);
    };
    const across = scaled(x, left, width - right), up = scaled(y, height - bottom, top);
    const svg = m.svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
    const lines = axis => axis.log ? decades(axis.low, axis.high) : m.ticks(axis.low, axis.high);
    for (const value of lines(x)) {
      svg.append(m.svg("path", { d: `M${across(value)} ${top}V${height - bottom}`, stroke: m.colour("line") }),
        m.svg("text", { x: across(value), y: height - bottom + 16, "text-anchor": "middle", class: "soft" }, m.number(value)));
    }
    for (const value of lines(y)) {
      svg.append(m.svg("path", { d: `M${left} ${up(value)}H${width - right}`, stroke: m.colour("line") }),
        m.svg("text", { x: left - 6, y: up(value) + 4, "text-anchor": "end", class: "soft" }, m.number(value)));
    }
    svg.append(m.svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, x.label),
      m.svg("text", { transform: `translate(13 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, y.label));
    return { svg, at: (a, b) => [across(a), up(b)], floor: height - bottom };
  };
  const decades = (low, high) => {
    const values = [], wide = high / low > 100;
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
      for (const each of wide ? [1] : [1, 2, 5]) values.push(each * 10 ** power);
    }
    return values.filter(value => value >= low && value <= high);
  };

  // At once: toBlob waits for idle time, and a browser may hold back what comes long after the click.
  const png = (canvas, name) => {
    const letters = atob(canvas.toDataURL("image/png").split(",")[1]);
    m.save(name, new Blob([Uint8Array.from(letters, letter => letter.charCodeAt(0))], { type: "image/png" }));
  };
  const blank = (width, height) => {
    const canvas = m.make("canvas", { width, height }), context = canvas.getContext("2d");
    context.fillStyle = m.colour("paper");
    context.fillRect(0, 0, width, height);
    return [canvas, context];
  };
  // Charts below each other, each with its title, in one picture.
  m.save_charts = (name, holders) => {
    const parts = holders.filter(holder => holder.chart).map(holder => [holder.dataset.title ?? "", holder.chart.ctx.canvas]);
    if (!parts.length) return;
    const head = 28 * devicePixelRatio;
    const [canvas, context] = blank(Math.max(...parts.map(([, part]) => part.width)), parts.reduce((sum, [, part]) => sum + part.height + head, 0));
    let top = 0;
    for (const [title, part] of parts) {
      context.fillStyle = m.colour("ink");
      context.font = `${14 * devicePixelRatio}px system-ui`;
      context.fillText(title, 8 * devicePixelRatio, top + head * 0.7);
      context.drawImage(part, 0, top + head);
      top += part.height + head;
    }
    png(canvas, name);
  };
  // A picture knows no style sheet: every part takes its computed style along.
  m.save_svg = (name, svg) => {
    if (!svg) return;
    const copy = svg.cloneNode(true), own = [svg, ...svg.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((part, at) => {
      const style = getComputedStyle(own[at]);
      for (const key of ["fill", "stroke", "stroke-width", "paint-order", "font-size", "font-family"]) part.setAttribute(key, style.getPropertyValue(key));
    });
    const { width, height } = svg.viewBox.baseVal, picture = new Image();
    picture.onerror = () => m.fail(new Error(`This picture could not be drawn: ${name}`));
    picture.onload = () => {
      const [canvas, context] = blank(2 * width, 2 * height);
      context.drawImage(picture, 0, 0, 2 * width, 2 * height);
      png(canvas, name);
    };
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  };
})();
