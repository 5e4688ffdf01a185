// What this adds to pages that do without it: times in the reader's zone, counters that run, and rows as the database has them now. It
// sends nothing but the address of the page itself.
(function () {
  "use strict";
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "local";

  // Written as without a script, but in the reader's zone: the time of today, the weekday in the days around it, the day in this year, and else
  // the year. The whole time, with the zone, is told by the pointer, and to those who listen.
  const parts = new Intl.DateTimeFormat("en-GB", {
    year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short", hourCycle: "h23",
  });
  const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
  const weekday = new Intl.DateTimeFormat("en-GB", { weekday: "short" });
  const month = new Intl.DateTimeFormat("en-GB", { month: "short" });

  function asSpoken(at, part) {
    const now = new Date();
    if (at.toDateString() === now.toDateString()) return part.hour + ":" + part.minute;
    if (Math.abs(at - now) < 6 * 86400 * 1000) return weekday.format(at) + " " + part.hour + ":" + part.minute;
    const day = Number(part.day) + " " + month.format(at).slice(0, 3) + " ";
    return at.getFullYear() === now.getFullYear() ? day + part.hour + ":" + part.minute : day + part.year;
  }

  function localTimes(root) {
    for (const time of root.querySelectorAll("time")) {
      const at = new Date(time.dateTime);
      const part = {};
      for (const { type, value } of parts.formatToParts(at)) part[type] = value;
      const whole = part.year + "-" + part.month + "-" + part.day + " " + part.hour + ":" + part.minute + ":" + part.second + " " + part.timeZoneName;
      const spoken = time.hasAttribute("title"); // else it has been written as a whole
      if (spoken) time.title = whole;
      time.textContent = spoken ? asSpoken(at, part) : whole;
    }
  }

  // When the database said the seconds of the counters, on a clock that nobody sets: the browser's own may be wrong.
  let counted = performance.now();

  function count(root) {
    const gone = (performance.now() - counted) / 1000;
    for (const counter of root.querySelectorAll("[data-seconds]")) {
      const left = counter.classList.contains("left");
      const seconds = Math.max(0, Math.ceil(Number(counter.dataset.seconds) + (left ? -gone : gone)));
      const text = lasting(seconds);
      if (counter.textContent !== text) counter.textContent = text;
      if (left) counter.classList.toggle("soon", seconds < 3600);
    }
  }

  function lasting(seconds) {
    const minutes = Math.floor(seconds / 60), hours = Math.floor(seconds / 3600), days = Math.floor(seconds / 86400);
    if (seconds < 60) return seconds + " s";
    if (minutes < 60) return minutes + " m";
    if (days >= 7 || (days > 0 && hours % 24 === 0)) return days + " d";
    if (days > 0) return days + " d " + hours % 24 + " h";
    return minutes % 60 === 0 ? hours + " h" : hours + " h " + minutes % 60 + " m";
  }

  // The day of a link to what ends today is the reader's.
  function localDay(root) {
    for (const link of root.querySelectorAll('a[href*="within=today"]:not([href*="offset="])')) {
      link.setAttribute("href", link.getAttribute("href") + "&offset=" + -new Date().getTimezoneOffset());
    }
  }

  // Shows what a page has that has just come, in times and counters.
  function show(body, root) {
    counted = performance.now() - Number(body.dataset.age || 0);
    localTimes(root);
    localDay(root);
    count(root);
  }

  // Makes an element what another one is. What both have stays where it is, with the focus, the selection and what has been typed.
  function morph(old, next) {
    for (const name of old.getAttributeNames()) if (name !== "open" && !next.hasAttribute(name)) old.removeAttribute(name);
    for (const name of next.getAttributeNames()) {
      if (name !== "open" && old.getAttribute(name) !== next.getAttribute(name)) old.setAttribute(name, next.getAttribute(name));
    }
    if (old.nodeName === "TBODY") morphRows(old, next); else morphNodes(old, next);
  }

  function morphNodes(old, next) {
    let at = old.firstChild;
    for (const wanted of Array.from(next.childNodes)) {
      if (at === null || at.nodeName !== wanted.nodeName) {
        old.insertBefore(wanted, at);
        continue;
      }
      if (wanted.nodeType === Node.ELEMENT_NODE) morph(at, wanted);
      else if (at.data !== wanted.data) at.data = wanted.data;
      at = at.nextSibling;
    }
    while (at !== null) at = removed(at, at.nextSibling);
  }

  // A row is known by its key, by the grant that it selects, or by the address that it is about: a tick stays with its grant.
  function keyOf(row) {
    const tick = row.querySelector("[name=lock]");
    const link = row.querySelector("th a");
    return row.dataset.key || (tick !== null ? tick.value : link !== null ? link.getAttribute("href") : "");
  }

  function morphRows(old, next) {
    const rows = new Map(Array.from(old.rows, (row) => [keyOf(row), row]));
    const wantedKeys = new Set(Array.from(next.rows, keyOf));
    for (const [key, row] of rows) if (!wantedKeys.has(key)) row.remove();
    let at = old.firstElementChild;
    for (const wanted of Array.from(next.rows)) {
      const row = rows.get(keyOf(wanted));
      if (row === undefined) {
        old.insertBefore(wanted, at);
        continue;
      }
      rows.delete(keyOf(wanted));
      // A row that goes down makes room, rather than that all others move.
      if (at !== null && at !== row && at.nextElementSibling === row) at = removed(at, row);
      if (at === row) at = row.nextElementSibling; else old.insertBefore(row, at);
      morph(row, wanted);
    }
    while (at !== null) at = removed(at, at.nextElementSibling);
  }

  function removed(node, next) {
    node.remove();
    return next;
  }

  // A form is sent once: its buttons rest until the page is left, or comes back.
  document.addEventListener("submit", function (event) {
    setTimeout(() => { for (const button of event.target.querySelectorAll("button")) button.disabled = true; });
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted) for (const button of document.querySelectorAll("form button[disabled]:not([hidden])")) button.disabled = false;
  });

  show(document.body, document);
  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }); // a telephone's menu scrolls
  const said = document.getElementById("zone");
  said.title = said.textContent = said.textContent.replace("UTC", zone);
  const state = document.body.dataset;
  if (state.interval === undefined) {
    setInterval(() => count(document), 1000);
    return;
  }

  // From here on: a page that is kept up to date.
  const main = document.getElementById("content");
  const news = document.getElementById("news");
  const pause = document.getElementById("pause");
  const pauseText = pause.textContent;
  const patience = 15000;
  const beat = 15000; // a request of whoever looks at the page lasts a minute after each question
  let heard = Date.now();
  let lost = false;
  let paused = false;
  let asking = false;
  let asked = Date.now();

  function tell() {
    const text = paused ? news.dataset.paused : lost ? news.dataset.lost : "";
    const said = text.replace("%s", clock.format(heard));
    if (news.textContent !== said) news.textContent = said;
    document.body.classList.toggle("stale", lost);
    pause.textContent = paused ? pause.dataset.resume : pauseText;
  }

  function take(page) {
    const next = page.getElementById("content");
    const focused = document.activeElement;
    show(page.body, next);
    morph(main, next);
    if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
    for (const id of ["told", "person"]) {
      show(page.body, page.getElementById(id));
      morph(document.getElementById(id), page.getElementById(id));
    }
    document.dispatchEvent(new Event("shown"));
    document.title = page.title;
    state.version = page.body.dataset.version;
    if (page.body.dataset.asks === undefined) delete state.asks; else state.asks = page.body.dataset.asks;
  }

  async function ask() {
    const rests = paused || document.hidden;
    if (asking || (rests && (state.asks === undefined || Date.now() - asked < beat))) return;
    asking = true;
    asked = Date.now();
    try {
      const answer = await fetch(location.href, { headers: { "If-None-Match": state.version || '""' }, signal: AbortSignal.timeout(patience) });
      if (answer.status === 401 || answer.status === 403 || answer.redirected) {
        location.reload(); // the session has ended: the browser is sent to sign in, and comes back
        return;
      }
      lost = !answer.ok && answer.status !== 304;
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        lost = page.body.dataset.version === undefined; // some page of a proxy
        if (!lost && !paused) take(page);
      }
    } catch (error) {
      lost = true; // the console is away
    }
    asking = false;
    if (!lost && !paused) heard = Date.now();
    tell();
  }

  pause.hidden = false;
  pause.addEventListener("click", function () {
    paused = !paused;
    tell();
    ask();
  });
  setInterval(() => { if (!lost && !paused) count(document); }, 1000);
  setInterval(ask, Number(state.interval));
  // Whoever does not look costs nothing, and sees at once what has changed meanwhile.
  document.addEventListener("visibilitychange", ask);
  addEventListener("pageshow", (event) => { if (event.persisted) ask(); });
})();
