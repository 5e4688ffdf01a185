// Shortcuts for those who work by the keyboard, as in "applockctl watch": / for the search, j and k from row to row, x to tick one, a letter for
// each action, enter to open a row, ? for all of them. They can be turned off, since who speaks to the computer, or has it press keys, would set them off by chance. All they do can be done without them.
(function () {
  "use strict";
  const help = document.getElementById("keys");
  const search = document.getElementById("q");
  const on = document.getElementById("keys-on");
  const open = document.getElementById("keys-open");
  const kept = "applock.shortcuts";

  function read() {
    try { return localStorage.getItem(kept) !== "off"; } catch (error) { return true; } // the browser keeps nothing
  }

  on.checked = read();
  on.addEventListener("change", function () {
    try { localStorage.setItem(kept, on.checked ? "on" : "off"); } catch (error) { /* then it is for this page only */ }
  });
  open.hidden = false;
  open.addEventListener("click", function () { help.showModal(); });

  // The links that lead from each row to its page.
  function links() {
    return Array.from(document.querySelectorAll("#content tbody tr"), (row) => row.querySelector("a")).filter((link) => link !== null);
  }

  const rowInFocus = () => document.activeElement.closest("#content tbody tr");

  function tick(row) {
    const box = row === null ? null : row.querySelector("[name=lock]");
    if (box !== null) box.click();
  }

  // Does what a letter says: to the row in the focus, to what is ticked, or to the object of the page. Without a tick the row is ticked.
  function act(key) {
    const row = rowInFocus(), found = "[data-key=" + key + "]";
    const own = row === null ? null : row.querySelector(found);
    const button = own || document.querySelector("#content " + found + ":not(tbody *)");
    if (button === null) return;
    if (button.disabled) tick(row);
    button.click();
  }

  function step(by) {
    const all = links();
    if (all.length === 0) return;
    const row = rowInFocus();
    const now = row === null ? -1 : all.findIndex((link) => row.contains(link));
    const next = now < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, now + by));
    all[next].focus();
  }

  const actions = {
    "/": function () { search.focus(); search.select(); },
    "j": function () { step(1); },
    "k": function () { step(-1); },
    "x": function () { tick(rowInFocus()); },
    "Escape": function () { document.dispatchEvent(new Event("untick")); },
    "?": function () { help.showModal(); },
  };

  for (const letter of "torea") actions[letter] = function () { act(letter); };

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help.open || !on.checked) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") !== null) return;
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
})();
