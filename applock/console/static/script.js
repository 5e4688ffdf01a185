// What this adds to pages that do without it: times in the reader's zone, time that runs down, and a look at the page
// again when something has changed. It sends nothing but the address of the page itself.
(function () {
  "use strict";
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "local";
  const began = new WeakMap();

  // Written as without a script, but in the reader's zone, which is said with each time: a table may be pasted anywhere. What
  // the server has written, with the seconds, is told by the pointer.
  const format = new Intl.DateTimeFormat("en-GB", {
    year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
  });

  function localTimes(root) {
    for (const time of root.querySelectorAll("time")) {
      const part = {};
      for (const { type, value } of format.formatToParts(new Date(time.dateTime))) part[type] = value;
      const seconds = time.closest("dl") ? ":" + part.second : "";
      time.title = time.textContent;
      time.textContent = part.year + "-" + part.month + "-" + part.day + " " + part.hour + ":" + part.minute + seconds + " " + part.timeZoneName;
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
    const parts = [];
    for (const [letter, length] of [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]]) {
      const number = Math.floor(seconds / length);
      if (number > 0 || parts.length > 0) parts.push(number + letter);
      seconds %= length;
    }
    return parts.slice(0, 2).join(" ") || "0s";
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
