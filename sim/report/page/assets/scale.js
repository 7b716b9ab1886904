// Axes: from values to a share of a length, and the ticks between.

class Scale {
  constructor({ low, high, log = false, unit = "", name = "", categories = null }) {
    Object.assign(this, { log, unit, name, categories });
    this.binary = BYTES.has(unit);
    if (categories) [low, high] = [-0.5, Math.max(categories.length, 1) - 0.5];
    else if (!(high > low)) [low, high] = log ? [(low || 1) / 2, (low || 1) * 2] : [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
    [this.low, this.high] = [low, high];
  }

  /** The share of the length at a value. */
  at(value) {
    if (this.log) return Math.log(value / this.low) / Math.log(this.high / this.low);
    return (value - this.low) / (this.high - this.low);
  }

  back(share) {
    if (this.log) return this.low * (this.high / this.low) ** share;
    return this.low + share * (this.high - this.low);
  }

  /** Name and unit, as they stand beside the axis. */
  title() {
    const unit = this.log || this.categories ? "" : scaling(this.largest(), this.unit)[1];
    return unit ? `${this.name} (${unit})` : this.name;
  }

  largest() {
    return Math.max(Math.abs(this.low), Math.abs(this.high));
  }

  /** Ticks with their text, about so many. */
  ticks(wanted) {
    if (this.categories) return this.categoryTicks(wanted);
    return this.log ? this.logTicks(wanted) : this.linearTicks(wanted);
  }

  categoryTicks(wanted) {
    const step = Math.max(1, Math.ceil(this.categories.length / wanted));
    return this.categories.map((text, value) => ({ value, text: quantity(text, this.unit) })).filter((_, number) => number % step === 0);
  }

  linearTicks(wanted) {
    const [factor] = scaling(this.largest(), this.unit);
    const rough = (this.high - this.low) / factor / Math.max(wanted, 1);
    const step = this.binary && rough >= 1 ? 2 ** Math.ceil(Math.log2(rough)) : niceStep(rough);
    const places = clamp(-Math.floor(Math.log10(step) + 1e-9), 0, 12);
    const format = new Intl.NumberFormat("en-US", { maximumFractionDigits: places });
    const ticks = [];
    for (let number = Math.ceil(this.low / factor / step - 1e-9) + 0; number * step * factor <= this.high * (1 + 1e-12) + 1e-300; number += 1) {
      ticks.push({ value: number * step * factor, text: format.format(number * step + 0) });
    }
    return ticks;
  }

  logTicks(wanted) {
    const base = this.binary ? 2 : 10;
    const [first, last] = [this.low, this.high].map((value) => Math.log(value) / Math.log(base));
    const step = Math.max(1, Math.ceil((last - first) / wanted));
    const ticks = [];
    for (let power = Math.ceil(first - 1e-9); power <= last + 1e-9; power += 1) {
      const value = base ** power;
      ticks.push({ value, text: power % step === 0 ? quantity(value, this.unit) : "" });
    }
    if (base === 10 && last - first < wanted / 2) this.between(ticks, first, last, last - first < wanted / 6 ? [2, 3, 5] : [2, 5]);
    return ticks.filter(({ text }) => text).length < 2 ? this.linearLabels(wanted) : ticks;
  }

  between(ticks, first, last, factors) {
    for (let power = Math.floor(first); power <= last; power += 1) {
      for (const factor of factors) {
        const value = factor * 10 ** power;
        if (value >= this.low && value <= this.high) ticks.push({ value, text: quantity(value, this.unit) });
      }
    }
    ticks.sort((one, other) => one.value - other.value);
  }

  linearLabels(wanted) {
    const plain = new Scale({ low: this.low, high: this.high, unit: this.unit });
    return plain.linearTicks(wanted).filter(({ value }) => value > 0).map(({ value }) => ({ value, text: quantity(value, this.unit) }));
  }
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
}

/** The scale that some values need, with a margin. */
function scaleOf(values, { log = false, unit = "", name = "", margin = 0.04, zero = false } = {}) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null || Number.isNaN(value) || (log && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) [low, high] = log ? [1, 10] : [0, 1];
  if (log) {
    const room = Math.max((high / low) ** margin, 1.02);
    return new Scale({ low: low / room, high: high * room, log, unit, name });
  }
  const room = (high - low) * margin;
  return new Scale({ low: zero && low >= 0 ? 0 : low - room, high: high + room, unit, name });
}

/** Axes and grid around a box; the text of a tick that has no room is left out. */
function drawAxes(context, box, across, up) {
  context.lineWidth = 1;
  context.textBaseline = "middle";
  for (const { value, text } of up.ticks(Math.max(2, Math.floor(box.height / 44)))) {
    const y = box.top + box.height * (1 - up.at(value));
    rule(context, box.left, y, box.left + box.width, y, text);
    context.textAlign = "right";
    context.fillStyle = theme("muted");
    context.fillText(fitted(context, text, box.left - 22), box.left - 6, y);
  }
  context.textAlign = "center";
  let free = -Infinity;
  for (const { value, text } of across.ticks(Math.max(2, Math.floor(box.width / 84)))) {
    const x = box.left + box.width * across.at(value);
    rule(context, x, box.top, x, box.top + box.height, text);
    const half = context.measureText(text).width / 2;
    if (x - half < free) continue;
    context.fillStyle = theme("muted");
    context.fillText(text, x, box.top + box.height + 12);
    free = x + half + 8;
  }
  drawTitles(context, box, across, up);
}

function rule(context, x0, y0, x1, y1, strong) {
  context.strokeStyle = strong ? theme("grid") : theme("grid-faint");
  context.beginPath();
  context.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
  context.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  context.stroke();
}

function drawTitles(context, box, across, up) {
  context.fillStyle = theme("text");
  context.textAlign = "center";
  context.fillText(fitted(context, across.title(), box.width), box.left + box.width / 2, box.top + box.height + 29);
  context.save();
  context.translate(10, box.top + box.height / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(fitted(context, up.title(), box.height), 0, 0);
  context.restore();
}
