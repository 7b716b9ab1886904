// A canvas that is as sharp as the screen, with a second one above it for what moves with the pointer.

class Surface {
  /** `draw(context, width, height)` paints the picture, `over` what lies above it. */
  constructor(host, { height, label, draw, over, keyboard = false }) {
    this.draw = draw;
    this.over = over ?? (() => {});
    this.pending = { picture: false, overlay: false };
    this.picture = make("canvas", { "aria-hidden": "true" });
    this.overlay = make("canvas", { "aria-hidden": "true" });
    this.element = make("div", { class: "surface", role: keyboard ? "application" : "img", "aria-label": label, tabindex: keyboard ? 0 : null }, this.picture, this.overlay);
    this.element.style.height = `${height}px`;
    host.append(this.element);
    new ResizeObserver(() => this.resize()).observe(this.element);
    onTheme(() => this.paint());
    for (const [name, action] of [["pointerleave", () => tooltip.hide()], ["blur", () => tooltip.hide()]]) {
      this.element.addEventListener(name, action);
    }
  }

  /** Draws at once: before the first frame, and on paper, for which there are no frames. */
  resize() {
    const { clientWidth: width, clientHeight: height } = this.element;
    const ratio = window.devicePixelRatio || 1;
    if (!width || (width === this.width && height === this.height && ratio === this.ratio)) return;
    [this.width, this.height, this.ratio] = [width, height, ratio];
    for (const canvas of [this.picture, this.overlay]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.paint();
  }

  /** Draw again before the next frame, however often it is asked for. */
  redraw(overlay = true) {
    if (!this.pending.picture && !this.pending.overlay) requestAnimationFrame(() => this.flush());
    this.pending.picture = true;
    this.pending.overlay ||= overlay;
  }

  reover() {
    if (!this.pending.picture && !this.pending.overlay) requestAnimationFrame(() => this.flush());
    this.pending.overlay = true;
  }

  paint() {
    this.pending = { picture: true, overlay: true };
    this.flush();
  }

  flush() {
    const { picture, overlay } = this.pending;
    this.pending = { picture: false, overlay: false };
    if (!this.width) return; // it is drawn as soon as it has a size
    if (picture) {
      const start = performance.now();
      this.stroke(this.picture, this.draw);
      page.frames.push(performance.now() - start);
      if (page.frames.length > 1000) page.frames.splice(0, 500);
    }
    if (overlay) this.stroke(this.overlay, this.over);
  }

  stroke(canvas, action) {
    const context = canvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = FONT;
    action(context, this.width, this.height);
  }

  /** Where a pointer is, in the canvas's pixels. */
  place(event) {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
}

const FONT = '11px system-ui, -apple-system, "Segoe UI", sans-serif';

const widths = new Map();

/** How wide a text is; the same ones are asked for again and again. */
function widthOf(context, text) {
  if (!widths.has(text)) {
    if (widths.size > 5000) widths.clear();
    widths.set(text, context.measureText(text).width);
  }
  return widths.get(text);
}

/** As much of a text as has room, or nothing. */
function fitted(context, text, room) {
  if (room < 18) return "";
  const width = widthOf(context, text);
  if (width <= room) return text;
  let letters = Math.floor((text.length * (room - 10)) / width);
  while (letters >= 2 && widthOf(context, `${text.slice(0, letters)}…`) > room) letters -= 1;
  return letters >= 2 ? `${text.slice(0, letters)}…` : "";
}
