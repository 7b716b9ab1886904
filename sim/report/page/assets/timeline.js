// What each unit does when: operators, lanes of units, and the whole run above them.

const LANE = 26;
const CAUSES = 44;
const OVERVIEW = 38;

class Timeline {
  constructor(host, view) {
    this.view = view;
    this.range = view.range;
    this.lanes = lanesOf(view.report);
    this.starts = starts(view.report);
    this.marked = null;
    this.overview = new Surface(host, { height: OVERVIEW, label: "Overview of the whole run; the framed part is shown below", draw: (...all) => this.drawOverview(...all), over: (...all) => this.drawWindow(...all) });
    this.surface = new Surface(host, {
      height: this.lanesTop() + this.lanes.length * LANE + 44, keyboard: true,
      label: "Timeline of units. Arrow keys left and right move, plus and minus zoom, Home shows everything.",
      draw: (...all) => this.draw(...all), over: (...all) => this.mark(...all),
    });
    navigable(this.surface, this.range, () => this.box(), (event) => this.click(event));
    this.surface.element.addEventListener("pointermove", (event) => this.hover(event));
    this.surface.element.addEventListener("pointerleave", () => this.highlight(null));
    dragging(this.overview.element, (by) => this.range.pan((by / this.box().width) * this.whole()), (event) => this.jump(event));
    this.range.follow(() => (this.surface.redraw(), this.overview.reover()));
  }

  box() {
    const width = this.surface.width ?? this.overview.width; // whichever has one: both are as wide
    return { left: GUTTER, width: Math.max(10, width - GUTTER - EDGE) };
  }

  whole() {
    return this.range.whole[1] - this.range.whole[0];
  }

  x(cycle) {
    const { left, width } = this.box();
    return left + ((cycle - this.range.low) / this.range.span) * width;
  }

  colour(operator) {
    return operator < 0 ? STYLE.other : STYLE.operators[operator % STYLE.operators.length];
  }

  redraw() {
    this.surface.redraw();
    this.overview.redraw();
  }

  draw(context, width, height) {
    const scale = this.view.timeScale();
    const box = { ...this.box(), top: 4, height: height - 44 };
    drawTimeAxis(context, box, scale);
    this.names(context);
    context.save();
    context.beginPath();
    context.rect(box.left, 0, box.width, height);
    context.clip();
    this.drawOperators(context, 4);
    this.drawCauses(context, 4 + LANE + 2, CAUSES - 4, this.range.low, this.range.high);
    this.lanes.forEach((lane, number) => this.drawLane(context, lane, this.lanesTop() + number * LANE));
    context.restore();
  }

  names(context) {
    context.textAlign = "right";
    context.textBaseline = "middle";
    let y = 4;
    for (const name of ["operators", "cycles spent", ...this.lanes.map((lane) => lane.name)]) {
      const height = name === "cycles spent" ? CAUSES : LANE;
      context.fillStyle = theme("lane");
      context.fillRect(GUTTER, y + 2, this.box().width, height - 4);
      context.fillStyle = theme("text");
      context.fillText(fitted(context, name, GUTTER - 14), GUTTER - 8, y + height / 2);
      y += height;
    }
  }

  /** Where the lanes of units begin. */
  lanesTop() {
    return 4 + LANE + CAUSES;
  }

  /** The operators one after another, each as long as its own cycles. */
  drawOperators(context, top) {
    this.eachOperator((number, from, to, dust) => {
      if (to - from < 1.5) return dust.add(from - GUTTER, to - GUTTER, number);
      context.fillStyle = this.colour(number);
      context.fillRect(from, top + 2, Math.max(to - from - 0.5, 1), LANE - 4);
      context.fillStyle = "#000000";
      context.textAlign = "left";
      const [low, high] = [Math.max(from, GUTTER), Math.min(to, this.surface.width - EDGE)];
      context.fillText(this.view.title(context, number, high - low - 8), low + 4, top + LANE / 2 + 0.5);
    }).draw(context, GUTTER, top + 2, LANE - 4, (number) => this.colour(number));
  }

  /** In each column of pixels the shares of the causes; what happened when within an operator is not said. */
  drawCauses(context, top, height, low, high) {
    const width = Math.ceil(this.box().width);
    const sums = causesOfPixels(this.view.report.operators.causes, this.starts, low, high, width);
    const pixels = new Pixels(width, height);
    const colours = STYLE.causes.map(([, colour]) => channels(colour));
    for (let pixel = 0; pixel < width; pixel += 1) {
      let total = 0;
      for (let cause = 0; cause < colours.length; cause += 1) total += sums[pixel * colours.length + cause];
      let bottom = height;
      for (let cause = 0; cause < colours.length && total > 0; cause += 1) {
        const part = (height * sums[pixel * colours.length + cause]) / total;
        pixels.fill(pixel, bottom - part, 1, part, colours[cause]);
        bottom -= part;
      }
    }
    pixels.draw(context, GUTTER, top);
  }

  eachOperator(action) {
    const dust = new Dust(Math.ceil(this.box().width));
    const last = this.starts.length - 1;
    for (let number = Math.max(0, lowerBound(this.starts, this.range.low) - 1); number < last && this.starts[number] <= this.range.high; number += 1) {
      if (this.starts[number + 1] > this.starts[number]) action(number, this.x(this.starts[number]), this.x(this.starts[number + 1]), dust);
    }
    return dust;
  }

  drawLane(context, lane, top) {
    const dust = new Dust(Math.ceil(this.box().width));
    const [from, to] = lane.window(this.range.low, this.range.high);
    const pixels = this.box().width / this.range.span;
    for (let number = from; number < to; number += 1) {
      const repeated = lane.count[number] > 1 && lane.period[number] * pixels >= 2;
      if (repeated) this.drawRepeated(context, lane, number, top, dust);
      else this.drawSpan(context, lane, number, top, dust);
    }
    dust.draw(context, GUTTER, top + 2, LANE - 4, (owner) => this.colour(owner));
  }

  drawSpan(context, lane, number, top, dust) {
    const [from, to] = [this.x(lane.first[number]), this.x(lane.end(number))];
    const folded = lane.count[number] > 1;
    const density = folded ? clamp(lane.duration[number] / (lane.period[number] || 1), 0.1, 1) : 1;
    if (to - from < 1.5) return void dust.add(from - GUTTER, to - GUTTER, lane.operator[number], density);
    context.globalAlpha = folded ? 0.35 + 0.65 * density : lane.sums[number] > 1 ? 0.6 : 1;
    this.rect(context, lane, number, from, to, top);
    context.globalAlpha = 1;
  }

  drawRepeated(context, lane, number, top, dust) {
    const [first, period, duration] = [lane.first[number], lane.period[number], lane.duration[number]];
    const from = clamp(Math.floor((this.range.low - first - duration) / period), 0, lane.count[number] - 1);
    const to = clamp(Math.ceil((this.range.high - first) / period), 0, lane.count[number] - 1);
    for (let time = from; time <= to; time += 1) {
      const [left, right] = [this.x(first + time * period), this.x(first + time * period + duration)];
      if (right - left < 1.5) dust.add(left - GUTTER, right - GUTTER, lane.operator[number]);
      else this.rect(context, lane, number, left, right, top);
    }
  }

  rect(context, lane, number, from, to, top) {
    context.fillStyle = this.colour(lane.operator[number]);
    context.fillRect(from, top + 2, Math.max(to - from - (to - from > 4 ? 0.75 : 0), 1), LANE - 4);
    const [low, high] = [Math.max(from, GUTTER), Math.min(to, this.surface.width - EDGE)];
    if (high - low < 60) return;
    context.fillStyle = "#000000";
    context.textAlign = "left";
    context.fillText(this.view.title(context, lane.operator[number], high - low - 8), low + 4, top + LANE / 2 + 0.5);
  }

  drawOverview(context, width, height) {
    const box = this.box();
    context.fillStyle = theme("lane");
    context.fillRect(box.left, 4, box.width, height - 10);
    this.drawCauses(context, 4, height - 10, 0, this.whole());
    context.fillStyle = theme("muted");
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText("whole run", GUTTER - 8, height / 2);
  }

  drawWindow(context, width, height) {
    const box = this.box();
    const [from, to] = [this.range.low, this.range.high].map((cycle) => box.left + (cycle / this.whole()) * box.width);
    context.fillStyle = theme("veil");
    context.fillRect(box.left, 4, from - box.left, height - 10);
    context.fillRect(to, 4, box.left + box.width - to, height - 10);
    context.strokeStyle = theme("text");
    context.lineWidth = 2;
    context.strokeRect(from, 3, Math.max(to - from, 3), height - 8);
  }

  jump(event) {
    const at = ((this.overview.place(event)[0] - GUTTER) / this.box().width) * this.whole();
    this.range.set(at - this.range.span / 2, at + this.range.span / 2);
  }

  /** What is at some pixels: an operator, or a span of a lane. */
  at([x, y]) {
    const box = this.box();
    if (x < box.left || x > box.left + box.width) return null;
    const cycle = this.range.low + ((x - box.left) / box.width) * this.range.span;
    const row = Math.floor((y - this.lanesTop()) / LANE);
    if (y < 4 || row >= this.lanes.length) return null;
    if (row < 0) {
      const number = lowerBound(this.starts, cycle + 1e-9) - 1;
      return number >= 0 && number < this.starts.length - 1 ? { operator: number } : null;
    }
    const lane = this.lanes[row];
    const found = lane.find(cycle, (2.5 * this.range.span) / box.width);
    return found && { operator: lane.operator[found.number], lane, found };
  }

  hover(event) {
    const place = this.at(this.surface.place(event));
    if (!place || event.buttons) tooltip.hide();
    else tooltip.show(event.clientX, event.clientY, this.view.name(place.operator), [...this.spanRows(place), ...this.view.operatorRows(place.operator)]);
    this.highlight(place);
  }

  spanRows({ lane, found }) {
    if (!lane) return [];
    const { number, time, start } = found;
    const rows = [["does", `${lane.kind[number]} on ${lane.name}`], ["starts", this.view.time(start)], ["takes", this.view.time(lane.duration[number])]];
    if (lane.sums[number] > 1) rows.push(["stands for", `${count(lane.sums[number])} tiles, from the first to the last`]);
    else if (lane.count[number] > 1) rows.push(["tile", `${count(time + 1)} of ${count(lane.count[number])}, every ${count(lane.period[number])} cycles`]);
    if (lane.bytes[number]) rows.push(["moves", quantity(lane.bytes[number], "B")]);
    return rows;
  }

  highlight(place) {
    const key = place && `${place.operator} ${place.lane?.name} ${place.found?.start}`;
    if (key === this.marked?.key) return;
    this.marked = place && { ...place, key };
    this.surface.reover();
  }

  /** Frames around what the pointer is on, and around all of the operator that is picked. */
  mark(context) {
    context.save();
    context.beginPath();
    context.rect(GUTTER, 0, this.box().width, this.surface.height);
    context.clip();
    if (this.view.picked >= 0) this.markOperator(context, this.view.picked);
    const place = this.marked;
    if (place?.lane) {
      const { start, number } = place.found;
      this.frame(context, start, start + place.lane.duration[number], this.lanesTop() + this.lanes.indexOf(place.lane) * LANE, LANE);
    } else if (place) this.frameOperator(context, place.operator);
    context.restore();
  }

  markOperator(context, operator) {
    const [from, to] = [this.x(this.starts[operator]), this.x(this.starts[operator + 1])];
    context.fillStyle = theme("veil");
    context.fillRect(0, 0, from, this.surface.height - 40);
    context.fillRect(to, 0, this.surface.width, this.surface.height - 40);
    this.frameOperator(context, operator);
  }

  frameOperator(context, operator) {
    this.frame(context, this.starts[operator], this.starts[operator + 1], 4, LANE + CAUSES);
  }

  frame(context, first, last, top, height) {
    context.strokeStyle = theme("text");
    context.lineWidth = 2;
    context.strokeRect(this.x(first) - 1, top + 1, Math.max(this.x(last) - this.x(first), 1) + 2, height - 2);
  }

  click(event) {
    const place = this.at(this.surface.place(event));
    this.view.pick(place ? place.operator : -1);
  }
}

const GUTTER = 104;
const EDGE = 14;

/** When each operator's own cycles begin, and when the last ones are over. */
function starts({ operators }) {
  const found = [0];
  for (const cycles of operators.causes) found.push(found.at(-1) + cycles.reduce((sum, one) => sum + one, 0));
  return found;
}

/** Cycles of each cause for each of so many pixels between two cycles. */
function causesOfPixels(causes, begins, low, high, width) {
  const kinds = STYLE.causes.length;
  const sums = new Float64Array(width * kinds);
  const pixels = width / (high - low);
  for (let number = Math.max(0, lowerBound(begins, low) - 1); number < causes.length && begins[number] <= high; number += 1) {
    const [from, to] = [(begins[number] - low) * pixels, (begins[number + 1] - low) * pixels];
    for (let pixel = clamp(Math.floor(from), 0, width - 1); pixel < Math.min(to, width); pixel += 1) {
      const share = (Math.min(to, pixel + 1) - Math.max(from, pixel)) / (to - from);
      if (share > 0) causes[number].forEach((spent, cause) => (sums[pixel * kinds + cause] += spent * share));
    }
  }
  return sums;
}

function drawTimeAxis(context, box, scale) {
  context.textBaseline = "middle";
  context.textAlign = "center";
  const bottom = box.top + box.height;
  for (const { value, text } of scale.ticks(Math.max(2, Math.floor(box.width / 90)))) {
    const x = box.left + box.width * scale.at(value);
    rule(context, x, box.top, x, bottom, text);
    context.fillStyle = theme("muted");
    const half = context.measureText(text).width / 2;
    context.fillText(text, clamp(x, box.left + half, box.left + box.width - half), bottom + 12);
  }
  context.fillStyle = theme("text");
  context.fillText(scale.title(), box.left + box.width / 2, bottom + 29);
}
