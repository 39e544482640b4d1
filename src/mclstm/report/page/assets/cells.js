"use strict";
// What each cell of the chosen model does, in a sentence; cells that are nearly always empty share one.
(() => {
  const m = window.mclstm;
  const own = () => m.content.cells[m.chosen.model];
  const EMPTY = 0.001; // share of all stored mass, as in cell_reading.py

  m.views.push(() => {
    const cells = own(), none = m.find("cells-none");
    none.hidden = Boolean(cells);
    m.find("cells-part").hidden = !cells;
    none.textContent = m.content.stores[m.chosen.model]
      ? "Cells are read where the mass of one model was traced. Those of several members have nothing in common."
      : `${m.label(m.chosen.model)} has no cells that hold mass.`;
    if (!cells) return;
    const full = cells.filter(cell => cell.share >= EMPTY), empty = cells.length - full.length;
    const words = full.map(cell => cell.sentence);
    if (empty) words.push(empty === 1 ? "One cell is nearly always empty." : `${empty} cells are nearly always empty.`);
    m.find("cell-list").replaceChildren(...words.map(sentence => m.make("li", {}, sentence)));
  });

  m.savers["cells-csv"] = () => m.save_csv(m.file_name("cells", "csv"), ["cell", "turnover (days)", "share of storage", "sentence"],
    own().map(({ cell, days, share, sentence }) => [cell, days, share, sentence]));
})();
