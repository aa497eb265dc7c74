"use strict";
// The page Pair: where the sliders stand goes to the server, and its numbers are drawn. Nothing is computed here.
const base = document.body.dataset.base;
const form = document.getElementById("settings");
const SVG = "http://www.w3.org/2000/svg";
const SIZE = 340;
let latest = 0;
let waiting = false;
let moved = false;
let shown = null;

function fields() {
  return Object.fromEntries(new FormData(form));
}

function at(numbers, path) {
  return path.split(".").reduce((value, key) => (value === null || value === undefined ? value : value[key]), numbers);
}

function percent(value) {
  return value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)} %`;
}

function factor(epsilon) {
  const grown = epsilon === "inf" ? Infinity : Math.exp(epsilon);
  return grown > 1e6 ? "any factor" : `× ${grown.toFixed(1).replace(/\.0$/, "")}`;
}

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function replaceDrawing(svg, parts) {
  const kept = [...svg.children].filter((one) => one.tagName === "title" || one.tagName === "desc");
  svg.replaceChildren(...kept, ...parts);
}

function axes(ticks, across, up) {
  const parts = [element("rect", { class: "frame", x: 0, y: 0, width: SIZE, height: SIZE })];
  for (const [place, label] of ticks) {
    const x = place * SIZE;
    parts.push(element("text", { x, y: SIZE + 18, "text-anchor": "middle" }, label));
    parts.push(element("text", { x: -6, y: SIZE - x + 5, "text-anchor": "end" }, label));
  }
  parts.push(element("text", { x: SIZE / 2, y: SIZE + 38, "text-anchor": "middle" }, across));
  parts.push(element("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(-44 ${SIZE / 2}) rotate(-90)` }, up));
  return parts;
}

// The plane: one area for each kind of agreement.
function drawPlane(numbers) {
  const reach = numbers.reach;
  const place = (score) => ((Number(score) + reach) / (2 * reach)) * SIZE;
  const given = fields();
  const parts = [];
  let apart = 0;
  for (const [kind, polygons] of Object.entries(numbers.regions)) {
    for (const polygon of polygons) {
      const points = polygon.map(([x, y]) => `${place(x).toFixed(2)},${(SIZE - place(y)).toFixed(2)}`).join(" ");
      parts.push(element("polygon", { class: `cell-${kind}`, points }));
      if (kind === "conflict") apart += area(polygon) / (4 * reach * reach);
    }
  }
  const ticks = [-reach, 0, reach].map((one) => [(one + reach) / (2 * reach), String(one)]);
  parts.push(...axes(ticks, "score of paper 1", "score of paper 2"));
  parts.push(element("circle", { class: "mark-scores", cx: place(given.score_1), cy: SIZE - place(given.score_2), r: 8 }));
  replaceDrawing(document.getElementById("plane"), parts);
  document.getElementById("plane-text").textContent =
    `In ${percent(apart)} of the plane the assignments favor different papers. These scores are ` + (numbers.conflict ? "there." : "not there.");
}

function area(polygon) {
  return polygon.reduce((sum, [x, y], place) => {
    const [nextX, nextY] = polygon[(place + 1) % polygon.length];
    return sum + (x * nextY - nextX * y) / 2;
  }, 0);
}

function line(curve) {
  return curve.conference_error
    .map((x, place) => `${(x * SIZE).toFixed(2)},${(SIZE - 2 * curve.adversary_error[place] * SIZE).toFixed(2)}`)
    .join(" ");
}

function drawFrontier(numbers) {
  const parts = [element("rect", { class: "frame", x: 0, y: 0, width: SIZE, height: SIZE })];
  for (const share of [0, 0.5, 1]) {
    const end = share === 1;
    parts.push(element("text", { x: share * SIZE + (end ? 10 : 0), y: SIZE + 18, "text-anchor": end ? "end" : "middle" }, `${100 * share} %`));
    parts.push(element("text", { x: -6, y: SIZE - share * SIZE + 5, "text-anchor": "end" }, `${50 * share} %`));
  }
  parts.push(element("text", { x: SIZE / 2, y: SIZE + 38, "text-anchor": "middle" }, "worse paper accepted"));
  parts.push(element("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(-58 ${SIZE / 2}) rotate(-90)` }, "adversary wrong"));
  parts.push(element("polyline", { class: "relation", points: line(numbers.relation) }));
  parts.push(element("polyline", { class: "front", points: line(numbers.frontier) }));
  if (fields().by === "epsilon") parts.push(element("polyline", { class: "limited", points: line(numbers.by_epsilon) }));
  for (const [name, kind] of [["full", "mark-full"], ["policy", "mark-own"]]) {
    const one = numbers[name];
    parts.push(element("circle", { class: kind, cx: one.conference_error * SIZE, cy: SIZE - 2 * one.adversary_error * SIZE, r: 7 }));
  }
  replaceDrawing(document.getElementById("frontier"), parts);
  document.getElementById("frontier-text").textContent =
    `This policy accepts the worse paper with ${percent(numbers.policy.conference_error)} and the adversary's best guess is wrong with ` +
    `${percent(numbers.policy.adversary_error)}; with full calibration ${percent(numbers.full.conference_error)} and ${percent(numbers.full.adversary_error)}.`;
}

function sentence(numbers) {
  const paper = (favor) => (favor > 0.5 ? "paper 1" : favor < 0.5 ? "paper 2" : "neither paper");
  const [one, two] = numbers.favor;
  if (!numbers.conflict) {
    return `Both assignments favor ${one === 0.5 ? paper(two) : paper(one)}: the right decision reveals nothing about who reviewed what.`;
  }
  const cost = numbers.policy.conference_error - numbers.full.conference_error;
  return (
    `A1 favors ${paper(one)} and A2 ${paper(two)}, so a decision speaks. With full calibration the best guess of the assignment is ` +
    `right in ${percent(1 - numbers.full.adversary_error)} of cases, with this policy in ${percent(1 - numbers.policy.adversary_error)} ` +
    `(from the scores alone in ${percent(1 - numbers.scores_only)}). In return the worse paper is accepted in ${percent(cost)} more of them.`
  );
}

function draw(numbers) {
  shown = numbers;
  for (const cell of document.querySelectorAll("[data-number]")) cell.textContent = percent(at(numbers, cell.dataset.number));
  for (const cell of document.querySelectorAll("[data-factor]")) cell.textContent = factor(at(numbers, cell.dataset.factor));
  document.getElementById("sentence").textContent = sentence(numbers);
  drawPlane(numbers);
  drawFrontier(numbers);
}

function say(text) {
  const place = document.getElementById("pair-error");
  place.textContent = text;
  place.hidden = !text;
}

// The link: where the sliders stand, which are no one's data, after the mark # that no server is sent.
const SHOWN = "letters";
function keepLink() {
  const given = new URLSearchParams(fields());
  if (document.getElementById(SHOWN).checked) given.set(SHOWN, "yes");
  history.replaceState(null, "", `#${given}`);
}

function followLink() {
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    const field = form.elements[name];
    if (name === SHOWN) document.getElementById(SHOWN).checked = true;
    else if (field && Number.isFinite(Number(value))) field.value = value;
    else if (name === "by" && ["error", "epsilon"].includes(value)) field.value = value;
  }
  showLetters();
}

function showLetters() {
  document.body.classList.toggle(SHOWN, document.getElementById(SHOWN).checked);
}

function labels() {
  const given = fields();
  for (const output of form.querySelectorAll("output")) output.textContent = Number(given[output.htmlFor.value]).toFixed(2);
}

// One request at a time: what was moved meanwhile is asked for next.
async function update() {
  labels();
  moved = true;
  if (waiting) return;
  waiting = true;
  while (moved) {
    moved = false;
    const began = performance.now();
    try {
      const answer = await fetch(`${base}/pair/numbers?${new URLSearchParams(fields())}`, { cache: "no-store" });
      if (!answer.ok) throw new Error((await answer.text()).trim());
      draw(await answer.json());
      say("");
    } catch (error) {
      say(error instanceof TypeError ? "The app does not answer. Is it still running?" : error.message);
    }
    latest = performance.now() - began;
    document.body.dataset.redrawn = latest.toFixed(1);
  }
  waiting = false;
}

const counts = [[0, 0], [0, 0]];
const sums = { drawn: 0, right: 0, wrong: 0 };
function forget() {
  for (const row of counts) row.fill(0);
  for (const name of Object.keys(sums)) sums[name] = 0;
  drawCounts("Nothing drawn yet.");
}

function drawCounts(text) {
  for (const cell of document.querySelectorAll("[data-count]")) {
    const [row, column] = cell.dataset.count.split(".").map(Number);
    cell.textContent = counts[row][column].toLocaleString("en-US");
  }
  document.getElementById("drawn").textContent = text;
}

async function drawLots(number) {
  const answer = await fetch(`${base}/pair/draws`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...fields(), number: String(number) }),
  });
  if (!answer.ok) {
    say((await answer.text()).trim());
    return;
  }
  const found = await answer.json();
  found.counts.forEach((row, r) => row.forEach((value, c) => (counts[r][c] += value)));
  for (const name of Object.keys(sums)) sums[name] += found[name];
  const one = found.drawn === 1 ? found.counts.flat().indexOf(1) : -1;
  const last = one < 0 ? "" : `It was A${one < 2 ? 1 : 2}, and paper ${1 + (one % 2)} was accepted; the best guess was ${found.right ? "right" : "wrong"}. `;
  drawCounts(
    `${last}${sums.drawn.toLocaleString("en-US")} drawn: the best guess was right in ${percent(sums.right / sums.drawn)}, ` +
      `the worse paper was accepted in ${percent(sums.wrong / sums.drawn)}.`
  );
}

function changed() {
  forget();
  keepLink();
  update();
}

// A slider of a limit that is moved is the limit that counts.
form.addEventListener("input", (event) => {
  if (event.target.name === "protection") form.elements.by.value = "error";
  if (event.target.name === "epsilon") form.elements.by.value = "epsilon";
  changed();
});
form.addEventListener("reset", () => setTimeout(changed));
document.getElementById(SHOWN).addEventListener("change", () => { showLetters(); keepLink(); });
window.addEventListener("hashchange", () => { followLink(); forget(); update(); });
form.addEventListener("submit", (event) => event.preventDefault());
for (const button of document.querySelectorAll("[data-draws]")) button.addEventListener("click", () => drawLots(Number(button.dataset.draws)));
document.getElementById("forget").addEventListener("click", forget);

function dragged(svg, move) {
  const drag = (event) => {
    if (event.buttons !== 1 || shown === null) return;
    move(new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse()));
    changed();
  };
  svg.addEventListener("pointerdown", (event) => { svg.setPointerCapture(event.pointerId); drag(event); });
  svg.addEventListener("pointermove", drag);
}
dragged(document.getElementById("plane"), (point) => {
  const score = (place) => Math.max(-shown.reach, Math.min(shown.reach, (2 * place / SIZE - 1) * shown.reach));
  form.elements.score_1.value = score(point.x);
  form.elements.score_2.value = score(SIZE - point.y);
});
// The policy is drawn along the frontier, and its slider follows.
dragged(document.getElementById("frontier"), (point) => {
  const errors = shown.frontier.conference_error;
  const least = errors[0];
  const most = errors[errors.length - 1];
  if (most <= least) return;
  form.elements.by.value = "error";
  form.elements.protection.value = Math.max(0, Math.min(1, (point.x / SIZE - least) / (most - least)));
});
followLink();
update();
