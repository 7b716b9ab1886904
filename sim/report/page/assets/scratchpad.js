// The scratchpad over time: which addresses hold what or, where that is not known, how many bytes are in use.

class Scratchpad {
  constructor(host, view) {
    this.view = view;
    this.range = view.range;
    this.boxes = view.report.contents;
    this.order = this.boxes.first.map((_, number) => number).sort((one, other) => this.boxes.bytes[other] - this.boxes.bytes[one]);
    this.under = -1;
    this.surface = new Surface(host, {
      height: 300, keyboard: true,
      label: "Scratchpad over time: addresses that hold something. Arrow keys move, plus and minus zoom.",
      draw: (...all) => this.draw(...all), over: (...all) => this.mark(...all),
    });
    navigable(this.surface, this.range, () => this.box());
    this.surface.element.addEventListener("pointermove", (event) => this.hover(event));
    this.surface.element.addEventListener("pointerleave", () => this.highlight(-1));
    this.range.follow(() => this.surface.redraw());
  }

  box() {
    return { left: GUTTER, top: 10, width: Math.max(10, this.surface.width - GUTTER - EDGE), height: this.surface.height - 54 };
  }

  top() {
    const { scratchpad_bytes: there, peak_scratchpad_bytes: peak } = this.view.report;
    const used = this.boxes.first.reduce((most, _, number) => Math.max(most, this.boxes.address[number] + this.boxes.bytes[number]), peak);
    return Math.max(there && there <= 2 * used ? there : 0, used, 1) * 1.08;
  }

  upwards() {
    this.up ??= new Scale({ low: 0, high: this.top(), unit: "B", name: this.boxes.first.length ? "address" : "in use" });
    return this.up;
  }

  draw(context) {
    const box = this.box();
    drawAxes(context, box, this.view.timeScale(), this.upwards());
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    if (this.boxes.first.length) this.drawBoxes(context);
    this.drawUse(context, this.boxes.first.length > 0);
    context.restore();
    this.drawLimit(context, box);
  }

  /** Left, top, width and height of a box in pixels; nothing if it is out of sight. */
  place(number) {
    const box = this.box();
    const { first, last, address, bytes } = this.boxes;
    if (last[number] < this.range.low || first[number] > this.range.high) return null;
    const across = (cycle) => box.left + ((clamp(cycle, this.range.low, this.range.high) - this.range.low) / this.range.span) * box.width;
    const up = (value) => box.top + box.height * (1 - this.upwards().at(value));
    const [left, top] = [across(first[number]), up(address[number] + bytes[number])];
    return [left, top, Math.max(across(last[number]) - left, 1), Math.max(up(address[number]) - top, 1)];
  }

  drawBoxes(context) {
    const { kind, copy, name } = this.boxes;
    const colours = STYLE.contents.map(([, colour]) => colour);
    for (const number of this.order) {
      const place = this.place(number);
      if (!place) continue;
      const [left, top, width, height] = place;
      context.globalAlpha = copy[number] ? 0.55 : 1;
      context.fillStyle = colours[kind[number]];
      context.fillRect(left, top, width, height);
      context.globalAlpha = 1;
      if (width > 3 && height > 3) {
        context.strokeStyle = theme("surface");
        context.lineWidth = 1;
        context.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
      }
      if (width < 40 || height < 14) continue;
      context.fillStyle = copy[number] ? theme("text") : "#000000";
      context.textAlign = "left";
      context.textBaseline = "middle";
      context.fillText(fitted(context, this.boxes.names[name[number]], width - 8), left + 4, top + height / 2);
    }
  }

  /** The bytes in use as a step line: for each pixel, the most and the least. */
  drawUse(context, line) {
    const { cycle, bytes } = this.view.report.occupancy;
    if (!cycle.length) return;
    const box = this.box();
    const x = (value) => box.left + ((value - this.range.low) / this.range.span) * box.width;
    const y = (value) => box.top + box.height * (1 - this.upwards().at(value));
    context.beginPath();
    let number = Math.max(0, lowerBound(cycle, this.range.low) - 1);
    context.moveTo(Math.max(x(cycle[number]), box.left - 2), y(0));
    for (; number < cycle.length && cycle[number] <= this.range.high; number += 1) {
      const from = Math.max(x(cycle[number]), box.left - 2);
      context.lineTo(from, y(bytes[number]));
      context.lineTo(Math.min(x(cycle[number + 1] ?? this.range.whole[1]), box.left + box.width + 2), y(bytes[number]));
    }
    context.strokeStyle = theme("text");
    context.lineWidth = 1.25;
    if (line) return context.stroke();
    context.lineTo(box.left + box.width + 2, y(0));
    context.globalAlpha = 0.5;
    context.fillStyle = STYLE.units.array;
    context.fill();
    context.globalAlpha = 1;
    context.stroke();
  }

  drawLimit(context, box) {
    const there = this.view.report.scratchpad_bytes;
    if (!there || there > this.upwards().high) return;
    const y = Math.round(box.top + box.height * (1 - this.upwards().at(there))) + 0.5;
    context.strokeStyle = theme("alarm");
    context.setLineDash([6, 4]);
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(box.left, y);
    context.lineTo(box.left + box.width, y);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = theme("alarm");
    context.textAlign = "right";
    context.fillText(`the machine has ${quantity(there, "B")}`, box.left + box.width - 4, y - 8);
  }

  /** The smallest box at some pixels. */
  at([x, y]) {
    for (let place = this.order.length - 1; place >= 0; place -= 1) {
      const found = this.place(this.order[place]);
      if (found && x >= found[0] - 1 && x <= found[0] + found[2] + 1 && y >= found[1] && y <= found[1] + found[3]) return this.order[place];
    }
    return -1;
  }

  hover(event) {
    const [x, y] = this.surface.place(event);
    const box = this.box();
    const number = this.at([x, y]);
    this.highlight(number);
    if (event.buttons || x < box.left || x > box.left + box.width) return tooltip.hide();
    const cycle = this.range.low + ((x - box.left) / box.width) * this.range.span;
    const [title, rows] = number < 0 ? ["Nothing is here", []] : this.boxRows(number);
    tooltip.show(event.clientX, event.clientY, title, [...rows, ["in use", `${quantity(this.use(cycle), "B")} at ${this.view.time(cycle)}`]]);
  }

  use(cycle) {
    const { cycle: cycles, bytes } = this.view.report.occupancy;
    return bytes[Math.max(0, lowerBound(cycles, cycle + 1) - 1)] ?? 0;
  }

  boxRows(number) {
    const { names, name, kind, bytes, address, first, last, copy } = this.boxes;
    return [names[name[number]], [
      ["kind", STYLE.contents[kind[number]][2] + (copy[number] ? ", in tiles" : ""), STYLE.contents[kind[number]][1]],
      ["size", quantity(bytes[number], "B")],
      ["addresses", `${count(address[number])} to ${count(address[number] + bytes[number] - 1)}`],
      ["there from", `${this.view.time(first[number])} to ${this.view.time(last[number])}`],
    ]];
  }

  highlight(number) {
    if (number === this.under) return;
    this.under = number;
    this.surface.reover();
  }

  mark(context) {
    const place = this.under >= 0 && this.place(this.under);
    if (!place) return;
    context.strokeStyle = theme("text");
    context.lineWidth = 2;
    context.strokeRect(...place);
  }
}
