// One report, or several side by side of which one is looked at.

class ComparisonView {
  constructor(host, reports) {
    this.reports = reports;
    this.chosen = make("div");
    host.append(this.totals());
    if (DATA.operators) host.append(this.operators());
    host.append(this.chosen);
    this.show(0);
  }

  show(number) {
    const report = this.reports[number];
    this.table.pick(number);
    this.chosen.replaceChildren(make("h2", { class: "chosen", "aria-live": "polite" }, report.title));
    watchers.clear();
    page.parts = {};
    new ReportView(this.chosen, report);
    page.comparison = this;
  }

  totals() {
    const { element, body } = panel("Comparison", "click a row to show its report below");
    const { reports } = this;
    const first = (row) => reports.find(({ program }) => program === reports[row].program);
    const seconds = ({ cycles, clock_hz: clock }) => cycles / clock;
    const number = (key, title, value, text) => ({ key, title, value, text: (row) => (value(row) === null ? "" : text(value(row))), width: "7.4em" });
    const longest = Math.max(...reports.map(seconds), 1e-300);
    this.table = new Table(body, {
      label: "reports", count: reports.length, height: Math.min(420, 27 * (reports.length + 2)), words: (row) => reports[row].title.toLowerCase(), onpick: (row) => this.show(row),
      columns: [
        { key: "machine", title: "machine", left: true, value: (row) => reports[row].machine, text: (row) => reports[row].machine },
        { key: "program", title: "program", left: true, width: "10em", value: (row) => reports[row].program, text: (row) => reports[row].program },
        number("clock", "clock", (row) => reports[row].clock_hz, (value) => quantity(value, "Hz")),
        number("latency", "latency", (row) => seconds(reports[row]), (value) => quantity(value, "s")),
        number("ratio", "ratio", (row) => (seconds(first(row)) ? seconds(reports[row]) / seconds(first(row)) : null), (value) => `${value.toFixed(2)}×`),
        { key: "stalled", title: "cycles by cause", width: "12em", wide: true, value: (row) => stalled(reports[row]), cell: (row, cell) => cell.append(timeBar(reports[row], seconds(reports[row]) / longest)) },
        number("cycles", "cycles", (row) => reports[row].cycles, count),
        number("macs", "of MACs", (row) => reports[row].mac_utilisation, percent),
        number("offchip", "off-chip", (row) => reports[row].offchip_bytes, (value) => quantity(value, "B")),
        { ...number("scratchpad", "scratchpad", (row) => reports[row].peak_scratchpad_bytes, (value) => quantity(value, "B")), width: "8.4em" },
        number("energy", "energy", (row) => reports[row].joules || null, (value) => quantity(value, "J")),
      ],
    });
    element.querySelector(".tools").prepend(this.table.found, this.table.search);
    return element;
  }

  operators() {
    const { label, cycles } = DATA.operators;
    const { element, body } = panel("Operators side by side", "cycles on each, those that differ most first");
    const difference = {
      key: "difference", title: "difference", value: (row) => spread(cycles[row]),
      text: (row) => (spread(cycles[row]) === null ? "" : signed(cycles[row])), width: "9em",
    };
    const ratio = ({ short }, place) => ({
      key: `ratio ${short}`, title: `ratio of ${short}`, width: "9em",
      value: (row) => (cycles[row][0] && cycles[row][place] !== null ? cycles[row][place] / cycles[row][0] : null),
      text: (row) => (cycles[row][0] && cycles[row][place] !== null ? `${(cycles[row][place] / cycles[row][0]).toFixed(2)}×` : ""),
    });
    const table = new Table(body, {
      label: "operators side by side", count: label.length, height: 360, words: (row) => label[row].toLowerCase(),
      columns: [
        { key: "operator", title: "operator", left: true, value: (row) => label[row], text: (row) => label[row] },
        ...this.reports.map(({ short }, place) => ({
          key: short, title: short, width: "10em", value: (row) => cycles[row][place], text: (row) => (cycles[row][place] === null ? "" : count(cycles[row][place])),
        })),
        ...this.reports.map((report, place) => ratio(report, place)).slice(1),
        difference,
      ],
    });
    table.sort(difference, true);
    this.beside = table;
    element.querySelector(".tools").prepend(table.found, table.search);
    return element;
  }
}

/** How far the cycles of an operator lie apart, where it is on more than one machine. */
function spread(cycles) {
  const known = cycles.filter((one) => one !== null);
  return known.length > 1 ? Math.max(...known) - Math.min(...known) : null;
}

/** The same with the sign that it has from the first to the second, of two. */
function signed(cycles) {
  const sign = cycles.length > 2 || !spread(cycles) ? "" : cycles[1] > cycles[0] ? "+" : "−";
  return `${sign}${count(spread(cycles))}`;
}

function causeTotals({ operators }) {
  return STYLE.causes.map((_, cause) => operators.causes.reduce((sum, cycles) => sum + cycles[cause], 0));
}

function stalled(report) {
  return report.cycles - worked(causeTotals(report));
}

/** Causes of a whole report, as long as its share of the slowest one. */
function timeBar(report, share) {
  const totals = causeTotals(report);
  const parts = STYLE.causes.map(([name, colour], cause) => (totals[cause] ? causePart(name, colour, (share * totals[cause]) / report.cycles) : null));
  return make("div", { class: "stack" }, ...parts);
}

const main = document.querySelector("main");
if (DATA.reports.length > 1) new ComparisonView(main, DATA.reports);
else new ReportView(main, DATA.reports[0]);
