// Parallel coordinates: a line for each machine; dragging along an axis keeps what passes through.

const BUDGET = 9;
const MOST_DIM = 2500;
const MOST = 20000;
const GRIP = 16;
const TOP = 44;
const LINES = 600;
const NAMED_VALUES = 10;

class Parallel {
  constructor(host, view) {
    Object.assign(this, { view, points: view.points, job: 0, brushing: null });
    this.names = this.points.names;
    this.colour = this.points.objectiveNames[0];
    this.scales = new Map(this.names.map((name) => [name, this.points.scale(name, undefined, 0)]));
    this.shares = this.names.map((name) => Float32Array.from(this.points.positions.get(name), (value) => 1 - this.scales.get(name).at(value)));
    this.distinct = new Map(this.points.fields.map((name) => [name, fewValues(this.points.positions.get(name))]));
    this.key = make("div");
    host.append(this.key);
    this.surface = new Surface(host, {
      height: 340, label: "Parallel coordinates: a line for each machine through its fields and objectives. The filter of the table selects by keyboard.",
      draw: (...all) => this.draw(...all), over: (...all) => this.mark(...all),
    });
    this.points.follow(() => this.surface.redraw());
    onTheme(() => this.legend());
    this.legend();
    this.listen(this.surface.element);
  }

  legend() {
    this.key.replaceChildren(ramp(this.points, this.colour));
  }

  tools() {
    return [
      menu("colour", this.names.map((name) => [name, name]), this.colour, (name) => {
        this.colour = name;
        this.legend();
        this.surface.redraw();
      }),
      button("Clear", "Show all machines again", () => this.points.clear()),
    ];
  }

  box() {
    return { left: 56, top: TOP, width: Math.max(10, this.surface.width - 130), height: this.surface.height - TOP - 18 };
  }

  x(place) {
    const { left, width } = this.box();
    return left + (width * place) / Math.max(this.names.length - 1, 1);
  }

  y(place, row) {
    return TOP + (this.surface.height - TOP - 18) * this.shares[place][row];
  }

  draw(context) {
    this.lines(context);
    this.job += 1;
    this.drawAxes(context);
  }

  /** Lines in parts of a few milliseconds, so that nobody waits: those left out first, the front last. */
  lines(context) {
    const { total, selected, feasible, columns } = this.points;
    const [out, kept, front] = [[], [], []];
    for (let row = 0; row < total; row += 1) {
      if (!feasible[row]) continue;
      if (!selected[row]) out.push(row);
      else (columns.front[row] ? front : kept).push(row);
    }
    const { colours, of } = this.points.colouring(this.colour);
    const sparse = (rows, most) => (rows.length <= most ? rows : rows.filter((_, place) => place % Math.ceil(rows.length / most) === 0));
    const alpha = clamp(12 / Math.sqrt(kept.length + 1), 0.08, 0.8);
    const work = [
      ...sparse(out, MOST_DIM).map((row) => [row, theme("dim"), 0.25, 1]),
      ...sparse(kept, MOST).map((row) => [row, colours[of(row)], alpha, 1]),
      ...front.map((row) => [row, colours[of(row)], 1, 1.75]),
    ];
    this.strokes(context, work, this.job + 1);
  }

  strokes(context, work, job, from = 0) {
    const start = performance.now();
    let place = from;
    context.lineJoin = "round";
    while (place < work.length && place < from + LINES && (place % 64 || performance.now() - start < BUDGET)) {
      const [row, colour, alpha, width] = work[place];
      [context.globalAlpha, context.strokeStyle, context.lineWidth] = [alpha, colour, width];
      this.path(context, row);
      place += 1;
    }
    context.globalAlpha = 1;
    if (from) page.frames.push(performance.now() - start);
    this.done = place === work.length;
    if (!this.done) requestAnimationFrame(() => this.job === job && this.strokes(context, work, job, place));
    else if (from) this.drawAxes(context);
  }

  path(context, row) {
    context.beginPath();
    let pen = false;
    this.names.forEach((_, place) => {
      const y = this.y(place, row);
      if (Number.isNaN(y)) return void (pen = false);
      if (pen) context.lineTo(this.x(place), y);
      else context.moveTo(this.x(place), y);
      pen = true;
    });
    context.stroke();
  }

  drawAxes(context) {
    const box = this.box();
    const room = box.width / Math.max(this.names.length - 1, 1) - 12;
    context.textBaseline = "middle";
    this.names.forEach((name, place) => {
      const x = Math.round(this.x(place)) + 0.5;
      const objective = this.points.objectiveNames.includes(name);
      context.strokeStyle = theme("text");
      context.lineWidth = objective ? 2 : 1;
      context.beginPath();
      context.moveTo(x, box.top);
      context.lineTo(x, box.top + box.height);
      context.stroke();
      this.drawName(context, name, x, room, objective);
      this.drawTicks(context, name, x, box);
    });
  }

  drawName(context, name, x, room, objective) {
    const parts = name.split(".");
    context.textAlign = "center";
    context.fillStyle = theme("muted");
    context.fillText(fitted(context, objective ? "objective" : parts.slice(0, -1).join("."), room), x, 12);
    context.fillStyle = theme("text");
    context.font = `600 ${FONT}`;
    context.fillText(fitted(context, parts.at(-1).replaceAll("_", " "), room), x, 27);
    context.font = FONT;
  }

  drawTicks(context, name, x, box) {
    context.textAlign = "left";
    const taken = [];
    for (const { value, text } of this.ticks(name)) {
      const y = box.top + box.height * (1 - this.scales.get(name).at(value));
      if (!text || taken.some((other) => Math.abs(other - y) < 12)) continue;
      taken.push(y);
      context.lineWidth = 3;
      context.strokeStyle = theme("surface");
      context.strokeText(text, x + 6, y);
      context.fillStyle = theme("text");
      context.fillText(text, x + 6, y);
      context.lineWidth = 1;
      context.strokeStyle = theme("text");
      context.strokeRect(x - 2, Math.round(y) - 0.5, 4, 1);
    }
  }

  ticks(name) {
    const scale = this.scales.get(name);
    const values = this.distinct.get(name);
    if (values) return values.map((value) => ({ value, text: this.points.text(name, this.points.positions.get(name).indexOf(value)) }));
    const unit = this.points.units.get(name);
    return scale.ticks(6).map(({ value, text }) => ({ value, text: text && !scale.categories && !scale.log ? quantity(value, unit) : text }));
  }

  // Brushes.

  listen(element) {
    element.addEventListener("pointermove", (event) => this.move(event));
    element.addEventListener("pointerleave", () => this.view.hover(-1));
    element.addEventListener("pointerdown", (event) => {
      const place = this.surface.place(event);
      const name = this.axisAt(place);
      if (!name) return this.view.pin(this.at(place));
      element.setPointerCapture(event.pointerId);
      this.brushing = { name, from: place[1], to: place[1] };
    });
    element.addEventListener("pointerup", () => this.release());
    element.addEventListener("pointercancel", () => (this.brushing = null));
  }

  axisAt([x]) {
    return this.names.find((_, place) => Math.abs(this.x(place) - x) <= GRIP);
  }

  move(event) {
    const place = this.surface.place(event);
    if (this.brushing) {
      this.brushing.to = place[1];
      return this.surface.reover();
    }
    const name = this.axisAt(place);
    this.surface.element.style.cursor = name ? "row-resize" : "default";
    const row = name ? -1 : this.at(place);
    this.view.hover(row);
    if (name) tooltip.show(event.clientX, event.clientY, name, [["drag along the axis to select, click it to select all"]]);
    else if (row < 0) tooltip.hide();
    else tooltip.show(event.clientX, event.clientY, this.points.title(row), this.points.rows(row));
  }

  release() {
    if (!this.brushing) return;
    const { name, from, to } = this.brushing;
    this.brushing = null;
    const { top, height } = this.box();
    const value = (y) => this.scales.get(name).back(clamp(1 - (y - top) / height, -0.01, 1.01));
    this.points.brush(name, Math.abs(from - to) < 4 ? null : [value(Math.max(from, to)), value(Math.min(from, to))]);
  }

  /** The machine whose line is nearest. */
  at([x, y]) {
    const { left, width } = this.box();
    const share = ((x - left) / width) * (this.names.length - 1);
    const place = Math.floor(share);
    if (place < 0 || place >= this.names.length - 1) return -1;
    let [best, least] = [-1, 5];
    for (let row = 0; row < this.points.total; row += 1) {
      if (!this.points.selected[row]) continue;
      const [one, other] = [this.y(place, row), this.y(place + 1, row)];
      const away = Math.abs(one + (other - one) * (share - place) - y) - (this.points.columns.front[row] ? 1 : 0);
      if (away < least) [best, least] = [row, away];
    }
    return best;
  }

  mark(context) {
    const { top, height } = this.box();
    for (const row of [this.view.hovered, this.view.pinned]) {
      if (row < 0) continue;
      for (const [width, colour] of [[5, theme("surface")], [2.5, theme("mark")]]) {
        [context.lineWidth, context.strokeStyle] = [width, colour];
        this.path(context, row);
      }
    }
    for (const [name, [low, high]] of this.points.brushes) {
      const [from, to] = [low, high].map((value) => top + height * (1 - clamp(this.scales.get(name).at(value), -0.01, 1.01)));
      this.bar(context, name, from, to);
    }
    if (this.brushing) this.bar(context, this.brushing.name, this.brushing.from, this.brushing.to);
  }

  bar(context, name, from, to) {
    const x = this.x(this.names.indexOf(name));
    context.globalAlpha = 0.3;
    context.fillStyle = theme("accent");
    context.fillRect(x - 8, Math.min(from, to), 16, Math.abs(from - to));
    context.globalAlpha = 1;
    context.strokeStyle = theme("accent");
    context.lineWidth = 1.5;
    context.strokeRect(x - 8, Math.min(from, to), 16, Math.abs(from - to));
  }
}

/** The different values of a column, if they are few enough to be named one by one. */
function fewValues(values) {
  const found = new Set();
  for (const value of values) {
    if (!Number.isNaN(value)) found.add(value);
    if (found.size > NAMED_VALUES) return null;
  }
  return [...found];
}
