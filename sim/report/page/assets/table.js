// A table of any length: only the rows in sight are elements. Sorts by each column and filters by words.

const ROW = 27;
const PRINTED = 3000;
const collator = new Intl.Collator("en", { numeric: true });

class Table {
  /**
   * Columns are {key, title, unit, width, left, value(row), text(row), cell(row, td)}. `matches(row)` says what
   * else must hold for a row to be listed.
   */
  constructor(host, { label, columns, count: total, height, onpick = () => {}, matches = () => true, words }) {
    Object.assign(this, { columns, total, onpick, matches, words, height });
    this.sorting = { column: null, down: false };
    this.picked = -1;
    this.query = "";
    this.printing = false;
    this.found = make("span", { class: "found", role: "status" });
    this.search = make("input", {
      type: "search", placeholder: "Filter: words, or column<value", "aria-label": `Filter ${label}`, spellcheck: "false",
      title: "Words that a row must contain, and conditions such as cycles>10000, each separated by a space",
      oninput: () => this.filter(this.search.value),
    });
    this.body = make("tbody");
    this.box = make("div", { class: "rows", tabindex: "0", role: "region", "aria-label": label, onscroll: () => this.render() },
      make("table", { "aria-label": label, "aria-rowcount": total }, this.columnGroup(), this.heads(), this.body));
    this.box.style.maxHeight = `${height}px`;
    this.box.addEventListener("keydown", (event) => this.key(event));
    this.box.firstChild.style.minWidth = `${columns.reduce((sum, { width }) => sum + parseFloat(width ?? "16em"), 0)}em`;
    host.append(this.box);
    new ResizeObserver(() => this.render()).observe(this.box);
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
    this.update();
  }

  columnGroup() {
    return make("colgroup", {}, ...this.columns.map(({ width }) => {
      const column = make("col");
      if (width) column.style.width = width;
      return column;
    }));
  }

  heads() {
    this.headers = this.columns.map((column) => {
      const name = column.unit ? `${column.title} (${column.unit})` : column.title;
      const press = make("button", { type: "button", title: `Sort by ${name}`, onclick: () => this.sort(column) }, breakable(column.title));
      return make("th", { scope: "col", "aria-sort": "none", class: column.left || column.wide ? "left" : null }, press);
    });
    return make("thead", {}, make("tr", {}, ...this.headers));
  }

  /** Sort by a column: numbers with the largest first, texts from a to z; once more turns it round. */
  sort(column, down = this.sorting.column === column ? !this.sorting.down : !column.left) {
    this.sorting = { column, down };
    this.columns.forEach((one, number) => {
      this.headers[number].setAttribute("aria-sort", one !== column ? "none" : down ? "descending" : "ascending");
    });
    this.update();
  }

  filter(text) {
    this.query = text;
    if (this.search.value !== text) this.search.value = text;
    this.box.scrollTop = 0;
    this.update();
  }

  /** Find and order the rows anew. */
  update() {
    const wanted = conditions(this.query, this.columns);
    const rows = [];
    for (let row = 0; row < this.total; row += 1) {
      if (this.matches(row) && wanted.every((holds) => holds(row, this.words))) rows.push(row);
    }
    if (this.sorting.column) order(rows, this.sorting.column, this.sorting.down);
    this.rows = rows;
    this.found.textContent = rows.length === this.total ? `${count(this.total)} rows` : `${count(rows.length)} of ${count(this.total)} rows`;
    this.render();
  }

  /** Make elements of the rows that are in sight. */
  render(all = this.printing) {
    const room = Math.ceil(this.height / ROW) + 2;
    const from = all ? 0 : clamp(Math.floor(this.box.scrollTop / ROW) - 1, 0, Math.max(0, this.rows.length - room));
    const to = Math.min(this.rows.length, all ? PRINTED : from + room);
    const shown = [];
    for (let place = from; place < to; place += 1) shown.push(this.row(place));
    this.body.replaceChildren(this.gap(from), ...shown, this.gap(this.rows.length - to));
  }

  gap(rows) {
    const gap = make("tr", { class: "gap", "aria-hidden": "true" }, make("td", { colspan: this.columns.length }));
    gap.firstChild.style.height = `${rows * ROW}px`;
    gap.hidden = rows === 0;
    return gap;
  }

  row(place) {
    const row = this.rows[place];
    const element = make("tr", { "aria-rowindex": place + 2, "aria-selected": row === this.picked ? "true" : null, onclick: () => this.pick(row, true) });
    for (const column of this.columns) {
      const cell = make("td", { class: column.left ? "left" : null });
      if (column.cell) column.cell(row, cell);
      else cell.textContent = column.text(row);
      if (column.left && !column.cell) cell.title = cell.textContent;
      element.append(cell);
    }
    return element;
  }

  /** Mark a row; tell others if a reader did it, else bring it into sight. */
  pick(row, tell = false) {
    this.picked = row;
    if (tell) this.onpick(row);
    const place = this.rows.indexOf(row);
    const top = place * ROW;
    const room = this.box.clientHeight - 2 * ROW;
    if (place >= 0 && (top < this.box.scrollTop || top > this.box.scrollTop + room)) this.box.scrollTop = top - room / 2;
    this.render();
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12 }[event.key];
    if (!step || event.target !== this.box || !this.rows.length) return;
    event.preventDefault();
    const place = this.rows.indexOf(this.picked);
    this.pick(this.rows[clamp(place < 0 ? 0 : place + step, 0, this.rows.length - 1)], true);
  }

  print(starts) {
    this.printing = starts;
    this.box.style.maxHeight = starts ? "none" : `${this.height}px`;
    this.render();
  }
}

/** A name that may go on in the next line behind points and underscores. */
function breakable(name) {
  return name.replace(/[._](?=.)/g, "$&\u200b");
}

/** Rows in the order of a column; what has no value comes last, equal ones keep their order. */
function order(rows, column, down) {
  const keys = [];
  for (const row of rows) keys[row] = column.value(row);
  const missing = (key) => key === null || key === undefined || Number.isNaN(key);
  rows.sort((one, other) => {
    const [a, b] = [keys[one], keys[other]];
    if (missing(a) || missing(b)) return missing(a) - missing(b) || one - other;
    const sign = typeof a === "string" || typeof b === "string" ? collator.compare(String(a), String(b)) : a - b;
    return (down ? -sign : sign) || one - other;
  });
}

const COMPARISONS = {
  "<=": (a, b) => a <= b, ">=": (a, b) => a >= b, "!=": (a, b) => a !== b,
  "<": (a, b) => a < b, ">": (a, b) => a > b, "=": (a, b) => a === b,
};

/** What each word of a query asks of a row: a comparison with a column, or that its text is in the row. */
function conditions(query, columns) {
  return query.trim().split(/\s+/).filter(Boolean).map((word) => {
    const parts = /^(.+?)(<=|>=|!=|=|<|>)(.+)$/.exec(word);
    const column = parts && columns.find(({ key, title }) => [key, title.replaceAll(" ", "_")].some((name) => name.toLowerCase() === parts[1].toLowerCase()));
    if (!column) return (row, words) => words(row).includes(word.toLowerCase());
    const number = Number(parts[3]);
    return (row) => {
      const value = column.value(row);
      if (value === null || value === undefined) return false;
      if (typeof value === "number") return COMPARISONS[parts[2]](value, number);
      return COMPARISONS[parts[2]](String(value).toLowerCase(), parts[3].toLowerCase());
    };
  });
}
