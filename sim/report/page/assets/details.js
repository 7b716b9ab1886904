// What is known of the chosen operator: why it takes so long, its layer, what lanes do, its tile program.

const CELLS = 16;
const CELL = 10;

class Details {
  constructor(host, view) {
    this.view = view;
    this.element = make("div", { class: "details", "aria-live": "polite" });
    host.append(this.element);
    onTheme(() => this.show(view.picked));
    this.show(-1);
  }

  show(number) {
    const { operators } = this.view.report;
    if (number < 0) return this.element.replaceChildren(make("p", { class: "empty" }, "Click an operator to see why it takes so long."));
    const card = make("dl", { class: "card" });
    for (const [name, text, colour] of [...this.layer(number), ...this.view.operatorRows(number), ...this.roof(number)]) {
      card.append(make("dt", {}, colour ? swatch(colour) : null, name), make("dd", {}, text));
    }
    const program = operators.program[number];
    this.element.replaceChildren(
      make("h3", {}, this.view.name(number)),
      make("p", { class: "why" }, operators.why[number]),
      make("div", { class: "columns" }, make("div", {}, card), this.lanes(number)),
      program ? make("details", { open: true }, make("summary", {}, "Tile program"), make("pre", {}, program)) : make("span"));
  }

  layer(number) {
    const layer = this.view.report.operators.layer[number];
    if (layer.height === undefined) return [];
    const rows = [["result", `${layer.images > 1 ? `${layer.images} × ` : ""}${layer.height} × ${layer.width} positions, ${count(layer.filters)} channels`]];
    rows.push(["sums over", `${layer.kernel_height} × ${layer.kernel_width} elements${layer.depthwise ? ", each channel alone" : ` × ${count(layer.channels)} channels`}`]);
    if (layer.groups > 1) rows.push(["groups", count(layer.groups)]);
    rows.push(["types", `${layer.data_bits}-bit × ${layer.weight_bits}-bit`]);
    return rows;
  }

  /** Its place in the roofline. */
  roof(number) {
    const { report } = this.view;
    if (!report.operators.macs[number] || !report.peak_macs) return [];
    const intensity = this.view.intensity(number);
    const slope = intensity === null || report.bytes_per_cycle === null ? Infinity : intensity * report.bytes_per_cycle;
    const bound = Math.min(slope, report.peak_macs);
    const limit = slope < report.peak_macs ? "bandwidth" : "array";
    return [["roofline", `${digits(this.view.attained(number))} MACs a cycle of ${digits(bound)} that the ${limit} allows`]];
  }

  /** 256 small squares: the shares of useful and idle lanes while it computes. */
  lanes(number) {
    const parts = laneParts(this.view.report.operators.lanes[number]);
    if (!parts.length) return make("div");
    const whole = parts.reduce((sum, { cycles }) => sum + cycles, 0);
    const size = CELLS * CELL;
    const ratio = window.devicePixelRatio || 1;
    const picture = make("canvas", { class: "lanes", width: size * ratio, height: size * ratio, role: "img", "aria-label": parts.map(({ name, cycles }) => `${name} ${percent(cycles / whole)}`).join(", ") });
    const context = picture.getContext("2d");
    context.scale(ratio, ratio);
    let [place, reached] = [0, 0];
    for (const { cycles, colour } of parts) {
      reached += cycles;
      context.fillStyle = colour;
      for (; place < Math.round((CELLS * CELLS * reached) / whole); place += 1) {
        context.fillRect((place % CELLS) * CELL, Math.floor(place / CELLS) * CELL, CELL - 1, CELL - 1);
      }
    }
    const rows = parts.map(({ name, cycles, colour, meaning }) => make("div", { title: meaning }, swatch(colour), `${name} ${percent(cycles / whole)}`, make("small", {}, meaning)));
    return make("div", { class: "lanework" }, picture, make("div", { class: "lanekey" }, make("strong", {}, "Lanes while it computes"), ...rows));
  }
}

/** What lanes do, with colours: useful work in its own, reasons in turn. */
function laneParts(lanes) {
  const others = STYLE.series.filter((colour) => colour !== STYLE.causes[0][1]);
  const found = STYLE.lanes.map(([name, meaning], place) => ({ name, meaning, cycles: lanes[place], useful: name === "useful" })).filter(({ cycles }) => cycles);
  found.sort((one, other) => other.useful - one.useful || other.cycles - one.cycles);
  let turn = 0;
  for (const part of found) part.colour = part.useful ? STYLE.causes[0][1] : others[turn++ % others.length];
  return found;
}
