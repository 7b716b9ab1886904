// The points of an exploration: columns, what they mean, and which of them readers look at.

const UNITS = [[/bytes_per_second$/, "B/s"], [/bytes$/, "B"], [/hz$/i, "Hz"], [/seconds$/, "s"], [/watts$/, "W"], [/joules$/, "J"]];
const ALL = "";

class Points {
  constructor({ points, fields, objectives, best }) {
    Object.assign(this, { columns: points, fields, objectives, best: best ?? {}, total: points.number.length });
    this.names = [...fields, ...objectives.map(({ name }) => name)];
    this.units = new Map([
      ...fields.map((name) => [name, UNITS.find(([pattern]) => pattern.test(name))?.[1] ?? ""]),
      ...objectives.map(({ name, unit }) => [name, unit]),
    ]);
    this.kinds = new Map(this.names.map((name) => [name, this.categoriesOf(name)]));
    this.feasible = Uint8Array.from(points.reason, (reason) => (reason ? 0 : 1));
    this.positions = new Map(this.names.map((name) => [name, this.positionsOf(name)]));
    this.selected = this.feasible.slice();
    this.brushes = new Map();
    this.followers = [];
  }

  /** The different texts of a column, in order; nothing if its values are numbers. */
  categoriesOf(name) {
    const column = this.columns[name];
    if (column.every((value) => typeof value === "number" || value === null)) return null;
    return [...new Set(column.map(String))].sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
  }

  /** Numbers, or places among the categories; NaN where there is none. */
  positionsOf(name) {
    const categories = this.kinds.get(name);
    const places = categories && new Map(categories.map((text, place) => [text, place]));
    return Float64Array.from(this.columns[name], (value) => (places ? places.get(String(value)) : value ?? NaN));
  }

  get objectiveNames() {
    return this.objectives.map(({ name }) => name);
  }

  /** Whether a logarithmic axis suits a column. */
  spread(name) {
    if (this.kinds.get(name)) return false;
    let [low, high] = [Infinity, 0];
    for (const value of this.positions.get(name)) {
      if (value <= 0) return false;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return high / low > 6;
  }

  scale(name, log = this.spread(name), margin = 0.04) {
    const categories = this.kinds.get(name);
    if (categories) return new Scale({ categories, name });
    return scaleOf(this.positions.get(name), { log, unit: this.units.get(name), name, margin });
  }

  text(name, row) {
    return quantity(this.columns[name][row], this.units.get(name));
  }

  title(row) {
    return `Machine ${this.columns.number[row]}`;
  }

  /** All that is known of a point, as names and values. */
  rows(row) {
    const found = this.names.map((name) => [name, this.text(name, row) + this.checked(name, row)]);
    const wins = Object.keys(this.best).filter((name) => this.best[name] === this.columns.number[row]);
    if (wins.length) found.push(["best", wins.join(", ")]);
    if (this.columns.front[row]) found.push(["on the Pareto front"]);
    if (this.columns.reason[row]) found.push(["infeasible", this.columns.reason[row]]);
    return found;
  }

  confirmed(name, row) {
    return this.columns.confirmed?.[name]?.[row] ?? null;
  }

  checked(name, row) {
    const value = this.confirmed(name, row);
    return value === null ? "" : `, confirmed ${quantity(value, this.units.get(name))}`;
  }

  rowOf(number) {
    return this.columns.number.indexOf(number);
  }

  follow(action) {
    this.followers.push(action);
  }

  /** Keep what is between two positions of a column, or all of it again. */
  brush(name, limits) {
    if (limits) this.brushes.set(name, limits);
    else this.brushes.delete(name);
    const brushes = [...this.brushes].map(([column, [low, high]]) => [this.positions.get(column), low, high]);
    for (let row = 0; row < this.total; row += 1) {
      this.selected[row] = this.feasible[row] && brushes.every(([values, low, high]) => values[row] >= low && values[row] <= high) ? 1 : 0;
    }
    for (const action of this.followers) action();
  }

  clear() {
    this.brushes.clear();
    this.brush(ALL, null);
  }

  /** Rows that no other one beats in two objectives, from left to right. */
  front(one, other) {
    const sign = (name) => (this.objectives.find((objective) => objective.name === name)?.goal === "max" ? -1 : 1);
    const [xs, ys, sx, sy] = [this.positions.get(one), this.positions.get(other), sign(one), sign(other)];
    const rows = [];
    for (let row = 0; row < this.total; row += 1) if (this.feasible[row] && !Number.isNaN(xs[row] + ys[row])) rows.push(row);
    rows.sort((a, b) => sx * (xs[a] - xs[b]) || sy * (ys[a] - ys[b]));
    let least = Infinity;
    return rows.filter((row) => sy * ys[row] < least && ((least = sy * ys[row]), true));
  }

  /** A colour for each row, as one of few: that of its category, or a shade of its value. */
  colouring(name) {
    const categories = this.kinds.get(name);
    const values = this.positions.get(name);
    if (categories) return { colours: categories.map((_, place) => STYLE.series[place % STYLE.series.length]), of: (row) => values[row] };
    const scale = this.scale(name, this.spread(name), 0);
    const shades = 24;
    return {
      colours: Array.from({ length: shades }, (_, place) => shade(place / (shades - 1))), scale,
      of: (row) => clamp(Math.floor(scale.at(values[row]) * shades), 0, shades - 1) || 0,
    };
  }
}

/** From which colour to which a scale of shades goes, and what that means. */
function ramp(points, name) {
  const categories = points.kinds.get(name);
  const { colours, scale } = points.colouring(name);
  if (categories) return legend(categories.slice(0, 12).map((text, place) => [colours[place], text]));
  const box = make("i", { class: "ramp", "aria-hidden": "true" });
  box.style.background = `linear-gradient(90deg, ${colours.join(",")})`;
  return make("div", { class: "legend" }, make("span", {}, `${name}: ${quantity(scale.low, points.units.get(name))}`, box, quantity(scale.high, points.units.get(name))));
}
