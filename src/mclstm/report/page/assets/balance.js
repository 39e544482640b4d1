"use strict";
// The mass balance as a Sankey diagram: what came in and what was there becomes what left and what is there.
(() => {
  const m = window.mclstm;
  const slider = m.find("date"), since = m.find("since");
  const DAY = 86400;
  const SPANS = { "since the start": Infinity, "over the year before": 365 * DAY, "over 30 days before": 30 * DAY };
  let sums = null; // running sums of the chosen site and model

  const running = values => {
    const total = new Float64Array(values.length + 1);
    values.forEach((value, step) => { total[step + 1] = total[step] + (value ?? 0); });
    return (first, after) => total[after] - total[first];
  };
  const prepare = stores => ({
    stores,
    entered: running(stores.entered ?? m.content.inflow),
    emptied: stores.emptied ? running(stores.emptied) : () => 0,
    outlets: stores.outlets.map(outlet => ({ name: outlet.name, lost: outlet.lost, sum: running(outlet.flow) })),
    stored: step => {
      let at = step;
      while (at >= 0 && stores.stored[at] === null) at -= 1;
      return at < 0 ? stores.before : stores.stored[at];
    },
  });

  // The terms of the balance from a step to the end of another.
  const terms = (first, last) => ({
    sources: [
      { name: "inflow", value: sums.entered(first, last + 1), colour: m.colour("inflow") },
      { name: "stored before", value: sums.stored(first - 1), colour: m.colour("storage") },
    ],
    sinks: [
      ...sums.outlets.map((outlet, at) => ({ name: outlet.name, value: outlet.sum(first, last + 1), colour: m.colour(outlet.lost ? "losses" : `outlet-${at % 5}`) })),
      ...(sums.stores.emptied ? [{ name: "left at the ends of sequences", value: sums.emptied(first, last + 1), colour: m.colour("losses") }] : []),
      { name: "stored at the end", value: sums.stored(last), colour: m.colour("storage") },
    ],
  });
  const span = () => {
    const times = m.times(), last = Number(slider.value), from = times[last] - SPANS[since.value];
    const first = times.findIndex(seconds => seconds > from);
    return [first < 0 ? 0 : Math.min(first, last), last];
  };

  const GAP = 38, NODE = 14, TOP = 22;
  const sankey = ({ sources, sinks }, width) => {
    const many = Math.max(sources.length, sinks.length);
    const height = 220 + GAP * many, total = Math.max(sum(sources), sum(sinks), 1e-12);
    const scale = (height - TOP - GAP * many) / total;
    const svg = m.svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "Sankey diagram of the mass balance" });
    const middle = width / 2 - NODE / 2, tall = total * scale, centre = (height - tall) / 2;
    const side = (nodes, x, from_middle) => {
      let y = TOP + (height - TOP - sum(nodes) * scale - GAP * (nodes.length - 1)) / 2, joint = centre;
      for (const node of nodes) {
        const thick = Math.max(node.value, 0) * scale;
        const [x0, y0, x1, y1] = from_middle ? [middle + NODE, joint, x, y] : [x + NODE, y, middle, joint];
        const half = (x0 + x1) / 2;
        svg.append(
          m.svg("path", {
            class: "flow", "data-name": node.name, "data-value": node.value, fill: node.colour, "fill-opacity": 0.4,
            d: `M${x0} ${y0}C${half} ${y0} ${half} ${y1} ${x1} ${y1}v${thick}C${half} ${y1 + thick} ${half} ${y0 + thick} ${x0} ${y0 + thick}Z`,
          }, m.svg("title", {}, `${node.name}: ${m.amount(node.value)}`)),
          m.svg("rect", { x, y, width: NODE, height: Math.max(thick, 1), fill: node.colour }),
          m.svg("text", { class: "over", x: from_middle ? x + NODE : x, y: y - 6, "text-anchor": from_middle ? "end" : "start" },
            `${shortened(node.name, width)} ${m.amount(node.value)}`),
        );
        y += thick + GAP;
        joint += thick;
      }
    };
    side(sources, 0, false);
    side(sinks, width - NODE, true);
    svg.append(m.svg("rect", { x: middle, y: centre, width: NODE, height: Math.max(tall, 1), fill: m.colour("guide") }),
      m.svg("text", { x: width / 2, y: centre - 6, "text-anchor": "middle", class: "soft" }, "stores"));
    return svg;
  };
  const sum = nodes => nodes.reduce((total, node) => total + Math.max(node.value, 0), 0);
  const shortened = (name, width) => name.length > width / 18 ? `${name.slice(0, Math.floor(width / 18))}…` : name;

  const draw = () => {
    const holder = m.find("sankey"), [first, last] = span(), times = m.times(), parts = terms(first, last);
    m.find("date-shown").textContent = m.date(times[last]);
    holder.replaceChildren(sankey(parts, Math.min(900, Math.max(280, holder.clientWidth))));
    const words = parts.sinks.map(node => `${m.amount(node.value)} ${node.name.startsWith("stored") ? "were stored at the end" : `left as ${node.name}`}`);
    m.find("balance-words").textContent =
      `${m.date(times[first])} to ${m.date(times[last])}: ${m.amount(parts.sources[0].value)} entered and ` +
      `${m.amount(parts.sources[1].value)} were stored before; ${words.join(", ")}.`;
  };

  m.views.push(() => {
    const stores = m.content.stores[m.chosen.model], none = m.find("balance-none");
    none.hidden = Boolean(stores);
    m.find("balance-part").hidden = !stores;
    none.textContent = `${m.label(m.chosen.model)} has no stores: it does not say where mass is, nor where it goes.`;
    if (!stores) return;
    sums = prepare(stores);
    if (Number(slider.max) !== m.times().length - 1 || !slider.dataset.set) {
      slider.max = m.times().length - 1;
      slider.value = slider.max;
      slider.dataset.set = "yes";
    }
    draw();
  });
  for (const name of Object.keys(SPANS)) since.append(m.make("option", { value: name }, name));
  slider.addEventListener("input", draw);
  since.addEventListener("change", draw);

  m.savers["balance-csv"] = () => {
    const [first, last] = span(), { sources, sinks } = terms(first, last), times = m.times();
    const rows = [...sources.map(node => ["in", node.name, node.value]), ...sinks.map(node => ["out", node.name, node.value])];
    m.save_csv(m.file_name("balance", "csv"), ["side", "what", m.with_unit("amount", m.about.amount), "from", "to"],
      rows.map(row => [...row, m.date(times[first]), m.date(times[last])]));
  };
  m.savers["balance-png"] = () => m.save_svg(m.file_name("balance", "png"), m.find("sankey").querySelector("svg"));
})();
