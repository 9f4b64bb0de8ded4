// The lines that are shown: rows, and folds that stand for several.
// Knows which folds are open and which operations are hidden. Must not know pixels.

const FEW = 48; // a tape of so many rows is shown whole; a longer one begins folded

class Lines {
  constructor(tape) {
    const { folds } = tape;
    this.tape = tape;
    this.open = new Uint8Array(folds.count);
    this.hidden = new Uint8Array(tape.operations.length); // by operation
    this.after = new Uint32Array(folds.count); // the next fold that is not inside
    this.kinds = Array.from(folds.kind, (kind) => tape.texts.foldKinds[kind]);
    const outer = [];
    for (let f = 0; f <= folds.count; f++) {
      const end = f < folds.count ? folds.first[f] : Infinity;
      while (outer.length && this.end(outer.at(-1)) <= end) this.after[outer.pop()] = f;
      outer.push(f);
    }
    this.foldAtFirst();
  }

  end(fold) {
    return this.tape.folds.first[fold] + this.tape.folds.length[fold];
  }

  /** Folds that are open when the page opens: as many as leave the lines to see at once. */
  foldAtFirst() {
    const { folds, count } = this.tape;
    this.open.fill(count <= FEW ? 1 : 0);
    if (count <= FEW) return this.build();
    let level = topFolds(this, 0, folds.count);
    this.build();
    while (level.length && this.count <= FEW) {
      const before = this.open.slice();
      const opened = level.filter((f) => !["inputs", "turns"].includes(this.kinds[f]));
      for (const f of opened) this.open[f] = 1;
      this.build();
      if (this.count > FEW) {
        this.open = before;
        break;
      }
      level = opened.flatMap((f) => topFolds(this, f + 1, this.after[f]));
    }
    this.openFirstTurns();
    this.build();
  }

  /** Of each loop, one turn is open where the loop is. */
  openFirstTurns() {
    for (let f = 0; f + 1 < this.kinds.length; f++) {
      if (this.kinds[f] === "loop" && this.kinds[f + 1] === "turn") this.open[f + 1] = 1;
    }
  }

  /** Close the folds of some kinds, and open the others. */
  close(...kinds) {
    for (let f = 0; f < this.kinds.length; f++) this.open[f] = kinds.includes(this.kinds[f]) ? 0 : 1;
    this.openFirstTurns();
    this.build();
  }

  toggle(fold) {
    this.open[fold] ^= 1;
    this.build();
  }

  /** Open all folds that a row is in; whether there were any that were closed. */
  reveal(row) {
    const { first } = this.tape.folds;
    let changed = false;
    for (let f = 0; f < this.kinds.length && first[f] <= row; ) {
      if (row >= this.end(f)) {
        f = this.after[f];
        continue;
      }
      changed ||= !this.open[f];
      this.open[f++] = 1;
    }
    if (changed) this.build();
    return changed;
  }

  /** Lines anew, from what is open and hidden.
   *
   * item: a row, or ~fold. from, to: the rows that a line stands for; none for an open fold.
   * lineOf: by row, where it is shown, -1 where it is not.
   */
  build() {
    const { tape, open } = this;
    const { folds, count } = tape;
    const most = count + folds.count;
    const item = new Int32Array(most);
    const closed = new Uint8Array(most); // whether a line stands for rows: all but open folds
    const depth = new Uint8Array(most);
    const lineOf = (this.lineOf = new Int32Array(count).fill(-1));
    const seen = this.seenBefore();
    const ends = []; // of the open folds that the row is in
    let line = 0;
    for (let row = 0, f = 0; row < count; ) {
      while (ends.length && ends.at(-1) <= row) ends.pop();
      if (f < folds.count && folds.first[f] === row) {
        const end = this.end(f);
        const shown = seen[end] - seen[row];
        if (shown) {
          item[line] = ~f;
          depth[line] = Math.min(255, ends.length);
          closed[line] = open[f] ? 0 : 1;
          if (!open[f]) for (let r = row; r < end; r++) lineOf[r] = line;
          line++;
        }
        if (shown && open[f]) {
          ends.push(end);
          f++;
        } else {
          f = this.after[f];
          row = end;
        }
        continue;
      }
      if (seen[row + 1] > seen[row]) {
        item[line] = row;
        depth[line] = Math.min(255, ends.length);
        closed[line] = 1;
        lineOf[row] = line++;
      }
      row++;
    }
    this.count = line;
    this.item = item.subarray(0, line);
    this.depth = depth.subarray(0, line);
    this.closed = closed.subarray(0, line);
    this.version = (this.version ?? 0) + 1;
    this.join();
  }

  /** How many rows before each are not hidden by their operations. */
  seenBefore() {
    const { operation, count } = this.tape;
    const seen = new Uint32Array(count + 1);
    for (let i = 0; i < count; i++) seen[i + 1] = seen[i] + (this.hidden[operation[i]] ? 0 : 1);
    return seen;
  }

  /** The line of a fold that begins at a row, or of what it is in; of the row where fold is -1. */
  lineOfFold(row, fold) {
    const line = fold < 0 ? -1 : this.item.indexOf(~fold);
    return line < 0 ? this.lineOf[row] : line;
  }

  from(line) {
    const item = this.item[line];
    return item >= 0 ? item : this.tape.folds.first[~item];
  }

  to(line) {
    const item = this.item[line];
    if (item >= 0) return item + 1;
    return this.end(~item);
  }

  isOpenFold(line) {
    return this.closed[line] === 0;
  }

  /** Which lines read which: of line i those at [start[i], start[i + 1]), each once. */
  join() {
    const { tape, lineOf, count, item, closed } = this;
    const { readStart, reads: rowReads } = tape;
    const start = (this.readStart = new Uint32Array(count + 1));
    const reads = (this.reads = new Uint32Array(rowReads.length));
    const last = new Int32Array(count).fill(-1); // the line that read each line last
    let at = 0;
    for (let line = 0; line < count; line++) {
      start[line] = at;
      if (!closed[line]) continue;
      const first = item[line] >= 0 ? item[line] : this.from(line);
      const end = readStart[item[line] >= 0 ? first + 1 : this.to(line)];
      for (let e = readStart[first]; e < end; e++) {
        const other = lineOf[rowReads[e]];
        if (other < 0 || other === line || last[other] === line) continue;
        last[other] = line;
        reads[at++] = other;
      }
    }
    start[count] = at;
    this.joinReaders(at);
  }

  joinReaders(length) {
    const { count, readStart, reads } = this;
    const start = (this.readerStart = new Uint32Array(count + 1));
    for (let e = 0; e < length; e++) start[reads[e] + 1]++;
    for (let line = 0; line < count; line++) start[line + 1] += start[line];
    const next = start.slice(0, count);
    const readers = (this.readers = new Uint32Array(length));
    for (let line = 0; line < count; line++) {
      for (let e = readStart[line]; e < readStart[line + 1]; e++) readers[next[reads[e]]++] = line;
    }
  }

  /** What a column says of each line: of a closed fold, the sum, or the largest norm. */
  values(column) {
    const { item, count, lineOf } = this;
    const numbers = this.tape[column];
    const values = new Float64Array(count).fill(column === "norm" ? UNKNOWN : 0);
    for (let line = 0; line < count; line++) if (item[line] >= 0) values[line] = numbers[item[line]];
    for (let row = 0; row < numbers.length; row++) {
      const line = lineOf[row];
      if (line < 0 || item[line] >= 0) continue;
      const value = numbers[row];
      if (column !== "norm") values[line] += value > 0 ? value : 0;
      else if (!(value <= values[line]) && !Number.isNaN(values[line])) values[line] = value;
    }
    return values;
  }

  /** A fold in words: what it is, and how often. */
  foldText(fold) {
    const { folds, texts } = this.tape;
    const kind = this.kinds[fold];
    if (kind === "turn") return { name: `turn ${folds.times[fold]}`, times: "" };
    const label = texts.labels[folds.label[fold]];
    const name = kind === "call" ? `${label}()` : label;
    return { name, times: kind === "loop" ? `× ${folds.times[fold].toLocaleString("en")}` : "" };
  }
}

/** The outermost folds among those at [first, end). */
function topFolds(lines, first, end) {
  const found = [];
  for (let f = first; f < end; f = lines.after[f]) found.push(f);
  return found;
}
