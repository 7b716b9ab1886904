// All machines by two objectives, with the front line of these two.

const CELL = 14;

class Scatter {
  constructor(host, view) {
    Object.assign(this, { view, points: view.points });
    const names = this.points.objectiveNames;
    this.x = names[0];
    this.y = names[1] ?? this.points.names.find((name) => name !== this.x) ?? names[0];
    this.colour = "";
    this.logs = { x: this.points.spread(this.x), y: this.points.spread(this.y) };
    [this.across, this.up] = [new Range(0, 1, 1e-4), new Range(0, 1, 1e-4)];
    this.key = make("div");
    host.append(this.key);
    this.surface = new Surface(host, {
      height: 460, keyboard: true, label: "Scatter of machines by two objectives. Arrow keys move, plus and minus zoom, Home shows everything. All machines are in the table.",
      draw: (...all) => this.draw(...all), over: (...all) => this.mark(...all),
    });
    this.zoomers = navigablePlane(this.surface, this.across, this.up, () => this.box(), (event) => view.pin(this.at(this.surface.place(event))));
    const { element } = this.surface;
    element.addEventListener("pointermove", (event) => this.hover(event));
    element.addEventListener("pointerleave", () => view.hover(-1));
    this.points.follow(() => this.surface.redraw());
    for (const range of [this.across, this.up]) range.follow(() => this.surface.redraw());
    onTheme(() => this.legend());
    this.choose();
  }

  tools() {
    const options = this.points.names.map((name) => [name, name]);
    const axis = (which) => [
      menu(which, options, this[which], (name) => {
        this[which] = name;
        this.logs[which] = logs[which].firstChild.checked = this.points.spread(name);
        this.choose();
      }),
      logs[which],
    ];
    const logs = Object.fromEntries(["x", "y"].map((which) => [which, checkbox("log", this.logs[which], (checked) => {
      this.logs[which] = checked;
      this.choose();
    })]));
    const colour = menu("colour", [["", "the front"], ...options], this.colour, (name) => {
      this.colour = name;
      this.choose();
    });
    return [...axis("x"), ...axis("y"), colour, ...this.zoomers];
  }

  /** Other axes or colours: everything is shown again. */
  choose() {
    this.whole = { x: this.axis("x"), y: this.axis("y") };
    this.shares = ["x", "y"].map((which) => this.points.positions.get(this[which]).map((value) => this.whole[which].at(value)));
    const pareto = [this.x, this.y].every((name) => this.points.objectiveNames.includes(name)) && this.x !== this.y;
    this.front = pareto ? this.points.front(this.x, this.y) : [];
    for (const range of [this.across, this.up]) [range.low, range.high] = [0, 1];
    this.legend();
    this.surface.redraw();
  }

  legend() {
    const front = [[theme("mark"), "on the front of all objectives"]];
    const rest = this.colour ? [] : [[theme("accent"), "other feasible machines"]];
    if (this.points.columns.confirmed?.[this.x] || this.points.columns.confirmed?.[this.y]) rest.push([theme("muted"), "as confirmed, with a line from the estimate"]);
    this.key.replaceChildren(make("div", { class: "pairs" }, legend([...front, ...rest]), this.colour ? ramp(this.points, this.colour) : null));
  }

  axis(which) {
    const log = this.logs[which] && this.points.positions.get(this[which]).some((value) => value > 0);
    return this.points.scale(this[which], log);
  }

  /** The scale of the part that is shown. */
  part(which, range) {
    const whole = this.whole[which];
    const part = Object.assign(Object.create(Scale.prototype), whole);
    [part.low, part.high] = [whole.back(range.low), whole.back(range.high)];
    return part;
  }

  box() {
    return { left: 74, top: 10, width: Math.max(10, this.surface.width - 90), height: this.surface.height - 52 };
  }

  place(x, y) {
    const box = this.box();
    return [box.left + box.width * this.partX.at(x), box.top + box.height * (1 - this.partY.at(y))];
  }

  placeRow(row) {
    return this.place(this.points.positions.get(this.x)[row], this.points.positions.get(this.y)[row]);
  }

  draw(context) {
    const box = this.box();
    [this.partX, this.partY] = [this.part("x", this.across), this.part("y", this.up)];
    drawAxes(context, box, this.partX, this.partY);
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    this.lay(box);
    this.drawPoints(context);
    this.drawFront(context);
    this.drawConfirmed(context);
    this.drawBest(context);
    context.restore();
  }

  /** Where each point is in pixels, and in which cell of a grid: what is near the pointer is then found at once. */
  lay(box) {
    const { total, feasible } = this.points;
    const [xs, ys] = this.shares;
    this.left = new Float32Array(total).fill(NaN);
    this.top = new Float32Array(total);
    this.columns = Math.ceil(this.surface.width / CELL) + 1;
    this.heads = new Int32Array(this.columns * (Math.ceil(this.surface.height / CELL) + 1)).fill(-1);
    this.next = new Int32Array(total);
    const [across, up] = [box.width / this.across.span, box.height / this.up.span];
    for (let row = 0; row < total; row += 1) {
      const x = box.left + (xs[row] - this.across.low) * across;
      const y = box.top + box.height - (ys[row] - this.up.low) * up;
      if (!feasible[row] || !(x >= box.left && x <= box.left + box.width && y >= box.top && y <= box.top + box.height)) continue;
      [this.left[row], this.top[row]] = [x, y];
      const cell = Math.floor(y / CELL) * this.columns + Math.floor(x / CELL);
      [this.next[row], this.heads[cell]] = [this.heads[cell], row];
    }
  }

  colouring() {
    return this.colour ? this.points.colouring(this.colour) : { colours: [theme("accent")], of: () => 0 };
  }

  /** Those left out below, then the others. */
  drawPoints(context) {
    const { total, selected, columns } = this.points;
    const { colours, of } = this.colouring();
    const { ratio } = this.surface;
    const size = (total > 30000 ? 2 : total > 3000 ? 3 : 4) * ratio;
    const alpha = total > 3000 ? 0.6 : 0.8;
    const pixels = new Pixels(this.surface.width * ratio, this.surface.height * ratio);
    const [dim, shades] = [channels(theme("dim")), colours.map(channels)];
    for (const chosen of [0, 1]) {
      for (let row = 0; row < total; row += 1) {
        if (selected[row] !== chosen || Number.isNaN(this.left[row])) continue;
        pixels.fill(this.left[row] * ratio - size / 2, this.top[row] * ratio - size / 2, size, size, chosen ? shades[of(row)] : dim, chosen ? alpha : 0.5);
      }
    }
    pixels.draw(context, 0, 0, this.surface.width, this.surface.height);
  }

  /** The machines on the front, in rounds. */
  drawBest(context) {
    const { total, selected, columns } = this.points;
    const { colours, of } = this.colouring();
    for (let row = 0; row < total; row += 1) {
      if (!columns.front[row] || !selected[row] || Number.isNaN(this.left[row])) continue;
      dot(context, this.left[row], this.top[row], 4.5, this.colour ? colours[of(row)] : theme("mark"), this.colour ? theme("mark") : theme("surface"));
    }
  }

  drawFront(context) {
    if (this.front.length < 2) return;
    context.beginPath();
    this.front.forEach((row, number) => {
      const [x, y] = this.placeRow(row);
      if (number === 0) context.moveTo(x, y);
      else context.lineTo(x, this.placeRow(this.front[number - 1])[1]);
      context.lineTo(x, y);
    });
    context.strokeStyle = theme("mark");
    context.lineWidth = 1.75;
    context.stroke();
  }

  /** From what was estimated to what the events say. */
  drawConfirmed(context) {
    const { columns, selected, total } = this.points;
    if (!columns.confirmed?.[this.x] && !columns.confirmed?.[this.y]) return;
    context.strokeStyle = theme("muted");
    context.lineWidth = 1;
    for (let row = 0; row < total; row += 1) {
      const [x, y] = [this.points.confirmed(this.x, row), this.points.confirmed(this.y, row)];
      if ((x === null && y === null) || !selected[row] || Number.isNaN(this.left[row])) continue;
      const [left, top] = this.place(x ?? columns[this.x][row], y ?? columns[this.y][row]);
      context.beginPath();
      context.moveTo(this.left[row], this.top[row]);
      context.lineTo(left, top);
      context.stroke();
      context.strokeRect(left - 2.5, top - 2.5, 5, 5);
    }
  }

  /** The nearest point within some pixels. */
  at([x, y]) {
    let [best, least] = [-1, CELL];
    for (let down = -1; down <= 1; down += 1) {
      for (let across = -1; across <= 1; across += 1) {
        const cell = (Math.floor(y / CELL) + down) * this.columns + Math.floor(x / CELL) + across;
        for (let row = this.heads?.[cell] ?? -1; row >= 0; row = this.next[row]) {
          const away = Math.hypot(this.left[row] - x, this.top[row] - y) - (this.points.columns.front[row] ? 3 : 0);
          if (away < least && this.points.selected[row]) [best, least] = [row, away];
        }
      }
    }
    return best;
  }

  hover(event) {
    const row = event.buttons ? -1 : this.at(this.surface.place(event));
    this.view.hover(row);
    if (row < 0) tooltip.hide();
    else tooltip.show(event.clientX, event.clientY, this.points.title(row), this.points.rows(row));
  }

  mark(context) {
    for (const row of [this.view.hovered, this.view.pinned]) {
      if (row < 0 || Number.isNaN(this.left?.[row] ?? NaN)) continue;
      context.beginPath();
      context.arc(this.left[row], this.top[row], row === this.view.pinned ? 9 : 7, 0, 2 * Math.PI);
      context.strokeStyle = theme("text");
      context.lineWidth = 2;
      context.stroke();
    }
  }
}

function dot(context, x, y, radius, fill, edge) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = fill;
  context.fill();
  context.strokeStyle = edge;
  context.lineWidth = 1.25;
  context.stroke();
}
