"use strict";
// The pages Conference: forms and files go to the server, and the page is read again; a job, and what other tabs
// change, is watched. Nothing is kept in the browser.
// So many things are on their way: the page is not read again before the last of them has arrived.
let underway = 0;
let typed = false;
// When a link was followed: reading the page again would call the reader back. A download leaves it as it is.
let left = -Infinity;

async function send(path, options) {
  try {
    return await fetch(document.body.dataset.base + path, { cache: "no-store", ...options });
  } catch {
    return null;
  }
}

function notify(text) {
  const place = document.getElementById("notice-now");
  const line = document.createElement("p");
  const box = document.createElement("div");
  line.textContent = text;
  box.className = "notice";
  box.setAttribute("role", "alert");
  box.append(line);
  place.replaceChildren(box);
  box.scrollIntoView({ block: "nearest" });
}

// Read the page again; after a refusal only what it says of that, so that nothing typed is lost.
async function again(answer, inPlace = false) {
  underway -= 1;
  if (answer === null) {
    notify("The app does not answer. Is it still running?");
  } else if (!answer.ok) {
    notify((await answer.text()).trim());
  } else if ((await answer.json()).done) {
    if (underway === 0) await (inPlace ? refreshed() : location.reload());
  } else {
    const page = await send(location.pathname.slice(document.body.dataset.base.length), {});
    if (page === null || !page.ok) return location.reload();
    const told = new DOMParser().parseFromString(await page.text(), "text/html").getElementById("notice-now");
    document.getElementById("notice-now").replaceWith(told);
    told.scrollIntoView({ block: "center" });
  }
}

// The page as it is now, in the place of this one: the reader stays where they are.
async function refreshed() {
  const page = await send(location.pathname.slice(document.body.dataset.base.length), {});
  if (page === null || !page.ok) return location.reload();
  const now = new DOMParser().parseFromString(await page.text(), "text/html");
  const id = document.activeElement?.id;
  document.getElementById("main").replaceWith(now.getElementById("main"));
  document.body.dataset.changes = now.body.dataset.changes;
  typed = false;
  if (id) document.getElementById(id)?.focus({ preventScroll: true });
}

async function submitted(form, button = form.querySelector("button"), inPlace = false) {
  underway += 1;
  button.disabled = true;
  const answer = await send(`/conference/do/${form.dataset.action}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(Object.fromEntries(new FormData(form))),
  });
  button.disabled = false;
  await again(answer, inPlace);
}

async function chosen(files, kind) {
  underway += 1;
  let answer = null;
  for (const file of files) {
    notify(`Reading ${file.name} …`);
    answer = await send(`/conference/${kind}?name=${encodeURIComponent(file.name)}`, {
      method: "PUT",
      headers: { "Content-Type": "application/octet-stream" },
      body: file,
    });
    if (answer === null || !answer.ok) break;
  }
  await again(answer);
}

// Listened for before the page is there, so that no reader is too quick for it.
document.addEventListener("submit", (event) => {
  event.preventDefault();
  submitted(event.target, event.submitter ?? undefined);
});
// Files can be dropped on the field that chooses them, or anywhere around it.
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  event.preventDefault();
  const field = event.target.closest(".upload")?.querySelector("input[type=file]");
  if (field && event.dataTransfer.files.length) chosen([...event.dataTransfer.files], field.dataset.upload);
});
document.addEventListener("input", () => (typed = true));
window.addEventListener("beforeunload", () => (left = performance.now()));
document.addEventListener("change", (event) => {
  const field = event.target;
  if (field.matches("input[type=file]") && field.files.length) {
    chosen([...field.files], field.dataset.upload);
    field.value = "";
  }
  // What a file is taken for is read at once.
  if (field.matches("select[name^='kind:']")) submitted(field.form, undefined, true);
});

async function watch() {
  const answer = await send("/conference/job", {});
  if (answer === null || !answer.ok) {
    if (underway === 0) notify("The app does not answer. Is it still running?");
    setTimeout(watch, 3000);
    return;
  }
  const job = await answer.json();
  const running = document.querySelector("[data-job]") !== null;
  const here = underway === 0 && performance.now() - left > 5000;
  if (here && (job.running !== running || String(job.changes) !== document.body.dataset.changes)) {
    if (!typed || running) {
      location.reload();
      return;
    }
    notify("Something changed in another tab. Read this page again before you go on.");
    return;
  }
  if (running) showJob(job);
  setTimeout(watch, running ? 300 : 2000);
}

function showJob(job) {
  const bar = document.getElementById("job-bar");
  const work = document.getElementById("job-work");
  const said = job.canceled ? "stopping …" : job.work;
  if (work.textContent !== said) work.textContent = said;
  if (job.steps > 1) {
    bar.max = job.steps;
    bar.value = job.done;
  } else {
    bar.removeAttribute("value");
  }
  document.getElementById("job-left").textContent = job.left ? `${job.left}.` : "";
}

document.addEventListener("DOMContentLoaded", () => setTimeout(watch, 300));
