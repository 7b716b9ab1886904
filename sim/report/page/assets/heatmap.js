// An objective by two fields: the best that is reached whatever the other fields are.

const BINS = 24;

class HeatMap {
  constructor(host, view) {
    Object.assign(this, { view, points: view.points, under: null });
    const varied = this.points.fields.filter((name) => new Set(this.points.columns[name]).size > 1);
    const all = [...new Set([...varied, ...this.points.fields])];
    [this.x, this.y] = [all[0], all[1] ?? all[0]];
    this.objective = this.points.objectiveNames[0];
    this.key = make("div");
    host.append(this.key);
    this.surface = new Surface(host, {
      height: 380, label: "Heat map of two fields: the best value of an objective over all others.",
      draw: (...all_) => this.draw(...all_), over: (...all_) => this.mark(...all_),
    });
    const { element } = this.surface;
    element.addEventListener("pointermove", (event) => this.hover(event));
    element.addEventListener("pointerleave", () => ((this.under = null), this.surface.reover()));
    element.addEventListener("click", (event) => view.pin(this.at(this.surface.place(event))?.row ?? -1));
    onTheme(() => this.legend());
    this.choose();
  }

  tools() {
    const choice = (which, label, names) => menu(label, names.map((name) => [name, name]), this[which], (name) => {
      this[which] = name;
      this.choose();
    });
    return [choice("x", "x", this.points.fields), choice("y", "y", this.points.fields), choice("objective", "best", this.points.objectiveNames)];
  }

  choose() {
    [this.across, this.up] = [new Bins(this.points, this.x), new Bins(this.points, this.y)];
    const worse = this.points.objectives.find(({ name }) => name === this.objective)?.goal === "max" ? -1 : 1;
    const values = this.points.positions.get(this.objective);
    this.cells = new Map();
    for (let row = 0; row < this.points.total; row += 1) {
      const [x, y] = [this.across.of(row), this.up.of(row)];
      if (x < 0 || y < 0) continue;
      const key = y * this.across.count + x;
      const cell = this.cells.get(key) ?? { x, y, value: NaN, row: -1, feasible: 0, all: 0 };
      this.cells.set(key, cell);
      cell.all += 1;
      if (!this.points.feasible[row] || Number.isNaN(values[row])) continue;
      cell.feasible += 1;
      if (!(worse * values[row] >= worse * cell.value)) [cell.value, cell.row] = [values[row], row];
    }
    const found = [...this.cells.values()].map(({ value }) => value).filter((value) => !Number.isNaN(value));
    this.log = found.length > 0 && Math.min(...found) > 0 && Math.max(...found) / Math.min(...found) > 12;
    this.scale = scaleOf(found, { log: this.log, unit: this.points.units.get(this.objective), name: this.objective, margin: 0 });
    this.legend();
    this.surface.redraw();
  }

  legend() {
    const unit = this.points.units.get(this.objective);
    const box = make("i", { class: "ramp", "aria-hidden": "true" });
    box.style.background = `linear-gradient(90deg, ${Array.from({ length: 12 }, (_, place) => shade(place / 11)).join(",")})`;
    this.key.replaceChildren(make("div", { class: "legend" },
      make("span", {}, `best ${this.objective}: ${quantity(this.scale.low, unit)}`, box, quantity(this.scale.high, unit)), make("span", {}, "× nothing feasible")));
  }

  box() {
    return { left: 92, top: 6, width: Math.max(10, this.surface.width - 104), height: this.surface.height - 50 };
  }

  place({ x, y }) {
    const box = this.box();
    const [width, height] = [box.width / this.across.count, box.height / this.up.count];
    return [box.left + x * width, box.top + box.height - (y + 1) * height, width, height];
  }

  draw(context) {
    const unit = this.points.units.get(this.objective);
    context.textBaseline = "middle";
    for (const cell of this.cells.values()) {
      const [left, top, width, height] = this.place(cell);
      const there = cell.row >= 0;
      const share = there ? this.scale.at(cell.value) : 0;
      context.fillStyle = there ? shade(share) : theme("lane");
      context.fillRect(left, top, width - 1, height - 1);
      context.textAlign = "center";
      context.fillStyle = there ? ink(shade(share)) : theme("muted");
      const text = there ? quantity(cell.value, unit) : "×";
      if (context.measureText(text).width < width - 6 && height > 13) context.fillText(text, left + width / 2, top + height / 2);
    }
    this.drawNames(context);
  }

  drawNames(context) {
    const box = this.box();
    const every = (count_, size, least) => Math.max(1, Math.ceil((count_ * least) / size));
    context.fillStyle = theme("muted");
    context.textAlign = "center";
    const longest = Math.max(...this.across.texts.map((text) => context.measureText(text).width));
    const step = every(this.across.count, box.width, longest + 10);
    this.across.texts.forEach((text, x) => x % step === 0 && context.fillText(text, box.left + ((x + 0.5) * box.width) / this.across.count, box.top + box.height + 11));
    context.textAlign = "right";
    const rows = every(this.up.count, box.height, 14);
    this.up.texts.forEach((text, y) => y % rows === 0 && context.fillText(fitted(context, text, box.left - 26), box.left - 6, box.top + box.height - ((y + 0.5) * box.height) / this.up.count));
    drawTitles(context, box, { title: () => this.x }, { title: () => this.y });
  }

  at([x, y]) {
    const box = this.box();
    const [across, up] = [Math.floor(((x - box.left) / box.width) * this.across.count), Math.floor(((box.top + box.height - y) / box.height) * this.up.count)];
    if (across < 0 || up < 0 || across >= this.across.count || up >= this.up.count) return null;
    return this.cells.get(up * this.across.count + across) ?? null;
  }

  hover(event) {
    this.under = this.at(this.surface.place(event));
    this.surface.reover();
    if (!this.under) return tooltip.hide();
    const { x, y, row, feasible, all } = this.under;
    const rows = [[this.x, this.across.texts[x]], [this.y, this.up.texts[y]], ["feasible", `${count(feasible)} of ${count(all)} machines`]];
    if (row >= 0) rows.push([`best ${this.objective}`, this.points.text(this.objective, row)], ["by", this.points.title(row)]);
    tooltip.show(event.clientX, event.clientY, row >= 0 ? this.points.text(this.objective, row) : "Nothing feasible", rows);
  }

  mark(context) {
    if (!this.under) return;
    const [left, top, width, height] = this.place(this.under);
    context.strokeStyle = theme("text");
    context.lineWidth = 2;
    context.strokeRect(left - 0.5, top - 0.5, width, height);
  }
}

/** The values of a field one by one or, if there are many numbers, in steps. */
class Bins {
  constructor(points, name) {
    this.values = points.positions.get(name);
    const unit = points.units.get(name);
    const categories = points.kinds.get(name);
    const distinct = Float64Array.from(new Set([...this.values].filter((value) => !Number.isNaN(value)))).sort();
    if (categories || distinct.length <= BINS) {
      const places = new Map([...distinct].map((value, place) => [value, place]));
      this.of = (row) => places.get(this.values[row]) ?? -1;
      this.texts = [...distinct].map((value) => (categories ? categories[value] : quantity(value, unit)));
    } else {
      const scale = points.scale(name, points.spread(name), 0);
      this.of = (row) => (Number.isNaN(this.values[row]) ? -1 : clamp(Math.floor(scale.at(this.values[row]) * BINS), 0, BINS - 1));
      this.texts = Array.from({ length: BINS }, (_, place) => `${quantity(scale.back(place / BINS), unit)} –`);
    }
    this.count = Math.max(this.texts.length, 1);
  }
}

/** Black or white, whichever is read on a colour. */
function ink(colour) {
  const [red, green, blue] = colour.match(/\d+/g).map(Number);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000000" : "#ffffff";
}
