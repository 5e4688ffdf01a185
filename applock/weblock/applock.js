// Locks what a page edits: docs/weblock.md. The server decides; no clock of the browser does.
//
//   const lock = await edit("customer", 42, { load: () => fill(form), change: (lock) => { form.inert = lock.state !== "mine" } });

/** The words of <applock-banner>. Replace any of them. */
export const words = {
  free: "Nobody is editing this.",
  mine: "You are editing this.",
  theirs: (lock) => `${lock.holder} has been editing this since ${time(lock.since)}, until ${time(lock.until)} or longer.` + (lock.note && ` Note: ${lock.note}`),
  asked: (lock) => `You have asked ${lock.holder} for this.` + (lock.reply ? ` ${{ LATER: "Not yet", DECLINED: "No" }[lock.reply.outcome]}. ${lock.reply.reason}` : ""),
  lost: (lock) => "Your lock has ended, and others may have edited this. What you typed is still here, and cannot be saved." +
    (lock.taken ? ` ${lock.taken.other_operator_id} has taken it: ${lock.taken.reason}` : lock.holder ? ` ${lock.holder} is editing now.` : ""),
  offline: "No connection: who is editing is not known.",
  asleep: "Checking whether you still have the lock.",
  "signed-out": "You are signed out: sign in again in another tab.",
  asks: (asker) => `${asker.other_operator_id} asks for this: ${asker.message}`,
  edit: "Edit", stop: "Stop editing", ask: "Ask for it", withdraw: "Withdraw", take: "Take it", GIVE: "Give", LATER: "Later", NO: "No", text: "Message or reason",
};

const time = (date) => date?.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) ?? "?";
const BEAT = 15000, HIDDEN = 60000, LIMIT = 10000;

/** Opens an object: gets its lock, or shows who has it. */
export async function edit(type, id, options = {}) {
  const lock = new Lock(type, id, options);
  await lock.start();
  return lock;
}

export class Lock extends EventTarget {
  /** free, mine, theirs, asked or lost. */
  state = "free";
  /** Why the state may be another by now: offline, asleep or signed-out; empty if the server has just said so. */
  doubt = "";
  /** What the server sends to save with, while the state is mine. */
  fence = "";
  /** The last answer of the server, and the last problem that is no state, such as a missing right. */
  told = {};
  problem = "";
  /** The notice of whoever has taken the lock. */
  taken = null;
  #client = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16)).join("");
  #position = "";
  #message = "";
  #last = Promise.resolve();
  #timer = 0;
  #due = 0;
  #ending = new AbortController();

  constructor(type, id, { base = new URL(".", import.meta.url).href, load, change, banner } = {}) {
    super();
    Object.assign(this, { type, id: String(id), base, load });
    if (change) this.addEventListener("change", () => change(this));
    if (banner) banner.lock = this;
    const { signal } = this.#ending;
    for (const [target, event] of [[document, "visibilitychange"], [document, "resume"], [window, "online"]]) target.addEventListener(event, this.#beat, { signal });
    addEventListener("pageshow", (event) => event.persisted && this.#beat(), { signal });
    addEventListener("pagehide", () => this.#leave(), { signal });
  }

  get holder() { return this.told.holder_id ?? ""; }
  get since() { return this.told.acquired_ts ? new Date(this.told.acquired_ts) : null; }
  /** By the clock that the reader sees. */
  get until() { return this.told.seconds_left ? new Date(Date.now() + this.told.seconds_left * 1000) : null; }
  get note() { return this.told.note ?? ""; }
  get present() { return this.told.present ?? []; }
  get mayTake() { return this.told.take_fl === "Y"; }
  /** Those who ask for the lock, and the answer to one's own request. */
  get askers() { return this.#notices("AWAITED").filter((asker) => asker.client_id); }
  get reply() { return this.#notices("LATER", "DECLINED").at(-1); }

  /** Gets the lock, and then loads the record: what others have saved is in it. */
  start() { return this.#turn(() => this.#open("open")); }

  /** Stops editing. Without a connection the lock ends by itself. */
  stop() {
    return this.#turn(async () => {
      await this.#send("stop");
      this.#becomes("free");
    });
  }

  /** Asks the holder, and goes on asking until the lock is given, free, or no longer wanted. */
  ask(message = "") {
    this.#message = message;
    if (this.state === "theirs") this.#becomes("asked");
    return this.#beat();
  }

  withdraw() {
    return this.#turn(async () => {
      if (await this.#send("ask", { withdraw: true })) this.#becomes(this.#read());
    });
  }

  /** Answers one of askers: GIVE, LATER or NO. Save before GIVE. */
  answer(asker, answer, reason = "") {
    return this.#turn(async () => {
      const keys = { asker_id: asker.other_operator_id, asker_client_id: asker.client_id, answer, reason };
      if (await this.#send("answer", keys) && this.told.outcome === "GIVEN") this.#becomes("theirs");
    });
  }

  give(asker, reason) { return this.answer(asker, "GIVE", reason); }

  take(reason) { return this.#turn(() => this.#open("take", { holder_id: this.holder, reason })); }

  /** Ends the page's part, as closing it does. */
  close() {
    this.#leave();
    this.#ending.abort();
  }

  #notices(...kinds) { return (this.told.notices ?? []).filter((notice) => kinds.includes(notice.outcome)); }

  async #open(route, keys) {
    if (!await this.#send(route, keys)) return;
    if (!this.told.fence) return this.#becomes(this.#read());
    this.fence = this.told.fence;
    try {
      await this.load?.(this);
    } catch (error) {
      await this.#send("stop");
      this.#becomes("free");
      throw error;
    }
    this.taken = null;
    this.#becomes("mine");
  }

  #beat = () => this.#turn(async () => {
    if (Date.now() > this.#due + HIDDEN && this.fence) this.doubt = "asleep", this.#tell();
    const had = this.state;
    const answered = await this.#send(had === "asked" ? "ask" : "beat", had === "asked" ? { message: this.#message } : {});
    if (had === "mine" && (answered ? this.told.outcome !== "RENEWED" : !this.doubt)) return this.#becomes("lost");
    if (!answered || had === "mine" || had === "lost") return;
    if (had === "asked" && ["OWN", "GIVEN"].includes(this.told.outcome)) return this.#open("open");
    const read = this.#read();
    this.#becomes(had === "asked" && read === "theirs" ? had : read);
  });

  #read() { return this.holder && this.holder !== this.told.operator_id ? "theirs" : "free"; }

  #becomes(state) {
    this.state = state;
    if (state !== "mine") this.fence = "";
  }

  /** One call after the other, and a beat behind the last one. */
  #turn(work) {
    const turn = this.#last.then(async () => {
      clearTimeout(this.#timer);
      try {
        return await work();
      } finally {
        this.#tell();
        if (!this.#ending.signal.aborted) this.#wait();
      }
    });
    this.#last = turn.catch(() => {});
    return turn;
  }

  #wait() {
    const pause = document.hidden ? HIDDEN : BEAT;
    clearTimeout(this.#timer);
    this.#due = Date.now() + pause;
    this.#timer = setTimeout(this.#beat, pause);
  }

  #tell() { this.dispatchEvent(new Event("change")); }

  #body(keys) {
    return JSON.stringify({
      object_type: this.type, object_id: this.id, client_id: this.#client, fence: this.fence, acquired_ts: this.told.acquired_ts ?? null,
      hidden: document.hidden, position: this.#position, ...keys,
    });
  }

  /** Reports whether the server has told a state. */
  async #send(route, keys) {
    let status = 0, told = {};
    try {
      const answer = await fetch(this.base + route, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: this.#body(keys), redirect: "manual", signal: AbortSignal.timeout(LIMIT),
      });
      status = answer.type === "opaqueredirect" ? 401 : answer.status; // a proxy sends to its sign-in
      if (status !== 401) told = await answer.json();
    } catch {
      status = 0;
    }
    this.doubt = status === 401 ? "signed-out" : status === 0 || status === 429 || status >= 500 ? "offline" : "";
    if (this.doubt) return false;
    this.problem = told.outcome ? "" : told.detail ?? told.title;
    if (!told.outcome) return false;
    if (told.acquired_ts === this.told.acquired_ts) told.note ||= this.note;
    this.#position = told.next_position || this.#position;
    this.told = told;
    this.taken = this.#notices("TAKEN").at(-1) ?? this.taken;
    return true;
  }

  #leave() {
    clearTimeout(this.#timer);
    navigator.sendBeacon(this.base + "leave", new Blob([this.#body()], { type: "application/json" }));
  }
}

/** Says who edits, with buttons: its lock is the option banner of edit. */
class Banner extends HTMLElement {
  #lock = null;
  #shown = "";

  set lock(lock) {
    this.#lock = lock;
    lock.addEventListener("change", () => this.#show());
    this.innerHTML = "<span role=status></span> <span></span>";
  }

  #show() {
    const lock = this.#lock, { state } = lock, [text, controls] = this.children;
    const says = (word, about = lock) => typeof words[word] === "function" ? words[word](about) : words[word];
    const said = says(lock.doubt || state) + (lock.problem && ` ${lock.problem}`);
    if (text.textContent !== said) text.textContent = said;
    this.dataset.state = state;
    const askers = state === "mine" ? lock.askers : [];
    const shown = JSON.stringify([state, lock.mayTake, askers.map((asker) => [asker.other_operator_id, asker.client_id, asker.message])]);
    if (shown === this.#shown) return; // what is being typed stays
    this.#shown = shown;
    const input = Object.assign(document.createElement("input"), { placeholder: words.text, ariaLabel: words.text, maxLength: 255 });
    const button = (word, press) => Object.assign(document.createElement("button"), { type: "button", textContent: words[word], onclick: press, name: word });
    controls.replaceChildren(...{
      free: () => [button("edit", () => lock.start())],
      mine: () => [button("stop", () => lock.stop()), ...askers.flatMap((asker) =>
        [document.createElement("br"), says("asks", asker) + " ", ...["GIVE", "LATER", "NO"].map((word) => button(word, () => lock.answer(asker, word, input.value)))]),
      ...askers.length ? [input] : []],
      theirs: () => [input, button("ask", () => lock.ask(input.value)), ...lock.mayTake ? [button("take", () => lock.take(input.value))] : []],
      asked: () => [button("withdraw", () => lock.withdraw())],
      lost: () => [button("edit", () => lock.start())],
    }[state]());
  }
}
customElements.get("applock-banner") ?? customElements.define("applock-banner", Banner);
