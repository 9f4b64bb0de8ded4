// The canvas: lines, arcs, bars and the overview at the right, as far as they are in sight.
// Knows pixels and colours. Must not know events, or why something is marked.
//
// From about ten pixels a line upwards there is text. Below, a line is a bar, and below one pixel
// several lines share a bar: what is drawn never grows with the tape.

const TITLES = 26; // pixels of the row of titles
const LINE = { least: 0.002, fit: 20, most: 40, text: 9.5, arrows: 8, single: 4 };
const UPSTREAM = 1, DOWNSTREAM = 2, CHOSEN = 4, FLOW = 8, HIT = 16; // marks of rows, as bits
const HUES = 10;
const HEATS = 12; // shades of a number
const FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
const NUMBERS = {
  bytes: { title: "kept", text: bytesText },
  forward: { title: "forward", text: secondsText },
  backward: { title: "backward", text: secondsText },
  norm: { title: "‖cotangent‖", text: normText },
};

class Drawing {
  constructor(canvas, tape, lines) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d", { alpha: false });
    this.tape = tape;
    this.lines = lines;
    this.top = 0; // the pixel of the whole tape that is at the upper edge
    this.height = LINE.fit; // pixels of a line
    this.marks = new Uint8Array(tape.count);
    this.marked = false;
    this.hits = null; // by row: 1 where the search found something
    this.hover = this.cursor = this.current = -1; // lines
    this.step = Infinity; // of the replay: rows of a lower rank have their cotangents
    this.rank = new Int32Array(tape.count).fill(-1);
    this.colourBy = "operation";
    this.overview = { key: "", canvas: document.createElement("canvas") };
    this.seen = -1; // the version of the lines that values are of
    this.version = 0; // grows with marks
    this.columns = Object.keys(NUMBERS).filter((name) => tape[name]);
    if (!tape.bytes.some((size) => size > 0)) this.columns.shift();
    this.rankOperations();
    this.takeTheme();
  }

  // -- colours --------------------------------------------------------------------------------------

  takeTheme() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const names = "page surface ink faint rule bar chart fold input output up down flow hit other".split(" ");
    this.colours = Object.fromEntries(names.map((name) => [name, colour(name)]));
    this.hues = Array.from({ length: HUES }, (_, i) => colour(`hue${i}`));
    this.theme = this.colours.page;
    this.paints = [...this.hues, this.colours.input, this.colours.other, this.colours.fold];
    const heat = [colour("cold"), colour("warm")];
    for (let i = 0; i < HEATS; i++) this.paints.push(mixed(...heat, i / (HEATS - 1)));
  }

  /** Hues by how often operations are called; the rest share one. */
  rankOperations() {
    const { tape } = this;
    const counts = new Uint32Array(tape.operations.length);
    for (const number of tape.operation) counts[number]++;
    this.counts = counts;
    this.hueOf = new Uint8Array(tape.operations.length).fill(HUES + 1);
    const calls = [...counts.keys()].filter((o) => tape.operations[o] !== "input");
    calls.sort((a, b) => counts[b] - counts[a]);
    calls.slice(0, HUES).forEach((o, i) => (this.hueOf[o] = i));
    const input = tape.operations.indexOf("input");
    if (input >= 0) this.hueOf[input] = HUES;
  }

  paintOf(line) {
    const item = this.lines.item[line];
    const { colourBy, tape } = this;
    if (colourBy === "operation") return item < 0 ? HUES + 2 : this.hueOf[tape.operation[item]];
    const row = this.lines.from(line);
    if (colourBy === "function") {
      if (tape.isInput(row)) return HUES;
      const site = tape.texts.sites[tape.site[row]];
      return site.length ? tape.texts.frames[site[0]][2] % HUES : HUES + 1;
    }
    if (this.lines.isOpenFold(line)) return HUES + 2;
    return HUES + 3 + Math.round(this.share(colourBy, this.values[colourBy][line]) * (HEATS - 1));
  }

  // -- numbers --------------------------------------------------------------------------------------

  /** What the columns say of each line, with the largest of each; anew when the lines are. */
  takeValues() {
    const { lines } = this;
    if (this.seen === lines.version) return;
    this.seen = lines.version;
    this.values = {};
    this.peaks = {};
    for (const name of this.columns) {
      const values = (this.values[name] = lines.values(name));
      let [low, high] = [Infinity, 0];
      for (let line = 0; line < lines.count; line++) {
        const value = values[line];
        if (!lines.closed[line] || !(value > 0) || value === Infinity) continue;
        if (value > high) high = value;
        if (value < low) low = value;
      }
      this.peaks[name] = { low, high };
    }
    this.lineRank = new Int32Array(lines.count).fill(-1);
    for (let row = 0; row < this.rank.length; row++) {
      const line = lines.lineOf[row];
      if (line >= 0) this.lineRank[line] = Math.max(this.lineRank[line], this.rank[row]);
    }
    this.paint = new Uint8Array(lines.count);
    this.painted = "";
  }

  /** The marks of all rows of each line together, and whether the search found one. */
  takeMarks() {
    const key = `${this.seen} ${this.version}`;
    if (this.markedAs === key) return;
    this.markedAs = key;
    const { lines, marks, hits } = this;
    this.lineMarks = new Uint8Array(lines.count);
    if (!this.marked && !hits) return;
    for (let row = 0; row < marks.length; row++) {
      const line = lines.lineOf[row];
      if (line >= 0) this.lineMarks[line] |= marks[row] | (hits?.[row] ? HIT : 0);
    }
  }

  takePaint() {
    const key = `${this.seen} ${this.colourBy}`;
    if (this.painted === key) return;
    this.painted = key;
    for (let line = 0; line < this.lines.count; line++) this.paint[line] = this.paintOf(line);
  }

  /** How long the bar of a value is, from 0 to 1; norms by their logarithms. */
  share(name, value) {
    const { low, high } = this.peaks[name];
    if (Number.isNaN(value) || value === Infinity) return 1;
    if (!(value > 0) || !high) return 0;
    if (name !== "norm") return value / high;
    const range = Math.max(Math.log(high / low), 1e-9);
    return 0.06 + 0.94 * Math.max(0, Math.log(value / low) / range);
  }

  shown(name, line) {
    if (name === "norm" && this.lineRank[line] >= this.step) return UNKNOWN;
    return this.values[name][line];
  }

  // -- where things are -----------------------------------------------------------------------------

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    const ratio = (this.ratio = window.devicePixelRatio || 1);
    this.width = Math.max(1, clientWidth);
    this.tall = Math.max(1, clientHeight);
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.tall * ratio);
    this.arrange();
  }

  /** The columns: {x, width} of each that the width has room for. */
  arrange() {
    const { width, tape } = this;
    const narrow = width < 560;
    this.pen.font = `12px ${FONT}`;
    this.letter = this.pen.measureText("0").width;
    const map = (this.map = narrow ? 20 : 56);
    const arcs = narrow ? 46 : Math.min(150, Math.max(70, width * 0.12));
    const slot = Math.max(4, String(tape.slot[tape.count - 1] ?? 0).length) * this.letter + 12;
    const place = (this.place = { arcs: { x: 0, width: arcs }, slot: { x: arcs + 6, width: slot } });
    let right = width - map - 10;
    const left = arcs + 6 + slot;
    const take = (name, wide, least) => {
      if (right - wide - left < least) return;
      right -= wide;
      place[name] = { x: right, width: wide - 14 };
    };
    const numbers = [...this.columns].reverse();
    const longest = (texts) => texts.reduce((most, text) => Math.max(most, text.length), 4) * this.letter;
    const line = Math.min(170, longest(this.lineTexts()) + 18);
    const kind = Math.min(180, Math.max(90, longest(tape.kinds) + 18));
    const text = narrow ? 125 : width < 800 ? 160 : 190;
    // Where there is no room for all, numbers give way to what an operation is.
    for (const name of numbers) {
      if (name === "norm") take(name, 92, text);
      else if (!narrow) take(name, 80, text + kind + (width < 800 ? line : 0));
    }
    take("line", line, text + kind);
    take("kind", kind, text);
    place.text = { x: left + 4, width: right - left - 12 };
  }

  lineTexts() {
    const { sites } = this.tape.texts;
    this.placesOfSites ??= sites.map((s) => (s.length ? placeOf(this.tape.frame(s[0])) : ""));
    return this.placesOfSites;
  }

  /** The height of a line at which the whole tape is in sight. */
  fitting() {
    return Math.min(LINE.fit, Math.max(LINE.least, (this.tall - TITLES - 4) / Math.max(1, this.lines.count)));
  }

  lineAt(y) {
    const line = Math.floor((y - TITLES + this.top) / this.height);
    return y >= TITLES && line >= 0 && line < this.lines.count ? line : -1;
  }

  /** The upper edge of a line on the canvas. */
  y(line) {
    return TITLES + line * this.height - this.top;
  }

  clamp() {
    this.height = Math.min(LINE.most, Math.max(Math.min(this.fitting(), LINE.fit), this.height));
    const most = this.lines.count * this.height - (this.tall - TITLES) + 4;
    this.top = Math.round(Math.max(0, Math.min(most, this.top)));
  }

  // -- drawing --------------------------------------------------------------------------------------

  draw() {
    this.clamp();
    this.takeValues();
    this.takePaint();
    this.takeMarks();
    const { pen, ratio, width, tall, colours } = this;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.globalAlpha = 1;
    pen.fillStyle = colours.surface;
    pen.fillRect(0, 0, width, tall);
    const first = Math.max(0, Math.floor(this.top / this.height));
    const end = Math.min(this.lines.count, Math.ceil((this.top + tall - TITLES) / this.height));
    if (this.height >= LINE.text) this.drawLines(first, end);
    else this.drawDense(first, end);
    if (this.height >= LINE.single) this.drawArcs(first, end);
    else this.drawManyArcs(first, end);
    this.drawTitles();
    this.drawOverview();
  }

  markColour(marks) {
    const { colours } = this;
    if (marks & FLOW) return colours.flow;
    if (marks & UPSTREAM) return colours.up;
    if (marks & DOWNSTREAM) return colours.down;
    return null;
  }

  drawLines(first, end) {
    const { pen, height, place, colours, letter } = this;
    const size = Math.min(12.5, height * 0.62);
    const right = this.width - this.map;
    this.size = size;
    this.wide = letter * (size / 12); // of a letter in this size
    pen.textBaseline = "middle";
    for (let line = first; line < end; line++) {
      const y = this.y(line);
      const marks = this.lineMarks[line];
      this.drawBack(line, y, marks, right);
      const open = this.lines.isOpenFold(line);
      const faded = this.marked && !(marks & ~HIT) && !open;
      pen.globalAlpha = faded ? 0.38 : 1;
      if (!open) this.drawBars(line, y);
      pen.fillStyle = this.paints[this.paint[line]];
      const stripe = place.arcs.x + place.arcs.width;
      pen.fillRect(stripe, y + 1, 4, Math.max(1, height - 2));
      this.drawTexts(line, y + height / 2 + 0.5);
      pen.globalAlpha = 1;
      if (height >= 14) {
        pen.fillStyle = colours.rule;
        pen.fillRect(stripe, Math.round(y + height) - 1, right - stripe, 1);
      }
    }
  }

  /** What is behind a line: marks, hits, the cursor. */
  drawBack(line, y, marks, right) {
    const { pen, height, colours, place } = this;
    const x = place.arcs.x + place.arcs.width;
    const fill = (colour, alpha) => {
      pen.globalAlpha = alpha;
      pen.fillStyle = colour;
      pen.fillRect(x, y, right - x, height);
      pen.globalAlpha = 1;
    };
    const colour = this.markColour(marks);
    if (colour) fill(colour, marks & CHOSEN ? 0.3 : 0.12);
    if (marks & HIT) fill(colours.hit, 0.26);
    if (line === this.current) fill(colours.flow, 0.28);
    if (line === this.hover) fill(colours.ink, 0.06);
    if (line === this.cursor || marks & CHOSEN) {
      pen.strokeStyle = marks & CHOSEN ? (colour ?? colours.ink) : colours.faint;
      pen.lineWidth = marks & CHOSEN ? 1.6 : 1;
      pen.strokeRect(x + 0.5, y + 0.5, right - x - 1, height - 1.5);
    }
  }

  drawBars(line, y) {
    const { pen, height, place } = this;
    for (const name of this.columns) {
      if (!place[name]) continue;
      const value = this.shown(name, line);
      const long = value === UNKNOWN ? 0 : this.share(name, value) * place[name].width;
      if (long <= 0) continue;
      pen.fillStyle = this.barColour(name, value);
      pen.fillRect(place[name].x, y + 2, Math.max(1, long), Math.max(1, height - 4));
    }
  }

  barColour(name, value) {
    return name === "norm" && !Number.isFinite(value) ? this.colours.down : this.colours.bar;
  }

  write(text, x, middle, room, { colour, bold = false, right = false, italic = false, tail = false }) {
    const { pen, wide } = this;
    const most = Math.floor(room / wide);
    if (most < 2 || !text) return 0;
    const long = text.length > most;
    const cut = !long ? text : tail ? `…${text.slice(1 - most)}` : `${text.slice(0, most - 1)}…`;
    const font = `${italic ? "italic " : ""}${bold ? "600 " : ""}${this.size}px ${FONT}`;
    if (this.font !== font) pen.font = this.font = font;
    if (this.aligned !== right) pen.textAlign = (this.aligned = right) ? "right" : "left";
    pen.fillStyle = colour;
    pen.fillText(cut, x, middle);
    return cut.length * wide;
  }

  drawTexts(line, middle) {
    const { lines, colours, place } = this;
    this.font = this.aligned = undefined;
    const item = lines.item[line];
    const indent = this.indent(lines.depth[line]);
    this.drawGuides(line, middle);
    if (item < 0) return this.drawFold(~item, line, middle, indent);
    const { tape } = this;
    const { slot, kind, text } = place;
    this.write(String(tape.slot[item]), slot.x + slot.width - 6, middle, slot.width, {
      colour: colours.faint,
      right: true,
    });
    let x = text.x + indent;
    const end = text.x + text.width;
    if (tape.of?.[item]) x += this.write("↶ ", x, middle, 30, { colour: colours.flow });
    const name = tape.names.get(item);
    const named = name && tape.isInput(item); // its name says more than the word "input"
    if (!named) {
      const operation = tape.operations[tape.operation[item]];
      x += this.write(operation, x, middle, end - x, { colour: colours.ink, bold: true }) + this.wide;
    }
    if (name) {
      const look = { colour: named ? colours.input : colours.output, bold: named, tail: true };
      x += this.write(name, x, middle, end - x, look) + this.wide;
    }
    if (tape.of?.[item]) {
      this.write(`of ${tape.slot[item - tape.of[item]]}`, x, middle, end - x, { colour: colours.faint });
    }
    if (kind) this.write(tape.kinds[tape.kind[item]], kind.x, middle, kind.width, { colour: colours.faint });
    this.drawLine(this.lineTexts()[tape.site[item]], middle);
    this.drawNumbers(line, middle);
  }

  drawLine(text, middle) {
    const { place, colours } = this;
    if (place.line) this.write(text, place.line.x, middle, place.line.width + 8, { colour: colours.faint });
  }

  drawNumbers(line, middle) {
    const { place, colours } = this;
    for (const name of this.columns) {
      if (!place[name]) continue;
      const value = this.shown(name, line);
      const bad = name === "norm" && value !== UNKNOWN && !Number.isFinite(value);
      this.write(NUMBERS[name].text(value), place[name].x + place[name].width - 3, middle, place[name].width, {
        colour: bad ? colours.surface : colours.ink, // on a bar of the colour of trouble
        right: true,
        bold: bad,
      });
    }
  }

  drawFold(fold, line, middle, indent) {
    const { lines, colours, place } = this;
    const { folds } = this.tape;
    const { text, kind } = place;
    const end = text.x + text.width;
    const open = lines.open[fold];
    const { name, times } = lines.foldText(fold);
    let x = text.x + indent;
    x += this.write(open ? "▾ " : "▸ ", x, middle, 40, { colour: colours.faint });
    const quiet = ["turn", "turns", "inputs"].includes(lines.kinds[fold]);
    if (times) x += this.write(times, x, middle, end - x, { colour: colours.flow, bold: true }) + this.wide;
    this.write(name, x, middle, end - x, { colour: quiet ? colours.faint : colours.ink, bold: !quiet });
    const at = folds.place[fold];
    if (at) this.drawLine(placeOf(this.tape.frame(at - 1)), middle);
    if (open) return;
    const rows = countText(folds.length[fold], "row");
    if (kind) this.write(rows, kind.x, middle, kind.width, { colour: colours.faint, italic: true });
    this.drawNumbers(line, middle);
  }

  /** How far what is so deep in folds begins to the right; however deep, there is room for text. */
  indent(depth) {
    const { width } = this.place.text;
    return Math.min(depth * (width < 260 ? 8 : 14), width * 0.45);
  }

  /** Fine lines at the left of what is inside folds. */
  drawGuides(line, middle) {
    const { pen, place, height, colours } = this;
    pen.fillStyle = colours.rule;
    for (let d = 0; d < this.lines.depth[line]; d++) {
      pen.fillRect(Math.round(place.text.x + this.indent(d) + 3), middle - height / 2, 1, height);
    }
  }

  /** Lines too low for text: bars of their colours, and charts in the columns of numbers. */
  drawDense(first, end) {
    const { pen, height, place, lines, paint, lineMarks } = this;
    const { closed, depth: depths } = lines;
    const right = this.width - this.map;
    const left = place.text.x;
    const counts = new Uint32Array(this.paints.length);
    const columns = this.columns.filter((name) => place[name]);
    const values = columns.map((name) => this.values[name]);
    const norms = columns.indexOf("norm");
    const most = columns.map(() => 0);
    const pixel = height < 1 ? 2 : height; // of lines that share a bar
    for (let line = first; line < end; ) {
      const bar = Math.floor((line * height) / pixel);
      const y = (height < 1 ? bar * pixel : Math.floor(line * height)) - this.top + TITLES;
      let next = line + 1;
      if (height < 1) while (next < end && Math.floor((next * height) / pixel) === bar) next++;
      counts.fill(0);
      most.fill(0);
      let depth = 255;
      let marks = 0;
      let all = 0;
      for (let l = line; l < next; l++) {
        if (!closed[l] && next - line > 1) continue;
        counts[paint[l]]++;
        all++;
        if (depths[l] < depth) depth = depths[l];
        marks |= lineMarks[l];
        if (!closed[l]) continue;
        for (let c = 0; c < values.length; c++) {
          const value = values[c][l];
          if (!(value <= most[c]) && (c !== norms || this.lineRank[l] < this.step)) most[c] = value;
        }
      }
      if (depth === 255) depth = depths[line];
      const colour = this.markColour(marks);
      if (colour || marks & HIT) {
        pen.globalAlpha = 0.2;
        pen.fillStyle = marks & HIT ? this.colours.hit : colour;
        pen.fillRect(left - 30, y, right - left + 30, pixel);
        pen.globalAlpha = 1;
      }
      const x = left + Math.min(depth * 14, (this.half - left) * 0.8);
      pen.globalAlpha = this.marked && !colour ? 0.22 : 0.85;
      this.drawShares(counts, all, colour, x, y, height > 3 ? pixel - 1 : pixel);
      columns.forEach((name, c) => {
        if (most[c] === 0) return;
        const bad = name === "norm" && !Number.isFinite(most[c]);
        pen.fillStyle = bad ? this.colours.down : this.colours.chart;
        pen.fillRect(place[name].x, y, this.share(name, most[c]) * place[name].width, pixel);
      });
      pen.globalAlpha = 1;
      line = next;
    }
    this.drawSpans(first, end);
    if (this.current >= 0) {
      pen.fillStyle = this.colours.flow;
      pen.fillRect(left - 30, this.y(this.current), right - left + 30, Math.max(2, height));
    }
  }

  /** A bar of the colours of its lines, each as long as its share of them; marked ones in one. */
  drawShares(counts, all, colour, x, y, pixel) {
    const { pen, half, paints } = this;
    if (colour || !all) {
      pen.fillStyle = colour ?? this.colours.fold;
      pen.fillRect(x, y, half - x, pixel);
      return;
    }
    for (let paint = 0, at = x; paint < counts.length; paint++) {
      if (!counts[paint]) continue;
      const long = (counts[paint] / all) * (half - x);
      pen.fillStyle = paints[paint];
      pen.fillRect(at, y, long, pixel);
      at += long;
    }
  }

  /** Where bars of lines without text end, and names of folds begin. */
  get half() {
    return this.place.text.x + Math.min(this.place.text.width * 0.6, 220);
  }

  /** The names of open folds beside lines without text, where there is room. */
  drawSpans(first, end) {
    const { lines, place, height, pen, colours } = this;
    this.size = 11;
    this.wide = this.letter * (11 / 12);
    this.font = this.aligned = undefined;
    pen.textBaseline = "middle";
    let free = TITLES; // below the last name
    for (let line = first; line < end; line++) {
      if (lines.item[line] >= 0) continue;
      const fold = ~lines.item[line];
      const last = lines.lineOf[lines.end(fold) - 1];
      const span = lines.open[fold] ? (last - line + 1) * height : 0;
      const y = Math.max(this.y(line), free);
      if (span < 16 || y + 16 > this.y(line) + span) continue;
      const { name, times } = lines.foldText(fold);
      const text = `${times ? `${times} ` : ""}${name}`;
      const x = this.half + 10 + Math.min(lines.depth[line], 8) * 10;
      const end = Math.min(...this.columns.map((name) => place[name]?.x ?? Infinity), this.width - this.map);
      const quiet = lines.kinds[fold] === "turn" || lines.kinds[fold] === "turns";
      pen.fillStyle = colours.rule;
      pen.fillRect(x + 2, y + 17, 1, this.y(line) + span - y - 18);
      this.write(text, x, y + 8, end - x - 6, { colour: quiet ? colours.faint : colours.ink, bold: !quiet });
      free = y + 17;
    }
  }

  // -- arcs -----------------------------------------------------------------------------------------

  /** How far to the left an arc swings that spans `distance` pixels. */
  reach(distance) {
    return (this.place.arcs.width - 8) * (distance / (distance + 130));
  }

  arc(path, from, to) {
    const far = 4000; // pixels beyond the edges that make no difference to what is seen
    const x = this.place.arcs.width - 1;
    const start = Math.max(-far, from);
    const end = Math.min(this.tall + far, to);
    const bend = x - (this.reach(end - start) * 4) / 3;
    path.moveTo(x, start);
    path.bezierCurveTo(bend, start, bend, end, x - 2, end);
  }

  /** What an arc looks like: its colour by its marks, or by what is read. */
  styleOf(parent, child) {
    const at = this.current >= 0 ? this.current : this.hover;
    if (at === parent || at === child) return "near";
    if (!this.marked) return this.paint[parent];
    const both = this.lineMarks[parent] & this.lineMarks[child];
    if (both & FLOW) return "flow";
    if (both & UPSTREAM) return "up";
    if (both & DOWNSTREAM) return "down";
    return "off";
  }

  drawArcs(first, end) {
    const { lines, height, pen } = this;
    const paths = new Map();
    const heads = height >= LINE.arrows;
    const arrows = new Map();
    const add = (parent, child) => {
      const style = this.styleOf(parent, child);
      if (!paths.has(style)) paths.set(style, new Path2D()), arrows.set(style, new Path2D());
      const to = this.y(child) + height * 0.38;
      this.arc(paths.get(style), this.y(parent) + height * 0.64, to);
      if (heads) arrowhead(arrows.get(style), this.place.arcs.width, to);
    };
    for (let line = first; line < end; line++) {
      const reads = lines.readStart[line + 1];
      const from = lines.readStart[line];
      for (let e = from; e < Math.min(reads, from + 60); e++) add(lines.reads[e], line);
      let beyond = 0;
      for (let e = lines.readerStart[line]; e < lines.readerStart[line + 1] && beyond < 8; e++) {
        if (lines.readers[e] >= end) add(line, lines.readers[e]), beyond++;
      }
    }
    for (const [style, path] of paths) {
      const colour = this.colourOfStyle(style);
      pen.strokeStyle = pen.fillStyle = colour;
      pen.globalAlpha = style === "off" ? 0.16 : typeof style === "number" ? 0.6 : 0.95;
      pen.lineWidth = typeof style === "number" || style === "off" ? 1.2 : 1.8;
      pen.stroke(path);
      if (heads) pen.fill(arrows.get(style));
    }
    pen.globalAlpha = 1;
  }

  colourOfStyle(style) {
    if (typeof style === "number") return this.paints[style];
    return { near: this.colours.ink, off: this.colours.faint }[style] ?? this.colours[style];
  }

  /** Arcs of many lines: those between the same two strips of pixels are one, the more the stronger. */
  drawManyArcs(first, end) {
    const { lines, height, pen, tall, lineMarks } = this;
    const { readStart, reads } = lines;
    const strip = 6;
    const most = Math.ceil(tall / strip) + 1;
    const counts = (this.grid ??= {});
    if (counts.most !== most) {
      counts.most = most;
      counts.all = new Uint32Array(most * most);
      counts.marked = new Uint8Array(most * most);
    }
    counts.all.fill(0);
    counts.marked.fill(0);
    const least = Math.ceil((strip * 2) / height); // lines apart; shorter arcs are too small to see
    const base = Math.floor(this.top / strip);
    const stripOf = (line) => Math.floor((line * height) / strip) - base;
    for (let line = first; line < end; line++) {
      const to = Math.min(most - 1, stripOf(line));
      for (let e = readStart[line]; e < readStart[line + 1]; e++) {
        const parent = reads[e];
        if (line - parent < least) continue;
        const cell = Math.max(0, stripOf(parent)) * most + to;
        counts.all[cell]++;
        counts.marked[cell] |= lineMarks[parent] & lineMarks[line];
      }
    }
    const paths = new Map();
    let arcs = 0;
    for (let from = 0; from < most; from++) {
      for (let to = from + 1; to < most; to++) {
        const count = counts.all[from * most + to];
        if (!count) continue;
        arcs++;
        const strength = Math.min(3, Math.floor(Math.log10(count * 3)));
        const marks = this.markColour(counts.marked[from * most + to]);
        const key = `${strength} ${marks ?? ""}`;
        if (!paths.has(key)) paths.set(key, { path: new Path2D(), strength, marks });
        const y = (at) => TITLES + (at + base + 0.5) * strip - this.top;
        this.arc(paths.get(key).path, y(from), y(to));
      }
    }
    const weak = Math.max(0.25, Math.min(1, Math.sqrt(60 / arcs))); // the more, the fainter
    for (const { path, strength, marks } of paths.values()) {
      pen.strokeStyle = marks ?? this.colours.faint;
      pen.globalAlpha = weak * ((marks ? 0.5 : this.marked ? 0.1 : 0.3) + strength * 0.12);
      pen.lineWidth = 1 + strength * 0.3;
      pen.stroke(path);
    }
    pen.globalAlpha = 1;
  }

  // -- titles and overview --------------------------------------------------------------------------

  drawTitles() {
    const { pen, colours, place, width } = this;
    pen.fillStyle = colours.page;
    pen.fillRect(0, 0, width, TITLES);
    pen.fillStyle = colours.rule;
    pen.fillRect(0, TITLES - 1, width, 1);
    this.size = 11;
    this.wide = this.letter * (11 / 12);
    this.font = this.aligned = undefined;
    pen.textBaseline = "middle";
    const middle = TITLES / 2;
    const title = (name, text, right) => {
      const at = place[name];
      if (!at) return;
      this.write(text, right ? at.x + at.width - 3 : at.x, middle, at.width + 4, { colour: colours.faint, right });
    };
    this.write("slot", place.slot.x + place.slot.width - 6, middle, 60, { colour: colours.faint, right: true });
    title("text", "operation", false);
    title("kind", "result", false);
    title("line", "line", false);
    for (const name of this.columns) title(name, NUMBERS[name].title, true);
    this.write("reads", 8, middle, place.arcs.width, { colour: colours.faint });
  }

  drawOverview() {
    const { pen, colours, map, width, tall, lines, height } = this;
    const x = width - map;
    const high = tall - TITLES;
    const key = `${lines.version} ${this.version} ${this.theme} ${width} ${tall} ${this.painted} ${this.ratio}`;
    const whole = lines.count * height;
    if (whole <= high + 4) return; // all is in sight
    if (this.overview.key !== key) this.paintOverview(key, high);
    pen.drawImage(this.overview.canvas, x, TITLES, map, high);
    const y = TITLES + (this.top / whole) * high;
    const window = Math.max(6, (high / whole) * high);
    pen.globalAlpha = 0.14;
    pen.fillStyle = colours.ink;
    pen.fillRect(x, y, map, window);
    pen.globalAlpha = 0.8;
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 1.2;
    pen.strokeRect(x + 0.6, y + 0.6, map - 1.2, window - 1.2);
    pen.globalAlpha = 1;
  }

  paintOverview(key, high) {
    const { lines, map, ratio, colours } = this;
    const { canvas } = this.overview;
    this.overview.key = key;
    canvas.width = Math.max(1, Math.round(map * ratio));
    canvas.height = Math.max(1, Math.round(high * ratio));
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.fillStyle = colours.page;
    pen.fillRect(0, 0, map, high);
    pen.fillStyle = colours.rule;
    pen.fillRect(0, 0, 1, high);
    const each = Math.min(LINE.fit, high / Math.max(1, lines.count));
    const tick = Math.max(1, Math.min(3, each));
    const skip = Math.max(1, Math.floor(0.34 / each)); // three looks a pixel are enough for colours
    for (let line = 0; line < lines.count; line += skip) {
      const start = 4 + Math.min(lines.depth[line] * 3, map / 2);
      pen.fillStyle = this.paints[this.paint[line]];
      pen.globalAlpha = this.marked ? 0.3 : 0.75;
      pen.fillRect(start, line * each, map - start - 4, tick);
    }
    pen.globalAlpha = 1;
    if (!this.marked && !this.hits) return;
    for (let line = 0; line < lines.count; line++) {
      const colour = this.markColour(this.lineMarks[line]);
      if (colour) {
        pen.fillStyle = colour;
        pen.fillRect(4, line * each, map * 0.55, tick);
      }
      if (this.lineMarks[line] & HIT) {
        pen.fillStyle = colours.hit;
        pen.fillRect(map * 0.6, line * each, map * 0.4, Math.max(2, tick));
      }
    }
  }
}

function arrowhead(path, x, y) {
  path.moveTo(x - 5, y - 2.6);
  path.lineTo(x, y);
  path.lineTo(x - 5, y + 2.6);
  path.closePath();
}

/** A colour between two that are written #rrggbb. */
function mixed(one, other, share) {
  const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const [a, b] = [parts(one), parts(other)];
  return `rgb(${a.map((part, i) => Math.round(part + (b[i] - part) * share)).join(",")})`;
}
