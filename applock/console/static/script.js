// What this adds to pages that do without it: times in the reader's zone, time that runs down, and a look at the page
// again when something has changed. It sends nothing but the address of the page itself.
(function () {
  "use strict";
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "local";
  const began = new WeakMap();

  // Written as without a script, but in the reader's zone: the time of today, the weekday in the days around it, the day in this year, and else
  // the year. The whole time, with the zone, is told by the pointer, and to those who listen.
  const parts = new Intl.DateTimeFormat("en-GB", {
    year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short", hourCycle: "h23",
  });
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

  // Counted from when the page came, on a clock that nobody sets: the browser's own may be wrong.
  function countDown(root) {
    const now = performance.now();
    for (const left of root.querySelectorAll(".left")) {
      if (!began.has(left)) began.set(left, now);
      const seconds = Math.max(0, Math.ceil(Number(left.dataset.seconds) - (now - began.get(left)) / 1000));
      const text = lasting(seconds);
      if (left.textContent !== text) left.textContent = text;
      left.classList.toggle("soon", seconds < 3600);
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

  function show(root) {
    localTimes(root);
    countDown(root);
  }

  const main = document.getElementById("content");
  const news = document.getElementById("news");
  let behind = false;
  let asking = false;

  // Nothing moves under a pointer, under a selection, or away from the keyboard.
  function inUse() {
    const selection = document.getSelection();
    return main.matches(":hover") || (main.contains(document.activeElement) && document.activeElement !== main) ||
      (selection !== null && !selection.isCollapsed && main.contains(selection.anchorNode));
  }

  function tell() {
    if (!behind || news.firstChild) return;
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = news.dataset.show;
    link.addEventListener("click", function (event) {
      event.preventDefault();
      swap();
    });
    news.append(news.dataset.text + " ", link);
  }

  async function swap() {
    if (asking) return;
    asking = true;
    behind = false;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin" });
      if (answer.status === 401 || answer.redirected) {
        location.reload(); // the session has ended: the browser is sent to sign in, and comes back
        return;
      }
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const next = page.getElementById("content");
      if (answer.ok && next !== null) {
        const open = Array.from(main.querySelectorAll("details"), (one) => one.open);
        main.replaceChildren(...next.childNodes);
        main.querySelectorAll("details").forEach((one, i) => { if (i < open.length) one.open = open[i]; });
        news.replaceChildren();
        show(main);
      } else {
        behind = true;
      }
    } catch (error) {
      behind = true; // the next event, or the next second, tries again
    }
    asking = false;
  }

  function look() {
    if (!behind) return;
    if (inUse()) tell(); else swap();
  }

  show(document);
  const said = document.getElementById("zone");
  said.textContent = said.textContent.replace("UTC", zone);
  let source = null;
  let beat = 0;
  setInterval(function () {
    countDown(document);
    beat++;
    // A proxy that collects answers keeps the stream for itself: then the page asks every now and then.
    if (source !== null && source.readyState === EventSource.CONNECTING && beat % 5 === 0) behind = true;
    if (beat % 2 === 0) look();
  }, 1000);

  const topics = document.body.dataset.live;
  if (topics) {
    const listen = function () {
      if (source !== null || document.hidden) return;
      source = new EventSource("changes?topics=" + encodeURIComponent(topics) + "&seen=" + encodeURIComponent(document.body.dataset.seen));
      source.addEventListener("changed", function (event) {
        document.body.dataset.seen = event.data;
        behind = true;
        look();
      });
      // After what is no stream, as of a proxy whose console is away, the browser does not try again by itself.
      source.addEventListener("error", function () {
        if (source === null || source.readyState !== EventSource.CLOSED) return;
        source = null;
        behind = true;
        setTimeout(listen, 5000);
      });
    };
    const rest = function () {
      if (source === null) return;
      source.close();
      source = null;
    };
    // Whoever does not look costs nothing.
    document.addEventListener("visibilitychange", function () { if (document.hidden) rest(); else listen(); });
    addEventListener("pagehide", rest);
    addEventListener("pageshow", listen);
    listen();
  }
})();
