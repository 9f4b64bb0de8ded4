// The page: what is chosen, searched and replayed, and how mouse, touch and keys change it.
// Knows all other parts, and starts them.

const CLICK = 5; // pixels that a pointer may move between down and up, and it is a click still
const HANDLE = 18; // pixels around the sign of a fold that open and close it
const PLAY = 12; // seconds that the replay of a long tape takes

class Page {
  constructor(tape) {
    this.tape = tape;
    this.canvas = byId("tape");
    this.lines = new Lines(tape);
    this.drawing = new Drawing(this.canvas, tape, this.lines);
    this.chosen = null;
    this.matches = { found: null, count: 0 };
    this.order = this.replayOrder();
    this.step = this.order.length;
    this.frames = 0; // that were drawn; a test counts them
    this.asked = false;
    this.go = (row) => this.choose(row, -1);
  }

  /** Rows with cotangents, in the order in which the replay comes to them. */
  replayOrder() {
    const order = [];
    for (let row = this.tape.count - 1; row >= 0 && this.tape.norm; row--) {
      if (this.tape.norm[row] !== UNKNOWN) order.push(row);
    }
    order.forEach((row, at) => (this.drawing.rank[row] = at));
    return order;
  }

  // -- drawing when something has changed -----------------------------------------------------------

  redraw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.drawing.draw();
      this.frames++;
    });
  }

  /** After the lines have changed: what is at `y` stays there. */
  rebuilt(anchor = null) {
    const { drawing, lines } = this;
    drawing.version++;
    drawing.hover = -1;
    if (anchor) {
      const line = lines.lineOfFold(anchor.row, anchor.fold);
      if (line >= 0) drawing.top = line * drawing.height - anchor.offset;
    }
    if (this.chosen) drawing.cursor = lines.lineOfFold(this.chosen.from, this.chosen.fold);
    else drawing.cursor = Math.min(drawing.cursor, lines.count - 1);
    this.showStep(false);
    this.redraw();
  }

  /** A row in sight and where it is, to keep it there. */
  anchor(line = Math.max(0, this.drawing.lineAt(TITLES + 1))) {
    if (!this.lines.count) return null;
    const at = Math.min(line, this.lines.count - 1);
    const fold = this.lines.item[at] < 0 ? ~this.lines.item[at] : -1;
    return { row: this.lines.from(at), fold, offset: at * this.drawing.height - this.drawing.top };
  }

  /** Move so that a line is in sight, with some lines around it. */
  inSight(line, around = 3) {
    const { drawing } = this;
    if (line < 0) return;
    const room = drawing.tall - TITLES;
    const y = line * drawing.height;
    const margin = Math.min(room / 4, around * drawing.height);
    if (y < drawing.top + margin) drawing.top = y - margin;
    else if (y + drawing.height > drawing.top + room - margin) drawing.top = y + drawing.height - room + margin;
  }

  zoom(factor, y = this.drawing.tall / 2) {
    const { drawing } = this;
    const at = (y - TITLES + drawing.top) / drawing.height;
    drawing.height = Math.min(LINE.most, Math.max(Math.min(drawing.fitting(), LINE.fit), drawing.height * factor));
    drawing.top = at * drawing.height - (y - TITLES);
    this.redraw();
  }

  fit() {
    this.drawing.height = this.drawing.fitting();
    this.drawing.top = 0;
    this.redraw();
  }

  // -- what is marked -------------------------------------------------------------------------------

  /** Mark what a row, or the rows of a fold, come from and lead to. */
  choose(row, fold) {
    const { tape, drawing, lines } = this;
    const end = fold < 0 ? row + 1 : lines.end(fold);
    const rows = Array.from({ length: end - row }, (_, i) => row + i);
    const single = fold < 0 && tape.isInput(row);
    const up = tape.upstream(rows);
    const down = tape.downstream(rows);
    const flow = single ? tape.gradientPath(row) : null;
    const marks = drawing.marks.fill(0);
    const counts = { up: 0, down: 0, flow: 0 };
    for (let i = 0; i < tape.count; i++) {
      if (i >= row && i < end) marks[i] = CHOSEN | (flow?.[i] ? FLOW : 0) | (single ? 0 : UPSTREAM);
      else if (flow?.[i]) marks[i] = FLOW, counts.flow++;
      else if (up[i]) marks[i] = UPSTREAM, counts.up++;
      else if (down[i]) marks[i] = DOWNSTREAM, counts.down++;
    }
    for (let i = row; i < end; i++) marks[i] |= UPSTREAM | DOWNSTREAM; // both sides' arcs end here
    this.chosen = { from: row, fold, ...counts };
    drawing.marked = true;
    drawing.version++;
    if (fold < 0) lines.reveal(row);
    drawing.cursor = lines.lineOfFold(row, fold);
    this.inSight(drawing.cursor, 0);
    byId("gradient").value = single ? String(row) : "";
    this.showDetails();
    this.redraw();
  }

  chooseLine(line) {
    const item = this.lines.item[line];
    if (item >= 0) this.choose(item, -1);
    else this.choose(this.lines.from(line), ~item);
  }

  clear() {
    this.chosen = null;
    this.drawing.marks.fill(0);
    this.drawing.marked = false;
    this.drawing.version++;
    byId("gradient").value = "";
    this.showPanel(false);
    this.showDetails();
    this.redraw();
  }

  /** Show or hide the panel where it is over the tape: on a phone. */
  showPanel(shown) {
    byId("panel").classList.toggle("shown", shown);
    byId("open-panel").setAttribute("aria-expanded", String(shown));
  }

  showDetails() {
    showDetails(this);
  }

  // -- folds, filter, search ------------------------------------------------------------------------

  toggle(line) {
    if (line < 0 || this.lines.item[line] >= 0) return;
    const anchor = this.anchor(line);
    this.lines.toggle(anchor.fold);
    this.rebuilt(anchor);
    this.drawing.cursor = this.lines.lineOfFold(anchor.row, anchor.fold);
    this.say(this.drawing.cursor);
  }

  foldAll(...kinds) {
    const anchor = this.anchor();
    this.lines.close(...kinds);
    this.rebuilt(anchor);
  }

  filter(numbers, hidden) {
    for (const number of numbers) this.lines.hidden[number] = hidden ? 1 : 0;
    const anchor = this.anchor();
    this.lines.build();
    this.rebuilt(anchor);
  }

  search(query) {
    this.matches = this.tape.search(query);
    const { count, found } = this.matches;
    this.drawing.hits = count ? found : null;
    this.drawing.version++;
    byId("hits").textContent = query.trim() ? countText(count, "row") : "";
    byId("next").disabled = byId("previous").disabled = !count;
    this.match = -1;
    this.redraw();
  }

  /** Go to the next row that was found, or to the one before; around at the ends. */
  nextMatch(by) {
    const { found, count } = this.matches;
    if (!count) return;
    const { cursor } = this.drawing;
    const { length } = found;
    let row = this.match >= 0 ? this.match : cursor >= 0 ? this.lines.from(cursor) - by : by > 0 ? -1 : length;
    for (let tried = 0; tried < length; tried++) {
      row = (row + by + length) % length;
      if (found[row] && !this.lines.hidden[this.tape.operation[row]]) break;
    }
    if (!found[row]) return;
    this.match = row;
    if (this.lines.reveal(row)) this.rebuilt();
    this.moveTo(this.lines.lineOf[row]);
  }

  // -- the cursor, and what is said of it -----------------------------------------------------------

  moveTo(line) {
    const { drawing, lines } = this;
    if (!lines.count) return;
    drawing.cursor = Math.max(0, Math.min(lines.count - 1, line));
    this.inSight(drawing.cursor);
    this.say(drawing.cursor);
    this.redraw();
  }

  say(line) {
    if (line < 0) return;
    const { name, facts } = captionOf(this.lines, line);
    const item = this.lines.item[line];
    const fold = item < 0 ? (this.lines.open[~item] ? ", unfolded" : ", folded") : "";
    byId("said").textContent = `${name}${fold}; ${facts.map(([title, text]) => `${title} ${text}`).join(", ")}`;
  }

  // -- the replay -----------------------------------------------------------------------------------

  goToStep(step) {
    this.step = Math.max(0, Math.min(this.order.length, step));
    byId("step").value = String(this.step);
    this.showStep(true);
    this.redraw();
  }

  /** The slider's text, and the line where the replay is. */
  showStep(follow) {
    const { order, step, tape, drawing, lines } = this;
    if (!order.length) return;
    drawing.step = step;
    const row = step > 0 && step < order.length ? order[step - 1] : -1;
    drawing.current = row < 0 ? -1 : lines.lineOf[row];
    if (follow) this.inSight(drawing.current);
    const last = step > 0 ? order[step - 1] : -1;
    const head = `step ${step.toLocaleString("en")} of ${order.length.toLocaleString("en")}`;
    byId("at").textContent =
      last < 0 ? `${head}\nbefore the replay` : `${head} · norm ${normText(tape.norm[last])}\n${tape.slot[last]} ${nameOf(tape, last)} ${tape.line(last)}`;
    byId("step").setAttribute("aria-valuetext", byId("at").textContent.replace("\n", ", "));
    drawNorms(this);
  }

  play() {
    if (this.playing) return this.pause();
    if (this.step >= this.order.length) this.goToStep(0);
    byId("play").textContent = "❚❚";
    const each = Math.max(30, Math.min(400, (PLAY * 1000) / this.order.length));
    const jump = Math.max(1, Math.ceil((each * this.order.length) / (PLAY * 1000)));
    this.playing = setInterval(() => {
      this.goToStep(this.step + jump);
      if (this.step >= this.order.length) this.pause();
    }, each);
  }

  pause() {
    clearInterval(this.playing);
    this.playing = 0;
    byId("play").textContent = "▶";
  }

  // -- dark or light --------------------------------------------------------------------------------

  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    this.drawing.takeTheme();
    this.drawing.painted = "";
    showOperations(this);
    if (this.order.length) drawNorms(this);
    this.redraw();
  }
}

// -- events ---------------------------------------------------------------------------------------

/** Mouse, pen and fingers on the canvas: move, zoom, hover, choose, fold. */
function listenToPointers(page) {
  const { canvas, drawing, lines } = page;
  const down = new Map(); // pointers that are down, and where
  let moved = 0;
  let drag = ""; // "tape", "overview", "pinch"
  let speed = 0; // of a finger that leaves, in pixels a frame
  const inOverview = (x) => x > drawing.width - drawing.map;
  const toOverview = (y) => {
    const share = (y - TITLES) / Math.max(1, drawing.tall - TITLES);
    drawing.top = share * lines.count * drawing.height - (drawing.tall - TITLES) / 2;
    page.redraw();
  };
  const glide = () => {
    if (down.size || Math.abs(speed) < 0.5) return;
    drawing.top -= speed;
    speed *= 0.95;
    page.redraw();
    requestAnimationFrame(glide);
  };

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    speed = 0;
    if (down.size === 2) drag = "pinch";
    else [drag, moved] = [inOverview(event.offsetX) ? "overview" : "tape", 0];
    if (drag === "overview") toOverview(event.offsetY);
    showTip(lines, -1);
  });

  canvas.addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    const [x, y] = [event.offsetX, event.offsetY];
    if (!before) {
      const line = inOverview(x) ? -1 : drawing.lineAt(y);
      if (event.pointerType === "mouse") showTip(lines, line, x, y);
      if (line !== drawing.hover) (drawing.hover = line), page.redraw();
      return;
    }
    moved += Math.hypot(x - before.x, y - before.y);
    if (drag === "overview") toOverview(y);
    else if (drag === "pinch") pinch(event.pointerId, x, y);
    else if (moved > CLICK) {
      canvas.classList.add("dragged");
      drawing.top -= y - before.y;
      speed = y - before.y;
      page.redraw();
    }
    down.set(event.pointerId, { x, y });
  });

  function pinch(id, x, y) {
    const [other] = [...down].filter(([key]) => key !== id).map(([, at]) => at);
    const before = down.get(id);
    if (!other) return;
    const apart = (a) => Math.max(20, Math.hypot(a.x - other.x, a.y - other.y));
    page.zoom(apart({ x, y }) / apart(before), (y + other.y) / 2);
    drawing.top -= (y - before.y) / 2;
  }

  const up = (event) => {
    if (!down.delete(event.pointerId)) return;
    canvas.classList.remove("dragged");
    if (down.size) return;
    if (drag === "tape" && moved <= CLICK && event.type === "pointerup") click(event);
    else if (drag === "tape" && event.pointerType === "touch") glide();
    drag = "";
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => {
    showTip(lines, -1);
    drawing.hover = -1;
    page.redraw();
  });

  function click(event) {
    const line = drawing.lineAt(event.offsetY);
    if (line < 0) return page.clear();
    const handle = drawing.place.text.x + drawing.indent(lines.depth[line]);
    const onHandle = event.offsetX > handle - HANDLE / 2 && event.offsetX < handle + HANDLE;
    if (lines.item[line] < 0 && onHandle && drawing.height >= LINE.text) return page.toggle(line);
    drawing.cursor = line;
    page.chooseLine(line);
    page.say(line);
    if (drawing.width < 560) page.showPanel(true); // a phone has room for one or the other
  }

  canvas.addEventListener("dblclick", (event) => page.toggle(drawing.lineAt(event.offsetY)));

  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 24 : event.deltaMode === 2 ? drawing.tall : 1;
      const by = event.deltaY * unit;
      if (event.ctrlKey || event.metaKey || event.altKey) page.zoom(Math.exp(-by * 0.004), event.offsetY);
      else {
        drawing.top += by;
        drawing.hover = -1;
        showTip(lines, -1);
        page.redraw();
      }
    },
    { passive: false },
  );
}

function listenToKeys(page) {
  const { drawing, lines, canvas } = page;
  const screen = () => Math.max(1, Math.floor((drawing.tall - TITLES) / drawing.height) - 1);
  const onCanvas = {
    ArrowDown: () => page.moveTo(drawing.cursor + 1),
    ArrowUp: () => page.moveTo(drawing.cursor - 1),
    PageDown: () => page.moveTo(drawing.cursor + screen()),
    PageUp: () => page.moveTo(drawing.cursor - screen()),
    Home: () => page.moveTo(0),
    End: () => page.moveTo(lines.count - 1),
    Enter: () => drawing.cursor >= 0 && page.chooseLine(drawing.cursor),
    " ": () => drawing.cursor >= 0 && page.chooseLine(drawing.cursor),
    ArrowRight: () => unfold(1),
    ArrowLeft: () => unfold(0),
  };
  const anywhere = {
    "+": () => page.zoom(1.35),
    "=": () => page.zoom(1.35),
    "-": () => page.zoom(1 / 1.35),
    0: () => page.fit(),
    "/": () => byId("query").focus(),
    n: () => page.nextMatch(1),
    N: () => page.nextMatch(-1),
    p: () => page.order.length && page.play(),
    "[": () => page.goToStep(page.step - 1),
    "]": () => page.goToStep(page.step + 1),
    d: () => byId("theme").click(),
    "?": () => byId("guide").showModal(),
    Escape: () => page.clear(),
  };

  /** Right opens a fold or steps into it; left closes it, or goes to the one that the row is in. */
  function unfold(open) {
    const line = drawing.cursor;
    if (line < 0) return;
    const item = lines.item[line];
    if (item < 0 && lines.open[~item] !== open) return page.toggle(line);
    if (open) return page.moveTo(line + 1);
    for (let above = line - 1; above >= 0; above--) {
      if (lines.depth[above] < lines.depth[line]) return page.moveTo(above);
    }
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("guide").open) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (typing) {
      if (event.key === "Escape") canvas.focus();
      return;
    }
    const act = (event.target === canvas && onCanvas[event.key]) || anywhere[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function listenToControls(page) {
  const { drawing, lines, tape } = page;
  const click = (id, act) => byId(id).addEventListener("click", act);
  click("fold-calls", () => page.foldAll("call", "replay", "inputs", "loop", "turn", "turns"));
  click("fold-loops", () => page.foldAll("loop", "turn", "turns", "inputs"));
  click("unfold", () => page.foldAll());
  click("in", () => page.zoom(1.35));
  click("out", () => page.zoom(1 / 1.35));
  click("fit", () => page.fit());
  click("theme", () => page.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  click("help", () => byId("guide").showModal());
  click("previous", () => page.nextMatch(-1));
  const all = [...lines.hidden.keys()];
  const every = (hidden) => {
    page.filter(all, hidden);
    showOperations(page);
  };
  click("all", () => every(false));
  click("none", () => every(true));
  click("open-panel", () => page.showPanel(!byId("panel").classList.contains("shown")));
  click("close-panel", () => page.showPanel(false));
  byId("query").addEventListener("input", (event) => page.search(event.target.value));
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    page.nextMatch(1);
  });
  byId("gradient").addEventListener("change", (event) => {
    if (event.target.value === "") page.clear();
    else page.choose(Number(event.target.value), -1);
  });
  byId("colour").addEventListener("change", (event) => {
    drawing.colourBy = event.target.value;
    page.redraw();
  });
  click("play", () => page.play());
  click("back", () => page.goToStep(page.step - 1));
  click("forth", () => page.goToStep(page.step + 1));
  byId("step").addEventListener("input", (event) => page.goToStep(Number(event.target.value)));
  window.addEventListener("beforeprint", () => printed(page));
  window.addEventListener("afterprint", () => byId("printed").replaceChildren());
  new ResizeObserver(() => {
    drawing.resize();
    drawing.draw();
    if (page.order.length) drawNorms(page);
  }).observe(byId("stage"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => page.setTheme(event.matches ? "dark" : "light"));
}

/** The choices: inputs, by whose gradient rows may be marked, and what colours may say. */
function fillChoices(page) {
  const { tape, drawing } = page;
  const most = 400; // more do not make a list to choose from; the rows themselves can be clicked
  for (let row = 0, shown = 0; row < tape.count && shown < most; row++) {
    if (!tape.isInput(row)) continue;
    byId("gradient").append(element("option", { value: row }, tape.names.get(row) ?? `slot ${tape.slot[row]}`));
    shown++;
  }
  for (const name of ["operation", "function", ...drawing.columns]) {
    byId("colour").append(element("option", { value: name }, { bytes: "bytes kept", norm: "‖cotangent‖" }[name] ?? name));
  }
}

async function start() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  const header = JSON.parse(byId("header").textContent);
  const tape = new Tape(header, await readColumns(header, byId("columns").textContent));
  const page = (window.page = new Page(tape));
  byId("totals").textContent = totalsText(tape);
  byId("tape").setAttribute("aria-label", `Tape of ${tape.title}: ${countText(tape.count, "row")}`);
  byId("wait").hidden = true;
  fillChoices(page);
  showOperations(page);
  showDetails(page);
  if (page.order.length) {
    byId("replay").hidden = false;
    byId("step").max = String(page.order.length);
    byId("step").value = String(page.step);
  }
  page.drawing.resize();
  listenToPointers(page);
  listenToKeys(page);
  listenToControls(page);
  page.showStep(false);
  page.drawing.draw();
  page.ready = performance.now(); // milliseconds from the page's begin until it is drawn
}

start().catch((error) => {
  byId("wait").textContent = `The tape could not be read: ${error.message}`;
  throw error;
});
