"use strict";
// The sites: picker, map and table.
(() => {
  const m = window.mclstm;
  const order = { key: "", up: true };
  const SHADES = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]]; // viridis

  const first_score = site => {
    for (const row of Object.values(site.scores)) if (row.nse !== null && row.nse !== undefined) return row.nse;
    return null;
  };
  const shade = value => {
    const place = Math.min(0.9999, Math.max(0, value)) * (SHADES.length - 1), at = Math.floor(place);
    return `rgb(${SHADES[at].map((part, channel) => Math.round(part + (SHADES[at + 1][channel] - part) * (place - at))).join(" ")})`;
  };

  const columns = () => {
    const models = m.about.models.filter(model => m.about.sites.some(site => Object.keys(site.scores[model.name] ?? {}).length));
    const metrics = models.length > 1 ? ["nse", "kge"] : Object.keys(m.about.metrics);
    return models.flatMap(model => metrics.filter(metric => m.about.sites.some(site => Number.isFinite(site.scores[model.name][metric])))
      .map(metric => ({ key: `${model.name} ${metric}`, label: models.length > 1 ? `${m.about.metrics[metric]} ${model.label}` : m.about.metrics[metric], value: site => site.scores[model.name][metric] })));
  };
  const sorted = (rows, shown) => {
    const value = shown.find(column => column.key === order.key)?.value;
    if (!order.key) return rows;
    const by = value ? (a, b) => (value(a.site) ?? -Infinity) - (value(b.site) ?? -Infinity) : (a, b) => a.site.name.localeCompare(b.site.name);
    return rows.sort((a, b) => order.up ? by(a, b) : by(b, a));
  };

  const draw_table = () => {
    const shown = columns(), wanted = m.find("find").value.toLowerCase();
    const rows = sorted(m.about.sites.map((site, number) => ({ site, number })).filter(({ site }) => site.name.toLowerCase().includes(wanted)), shown);
    const head = [{ key: "name", label: "site" }, ...shown].map(({ key, label }) => m.make("th", {
      scope: "col", class: key === "name" ? null : "number", "aria-sort": order.key === key ? (order.up ? "ascending" : "descending") : "none",
    }, m.make("button", { type: "button", "data-sort": key, click: () => {
      order.up = order.key === key ? !order.up : key === "name";
      order.key = key;
      draw_table();
    } }, label)));
    const body = rows.map(({ site, number }) => m.make("tr", { "aria-current": number === m.chosen.site ? "true" : null },
      m.make("td", { class: "name" }, m.make("button", { type: "button", title: site.name, click: () => m.choose_site(number) }, site.name)),
      ...shown.map(({ value }) => m.make("td", { class: "number" }, m.number(value(site))))));
    m.find("table").replaceChildren(m.make("thead", {}, m.make("tr", {}, ...head)), m.make("tbody", {}, ...body));
  };

  const draw_map = () => {
    const holder = m.find("map"), placed = m.about.sites.map((site, number) => ({ ...site, number })).filter(site => site.place?.every(Number.isFinite));
    holder.hidden = placed.length < 2;
    if (holder.hidden) return;
    const [lats, lons] = [0, 1].map(part => placed.map(site => site.place[part]));
    const room = values => [Math.min(...values), Math.max(...values)].map((end, at) => end + (at ? 1 : -1) * (0.04 * (Math.max(...values) - Math.min(...values)) + 0.05));
    const [[south, north], [west, east]] = [room(lats), room(lons)], width = Math.min(620, Math.max(260, holder.clientWidth));
    const squeeze = Math.cos((south + north) / 2 * Math.PI / 180);
    const height = Math.min(460, Math.max(220, 50 + width * (north - south) / ((east - west) * squeeze)));
    const { svg, at } = m.frame(width, height, { low: west, high: east, label: "longitude (°)" }, { low: south, high: north, label: "latitude (°)" });
    for (const site of placed.sort((a, b) => (a.number === m.chosen.site) - (b.number === m.chosen.site) || (first_score(b) ?? 0) - (first_score(a) ?? 0))) {
      const [x, y] = at(site.place[1], site.place[0]), score = first_score(site), here = site.number === m.chosen.site;
      svg.append(m.svg("circle", {
        cx: x, cy: y, r: here ? 8 : 5, fill: score === null ? m.colour("guide") : shade(score), stroke: m.colour(here ? "ink" : "guide"),
        "stroke-width": here ? 2.5 : 0.7, cursor: "pointer", "data-site": site.number, click: () => m.choose_site(site.number),
      }, m.svg("title", {}, `${site.name}${score === null ? "" : `, NSE ${m.number(score)}`}`)));
    }
    const legend = [0, 0.25, 0.5, 0.75, 1].map((value, at) => m.svg("g", {}, m.svg("circle", { cx: 10 + 56 * at, cy: 10, r: 5, fill: shade(value), stroke: m.colour("guide"), "stroke-width": 0.7 }),
      m.svg("text", { x: 19 + 56 * at, y: 14, class: "soft" }, at ? String(value) : "≤ 0")));
    const scored = placed.some(site => first_score(site) !== null);
    holder.replaceChildren(svg, ...(scored ? [m.svg("svg", { viewBox: "0 0 330 20", width: 330, height: 20, role: "img", "aria-label": "colours of the NSE" }, ...legend, m.svg("text", { x: 290, y: 14, class: "soft" }, "NSE"))] : []));
  };

  m.choose_site = async number => {
    const many = m.about.sites.length, wanted = (number + many) % many;
    try {
      const content = await m.load(wanted);
      m.content = content;
      Object.assign(m.chosen, { site: wanted, peak: null });
      if (!content.targets[m.chosen.target]) m.chosen.target = 0;
      m.show();
    } catch (error) {
      m.fail(error);
    }
  };

  const options = (select, names, chosen) => select.replaceChildren(...names.map((name, value) => m.make("option", { value, selected: value === chosen }, name)));
  m.views.push(() => {
    options(m.find("site"), m.about.sites.map(site => site.name), m.chosen.site);
    options(m.find("target"), m.content.targets.map(target => target.name), m.chosen.target);
    options(m.find("model"), m.about.models.map(model => model.label), m.about.models.findIndex(model => model.name === m.chosen.model));
    m.find("target-label").hidden = m.content.targets.length < 2;
    m.find("model-label").hidden = m.about.models.length < 2;
    for (const id of ["previous", "next"]) m.find(id).hidden = m.about.sites.length < 2;
    m.find("overview").hidden = m.about.sites.length < 2;
    draw_table();
    draw_map();
  });

  m.find("site").addEventListener("change", event => m.choose_site(Number(event.target.value)));
  m.find("previous").addEventListener("click", () => m.choose_site(m.chosen.site - 1));
  m.find("next").addEventListener("click", () => m.choose_site(m.chosen.site + 1));
  m.find("target").addEventListener("change", event => { m.chosen.target = Number(event.target.value); m.show(); });
  m.find("model").addEventListener("change", event => {
    Object.assign(m.chosen, { model: m.about.models[Number(event.target.value)].name, peak: null });
    m.show();
  });
  m.find("find").addEventListener("input", draw_table);
})();
