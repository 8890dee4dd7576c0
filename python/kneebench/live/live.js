"use strict";
// Shows what /events sends: "state" is everything, "second" what changes from second to second.
const MOST_SECONDS = 300;
const COLOURS = 6;
const FIRST_OF_FIELDS = 3;
let state = null;
let now = null;

const by = (id) => document.getElementById(id);
const text = (id, words) => { by(id).textContent = words || ""; };

function time(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds === 0) return "0";
  const [value, unit] = seconds < 1e-3 ? [seconds * 1e6, "µs"]
    : seconds < 1 ? [seconds * 1e3, "ms"] : [seconds, "s"];
  return `${value.toPrecision(3)} ${unit}`;
}

function clock(seconds) {
  const s = Math.max(0, Math.round(seconds));
  const h = Math.floor(s / 3600);
  const m = Math.floor(s / 60) % 60;
  return h ? `${h} h ${m} min` : m ? `${m} min ${s % 60} s` : `${s} s`;
}

const hour = (at_s, second) => new Date(at_s * 1000).toLocaleTimeString([], {
  hour: "2-digit", minute: "2-digit", second, hourCycle: "h23" });
const day = (at_s) => new Date(at_s * 1000).toLocaleDateString([], {
  weekday: "short", day: "numeric", month: "short" });
const count = (value) => Math.round(value).toLocaleString("en-US");
const colour = (n) => `var(--c${n % COLOURS})`;

function element(name, attributes, words) {
  const svg = ["svg", "path", "line", "text", "circle"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  if (words !== undefined) made.textContent = words;
  return made;
}

// --- charts -----------------------------------------------------------------------------------

const HIGH = 140, LEFT = 62, RIGHT = 12, BOTTOM = 18, TOP = 10;

// The next round number, so that the middle of an axis is round too.
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return power * [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10].find((one) => one * power >= value);
}

function chart(id, series, { x, shown, axis, dots }) {
  const figure = by(id);
  figure.querySelector("svg")?.remove();
  const points = series.flatMap((one) => [...one.points, ...one.circles || []]);
  if (!points.length) return;
  const wide = Math.max(figure.clientWidth, 200);
  const xs = points.map((p) => p[0]);
  const least = Math.min(...xs), most = Math.max(...xs) > least ? Math.max(...xs) : least + 1;
  const high = roundUp(Math.max(...points.map((p) => p[1])));
  const across = (v) => LEFT + (wide - LEFT - RIGHT) * (v - least) / (most - least);
  const up = (v) => HIGH - BOTTOM - (HIGH - BOTTOM - TOP) * v / high;
  const svg = element("svg", {
    viewBox: `0 0 ${wide} ${HIGH}`, role: "img",
    "aria-label": figure.querySelector("figcaption").textContent,
  });
  for (const value of [0, high / 2, high]) {
    const y = up(value);
    svg.append(element("line", { x1: LEFT, x2: wide - RIGHT, y1: y, y2: y, class: "axis" }));
    svg.append(element("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, shown(value)));
  }
  for (const value of new Set(xs.length > 1 ? [least, most] : [least])) {
    const end = value === least ? "start" : "end";
    svg.append(element("text", { x: across(value), y: HIGH - 4, "text-anchor": end }, x(value)));
  }
  if (axis) {
    svg.append(element("text", { x: wide / 2, y: HIGH - 4, "text-anchor": "middle" }, axis));
  }
  series.forEach((one) => draw(svg, one, across, up, dots));
  figure.append(svg);
}

// `circles` of a series stand where the brief has its knee, which need not be on its line.
function draw(svg, one, across, up, dots) {
  const path = one.points.map(([a, b], n) => `${n && !one.breaks?.has(n) ? "L" : "M"}${
    across(a).toFixed(1)} ${up(b).toFixed(1)}`).join("");
  const style = `stroke: ${colour(one.colour)}`;
  svg.append(element("path", { d: path, class: "series", style }));
  for (const [a, b] of dots ? one.points : []) {
    svg.append(element("circle", {
      cx: across(a), cy: up(b), r: 2.5, style: `${style}; fill: ${colour(one.colour)}` }));
  }
  for (const [a, b] of one.circles || []) {
    svg.append(element("circle", { cx: across(a), cy: up(b), r: 6, class: "knee", style }));
  }
}

// A line breaks between two rungs, where nothing is measured.
function breaks(seconds) {
  const found = new Set();
  const apart = (a, b) => b.at_s - a.at_s > 3 || a.users !== b.users;
  seconds.forEach((one, n) => { if (n && apart(seconds[n - 1], one)) found.add(n); });
  return found;
}

const latest = () => (now.second && state.seconds[state.seconds.length - 1]) || {};

function line(seconds, field, colour) {
  const seen = seconds.filter((one) => one[field] !== undefined);
  return { colour, points: seen.map((one) => [one.at_s, one[field]]), breaks: breaks(seen) };
}

// One quantity, each configuration in the colour that it has in the curve.
function overTime(id, field, shown) {
  const names = state.configurations;
  const series = names.map((name, n) => line(
    state.seconds.filter((one) => one.name === name), field, n));
  const last = latest();
  const of = names.length > 1 && last.name ? `${last.name} ` : "";
  const words = last[field] === undefined ? "–" : `${of}${shown(last[field])}`;
  caption(id, [[words, of ? names.indexOf(last.name) : null]]);
  chart(id, series, { x: (v) => hour(v, "2-digit"), shown });
}

// Several quantities of one unit, in colours that no configuration has before the fourth.
function together(id, fields, shown) {
  const last = latest();
  caption(id, fields.map(([field, name], n) => [
    `${name} ${last[field] === undefined ? "–" : shown(last[field])}`, n + FIRST_OF_FIELDS]));
  const series = fields.map(([field], n) => line(state.seconds, field, n + FIRST_OF_FIELDS));
  chart(id, series, { x: (v) => hour(v, "2-digit"), shown });
}

function caption(id, parts) {
  const span = by(id).querySelector("figcaption span");
  span.replaceChildren();
  parts.forEach(([words, n], at) => {
    const part = element("span", { style: n === null ? "" : `color: ${colour(n)}` }, words);
    span.append(at ? ", " : "", part);
  });
}

function curve() {
  const names = state.configurations;
  const series = names.map((name, n) => {
    const knee = state.knees[name];
    const circles = knee ? [[knee.users, knee.nopm]] : [];
    return { colour: n, points: state.curve[name] || [], circles };
  });
  const measured = names.filter((name, n) => series[n].points.length);
  caption("curve", measured.map((name) => {
    const knee = state.knees[name];
    return [knee ? `${name}, ${knee.words}` : name, names.length > 1 ? names.indexOf(name) : null];
  }));
  chart("curve", series, { x: (v) => `${v}`, shown: count, axis: "users", dots: true });
}

// --- lists ------------------------------------------------------------------------------------

function stops() {
  const rows = state.stops.map((one) => {
    const row = element("div", { class: one.fired ? "gauge fired" : "gauge" });
    const bar = element("div", { role: "meter", "aria-valuemin": 0, "aria-valuemax": 100,
      "aria-valuenow": Math.round(100 * (one.share || 0)), "aria-label": one.stop });
    bar.append(element("i", { style: `width: ${100 * (one.share || 0)}%` }));
    const parts = one.ended ? [element("span", {}, one.of)]
      : [element("span", {}, one.stop.replaceAll("_", " ")), bar];
    row.append(...parts, element("small", {}, one.sentence));
    return row;
  });
  const [first] = state.stops;
  by("stops").querySelector("h2").textContent = first?.ended ? "Why each climb ended"
    : `Distance to each stop condition${first ? ` of ${first.of}` : ""}`;
  by("stops").querySelector("div").replaceChildren(...rows);
}

function cores() {
  const found = Object.entries(now?.second?.cores || {});
  by("cores").hidden = !found.length;
  const rows = found.map(([name, share]) => {
    const row = element("span", { class: "gauge" });
    const bar = element("div", { style: "width: 90px", role: "meter", "aria-label": name,
      "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round(100 * share) });
    bar.append(element("i", { style: `width: ${100 * share}%` }));
    row.append(element("span", {}, `${name} ${Math.round(100 * share)}%`), bar);
    return row;
  });
  by("cores").querySelector("div").replaceChildren(...rows);
}

function list(id, items) {
  by(id).querySelector("ul").replaceChildren(
    ...items.map(([words, kind]) => element("li", { class: kind }, words)));
}

// --- all of it ----------------------------------------------------------------------------------

function showNow() {
  text("position", now.finished ? "finished" : now.position || now.doing);
  text("doing", now.position && !now.finished ? now.doing : "");
  by("share").value = now.share ?? 0;
  text("times", times());
  cores();
  overTime("nopm", "nopm", count);
  overTime("latency", "mean_s", time);
  together("waits", [["log_write_s", "log write"], ["read_await_s", "device read"],
    ["write_await_s", "device write"]], time);
}

function times() {
  const parts = [`elapsed ${clock(now.elapsed_s)}`];
  if (!now.running && !now.finished) parts.push("not running: the same command resumes it");
  else if (!now.finished) {
    parts.push(now.left_s > 0 ? `about ${clock(now.left_s)} left, until about ${ends()}`
      : "longer than expected");
    if (now.at_s - now.heard_s > 30) parts.push(`nothing new for ${clock(now.at_s - now.heard_s)}`);
  }
  if (now.rate) parts.push(now.rate);
  return parts.join("; ");
}

// When it ends, and between when, where that differs as people read it.
function ends() {
  const [about, low, high] = [now.left_s, now.left_low_s, now.left_high_s].map((left_s) => {
    const end_s = now.at_s + left_s;
    return left_s > 43200 ? `${day(end_s)}, ${hour(end_s)}` : hour(end_s);
  });
  return low === high ? about : `${about} (${low} to ${high})`;
}

function showAll() {
  document.title = `${state.question} – Kneebench live`;
  text("campaign", state.campaign);
  text("question", state.question);
  text("sentence", state.sentence);
  text("subtitle", state.subtitle);
  curve();
  stops();
  list("health", state.health.map((one) => [one.words, one.good ? "good" : "bad"]));
  list("messages", [...state.messages].reverse().map((one) => [one, ""]));
  showNow();
}

function connected(words, lost) {
  text("connection", words);
  by("connection").className = lost ? "lost" : "";
}

const AGAIN_MS = 2000;

// A browser tries a lost connection again by itself, and gives up one that was answered by an error.
function listen() {
  const source = new EventSource("events");
  source.addEventListener("open", () => connected("", false));
  source.addEventListener("error", () => {
    connected("connection lost, trying again", true);
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, AGAIN_MS);
  });
  source.addEventListener("state", (event) => {
    state = JSON.parse(event.data);
    now = state.now;
    showAll();
  });
  source.addEventListener("second", (event) => {
    now = JSON.parse(event.data);
    if (now.second) state.seconds = [...state.seconds, now.second].slice(-MOST_SECONDS);
    showNow();
  });
}

listen();
