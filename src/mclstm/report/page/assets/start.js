"use strict";
// The data of the page, what is chosen on it, and small tools that every part uses.
window.mclstm = (() => {
  const m = { about: null, views: [], savers: {}, chosen: { site: 0, target: 0, model: "", peak: null }, content: null };
  const KEPT = 8; // sites in memory
  const sites = new Map(), waiting = new Map();

  m.run = about => { m.about = about; };

  m.site = (number, content) => {
    sites.set(number, content);
    if (sites.size > KEPT) sites.delete(sites.keys().next().value);
    waiting.get(number)?.(content);
    waiting.delete(number);
  };

  // A page on the disk may not fetch: the data of a site is a script, or a block of this page.
  m.load = number => {
    if (sites.has(number)) return Promise.resolve(sites.get(number));
    const block = document.getElementById(`site-${number}`);
    if (block) return Promise.resolve(JSON.parse(block.textContent));
    return new Promise((resolve, reject) => {
      waiting.set(number, resolve);
      const script = m.make("script", { src: `${encodeURIComponent(m.about.files)}/site-${number}.js` });
      script.onerror = () => reject(new Error(`The data of this site is missing: ${m.about.files}/site-${number}.js`));
      script.onload = () => script.remove();
      document.head.append(script);
    });
  };

  // Text is always a text node: a name can hold any characters and stays a name.
  m.make = (tag, attributes = {}, ...children) => m.dress(document.createElement(tag), attributes, children);
  m.dress = (element, attributes, children) => {
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter(child => child !== null));
    return element;
  };
  m.find = id => document.getElementById(id);
  m.colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  m.times = () => {
    const axis = m.about.time;
    axis.at ??= Array.from({ length: axis.count }, (_, at) => axis.first + at * axis.step);
    return axis.at;
  };
  m.coarse = () => m.times().filter((_, at) => at % m.about.time.every === 0);
  m.date = seconds => {
    const text = new Date(seconds * 1000).toISOString();
    const times = m.times(), daily = times.length < 2 || times[1] - times[0] >= 86400;
    return daily ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
  };
  m.number = (value, digits = 3) => {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    if (value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e9)) return value.toExponential(1);
    if (Math.abs(value) >= 10 ** digits) return value.toLocaleString("en", { maximumFractionDigits: 0 });
    return value.toLocaleString("en", { maximumSignificantDigits: digits });
  };
  m.steps = count => `${count} ${m.about.time.step === 86400 ? "day" : "step"}${count === 1 ? "" : "s"}`;
  m.percent = share => share > 0 && share < 0.01 ? "under 1 %" : `${Math.round(100 * share)} %`;
  m.with_unit = (text, unit) => unit ? `${text} (${unit})` : text;
  m.amount = value => `${m.number(value, 4)} ${m.about.amount}`.trim();

  m.target = () => m.content.targets[m.chosen.target] ?? m.content.targets[0];
  m.model_colour = name => m.colour(`model-${m.about.models.findIndex(model => model.name === name) % 4}`);
  m.label = name => m.about.models.find(model => model.name === name)?.label ?? name;

  m.save = (name, blob) => {
    const link = m.make("a", { href: URL.createObjectURL(blob), download: name, hidden: true });
    document.body.append(link); // some browsers follow no link outside the document
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };
  // Programs for tables take text that begins like a formula for one.
  const cell = value => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  m.csv_text = (head, rows) => [head, ...rows].map(row => row.map(cell).join(",")).join("\n") + "\n";
  m.save_csv = (name, head, rows) => m.save(name, new Blob([m.csv_text(head, rows)], { type: "text/csv" }));
  m.file_name = (what, end) => {
    const site = m.about.sites[m.chosen.site].name.replace(/[^A-Za-z0-9._-]+/g, "_").slice(0, 60);
    return `${what}-${site}.${end}`;
  };

  m.show = () => { for (const view of m.views) view(); };
  m.fail = error => {
    m.find("problem").hidden = false;
    m.find("problem").textContent = error.message;
  };
  return m;
})();
