"use strict";
// What each cell of the chosen model does, in a sentence, member by member; cells that are nearly always empty share one.
(() => {
  const m = window.mclstm;
  const picker = m.find("member");
  const EMPTY = 0.001; // share of all stored mass, as in cell_reading.py
  const own = () => m.content.cells[m.chosen.model];
  const members = cells => [...new Set(cells.map(cell => cell.member))];

  const sentences = cells => {
    const full = cells.filter(cell => cell.share >= EMPTY), empty = cells.length - full.length;
    const words = full.map(cell => cell.sentence);
    if (empty) words.push(empty === 1 ? "One cell is nearly always empty." : `${empty} cells are nearly always empty.`);
    return words;
  };
  // The turnover of the cell that holds most, by member: what members agree on though their cells have other numbers.
  const agreement = cells => {
    const most = members(cells).map(member => cells.filter(cell => cell.member === member).reduce((a, b) => b.share > a.share ? b : a));
    return `Mass stays in the fullest cell for ${most.map(cell => m.number(cell.days)).join(", ")} days before it moves on, member by member; cells of two members have nothing in common.`;
  };

  const draw = () => {
    const cells = own(), seed = Number(picker.value);
    m.find("cell-list").replaceChildren(...sentences(cells.filter(cell => cell.member === seed)).map(sentence => m.make("li", {}, sentence)));
  };

  m.views.push(() => {
    const cells = own(), none = m.find("cells-none");
    none.hidden = Boolean(cells);
    m.find("cells-part").hidden = !cells;
    none.textContent = m.content.stores[m.chosen.model]
      ? "Cells are read where mass was traced."
      : `${m.label(m.chosen.model)} has no cells that hold mass.`;
    if (!cells) return;
    const seeds = members(cells), chosen = seeds.includes(Number(picker.value)) ? Number(picker.value) : seeds[0];
    picker.replaceChildren(...seeds.map(seed => m.make("option", { value: seed, selected: seed === chosen }, `seed ${seed}`)));
    m.find("member-label").hidden = seeds.length < 2;
    m.find("members-words").hidden = seeds.length < 2;
    m.find("members-words").textContent = agreement(cells);
    draw();
  });
  picker.addEventListener("change", draw);

  m.savers["cells-csv"] = () => m.save_csv(m.file_name("cells", "csv"), ["member", "cell", "turnover (days)", "share of storage", "sentence"],
    own().map(({ member, cell, days, share, sentence }) => [member, cell, days, share, sentence]));
})();
