// Operators below the roof of peak and bandwidth.

class RooflinePlot {
  constructor(host, view) {
    this.view = view;
    const { operators } = view.report;
    this.points = operators.macs.map((_, number) => number).filter((number) => operators.macs[number] && view.total(number));
    this.under = -1;
    this.surface = new Surface(host, {
      height: 380, label: "Roofline: MACs a cycle over MACs an off-chip byte. All figures are in the table of operators.",
      draw: (...all) => this.draw(...all), over: (...all) => this.mark(...all),
    });
    const { element } = this.surface;
    element.addEventListener("pointermove", (event) => this.hover(event));
    element.addEventListener("pointerleave", () => this.highlight(-1));
    element.addEventListener("click", (event) => view.pick(this.at(this.surface.place(event))));
    this.scales();
  }

  scales() {
    const { report } = this.view;
    const [peak, rate] = [report.peak_macs, report.bytes_per_cycle];
    const known = this.points.map((number) => this.view.intensity(number)).filter((value) => value !== null);
    const across = known.concat(rate ? [peak / rate] : []);
    this.across = scaleOf(across, { log: true, name: "MACs for each off-chip byte", margin: 0.12 });
    this.up = scaleOf([...this.points.map((number) => this.view.attained(number)), peak || null], { log: true, name: "MACs a cycle", margin: 0.08 });
  }

  box() {
    return { left: 66, top: 12, width: Math.max(10, this.surface.width - 84), height: this.surface.height - 56 };
  }

  /** Where an operator is; what moves no byte stands at the right edge. */
  place(number) {
    const box = this.box();
    const intensity = this.view.intensity(number);
    return [box.left + box.width * (intensity === null ? 1 : this.across.at(intensity)), box.top + box.height * (1 - this.up.at(this.view.attained(number)))];
  }

  radius(number) {
    return 3.5 + 16 * Math.sqrt(this.view.total(number) / Math.max(this.view.report.cycles, 1));
  }

  draw(context) {
    const box = this.box();
    drawAxes(context, box, this.across, this.up);
    this.drawRoof(context, box);
    for (const number of [...this.points].sort((one, other) => this.view.total(other) - this.view.total(one))) {
      const [x, y] = this.place(number);
      context.beginPath();
      context.arc(x, y, this.radius(number), 0, 2 * Math.PI);
      context.globalAlpha = 0.75;
      context.fillStyle = STYLE.units[this.view.report.operators.unit[number].split(" ")[0]] ?? STYLE.other;
      context.fill();
      context.globalAlpha = 1;
      context.strokeStyle = theme("surface");
      context.lineWidth = 1.25;
      context.stroke();
    }
  }

  drawRoof(context, box) {
    const { peak_macs: peak, bytes_per_cycle: rate } = this.view.report;
    if (!peak) return;
    const y = (value) => box.top + box.height * (1 - this.up.at(value));
    const x = (value) => box.left + box.width * this.across.at(value);
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    context.strokeStyle = theme("text");
    context.lineWidth = 2;
    context.beginPath();
    if (rate) {
      context.moveTo(x(this.across.low), y(this.across.low * rate));
      context.lineTo(x(peak / rate), y(peak));
    } else context.moveTo(box.left, y(peak));
    context.lineTo(box.left + box.width, y(peak));
    context.stroke();
    context.restore();
    this.nameRoof(context, box, x, y);
  }

  nameRoof(context, box, x, y) {
    const { peak_macs: peak, bytes_per_cycle: rate } = this.view.report;
    context.fillStyle = theme("text");
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.fillText(`peak: ${digits(peak)} MACs a cycle`, box.left + box.width - 6, y(peak) + 12);
    if (!rate) return;
    const low = Math.max(this.across.low, this.up.low / rate);
    const middle = Math.sqrt(low * (peak / rate));
    if (x(peak / rate) - x(low) < 90) return;
    context.save();
    context.translate(x(middle), y(middle * rate));
    context.rotate(Math.atan2(y(peak) - y(low * rate), x(peak / rate) - x(low)));
    context.textAlign = "center";
    context.fillText(`off-chip: ${digits(rate)} byte${rate === 1 ? "" : "s"} a cycle`, 0, -9);
    context.restore();
  }

  at([x, y]) {
    let best = -1;
    let least = Infinity;
    for (const number of this.points) {
      const [left, top] = this.place(number);
      const away = Math.hypot(left - x, top - y) - this.radius(number);
      if (away < 4 && away + this.radius(number) < least) [best, least] = [number, away + this.radius(number)];
    }
    return best;
  }

  hover(event) {
    const number = this.at(this.surface.place(event));
    this.highlight(number);
    if (number < 0) return tooltip.hide();
    tooltip.show(event.clientX, event.clientY, this.view.name(number), this.view.operatorRows(number));
  }

  highlight(number) {
    if (number === this.under) return;
    this.under = number;
    this.surface.reover();
  }

  mark(context) {
    for (const number of [this.under, this.view.picked]) {
      if (number < 0 || !this.points.includes(number)) continue;
      const [x, y] = this.place(number);
      context.beginPath();
      context.arc(x, y, this.radius(number) + 2, 0, 2 * Math.PI);
      context.strokeStyle = theme("text");
      context.lineWidth = 2;
      context.stroke();
    }
  }
}
