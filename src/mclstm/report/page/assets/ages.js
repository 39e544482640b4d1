"use strict";
// How old the outflow is, and which days are behind a peak.
(() => {
  const m = window.mclstm;
  const shares = m.make("div", { id: "age-shares" }), median = m.make("div", { id: "age-median" });
  m.find("age-panels").append(shares, median);
  const step_word = { label: "date", value: (_, seconds) => seconds === null ? "–" : m.date(seconds) };
  const own = () => m.content.ages[m.chosen.model];

  const draw_shares = ages => {
    const last = ages.classes.length - 1;
    const layers = ages.classes.map((name, at) => ({
      name, values: ages.shares[at].map(share => share === null ? null : 100 * share), colour: m.colour(at === last ? "losses" : `layer-${at % 6}`),
    }));
    const { series, columns } = m.stacked(layers, "%");
    const title = `${ages.outlet} by age (%)`;
    shares.dataset.title = title;
    m.chart(shares, {
      title, height: 220, link: true, series: [step_word, ...series], scales: { x: { time: true }, y: { range: [0, 100] } }, axes: [{}, { size: 60 }],
    }, [m.coarse(), ...columns]);
  };
  const draw_median = ages => {
    const title = "median age (days); a gap where it is beyond the ages that were followed";
    median.dataset.title = title;
    m.chart(median, {
      title, height: 150, link: true, axes: [{}, { size: 60 }],
      scales: { x: { time: true }, y: { range: (_, low, high) => [0, (high || 1) * 1.05] } },
      series: [step_word, { label: "median age", stroke: m.colour("inflow"), width: 1.4, points: { show: false }, value: (_, value) => m.number(value) }],
    }, [m.coarse(), ages.median]);
  };

  const peak_buttons = ages => ages.peaks.map((peak, number) => m.make("button", {
    type: "button", "data-peak": number, "aria-pressed": String(m.chosen.peak === number), click: () => m.choose_peak(number),
  }, `${m.date(m.times()[peak.at])}: ${m.number(peak.flow)}`));

  m.choose_peak = number => {
    m.chosen.peak = number;
    for (const button of document.querySelectorAll("[data-peak]")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.peak) === number));
    }
    draw_peak(own());
    m.find("peak").scrollIntoView({ block: "nearest" });
  };

  const day = peak => ([seconds, amount]) => ({ seconds, amount, share: amount / (peak.flow || 1) });
  const days_of = peak => peak.times.map((seconds, at) => day(peak)([seconds, peak.gave[at]]));
  const draw_peak = ages => {
    const holder = m.find("peak"), peak = ages?.peaks[m.chosen.peak];
    if (!peak) return holder.replaceChildren();
    const days = days_of(peak), listed = peak.most.map(day(peak)), most = listed[0];
    const date = m.date(m.times()[peak.at]);
    const others = [["earlier inflow", peak.earlier], ["in store at the start", peak.start]].filter(([, amount]) => amount > 0);
    const words = `The ${ages.outlet} of ${date} was ${m.number(peak.flow)} ${m.about.unit}. What entered on ${m.date(most.seconds)} gave most, ${m.percent(most.share)} of it. ` +
      `The ${m.steps(days.length)} shown gave ${m.percent(days.reduce((sum, day) => sum + day.share, 0))}` +
      others.map(([what, amount]) => `, ${what} ${m.percent(amount / (peak.flow || 1))}`).join("") + ".";
    const rows = listed.map(day => m.make("tr", {}, m.make("td", {}, m.date(day.seconds)),
      m.make("td", { class: "number" }, m.number(day.amount)), m.make("td", { class: "number" }, m.percent(day.share))));
    return holder.replaceChildren(
      m.make("p", { id: "peak-words" }, words),
      m.make("div", { class: "columns" },
        m.make("figure", { id: "peak-days" }, bars(days, holder.clientWidth)),
        m.make("table", {}, m.make("caption", { class: "soft" }, "What gave most"),
          m.make("thead", {}, m.make("tr", {}, m.make("th", {}, "entered on"), m.make("th", { class: "number" }, `gave (${m.about.unit})`), m.make("th", { class: "number" }, "share"))),
          m.make("tbody", {}, ...rows))),
      m.make("div", { class: "controls" }, m.make("button", { type: "button", click: () => save_peak(days, others) }, "CSV of this peak"),
        m.make("button", { type: "button", click: () => m.save_svg(m.file_name("peak", "png"), holder.querySelector("svg")) }, "PNG of this peak")),
    );
  };
  const bars = (days, room) => {
    const width = Math.min(560, Math.max(260, room)), ordered = [...days].reverse();
    const high = Math.max(...days.map(day => day.amount), 1e-12) * 1.05;
    const frame = m.frame(width, 220, { low: -days.length, high: 0, label: m.about.time.step === 86400 ? "days before the peak" : "steps before the peak" }, { low: 0, high, label: `gave (${m.about.unit})` });
    ordered.forEach((day, at) => {
      const [x0, y] = frame.at(at - days.length, day.amount), [x1] = frame.at(at - days.length + 0.9, 0);
      frame.svg.append(m.svg("rect", { x: x0, y, width: Math.max(x1 - x0, 0.5), height: Math.max(frame.floor - y, 0), fill: m.colour("inflow") },
        m.svg("title", {}, `${m.date(day.seconds)}: ${m.number(day.amount)}`)));
    });
    return frame.svg;
  };
  const save_peak = (days, others) => m.save_csv(m.file_name("peak", "csv"), ["entered on", `gave (${m.about.unit})`, "share"],
    [...days.map(day => [m.date(day.seconds), day.amount, day.share]), ...others.map(([what, amount]) => [what, amount, null])]);

  m.views.push(() => {
    const ages = own(), none = m.find("ages-none");
    none.hidden = Boolean(ages);
    m.find("ages-part").hidden = !ages;
    if (!ages) {
      none.textContent = m.about.models.find(model => model.name === m.chosen.model)?.why_no_ages || "The mass of this site was not traced.";
      m.clear(shares);
      m.clear(median);
      return;
    }
    m.find("ages-words").textContent = `Of all ${ages.outlet}, ${m.percent(ages.young)} was younger than ${m.number(ages.young_days)} days when it left.`;
    draw_shares(ages);
    draw_median(ages);
    m.find("peaks").replaceChildren(...peak_buttons(ages));
    draw_peak(ages);
  });

  m.savers["ages-csv"] = () => {
    const ages = own();
    m.save_csv(m.file_name("ages", "csv"), ["date", ...ages.classes, "median age (days)"],
      m.coarse().map((seconds, at) => [m.date(seconds), ...ages.shares.map(column => column[at]), ages.median[at]]));
  };
  m.savers["ages-png"] = () => m.save_charts(m.file_name("ages", "png"), [shares, median]);
})();
