// One tooltip for the page, built of text: a title and rows of a name and a value.

class Tooltip {
  constructor() {
    this.element = make("div", { class: "tooltip", role: "tooltip", hidden: true });
    document.body.append(this.element);
  }

  /** Rows are [name, value] or [name, value, colour]; a row of one text is a note. */
  show(x, y, title, rows) {
    this.element.replaceChildren(make("strong", {}, title), card(rows));
    this.element.hidden = false;
    const { width, height } = this.element.getBoundingClientRect();
    const left = x + 16 + width > innerWidth ? x - 16 - width : x + 16;
    const top = y + 16 + height > innerHeight ? y - 16 - height : y + 16;
    this.element.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`;
    this.element.style.top = `${Math.max(4, top)}px`;
  }

  hide() {
    this.element.hidden = true;
  }
}

/** Names and values below each other. */
function card(rows) {
  const list = make("dl", { class: "card" });
  for (const [name, value, colour] of rows) {
    if (value === undefined) list.append(make("dd", { class: "wide" }, name));
    else list.append(make("dt", {}, colour ? swatch(colour) : null, name), make("dd", {}, value));
  }
  return list;
}

const tooltip = new Tooltip();
