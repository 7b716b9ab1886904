// Sliders for the machine: estimates in closed form, computed before for each of their positions.

class WhatIf {
  constructor(host, view) {
    Object.assign(this, { view, grid: view.report.whatif });
    this.at = this.grid.axes.map(({ base }) => base);
    this.outputs = [];
    const sliders = this.grid.axes.map((axis, place) => this.slider(axis, place));
    this.result = make("output", { class: "estimate", "aria-live": "polite" });
    host.append(make("div", { class: "sliders" }, ...sliders), this.result,
      make("p", { class: "note" }, `Estimates in closed form, computed before for each of ${count(this.grid.cycles.length)} positions; an unchanged machine is estimated at ${quantity(this.seconds(this.base()), "s")} and was simulated at ${quantity(view.seconds(view.report.cycles), "s")}.`));
    this.update();
  }

  slider(axis, place) {
    const output = make("span", { class: "number" });
    this.outputs.push(output);
    const input = make("input", {
      type: "range", min: 0, max: axis.texts.length - 1, step: 1, value: axis.base, "aria-label": axis.name,
      oninput: () => {
        this.at[place] = Number(input.value);
        this.update();
      },
    });
    return make("label", {}, make("span", {}, axis.name), input, output);
  }

  index(at) {
    return this.grid.axes.reduce((index, { texts }, place) => index * texts.length + at[place], 0);
  }

  base() {
    return this.grid.axes.map(({ base }) => base);
  }

  seconds(at) {
    const cycles = this.grid.cycles[this.index(at)];
    return cycles === null ? null : cycles / this.grid.clocks[at[this.grid.clock]];
  }

  update() {
    this.grid.axes.forEach(({ texts }, place) => (this.outputs[place].textContent = texts[this.at[place]]));
    const [now, before] = [this.seconds(this.at), this.seconds(this.base())];
    if (now === null) return void (this.result.textContent = "This machine has no room for the model.");
    const change = now / before - 1;
    const text = Math.abs(change) < 0.0005 ? "as it is" : `${change > 0 ? "+" : "−"}${percent(Math.abs(change))}`;
    this.result.replaceChildren(make("strong", {}, quantity(now, "s")), ` ${text}, ${count(this.grid.cycles[this.index(this.at)])} cycles`);
  }
}
