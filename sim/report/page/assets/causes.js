// Where the cycles go: a bar of all causes, and for each cause the operators that it costs most.

const NAMED = 3;

class Causes {
  constructor(host, view) {
    this.view = view;
    const { report } = view;
    this.totals = STYLE.causes.map((_, cause) => report.operators.causes.reduce((sum, cycles) => sum + cycles[cause], 0));
    host.append(this.bar(), ...this.rows());
  }

  share(cause) {
    return this.view.report.cycles ? this.totals[cause] / this.view.report.cycles : 0;
  }

  bar() {
    const parts = STYLE.causes.map(([name, colour], cause) => causePart(name, colour, this.share(cause)));
    const text = STYLE.causes.map(([name], cause) => `${name} ${percent(this.share(cause))}`).join(", ");
    return make("div", { class: "stack tall", role: "img", "aria-label": `Cycles by cause: ${text}` }, ...parts);
  }

  rows() {
    const longest = Math.max(...this.totals, 1);
    return STYLE.causes.map(([name, colour, meaning], cause) => {
      if (!this.totals[cause]) return null;
      const filled = make("i", {});
      filled.style.background = colour;
      filled.style.width = `${(100 * this.totals[cause]) / longest}%`;
      return make("div", { class: "cause", title: meaning },
        make("span", { class: "name" }, swatch(colour), name),
        make("span", { class: "meter" }, filled),
        make("span", { class: "number" }, count(this.totals[cause])),
        make("span", { class: "number" }, percent(this.share(cause))),
        make("span", { class: "worst" }, ...this.worst(cause)));
    }).filter(Boolean);
  }

  /** The operators that pay most for a cause; a click shows them. */
  worst(cause) {
    const { causes } = this.view.report.operators;
    const ranked = causes.map((_, number) => number).filter((number) => causes[number][cause]);
    ranked.sort((one, other) => causes[other][cause] - causes[one][cause]);
    return ranked.slice(0, NAMED).map((number) => make("button", { type: "button", class: "link", onclick: () => this.view.pick(number, true) },
      `${this.view.report.operators.brief[number]} ${percent(causes[number][cause] / this.totals[cause])}`));
  }
}

/** A part of a stacked bar, so wide a share of it. */
function causePart(name, colour, share) {
  const part = make("i", { title: `${name}: ${percent(share)}` });
  part.style.background = colour;
  part.style.width = `${100 * share}%`;
  return part;
}
