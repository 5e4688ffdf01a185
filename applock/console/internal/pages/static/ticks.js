// The ticks of a list: how many there are, all of a page, a range with Shift, and those of the other pages, which the browser keeps for each
// list until an answer. Without this the bar has the ticks of the page, or all of the list.
(function () {
  "use strict";
  const prefix = "applock.ticks ";
  let others = new Set(); // the grants that are ticked on other pages
  let last = null;

  const bar = () => document.getElementById("s");
  const boxes = () => Array.from(document.querySelectorAll("#content tbody [name=lock]"));
  const objectOf = (grant) => grant.split(" ").slice(2).join(" ");

  function stored(act) {
    try { return act(sessionStorage); } catch (error) { return null; } // the browser keeps nothing
  }

  function forget() {
    stored((kept) => { for (const name of Object.keys(kept)) if (name.startsWith(prefix)) kept.removeItem(name); });
  }

  function load() {
    const shown = boxes();
    const here = new Set(shown.map((box) => objectOf(box.value)));
    const grants = new Set(JSON.parse(stored((kept) => kept.getItem(prefix + bar().dataset.of)) || "[]"));
    for (const box of shown) if (grants.has(box.value)) box.checked = true;
    others = new Set(Array.from(grants).filter((grant) => !here.has(objectOf(grant))));
  }

  function show() {
    const form = bar();
    if (form === null) return;
    const shown = boxes(), ticked = shown.filter((box) => box.checked), all = form.elements.all.checked;
    const number = others.size + ticked.length;
    form.classList.toggle("some", number > 0 || all);
    for (const button of form.querySelectorAll("[formaction]")) button.disabled = number === 0 && !all;
    const count = form.querySelector("output"), text = count.dataset.text.replace("%s", number);
    if (count.textContent !== text) count.textContent = text;
    count.hidden = all;
    document.getElementById("untick").hidden = false;
    const page = document.getElementById("page");
    page.hidden = false;
    page.checked = ticked.length === shown.length;
    page.indeterminate = ticked.length > 0 && !page.checked;
    const grants = JSON.stringify([...others, ...ticked.map((box) => box.value)]);
    stored((kept) => kept.setItem(prefix + form.dataset.of, grants));
  }

  function tick(some, on) {
    for (const box of some) box.checked = on;
    show();
  }

  function untick() {
    others.clear();
    if (bar() !== null) bar().elements.all.checked = false;
    tick(boxes(), false);
  }

  document.addEventListener("click", function (event) {
    if (event.target.id === "untick") return untick();
    if (event.target.name !== "lock") return;
    const all = boxes(), from = all.indexOf(last), to = all.indexOf(event.target);
    if (event.shiftKey && from >= 0) tick(all.slice(Math.min(from, to), Math.max(from, to) + 1), event.target.checked);
    last = event.target;
  });
  document.addEventListener("change", (event) => {
    if (event.target.id === "page") tick(boxes(), event.target.checked); else show();
  });
  document.addEventListener("shown", show); // the page has other rows
  document.addEventListener("untick", untick);
  document.addEventListener("formdata", function (event) {
    if (event.target === bar() && !event.formData.has("all")) for (const grant of others) event.formData.append("lock", grant);
  });
  document.addEventListener("submit", (event) => { if (event.target.getAttribute("action") === "ask") forget(); });
  addEventListener("pageshow", show);

  if (document.querySelector("[data-answered]") !== null) forget();
  if (bar() !== null) load();
  show();
})();
