"use strict";
// The table of papers. Its rows stand in the page as data; every text is set as text, never as markup.
document.addEventListener("DOMContentLoaded", () => {
  const source = document.getElementById("papers-data");
  if (source === null) return;
  const data = JSON.parse(source.textContent);
  const papers = data.rows.map((row) => Object.fromEntries(data.columns.map((name, i) => [name, row[i]])));
  const by = (id) => document.getElementById(id);
  const [show, part, find, table] = ["show", "part", "find", "table"].map((id) => by(`papers-${id}`));
  const PAGE = 100, MOST_PRINTED = 1000;
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const sign = data.better === "low" ? -1 : 1;
  papers.sort((a, b) => compare(a.paper, b.paper));
  papers.forEach((paper, place) => {
    paper.place = place;
    paper.range = paper.scores[paper.scores.length - 1] - paper.scores[0];
    paper.text = `${paper.paper}\n${paper.title}`.toLowerCase();
    paper.decided = data.words.how[paper.how].short;
    paper.now = paper.by_hand ? `${paper.by_hand.split(":")[0]} (by hand)` : paper.decision;
  });
  const number = (value) => String(Math.round(value * 100) / 100);
  const against = { raise: "raised", lower: "lowered", leave: "same", "tie: raise": "tie: raised", "tie: lower": "tie: lowered" };
  const shown = { advice: (p) => against[p.advice] ?? p.advice, mean: (p) => p.mean.toFixed(2), scores: (p) => p.scores.map(number).join(", "), range: (p) => number(p.range) };
  const some = (name) => papers.some((paper) => paper[name] !== "");
  const columns = [
    ["paper", "paper"], ["title", "title"], ["now", "decision"], ["wait_list", "wait list"], ["mean", "mean"],
    ["scores", "scores"], ["range", "range"], ["by_means", "by mean score"], ["advice", "against mean score"],
    ["decided", "decided by"], ["track", "track"], ["area", "area"],
  ].filter(([name]) => !["title", "track", "area", "wait_list"].includes(name) || some(name));
  const numeric = new Set(["mean", "range", "wait_list"]);
  let order = { name: "mean", up: data.better === "low" };
  let chosen = [], page = 0, outside = 0;

  function made(tag, text, attributes = {}) {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }
  const kinds = {
    near: (p) => p.near, all: () => true, draw: (p) => p.how === "draw", tie: (p) => p.by_means === "tie",
    moved: (p) => p.advice === "raise" || p.advice === "lower", hand: (p) => p.by_hand !== "",
  };
  function choose() {
    const wanted = kinds[show.value] ?? ((p) => p.decision === show.value);
    const text = find.value.trim().toLowerCase();
    const [field, value] = part.value ? JSON.parse(part.value) : ["", ""];
    outside = text ? papers.filter((p) => p.text.includes(text)).length : 0;
    chosen = papers.filter((p) => wanted(p) && (!field || p[field] === value) && (!text || p.text.includes(text)));
    const way = order.up ? 1 : -1, name = order.name;
    const key = name === "scores" ? (p) => p.scores[0] : name === "wait_list" ? (p) => Number(p[name] || Infinity) : (p) => p[name];
    const values = new Map(chosen.map((p) => [p, key(p)]));
    const differ = numeric.has(name) || name === "scores" ? (a, b) => (a === b ? 0 : a < b ? -1 : 1) : name === "paper" ? () => 0 : compare;
    chosen.sort((a, b) => way * (differ(values.get(a), values.get(b)) || (name === "paper" ? a.place - b.place : 0)) || a.place - b.place);
    page = 0;
    draw();
  }
  function row(paper) {
    const line = made("tr");
    for (const [name] of columns) {
      const text = shown[name] ? shown[name](paper) : paper[name];
      if (name === "paper") {
        const cell = made("th", undefined, { scope: "row", class: "word" });
        cell.append(made("a", text, { href: `#paper=${encodeURIComponent(paper.paper)}` }));
        line.append(cell);
      } else line.append(made("td", text, { class: numeric.has(name) ? "number" : name === "title" ? "word title" : "" }));
    }
    return line;
  }
  function draw(most = PAGE) {
    const first = page * PAGE, rows = chosen.slice(first, first + most);
    table.tBodies[0].replaceChildren(...rows.map(row));
    const range = rows.length ? `${first + 1} to ${first + rows.length} of ` : "";
    const elsewhere = chosen.length || !outside ? "" : `; outside this filter ${outside === 1 ? "1 matches" : `${outside.toLocaleString("en")} match`}`;
    by("papers-count").textContent = `${range}${chosen.length.toLocaleString("en")} papers${elsewhere}`;
    by("papers-title").textContent = show.value === "near" ? "Papers near the bar" : "Papers";
    by("papers-before").disabled = page === 0;
    by("papers-after").disabled = first + PAGE >= chosen.length;
    by("papers-before").parentElement.hidden = chosen.length <= PAGE;
    for (const cell of table.tHead.rows[0].cells) {
      const sorted = cell.dataset.name === order.name;
      if (sorted) cell.setAttribute("aria-sort", order.up ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    }
  }
  function turn(step) {
    page += step;
    draw();
    table.querySelector("tbody a")?.focus();
  }

  function place(paper, among) {
    const better = among.filter((p) => sign * p.mean > sign * paper.mean).length;
    const equal = among.filter((p) => p.mean === paper.mean).length;
    const places = equal > 1 ? `places ${better + 1} to ${better + equal}` : `place ${better + 1}`;
    return `${places} of ${among.length.toLocaleString("en")} by mean score`;
  }
  function facts(paper) {
    const where = [place(paper, papers)];
    if (paper.track) where.push(`${place(paper, papers.filter((p) => p.track === paper.track))} in ${paper.track}`);
    return [
      ["Decision", `${paper.decision}${paper.wait_list ? `, place ${paper.wait_list}` : ""}`],
      ["By hand", paper.by_hand], ["By mean score", paper.by_means], ["Against mean score", shown.advice(paper)],
      ["Mean of its scores", `${paper.mean.toFixed(2)}: ${where.join("; ")}`],
      ["Decided by", paper.decided], ["Track", paper.track], ["Area", paper.area],
      ["Published", paper.published.map((decision, i) => `Release ${i + 1}: ${decision}`).join("; ")],
      ["Before correcting for strictness: chance that it is above the bar (not confidence in this decision)", `${(100 * paper.above).toFixed(0)} %`],
    ].filter(([, text]) => text !== "");
  }
  // Papers by mean score, this one marked, its scores as points below.
  function picture(paper) {
    const svg = (tag, attributes, text) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      if (text !== undefined) element.textContent = text;
      return element;
    };
    const scores = papers.flatMap((p) => [p.scores[0], p.scores[p.scores.length - 1]]);
    const low = scores.reduce((a, b) => Math.min(a, b)), high = scores.reduce((a, b) => Math.max(a, b));
    const WIDE = 640, HIGH = 120, BINS = 32, x = (score) => (WIDE * (score - low)) / (high - low || 1);
    const counts = Array.from({ length: BINS }, () => [0, 0]);
    for (const p of papers) counts[Math.min(BINS - 1, Math.floor((BINS * x(p.mean)) / WIDE))][p.decision === "accept" ? 0 : 1] += 1;
    const top = counts.reduce((most, [a, b]) => Math.max(most, a + b), 1);
    const chart = svg("svg", { viewBox: `-20 -24 ${WIDE + 40} ${HIGH + 66}`, role: "img", "aria-labelledby": "paper-chart" });
    chart.append(svg("title", { id: "paper-chart" }, `All papers by mean score; this one at ${paper.mean.toFixed(2)}, its scores ${shown.scores(paper)}`));
    counts.forEach((pair, i) => pair.reduce((below, count, kind) => {
      const height = (HIGH * count) / top;
      if (count) chart.append(svg("rect", { class: kind ? "fill" : "fill-own", x: (WIDE * i) / BINS + 1, width: WIDE / BINS - 2, y: HIGH - below - height, height }));
      return below + height;
    }, 0));
    chart.append(svg("line", { class: "axis", x1: 0, x2: WIDE, y1: HIGH, y2: HIGH }));
    chart.append(svg("line", { class: "cut", x1: x(paper.mean), x2: x(paper.mean), y1: -6, y2: HIGH }));
    chart.append(svg("text", { x: x(paper.mean), y: -10, "text-anchor": "middle" }, paper.mean.toFixed(2)));
    paper.scores.forEach((score, i) => chart.append(svg("circle", { class: "dot", cx: x(score), cy: HIGH + 12, r: 5, opacity: i && score === paper.scores[i - 1] ? 0.4 : 1 })));
    for (const end of [low, high]) chart.append(svg("text", { x: x(end), y: HIGH + 38, "text-anchor": "middle" }, number(end)));
    const caption = made("figcaption", "All papers by mean score: ");
    for (const [kind, text] of [["own", "accepted, "], ["other", "not accepted. "]]) caption.append(made("span", "", { class: `key ${kind}` }), text);
    caption.append("The line is this paper's mean, the points are its scores.");
    by("paper-figure").replaceChildren(chart, caption);
  }
  function among(paper) {
    const all = papers.flatMap((p) => p.scores), percent = (count) => `${((100 * count) / all.length).toFixed(0)} %`;
    const line = made("tr");
    for (const text of ["score", "all scores below", "equal", "above"]) line.append(made("th", text, { scope: "col", class: "number" }));
    const rows = [...new Set(paper.scores)].map((score) => {
      const cells = made("tr");
      const parts = [(s) => s < score, (s) => s === score, (s) => s > score];
      const times = paper.scores.filter((s) => s === score).length;
      cells.append(made("th", times > 1 ? `${number(score)} (${times} times)` : number(score), { scope: "row", class: "number" }));
      for (const test of parts) cells.append(made("td", percent(all.filter(test).length), { class: "number" }));
      return cells;
    });
    const [top, bottom] = [made("thead"), made("tbody")];
    top.append(line);
    bottom.append(...rows);
    by("paper-scores").replaceChildren(top, bottom);
  }
  function open(paper) {
    by("paper-title").textContent = `Paper ${paper.paper}${paper.title ? `: ${paper.title}` : ""}`;
    by("paper-facts").replaceChildren(...facts(paper).flatMap(([name, text]) => [made("dt", name), made("dd", text, { class: "word" })]));
    picture(paper);
    among(paper);
    const words = data.words.how[paper.how];
    const moved = paper.how === "scores" && (paper.advice === "raise" || paper.advice === "lower");
    by("paper-can").textContent = moved ? `${words.long} ${data.words.moved}` : words.long;
    by("paper-cannot").textContent = words.unknown;
    by("paper-told").textContent = words.told;
    const at = chosen.indexOf(paper);
    by("paper-before").disabled = at <= 0;
    by("paper-after").disabled = at < 0 || at + 1 >= chosen.length;
  }
  const asked = () => /^#paper=(.*)$/s.exec(location.hash)?.[1];
  let last = "";
  function route() {
    const id = asked();
    const paper = id === undefined ? undefined : papers.find((p) => p.paper === decodeURIComponent(id));
    by("papers-view").hidden = paper !== undefined;
    by("paper-view").hidden = paper === undefined;
    if (paper !== undefined) {
      open(paper);
      last = paper.paper;
      by("paper-title").focus();
    } else if (last) {
      page = Math.max(0, Math.floor(chosen.findIndex((p) => p.paper === last) / PAGE));
      draw();
      [...table.querySelectorAll("tbody a")].find((link) => link.textContent === last)?.focus();
    }
  }
  function step(by_) {
    const next = chosen[chosen.findIndex((p) => p.paper === last) + by_];
    if (next) location.hash = `#paper=${encodeURIComponent(next.paper)}`;
  }
  const back = () => (location.hash = "#papers-view");

  for (const [name, text] of columns) {
    const cell = made("th", undefined, { scope: "col", class: numeric.has(name) ? "number" : "" });
    const button = made("button", text, { type: "button", class: "sorter" });
    cell.dataset.name = name;
    button.addEventListener("click", () => {
      order = { name, up: order.name === name ? !order.up : name !== "mean" && name !== "range" };
      choose();
    });
    cell.append(button);
    table.tHead.rows[0].append(cell);
  }
  for (const field of ["track", "area"]) {
    const names = [...new Set(papers.map((p) => p[field]))].filter(Boolean).sort(compare);
    for (const name of names) part.append(made("option", name, { value: JSON.stringify([field, name]) }));
  }
  if (part.options.length === 1) part.parentElement.hidden = true;
  for (const option of [...show.options]) {
    const test = kinds[option.value] ?? ((p) => p.decision === option.value);
    const there = papers.filter(test).length;
    option.textContent += ` (${there.toLocaleString("en")})`;
    if (!there && option.value !== "near") option.remove();
  }
  if (!papers.some((p) => p.near)) show.value = "all";
  for (const field of [show, part]) field.addEventListener("change", choose);
  find.addEventListener("input", choose);
  by("papers-before").addEventListener("click", () => turn(-1));
  by("papers-after").addEventListener("click", () => turn(1));
  by("paper-before").addEventListener("click", () => step(-1));
  by("paper-after").addEventListener("click", () => step(1));
  document.addEventListener("keydown", (event) => {
    const links = [...table.querySelectorAll("tbody a")], at = links.indexOf(document.activeElement);
    const typing = document.activeElement?.matches("input, select, textarea");
    if (event.key === "Escape" && asked() !== undefined) back();
    else if (event.key === "Escape" && document.activeElement === find && find.value) {
      find.value = "";
      choose();
    } else if (event.key === "/" && !typing && asked() === undefined) find.focus();
    else if (event.key === "ArrowDown" && (at >= 0 || document.activeElement === find)) links[Math.min(at + 1, links.length - 1)]?.focus();
    else if (event.key === "ArrowUp" && at >= 0) (links[at - 1] ?? find).focus();
    else return;
    event.preventDefault();
  });
  window.addEventListener("hashchange", route);
  window.addEventListener("beforeprint", () => draw(MOST_PRINTED));
  window.addEventListener("afterprint", () => draw());
  choose();
  route();
  document.body.dataset.papers = "ready";
});
