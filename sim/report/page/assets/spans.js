// What a report's timeline has, as lanes that can be searched and drawn at any zoom.

const LANES = ["array", "vector", "reduction", "dma"];
const DIRECTIONS = { load: "in", store: "out", compute: "move" };

/** A lane of what one unit does: columns, ordered by when each begins. */
class Lane {
  constructor(name, unit) {
    Object.assign(this, { name, unit, first: [], duration: [], period: [], count: [], bytes: [], sums: [], operator: [], kind: [], ends: [] });
  }

  add(span) {
    for (const name of ["first", "duration", "period", "count", "bytes", "sums", "operator", "kind"]) this[name].push(span[name]);
    const end = span.first + span.period * (span.count - 1) + span.duration;
    this.ends.push(Math.max(end, this.ends.at(-1) ?? 0));
  }

  /** When the last repetition of a span is over. */
  end(number) {
    return this.first[number] + this.period[number] * (this.count[number] - 1) + this.duration[number];
  }

  /** Numbers of the spans that may be seen from one cycle to another. */
  window(low, high) {
    return [lowerBound(this.ends, low), lowerBound(this.first, high + 1)];
  }

  /** The span at a cycle, the shortest one if there are several, and which of its repetitions. */
  find(cycle, slack) {
    let best = null;
    const [from, to] = this.window(cycle - slack, cycle + slack);
    for (let number = from; number < to; number += 1) {
      if (this.end(number) < cycle - slack) continue;
      const period = this.period[number] || 1;
      const time = clamp(Math.floor((cycle + slack - this.first[number]) / period), 0, this.count[number] - 1);
      const start = this.first[number] + time * this.period[number];
      const off = Math.max(start - cycle, cycle - start - this.duration[number], 0);
      const length = this.end(number) - this.first[number];
      if (off <= slack && (!best || off < best.off || (off === best.off && length < best.length))) best = { number, time, start, off, length };
    }
    return best;
  }
}

/** The lanes of a report, in the order of work. */
function lanesOf({ spans }) {
  const lanes = new Map();
  let first = 0;
  spans.first.forEach((step, number) => {
    first += step;
    const unit = spans.units[spans.unit[number]];
    const kind = spans.kinds[spans.kind[number]];
    const dma = unit.split(" ")[0] === "dma";
    const name = dma ? `${unit} ${DIRECTIONS[kind]}` : unit;
    if (!lanes.has(name)) lanes.set(name, new Lane(name, unit));
    const get = (column) => spans[column][number];
    lanes.get(name).add({ first, kind, duration: get("duration"), period: get("period"), count: get("count"), bytes: get("bytes"), sums: get("sums"), operator: get("operator") });
  });
  const rank = ({ unit }) => LANES.indexOf(unit.split(" ")[0]);
  return [...lanes.values()].sort((one, other) => rank(one) - rank(other) || one.name.localeCompare(other.name, "en", { numeric: true }));
}

/** Events too short to be seen, added up for each column of pixels: how much of it is covered, and by whom most. */
class Dust {
  constructor(width) {
    this.covered = new Float32Array(width + 1);
    this.most = new Float32Array(width + 1);
    this.owner = new Int32Array(width + 1).fill(-1);
  }

  add(from, to, owner, density = 1) {
    const last = this.covered.length - 1;
    for (let pixel = clamp(Math.floor(from), 0, last); pixel <= Math.min(Math.floor(to), last); pixel += 1) {
      const share = Math.max(Math.min(to, pixel + 1) - Math.max(from, pixel), 0.04) * density;
      this.covered[pixel] += share;
      if (share > this.most[pixel]) [this.most[pixel], this.owner[pixel]] = [share, owner];
    }
  }

  draw(context, left, top, height, colour) {
    const pixels = new Pixels(this.covered.length, 1);
    for (let pixel = 0; pixel < this.covered.length; pixel += 1) {
      if (this.covered[pixel]) pixels.fill(pixel, 0, 1, 1, channels(colour(this.owner[pixel])), clamp(0.45 + 0.55 * this.covered[pixel], 0, 1));
    }
    pixels.draw(context, left, top, pixels.width, height);
  }
}
