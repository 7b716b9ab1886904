// The page of a report: totals, where the time goes, timeline, scratchpad, roofline, and a table of operators.


class ReportView {
  constructor(host, report) {
    this.report = report;
    this.picked = -1;
    this.inCycles = false;
    this.range = new Range(0, Math.max(report.cycles, 1), Math.min(20, Math.max(report.cycles, 1)));
    host.append(this.totals());
    if (!report.cycles) return;
    host.append(this.causes(), this.graph());
    if (report.whatif) host.append(this.whatif());
    host.append(this.timeline(), this.scratchpad());
    if (report.operators.macs.some(Boolean)) host.append(this.roofline());
    host.append(this.operators());
    page.parts = { range: this.range, timeline: this.timelinePlot, scratchpad: this.scratchpadPlot, roofline: this.rooflinePlot, table: this.table, graph: this.graphPlot, details: this.details, whatif: this.whatifPart, view: this };
  }

  // What the parts ask for.

  name(number) {
    return this.report.operators.label[number] ?? "other work";
  }

  /** The name of an operator, or its short form, as far as there is room. */
  title(context, number, room) {
    const name = this.name(number);
    const brief = this.report.operators.brief[number] ?? name;
    return fitted(context, widthOf(context, name) <= room ? name : brief, room);
  }

  total(number) {
    return this.report.operators.causes[number].reduce((sum, cycles) => sum + cycles, 0);
  }

  bytes(number) {
    return this.report.operators.read[number] + this.report.operators.write[number];
  }

  intensity(number) {
    return this.bytes(number) ? this.report.operators.macs[number] / this.bytes(number) : null;
  }

  attained(number) {
    return this.total(number) ? this.report.operators.macs[number] / this.total(number) : 0;
  }

  seconds(cycles) {
    return cycles / this.report.clock_hz;
  }

  time(cycles) {
    return `${count(cycles)} cycles (${quantity(this.seconds(cycles), "s")})`;
  }

  /** The time axis of what is shown now. */
  timeScale() {
    const { low, high } = this.range;
    if (this.inCycles) return new Scale({ low, high, name: "cycle" });
    return new Scale({ low: this.seconds(low), high: this.seconds(high), unit: "s", name: "time" });
  }

  operatorRows(number) {
    if (number < 0) return [];
    const { operators, cycles, peak_macs: peak } = this.report;
    const total = this.total(number);
    const rows = [["operator takes", `${this.time(total)}, ${percent(total / cycles)}`], ["unit", operators.unit[number]]];
    if (operators.tiles[number]) rows.push(["tiles", count(operators.tiles[number])]);
    if (operators.macs[number]) rows.push(["MACs", `${quantity(operators.macs[number])}${peak ? `, ${percent(this.attained(number) / peak)} of the peak` : ""}`]);
    if (operators.macs[number] && this.intensity(number) !== null) rows.push(["MACs/byte", digits(this.intensity(number))]);
    if (this.bytes(number)) rows.push(["off-chip", `${quantity(operators.read[number], "B")} read, ${quantity(operators.write[number], "B")} written`]);
    if (operators.level2?.[number]) rows.push(["level 2", quantity(operators.level2[number], "B")]);
    if (operators.joules[number]) rows.push(["energy", quantity(operators.joules[number], "J")]);
    STYLE.causes.forEach(([name, colour], cause) => {
      const spent = operators.causes[number][cause];
      if (spent) rows.push([name, `${count(spent)} (${percent(spent / total)})`, colour]);
      if (name === "idle" && spent) rows.push(["idle for", this.idling(number, total)]);
    });
    return rows;
  }

  /** The reasons for which lanes idle, the largest first. */
  idling(number, total) {
    const lanes = this.report.operators.lanes[number];
    const reasons = STYLE.lanes.map(([name], place) => [name, lanes[place]]).filter(([name, cycles]) => name !== "useful" && cycles);
    return reasons.sort(([, one], [, other]) => other - one).map(([name, cycles]) => `${name} ${percent(cycles / total)}`).join(", ");
  }

  /** Mark an operator everywhere; on request, also show it in the timeline. */
  pick(number, show = false) {
    this.picked = number;
    this.table.pick(number);
    if (show && number >= 0) {
      const [first, last] = [this.timelinePlot.starts[number], this.timelinePlot.starts[number + 1]];
      this.range.set(first - 0.4 * (last - first), last + 0.4 * (last - first));
    }
    if (number >= 0) this.graphPlot.show(number);
    this.details.show(number);
    this.timelinePlot.surface.reover();
    this.rooflinePlot?.surface.reover();
  }

  // The parts.

  totals() {
    const tiles = this.report.figures.map(([label, value, note]) => make("div", { class: "figure" }, make("span", {}, label), make("strong", {}, value), make("small", {}, note)));
    const rows = this.report.totals.map(([label, text]) => make("tr", {}, make("th", { scope: "row" }, label), make("td", {}, text)));
    return make("section", { "aria-label": "Totals" }, make("div", { class: "figures" }, ...tiles),
      make("details", { class: "totals" }, make("summary", {}, "All totals"), make("table", {}, make("tbody", {}, ...rows))));
  }

  causes() {
    const { element, body } = panel("Where the cycles go", "stalls by cause, and the operators with most of them");
    this.causesPart = new Causes(body, this);
    return element;
  }

  graph() {
    const { element, body } = panel("Graph", "drag to move, wheel or + − to zoom, click an operator");
    this.graphPlot = new GraphView(body, this);
    element.querySelector(".tools").append(...this.graphPlot.tools());
    this.details = new Details(body, this);
    return element;
  }

  whatif() {
    const { element, body } = panel("What if", "another bandwidth, clock, array or scratchpad");
    this.whatifPart = new WhatIf(body, this);
    return element;
  }

  timeline() {
    const units = menu("axis", [["time", "time"], ["cycles", "cycles"]], "time", (value) => {
      this.inCycles = value === "cycles";
      this.timelinePlot.redraw();
      this.scratchpadPlot.surface.redraw();
    });
    const { element, body } = panel("Timeline", "wheel or + − to zoom, drag to move, click to mark an operator", units, ...zoomButtons(this.range));
    const found = STYLE.causes.filter((_, cause) => this.report.operators.causes.some((cycles) => cycles[cause]));
    const key = legend(found.map(([name, colour]) => [colour, name]));
    key.prepend(make("span", {}, "cycles spent on"));
    key.append(make("span", {}, "other lanes: alternating colours separate operators"));
    body.append(key);
    this.timelinePlot = new Timeline(body, this);
    return element;
  }

  scratchpad() {
    const { contents } = this.report;
    const known = contents.first.length > 0;
    const note = known ? "addresses over the same time; the line shows the bytes in use" : "bytes in use over the same time";
    const { element, body } = panel("Scratchpad", note, ...zoomButtons(this.range));
    const kinds = new Set(contents.kind);
    if (known) body.append(legend(STYLE.contents.filter((_, kind) => kinds.has(kind)).map(([, colour, text]) => [colour, text])));
    this.scratchpadPlot = new Scratchpad(body, this);
    return element;
  }

  roofline() {
    const { element, body } = panel("Roofline", "a circle for each operator with MACs, sized by its share of the time");
    const { unit, macs } = this.report.operators;
    const units = [...new Set(unit.filter((_, number) => macs[number]).map((name) => name.split(" ")[0]))];
    body.append(legend(units.map((name) => [STYLE.units[name] ?? STYLE.other, name])));
    this.rooflinePlot = new RooflinePlot(body, this);
    return element;
  }

  operators() {
    const units = [["", "all units"], ...[...new Set(this.report.operators.unit)].map((unit) => [unit, unit])];
    const choose = menu("unit", units, "", (unit) => {
      this.unit = unit;
      this.table.update();
    });
    const { element, body } = panel("Operators", "click a heading to sort, a row to show it in the timeline", choose);
    const { operators } = this.report;
    const texts = operators.label.map((label, number) => [label, operators.unit[number], ...operators.members[number]].join(" ").toLowerCase());
    this.table = new Table(body, {
      label: "operators", columns: operatorColumns(this), count: operators.label.length, height: 540, words: (row) => texts[row],
      matches: (row) => !this.unit || operators.unit[row] === this.unit, onpick: (row) => this.pick(row, true),
    });
    element.querySelector(".tools").prepend(this.table.found, this.table.search);
    return element;
  }
}

function operatorColumns(view) {
  const { report } = view;
  const { operators } = report;
  const number = (key, title, value, text, more = {}) => ({ key, title, value, text: (row) => (value(row) === null ? "" : text(value(row), row)), width: "7em", ...more });
  const longest = Math.max(...operators.causes.map((_, row) => view.total(row)), 1);
  return [
    number("number", "#", (row) => row + 1, count, { width: "3.6em" }),
    { key: "operator", title: "operator", left: true, value: (row) => operators.label[row], text: (row) => operators.label[row] },
    { key: "unit", title: "unit", left: true, width: "6em", value: (row) => operators.unit[row], text: (row) => operators.unit[row] },
    number("cycles", "cycles", (row) => view.total(row), count),
    number("share", "share", (row) => view.total(row) / report.cycles, percent, { width: "5.6em" }),
    { key: "stalled", title: "cycles by cause", width: "11em", wide: true, value: (row) => view.total(row) - worked(operators.causes[row]), cell: (row, cell) => cell.append(causeBar(view, row, longest)) },
    number("tiles", "tiles", (row) => operators.tiles[row] || null, count, { width: "4.8em" }),
    number("macs", "MACs", (row) => operators.macs[row] || null, (value) => quantity(value, "MAC/s").replace("MAC/s", "").trim(), { width: "6em" }),
    number("peak", "of peak", (row) => (operators.macs[row] && report.peak_macs ? view.attained(row) / report.peak_macs : null), percent, { width: "6em" }),
    number("intensity", "MACs/byte", (row) => (operators.macs[row] ? view.intensity(row) : null), (value) => digits(value), { width: "8.2em" }),
    number("offchip", "off-chip", (row) => view.bytes(row), (value) => quantity(value, "B")),
    number("energy", "energy", (row) => operators.joules[row] || null, (value) => quantity(value, "J"), { width: "6em" }),
  ];
}

/** The cycles of those by cause in which something is computed. */
function worked(cycles) {
  return STYLE.causes.reduce((sum, [name], cause) => sum + (["useful", "idle", "compute"].includes(name) ? cycles[cause] : 0), 0);
}

function causeBar(view, row, longest) {
  const cycles = view.report.operators.causes[row];
  const parts = STYLE.causes.map(([name, colour], cause) => (cycles[cause] ? causePart(name, colour, cycles[cause] / longest) : null));
  parts.filter(Boolean).forEach((part, place) => {
    const [name, spent] = STYLE.causes.map(([cause], number) => [cause, cycles[number]]).filter(([, number]) => number)[place];
    part.title = `${name}: ${count(spent)} cycles`;
  });
  return make("div", { class: "stack" }, ...parts);
}
