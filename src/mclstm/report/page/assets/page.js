"use strict";
// The parts that do not change with the site, and the beginning of everything.
(() => {
  const m = window.mclstm;

  const numeric = text => /^[–\d.,+\-−e% ]+$/.test(text);
  const table = (head, rows) => {
    const kinds = head.map((_, at) => at && rows.every(row => numeric(row[at] ?? "")) ? "number" : null);
    const line = (tag, cells) => m.make("tr", {}, ...cells.map((cell, at) => m.make(tag, { class: kinds[at] }, cell)));
    return m.make("div", { class: "wide" }, m.make("table", {},
      m.make("thead", {}, line("th", head)), m.make("tbody", {}, ...rows.map(row => line("td", row)))));
  };
  const block = ({ text, list, head, rows }) =>
    head ? table(head, rows) : list ? m.make("ul", {}, ...list.map(item => m.make("li", {}, item))) : m.make("p", {}, text);

  const section = ({ title, blocks, figures, tables }) => m.make("div", {},
    title ? m.make("h3", {}, title) : null,
    ...blocks.map(block),
    ...figures.map(name => m.make("figure", {}, m.make("img", { src: m.about.images[name], alt: name, loading: "lazy" }))),
    m.make("div", { class: "controls" }, ...Object.entries(tables).map(([name, text]) =>
      m.make("button", { type: "button", "data-table": name, click: () => m.save(`${name}.csv`, new Blob([text], { type: "text/csv" })) }, `CSV: ${name}`))));

  const certificate = model => {
    const proof = model.certificate;
    if (!proof) return m.make("p", {}, `${model.label} has no stores and keeps no books of mass.`);
    const members = proof.members > 1 ? `, ${proof.members} members` : "";
    return m.make("div", { class: "certificate" }, m.make("strong", {}, `Conservation: ${proof.holds ? "holds" : "does not hold"}`),
      m.make("p", {}, `${proof.sites} site${proof.sites === 1 ? "" : "s"}, ${proof.steps} steps${members}. Stored before + inflow = outflow + stored after. ` +
        `The largest error of a site is ${proof.error.toExponential(1)} of its mass (${proof.worst}); the limit is ${proof.limit.toExponential(0)}.`));
  };
  const manifest = about => {
    const { variables = {}, ...rest } = about;
    const facts = Object.entries(rest).map(([key, value]) => [key, String(value)]);
    const rows = Object.entries(variables).map(([name, of]) => [name, of.role ?? "", of.units ?? "", m.number(of.min), m.number(of.max), String(of.missing ?? "")]);
    return [...(facts.length ? [table(["data", ""], facts)] : []), ...(rows.length ? [table(["column", "role", "unit", "lowest", "highest", "missing"], rows)] : [])];
  };
  const details = (title, ...children) => m.make("details", {}, m.make("summary", {}, title), ...children);

  const draw_record = () => m.find("records").replaceChildren(...m.about.models.flatMap(model => [
    m.make("h3", {}, model.label),
    certificate(model),
    details("Config", m.make("pre", { tabindex: 0 }, model.config),
      m.make("button", { type: "button", click: () => m.save("config.yaml", new Blob([model.config], { type: "text/yaml" })) }, "Save config.yaml")),
    ...(Object.keys(model.manifest).length ? [details("Data", ...manifest(model.manifest))] : []),
  ]));

  const theme = () => {
    const root = document.documentElement, dark = root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    root.dataset.theme = dark === "dark" ? "light" : "dark";
    m.show();
  };

  const begin = () => {
    const block_of_page = m.find("run");
    if (!m.about && block_of_page) m.run(JSON.parse(block_of_page.textContent));
    if (!m.about) return m.fail(new Error("The data of this page is missing: copy the folder beside it too."));
    m.find("title").textContent = m.about.title;
    m.find("summary").textContent = m.about.summary;
    m.find("footer").textContent = `Made by mclstm ${m.about.version}. The charts over time are drawn by uPlot (MIT licence).`;
    m.find("sections").replaceChildren(...m.about.sections.map(section));
    m.find("notes").replaceChildren(...(m.about.notes.length ? [m.make("ul", {}, ...m.about.notes.map(note => m.make("li", {}, note)))] : []));
    m.chosen.model = (m.about.models.find(model => model.certificate) ?? m.about.models[0]).name;
    draw_record();
    m.find("theme").addEventListener("click", theme);
    for (const button of document.querySelectorAll("[data-save]")) button.addEventListener("click", () => m.savers[button.dataset.save]());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => m.show());
    addEventListener("beforeprint", () => { for (const part of document.querySelectorAll("details")) part.open = true; });
    return m.choose_site(0);
  };
  m.ready = begin();
})();
