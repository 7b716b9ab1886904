// The page of an exploration: which machines there are, which are best, and what makes them so.

const SHOWN = [["all", "all machines"], ["feasible", "feasible"], ["front", "on the front"], ["infeasible", "infeasible"]];

class ExplorationView {
  constructor(host, data) {
    this.data = data;
    this.points = new Points(data);
    [this.hovered, this.pinned, this.shown, this.reason] = [-1, -1, "all", null];
    host.append(this.figures());
    if (!this.points.total) return void host.append(make("p", { class: "empty" }, "No machine was evaluated."));
    host.append(this.scatter(), this.parallel());
    host.append(make("div", { class: "pair" }, this.points.fields.length ? this.heatmap() : null, make("div", {}, this.sensitivity(), this.infeasible())));
    host.append(this.machines());
    page.parts = { view: this, points: this.points, scatter: this.scatterPlot, parallel: this.parallelPlot, heatmap: this.heatPlot, table: this.table };
  }

  // What the parts tell each other.

  hover(row) {
    if (row === this.hovered) return;
    this.hovered = row;
    if (row < 0) tooltip.hide();
    for (const plot of [this.scatterPlot, this.parallelPlot]) plot.surface.reover();
  }

  /** Keep a machine in sight: its card, its marks, its row. */
  pin(row) {
    this.pinned = row;
    this.card.replaceChildren(...this.cardOf(row));
    this.table.pick(row);
    for (const plot of [this.scatterPlot, this.parallelPlot]) plot.surface.reover();
  }

  cardOf(row) {
    if (row < 0) return [make("span", { class: "note" }, "Click a point, a line, a cell or a row to pin its machine here.")];
    return [make("strong", {}, this.points.title(row)), " ", button("×", "Unpin the machine", () => this.pin(-1)), card(this.points.rows(row))];
  }

  showReason(key) {
    this.reason = this.reason === key ? null : key;
    this.table.filter("");
    this.table.box.scrollIntoView({ block: "center" });
  }

  matches(row) {
    const { points } = this;
    if (this.reason) return general(points.columns.reason[row]) === this.reason;
    if (points.brushes.size && !points.selected[row]) return false;
    if (this.shown === "front") return Boolean(points.columns.front[row]);
    return this.shown === "all" || Boolean(points.feasible[row]) === (this.shown === "feasible");
  }

  // The parts.

  figures() {
    const { points } = this;
    const best = points.objectives.filter(({ name }) => name in points.best).map(({ name }) => {
      const row = points.rowOf(points.best[name]);
      if (row < 0) return null;
      return make("div", { class: "figure" }, make("span", {}, `best ${name}`), make("strong", {}, points.text(name, row)),
        make("button", { type: "button", class: "link", onclick: () => this.pin(row) }, points.title(row)));
    });
    const rows = this.data.summary.map(([label, text]) => make("tr", {}, make("th", { scope: "row" }, label), make("td", {}, text)));
    return make("section", { "aria-label": "Totals" }, make("div", { class: "figures" }, ...best),
      rows.length ? make("details", { class: "totals", open: true }, make("summary", {}, "Summary"), make("table", {}, make("tbody", {}, ...rows))) : null);
  }

  scatter() {
    const { element, body } = panel("Pareto front", "wheel or + − to zoom, drag to move, click to pin a machine");
    this.scatterPlot = new Scatter(body, this);
    this.card = make("div", { class: "pinned", "aria-live": "polite" }, ...this.cardOf(-1));
    body.append(this.card);
    element.querySelector(".tools").append(...this.scatterPlot.tools());
    return element;
  }

  parallel() {
    const { element, body } = panel("Parallel coordinates", "a line for each feasible machine; drag along axes to select");
    this.parallelPlot = new Parallel(body, this);
    element.querySelector(".tools").append(...this.parallelPlot.tools());
    return element;
  }

  heatmap() {
    const { element, body } = panel("Two fields", "the best value over all other fields");
    this.heatPlot = new HeatMap(body, this);
    element.querySelector(".tools").append(...this.heatPlot.tools());
    return element;
  }

  sensitivity() {
    const { element, body } = panel("Sensitivity", "how much each field matters");
    if (!this.data.sensitivity.length) {
      body.append(make("p", { class: "empty" }, "Not known."));
      return element;
    }
    const part = new Sensitivity(body, this.data.sensitivity, this.points.objectiveNames);
    onTheme(() => part.show());
    element.querySelector(".tools").append(...part.tools());
    return element;
  }

  infeasible() {
    const bad = this.points.feasible.reduce((sum, one) => sum + 1 - one, 0);
    const { element, body } = panel(`${count(bad)} infeasible`, `of ${count(this.points.total)} machines; reasons that differ only in numbers are grouped`);
    new Infeasible(body, this);
    return element;
  }

  machines() {
    const { points } = this;
    const choose = menu("show", SHOWN, this.shown, (shown) => {
      [this.shown, this.reason] = [shown, null];
      this.table.filter(this.table.query);
    });
    const { element, body } = panel("Machines", "click a heading to sort, a row to pin its machine", choose);
    const texts = [];
    const words = (row) => (texts[row] ??= [points.columns.number[row], ...points.fields.map((name) => points.columns[name][row]), points.columns.reason[row]].join(" ").toLowerCase());
    this.table = new Table(body, { label: "machines", columns: machineColumns(points), count: points.total, height: 480, words, matches: (row) => this.matches(row), onpick: (row) => this.pin(row) });
    points.follow(() => this.table.update());
    element.querySelector(".tools").prepend(this.table.found, this.table.search);
    return element;
  }
}

/** Room for a heading and the arrow behind it. */
function headWidth(name) {
  return `${clamp(name.length * 0.58 + 3, 7.8, 12.5)}em`;
}

function machineColumns(points) {
  const column = (name) => ({
    key: name, title: name, width: headWidth(name), left: points.kinds.get(name) !== null,
    value: (row) => points.columns[name][row], text: (row) => (points.columns[name][row] === null ? "" : points.text(name, row)),
  });
  const confirmed = points.objectiveNames.filter((name) => points.columns.confirmed?.[name]?.some((value) => value !== null)).map((name) => ({
    key: `confirmed_${name}`, title: `confirmed ${name}`, width: headWidth(`confirmed ${name}`), value: (row) => points.confirmed(name, row),
    text: (row) => (points.confirmed(name, row) === null ? "" : quantity(points.confirmed(name, row), points.units.get(name))),
  }));
  return [
    { key: "number", title: "machine", width: headWidth("machine"), value: (row) => points.columns.number[row], text: (row) => String(points.columns.number[row]) },
    ...points.names.map(column),
    ...confirmed,
    { key: "front", title: "front", width: headWidth("front"), value: (row) => Number(points.columns.front[row]), text: (row) => (points.columns.front[row] ? "●" : "") },
    { key: "reason", title: "infeasible because", width: "22em", left: true, value: (row) => points.columns.reason[row] || null, text: (row) => points.columns.reason[row] },
  ];
}

new ExplorationView(document.querySelector("main"), DATA);
