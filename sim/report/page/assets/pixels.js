// Pictures made pixel by pixel: for thousands of things that are no larger than a few pixels.

const parsed = new Map();

/** Red, green and blue of a written colour. */
function channels(colour) {
  if (!parsed.has(colour)) {
    const hex = /^#([0-9a-f]{6})$/i.exec(colour);
    parsed.set(colour, hex ? [0, 2, 4].map((at) => parseInt(hex[1].slice(at, at + 2), 16)) : colour.match(/\d+/g).slice(0, 3).map(Number));
  }
  return parsed.get(colour);
}

class Pixels {
  constructor(width, height) {
    this.width = Math.max(1, Math.ceil(width));
    this.height = Math.max(1, Math.ceil(height));
    this.image = new ImageData(this.width, this.height);
  }

  /** Lay a colour over a box, as far as it is inside. */
  fill(left, top, width, height, [red, green, blue], alpha = 1) {
    const { data } = this.image;
    const [x0, y0] = [Math.max(0, Math.round(left)), Math.max(0, Math.round(top))];
    const [x1, y1] = [Math.min(this.width, Math.round(left + width)), Math.min(this.height, Math.round(top + height))];
    for (let y = y0; y < y1; y += 1) {
      for (let place = 4 * (y * this.width + x0); place < 4 * (y * this.width + x1); place += 4) {
        const below = (data[place + 3] / 255) * (1 - alpha);
        const sum = alpha + below;
        data[place] = (red * alpha + data[place] * below) / sum;
        data[place + 1] = (green * alpha + data[place + 1] * below) / sum;
        data[place + 2] = (blue * alpha + data[place + 2] * below) / sum;
        data[place + 3] = 255 * sum;
      }
    }
  }

  /** Put the picture on a canvas, in a box of that size. */
  draw(context, left, top, width = this.width, height = this.height) {
    const sheet = new OffscreenCanvas(this.width, this.height);
    sheet.getContext("2d").putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(sheet, left, top, width, height);
  }
}
