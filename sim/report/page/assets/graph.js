// The operators as a graph, from left to right: each reads the results of those that lines come from.

const BOX = { width: 190, height: 40, across: 44, down: 14 };
const NEAR = 0.55;

class GraphView {
  constructor(host, view) {
    Object.assign(this, { view, mode: "cycles", query: "", hovered: -1, left: 12, top: 12, scale: 1 });
    this.place();
    const { causes } = view.report.operators;
    this.most = Math.max(...causes.map((_, number) => view.total(number)), 1);
    this.main = causes.map((cycles) => cycles.reduce((best, one, cause) => (one > cycles[best] ? cause : best), 0));
    this.words = view.report.operators.label.map((label, number) => `${label} ${view.report.operators.members[number].join(" ")}`.toLowerCase());
    this.key = make("div");
    host.append(this.key);
    this.surface = new Surface(host, {
      height: clamp(this.bottom + 24, 84, 380), keyboard: true, draw: (...all) => this.draw(...all),
      label: "Graph of operators: arrows move, plus and minus zoom, Enter goes to the next one found.",
    });
    this.legend();
    this.listen(this.surface.element);
  }

  /** A column for each distance from the inputs; in it, operators beside those that they read from. */
  place() {
    const { after, label } = this.view.report.operators;
    this.column = [];
    this.row = [];
    const used = [];
    for (let number = 0; number < label.length; number += 1) {
      const before = after[number].filter((other) => other < number);
      const column = before.reduce((most, other) => Math.max(most, this.column[other] + 1), 0);
      const wanted = before.length ? Math.min(...before.map((other) => this.row[other])) : 0;
      used[column] ??= new Set();
      let row = wanted;
      while (used[column].has(row)) row += 1;
      used[column].add(row);
      this.column.push(column);
      this.row.push(row);
    }
    this.right = (Math.max(-1, ...this.column) + 1) * (BOX.width + BOX.across);
    this.bottom = (Math.max(-1, ...this.row) + 1) * (BOX.height + BOX.down);
  }

  x(number) {
    return this.left + this.scale * this.column[number] * (BOX.width + BOX.across);
  }

  y(number) {
    return this.top + this.scale * this.row[number] * (BOX.height + BOX.down);
  }

  legend() {
    if (this.mode === "cycles") {
      const ramp = make("canvas", { class: "ramp", width: 90, height: 10, "aria-hidden": "true" });
      const context = ramp.getContext("2d");
      for (let x = 0; x < 90; x += 1) {
        context.fillStyle = shade(x / 89);
        context.fillRect(x, 0, 1, 10);
      }
      this.key.replaceChildren(make("div", { class: "legend" }, make("span", {}, "few cycles ", ramp, ` ${count(this.most)} cycles`)));
      return;
    }
    const found = STYLE.causes.filter((_, cause) => this.main.includes(cause));
    this.key.replaceChildren(legend(found.map(([name, colour]) => [colour, `most cycles: ${name}`])));
  }

  tools() {
    this.search = make("input", {
      type: "search", placeholder: "Find an operator", "aria-label": "Find an operator in the graph", spellcheck: "false",
      oninput: () => this.find(this.search.value), onkeydown: (event) => event.key === "Enter" && this.next(),
    });
    this.found = make("span", { class: "found", role: "status" });
    const colour = menu("colour", [["cycles", "cycles"], ["cause", "cause"]], this.mode, (mode) => this.colour(mode));
    return [
      this.found, this.search, colour,
      button("+", "Graph: zoom in", () => this.zoom(1.4)), button("−", "Graph: zoom out", () => this.zoom(1 / 1.4)),
      button("All", "Graph: show all of it", () => this.all()),
    ];
  }

  colour(mode) {
    this.mode = mode;
    this.legend();
    this.surface.redraw();
  }

  matches(number) {
    return !this.query || this.words[number].includes(this.query);
  }

  find(text) {
    this.query = text.trim().toLowerCase();
    const rows = this.words.filter((_, number) => this.matches(number)).length;
    this.found.textContent = this.query ? `${count(rows)} found` : "";
    if (this.query && rows) this.show(this.words.findIndex((_, number) => this.matches(number)));
    this.surface.redraw();
  }

  next() {
    const total = this.words.length;
    for (let step = 1; step <= total; step += 1) {
      const number = (Math.max(this.view.picked, -1) + step) % total;
      if (this.query && this.matches(number)) return this.view.pick(number, true);
    }
  }

  /** Bring an operator into sight. */
  show(number) {
    const [width, height] = [this.surface.width ?? 600, this.surface.height ?? 300];
    const [x, y] = [this.x(number), this.y(number)];
    const room = this.scale * BOX.width;
    if (x < 0 || x + room > width) this.left += width / 2 - room / 2 - x;
    if (y < 0 || y + this.scale * BOX.height > height) this.top += height / 2 - y;
    this.surface.redraw();
  }

  zoom(factor, x = (this.surface.width ?? 0) / 2, y = (this.surface.height ?? 0) / 2) {
    const scale = clamp(this.scale * factor, 0.02, 3);
    this.left = x - ((x - this.left) * scale) / this.scale;
    this.top = y - ((y - this.top) * scale) / this.scale;
    this.scale = scale;
    this.surface.redraw();
  }

  all() {
    const { width, height } = this.surface;
    this.scale = clamp(Math.min((width - 24) / Math.max(this.right, 1), (height - 24) / Math.max(this.bottom, 1)), 0.02, 1);
    [this.left, this.top] = [12, 12];
    this.surface.redraw();
  }

  at([x, y]) {
    return this.column.findIndex((_, number) => x >= this.x(number) && x <= this.x(number) + this.scale * BOX.width && y >= this.y(number) && y <= this.y(number) + this.scale * BOX.height);
  }

  listen(element) {
    let start = null;
    element.addEventListener("pointerdown", (event) => {
      start = { x: event.clientX, y: event.clientY, left: this.left, top: this.top, moved: false };
      element.setPointerCapture(event.pointerId);
    });
    element.addEventListener("pointermove", (event) => {
      if (!start) return this.hover(event);
      const [x, y] = [event.clientX - start.x, event.clientY - start.y];
      start.moved ||= Math.hypot(x, y) > 3;
      [this.left, this.top] = [start.left + x, start.top + y];
      this.surface.redraw();
    });
    element.addEventListener("pointerup", (event) => {
      const number = this.at(this.surface.place(event));
      if (start && !start.moved && number >= 0) this.view.pick(number, true);
      start = null;
    });
    element.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), ...this.surface.place(event));
    }, { passive: false });
    element.addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    const moves = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (moves) [this.left, this.top] = [this.left + moves[0], this.top + moves[1]];
    else if (event.key === "+" || event.key === "-") this.zoom(event.key === "+" ? 1.4 : 1 / 1.4);
    else if (event.key === "Enter") this.next();
    else return;
    event.preventDefault();
    this.surface.redraw();
  }

  hover(event) {
    const number = this.at(this.surface.place(event));
    if (number < 0) return tooltip.hide();
    const { operators } = this.view.report;
    tooltip.show(event.clientX, event.clientY, this.view.name(number), [[operators.why[number]], ...this.view.operatorRows(number)]);
  }

  draw(context, width, height) {
    const { after } = this.view.report.operators;
    const seen = (number) => {
      const [x, y] = [this.x(number), this.y(number)];
      return x < width && y < height && x + this.scale * BOX.width > 0 && y + this.scale * BOX.height > 0;
    };
    context.lineWidth = 1;
    context.strokeStyle = theme("muted");
    context.globalAlpha = 0.55;
    for (let number = 0; number < after.length; number += 1) {
      for (const other of after[number]) if (seen(number) || seen(other)) this.line(context, other, number);
    }
    context.globalAlpha = 1;
    for (let number = 0; number < after.length; number += 1) if (seen(number)) this.box(context, number);
  }

  line(context, from, to) {
    const [x, y] = [this.x(from) + this.scale * BOX.width, this.y(from) + (this.scale * BOX.height) / 2];
    const [u, v] = [this.x(to), this.y(to) + (this.scale * BOX.height) / 2];
    const bend = Math.max(14 * this.scale, Math.min(60, (u - x) / 2));
    context.beginPath();
    context.moveTo(x, y);
    context.bezierCurveTo(x + bend, y, u - bend, v, u, v);
    context.stroke();
  }

  /** The colour of a share of the most cycles, and that of letters on it. */
  colours(share) {
    return [shade(share), readable(shade(share))];
  }

  box(context, number) {
    const [x, y, width, height] = [this.x(number), this.y(number), this.scale * BOX.width, this.scale * BOX.height];
    const cause = STYLE.causes[this.main[number]][1];
    const [fill, ink] = this.mode === "cycles" ? this.colours(Math.sqrt(this.view.total(number) / this.most)) : [cause, readable(cause)];
    context.globalAlpha = this.matches(number) ? 1 : 0.22;
    context.fillStyle = fill;
    context.beginPath();
    context.roundRect(x, y, width, height, 5 * this.scale);
    context.fill();
    if (number === this.view.picked) {
      context.strokeStyle = theme("text");
      context.lineWidth = 2.5;
      context.stroke();
    }
    if (this.scale > NEAR) {
      context.fillStyle = ink;
      context.textBaseline = "middle";
      context.fillText(this.view.title(context, number, width - 14), x + 7, y + height * 0.33);
      const share = percent(this.view.total(number) / Math.max(this.view.report.cycles, 1));
      context.fillText(fitted(context, `${count(this.view.total(number))} cycles, ${share}`, width - 14), x + 7, y + height * 0.7);
    }
    context.globalAlpha = 1;
  }
}

/** Black or white, whichever has more contrast on a colour. */
function readable(colour) {
  const parts = colour.startsWith("#") ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) : colour.match(/\d+/g).map(Number);
  const [red, green, blue] = parts.map((part) => (part / 255 <= 0.04045 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}
