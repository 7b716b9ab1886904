// A part of a longer range that readers zoom and pan; several plots may follow one.

class Range {
  constructor(low, high, least) {
    Object.assign(this, { whole: [low, high], low, high, least, followers: [] });
  }

  get span() {
    return this.high - this.low;
  }

  get full() {
    return this.low <= this.whole[0] && this.high >= this.whole[1];
  }

  follow(action) {
    this.followers.push(action);
  }

  /** Show from one value to another, as far as there is something. */
  set(low, high) {
    const most = this.whole[1] - this.whole[0];
    const span = clamp(high - low, Math.min(this.least, most), most);
    const middle = (low + high) / 2;
    this.low = clamp(middle - span / 2, this.whole[0], this.whole[1] - span);
    this.high = this.low + span;
    for (const action of this.followers) action();
  }

  /** Show `factor` times as much; the value `at` stays where it is. */
  zoom(factor, at = (this.low + this.high) / 2) {
    const span = clamp(this.span * factor, Math.min(this.least, this.whole[1] - this.whole[0]), this.whole[1] - this.whole[0]);
    const share = (at - this.low) / this.span;
    const low = clamp(at - share * span, this.whole[0], this.whole[1] - span);
    this.set(low, low + span);
  }

  pan(by) {
    const low = clamp(this.low + by, this.whole[0], this.whole[1] - this.span);
    this.set(low, low + this.span);
  }

  reset() {
    this.set(...this.whole);
  }
}

/** Wheel, drag and keys on a surface change the range; `box()` says from where to where it is drawn. */
function navigable(surface, range, box, onclick) {
  const { element } = surface;
  const value = (x) => range.low + ((x - box().left) / box().width) * range.span;
  element.addEventListener("wheel", (event) => {
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const by = event.shiftKey ? event.deltaY || event.deltaX : sideways ? event.deltaX : event.deltaY;
    if (!sideways && by > 0 && range.full) return; // the page scrolls on
    event.preventDefault();
    tooltip.hide();
    if (sideways) range.pan((by / box().width) * range.span);
    else range.zoom(Math.exp(clamp(by, -240, 240) * 0.0025), value(surface.place(event)[0]));
  }, { passive: false });
  dragging(element, (dx) => range.pan((-dx / box().width) * range.span), onclick);
  element.addEventListener("dblclick", (event) => range.zoom(0.4, value(surface.place(event)[0])));
  element.addEventListener("keydown", (event) => {
    const action = KEYS[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action(range);
  });
}

const KEYS = {
  ArrowLeft: (range) => range.pan(-range.span / 8),
  ArrowRight: (range) => range.pan(range.span / 8),
  "+": (range) => range.zoom(0.6),
  "=": (range) => range.zoom(0.6),
  ArrowUp: (range) => range.zoom(0.6),
  "-": (range) => range.zoom(1 / 0.6),
  ArrowDown: (range) => range.zoom(1 / 0.6),
  Home: (range) => range.reset(),
  0: (range) => range.reset(),
};

/** Drags by so many pixels across and down; what hardly moves is a click. */
function dragging(element, ondrag, onclick = () => {}) {
  let last = null;
  let moved = 0;
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    [last, moved] = [event, 0];
  });
  element.addEventListener("pointermove", (event) => {
    if (last === null) return;
    const by = [event.clientX - last.clientX, event.clientY - last.clientY];
    moved += Math.abs(by[0]) + Math.abs(by[1]);
    if (moved > 3) {
      element.classList.add("dragged");
      ondrag(...by);
    }
    last = event;
  });
  const end = (event) => {
    if (last !== null && moved <= 3 && event.type === "pointerup") onclick(event);
    last = null;
    element.classList.remove("dragged");
  };
  element.addEventListener("pointerup", end);
  element.addEventListener("pointercancel", end);
}

/** Wheel, drag and keys on a surface change two ranges at once, of shares of its box. */
function navigablePlane(surface, across, up, box, onclick) {
  const { element } = surface;
  const zoom = (factor, event) => {
    const { left, top, width, height } = box();
    const [x, y] = event ? surface.place(event) : [left + width / 2, top + height / 2];
    across.zoom(factor, across.low + ((x - left) / width) * across.span);
    up.zoom(factor, up.low + (1 - (y - top) / height) * up.span);
  };
  element.addEventListener("wheel", (event) => {
    if (event.deltaY > 0 && across.full && up.full) return; // the page scrolls on
    event.preventDefault();
    tooltip.hide();
    zoom(Math.exp(clamp(event.deltaY, -240, 240) * 0.0025), event);
  }, { passive: false });
  dragging(element, (dx, dy) => {
    across.pan((-dx / box().width) * across.span);
    up.pan((dy / box().height) * up.span);
  }, onclick);
  element.addEventListener("dblclick", (event) => zoom(0.4, event));
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (["ArrowUp", "ArrowDown"].includes(event.key)) up.pan(((event.key === "ArrowUp" ? 1 : -1) * up.span) / 8);
    else if (KEYS[event.key]) for (const range of [across, up]) if (range === across || !event.key.startsWith("Arrow")) KEYS[event.key](range);
    if (event.key in KEYS) event.preventDefault();
  });
  return [
    button("+", "Zoom in (+)", () => zoom(0.5)),
    button("−", "Zoom out (−)", () => zoom(2)),
    button("Fit", "Show everything (Home)", () => (across.reset(), up.reset())),
  ];
}

function zoomButtons(range) {
  return [
    button("+", "Zoom in (+)", () => range.zoom(0.5)),
    button("−", "Zoom out (−)", () => range.zoom(2)),
    button("Fit", "Show everything (Home)", () => range.reset()),
  ];
}
