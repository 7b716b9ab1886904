// What an exploration has found out: how much each field matters, and why machines are infeasible.

class Sensitivity {
  constructor(host, entries, objectives) {
    this.entries = entries;
    this.objective = objectives.find((name) => entries.some(({ objective }) => objective === name));
    this.options = objectives.filter((name) => entries.some(({ objective }) => objective === name));
    this.list = make("div", { class: "bars" });
    host.append(this.list);
    this.show();
  }

  tools() {
    return [menu("of", this.options.map((name) => [name, name]), this.objective, (name) => {
      this.objective = name;
      this.show();
    })];
  }

  show() {
    const entries = this.entries.filter(({ objective, value }) => objective === this.objective && value !== null);
    entries.sort((one, other) => Math.abs(other.value) - Math.abs(one.value));
    const longest = Math.max(...entries.map(({ value }) => Math.abs(value)), 1e-300);
    const shares = this.entries.every(({ value }) => value === null || (value >= 0 && value <= 1));
    this.list.replaceChildren(...entries.flatMap(({ field, value }) => meterRow(field, Math.abs(value) / longest, shares ? percent(value) : digits(value), theme("accent"))));
  }
}

/** A name, a bar and a number. */
function meterRow(name, share, text, colour) {
  const filled = make("i");
  filled.style.width = `${100 * share}%`;
  filled.style.background = colour;
  return [make("span", {}, name), make("span", { class: "meter" }, filled), make("span", { class: "number" }, text)];
}

/** Reasons that differ only in their numbers, as one, with how often each is given. */
function reasonGroups(reasons) {
  const groups = new Map();
  reasons.forEach((reason) => {
    if (!reason) return;
    const key = general(reason);
    const group = groups.get(key) ?? { key, count: 0, example: reason };
    group.count += 1;
    groups.set(key, group);
  });
  return [...groups.values()].sort((one, other) => other.count - one.count);
}

function general(reason) {
  return reason.replace(/\d[\d,.]*\d|\d/g, "…");
}

class Infeasible {
  constructor(host, view) {
    const groups = reasonGroups(view.points.columns.reason);
    const list = make("div", { class: "reasons" });
    const most = Math.max(...groups.map((group) => group.count), 1);
    for (const group of groups.slice(0, 40)) {
      const [, meter, number] = meterRow("", group.count / most, count(group.count), STYLE.causes.find(([name]) => name === "weights")[1]);
      list.append(number, meter, make("button", { type: "button", class: "link", title: `For example: ${group.example}`, onclick: () => view.showReason(group.key) }, group.key));
    }
    host.append(groups.length ? list : make("p", { class: "empty" }, "All machines are feasible."));
    if (groups.length > 40) host.append(make("p", { class: "empty" }, `and ${count(groups.length - 40)} more reasons`));
  }
}
