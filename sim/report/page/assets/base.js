// What all parts of a page share: elements, colours, numbers, and the data of the page.

const page = { frames: [], parts: {} };
window.page = page;

/** A new element. Text is only ever set as text: names come from strangers. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A coloured box for keys and tooltips. */
function swatch(colour) {
  const box = make("i", { class: "swatch", "aria-hidden": "true" });
  box.style.background = colour;
  return box;
}

function button(text, label, onclick) {
  return make("button", { type: "button", "aria-label": label, title: label, onclick }, text);
}

/** A menu of [value, text] pairs. */
function menu(label, options, chosen, onchange) {
  const select = make("select", { "aria-label": label, onchange: () => onchange(select.value) });
  for (const [value, text] of options) {
    select.append(make("option", { value, selected: String(value) === String(chosen) }, text));
  }
  return make("label", { class: "field" }, make("span", {}, label), select);
}

function checkbox(label, checked, onchange) {
  const box = make("input", { type: "checkbox", checked, onchange: () => onchange(box.checked) });
  return make("label", { class: "field" }, box, make("span", {}, label));
}

/** A part of the page with a heading, a row of tools and a body. */
function panel(title, note, ...tools) {
  const body = make("div", { class: "body" });
  const head = make("div", { class: "head" }, make("h2", {}, title), make("span", { class: "note" }, note), make("span", { class: "tools" }, ...tools));
  return { element: make("section", { class: "panel", "aria-label": title }, head, body), body };
}

/** Which colour is what. */
function legend(items) {
  return make("div", { class: "legend" }, ...items.map(([colour, text]) => make("span", {}, swatch(colour), text)));
}

// Colours: those of the theme come from the style sheet, which follows the reader.

const watchers = new Set();
let themeColours = {};

function theme(name) {
  themeColours[name] ??= getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return themeColours[name];
}

function onTheme(action) {
  watchers.add(action);
}

for (const query of ["(prefers-color-scheme: dark)", "print"]) {
  window.matchMedia(query).addEventListener("change", () => {
    themeColours = {};
    for (const action of watchers) action();
  });
}

/** A colour of the scale from little to much, in the theme. */
function shade(share) {
  const stops = theme("scale").split(/\s+/);
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  const parts = [1, 3, 5].map((at) => {
    const [one, other] = [stops[low], stops[low + 1]].map((stop) => parseInt(stop.slice(at, at + 2), 16));
    return Math.round(one + (other - one) * (place - low));
  });
  return `rgb(${parts.join(",")})`;
}

// Numbers as people read them.

const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"], [1e-12, "p"]];
const BINARY = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
const PREFIXED = new Set(["s", "Hz", "J", "W", "B/s", "J·s", "Js", "J*s", "s·J", "MAC/s"]);
const BYTES = new Set(["B", "byte", "bytes"]);
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

function count(value) {
  return whole.format(value);
}

function digits(value, most = 3) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-4) return value.toExponential(most - 1);
  if (size >= 10 ** most) return count(value);
  return String(Number(value.toPrecision(most)));
}

function percent(share) {
  const value = 100 * share;
  if (value === 0 || Math.abs(value) >= 9.95) return `${value.toFixed(0)} %`;
  return Math.abs(value) >= 0.05 ? `${value.toFixed(1)} %` : "<0.1 %";
}

/** The factor and the written unit that suit numbers of some size. */
function scaling(size, unit) {
  const binary = BYTES.has(unit);
  if (!binary && !PREFIXED.has(unit)) return [1, unit];
  const units = binary ? BINARY : PREFIXES;
  const found = units.find(([factor]) => size >= factor * 0.9995) ?? (size === 0 ? [1, binary ? "B" : ""] : units.at(-1));
  return [found[0], binary ? found[1] : found[1] + unit];
}

/** A value with its unit; text stays as it is. */
function quantity(value, unit = "") {
  if (value === null || value === undefined) return "—";
  if (typeof value !== "number") return String(value);
  const [factor, written] = scaling(Math.abs(value), unit);
  return `${digits(value / factor, unit ? 3 : 5)}${written ? ` ${written}` : ""}`;
}

/** Positions in an ordered list: the first that is not below a value. */
function lowerBound(values, value, from = 0, to = values.length) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] < value) from = middle + 1;
    else to = middle;
  }
  return from;
}

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

function pageData() {
  return JSON.parse(document.getElementById("data").textContent);
}

const DATA = pageData();
const STYLE = DATA.style;
