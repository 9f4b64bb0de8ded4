// The tape: its rows as columns, who reads whom, and what is reached from where.
// Knows the bytes that columns.py writes. Must not know what is shown.

const UNKNOWN = -1; // a time or a norm that was not measured

const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f8: Float64Array };

/** The columns of a header, by name, out of deflated bytes in base64. */
async function readColumns(header, text) {
  const packed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const whole = await new Response(stream).arrayBuffer();
  const columns = {};
  for (const [name, [type, at, length]] of Object.entries(header.columns)) {
    const Type = TYPES[type];
    columns[name] = new Type(whole.slice(at, at + length * Type.BYTES_PER_ELEMENT));
  }
  return columns;
}

/** The sums of the numbers before each place; the last is the sum of all. */
function sumsBefore(numbers) {
  const sums = new Float64Array(numbers.length + 1);
  for (let i = 0; i < numbers.length; i++) sums[i + 1] = sums[i] + Math.max(0, numbers[i]);
  return sums;
}

/** Numbers that are written as steps. */
function fromSteps(steps) {
  const numbers = new Uint32Array(steps.length);
  for (let i = 0, at = 0; i < steps.length; i++) numbers[i] = at += steps[i];
  return numbers;
}

class Tape {
  constructor(header, columns) {
    this.title = header.title;
    this.count = header.count;
    this.operations = header.operations;
    this.kinds = header.kinds;
    this.names = new Map(Object.entries(header.names).map(([at, name]) => [Number(at), name]));
    this.texts = header;
    this.slot = fromSteps(columns.slot);
    this.operation = columns.operation;
    this.kind = columns.kind;
    this.site = columns.site;
    this.bytes = columns.bytes;
    this.forward = columns.forward ?? null;
    this.backward = columns.backward ?? null;
    this.norm = columns.norm ?? null;
    this.of = columns.of ?? null; // how far back the row is of which this is the replay; 0: none
    this.takeReads(columns.reads, columns.distances);
    this.folds = {
      count: columns.foldKind.length,
      kind: columns.foldKind,
      first: fromSteps(columns.foldFirst),
      length: columns.foldLength,
      times: columns.foldTimes,
      label: columns.foldLabel,
      place: columns.foldPlace,
    };
    this.sums = {};
    for (const name of ["bytes", "forward", "backward"]) {
      if (this[name]) this.sums[name] = sumsBefore(this[name]);
    }
    this.outputs = this.findOutputs();
    this.gradual = null; // what reaches an output, found when it is first asked for
  }

  /** Reads and readers of each row: those of row i are at [start[i], start[i + 1]). */
  takeReads(counts, distances) {
    const n = this.count;
    const start = (this.readStart = new Uint32Array(n + 1));
    for (let i = 0; i < n; i++) start[i + 1] = start[i] + counts[i];
    const reads = (this.reads = new Uint32Array(distances.length));
    const readerStart = (this.readerStart = new Uint32Array(n + 1));
    for (let i = 0, e = 0; i < n; i++) {
      for (; e < start[i + 1]; e++) readerStart[(reads[e] = i - distances[e]) + 1]++;
    }
    for (let i = 0; i < n; i++) readerStart[i + 1] += readerStart[i];
    const readers = (this.readers = new Uint32Array(distances.length));
    const next = readerStart.slice(0, n);
    for (let i = 0; i < n; i++) {
      for (let e = start[i]; e < start[i + 1]; e++) readers[next[reads[e]]++] = i;
    }
  }

  /** Rows that are results of the program; of a history without names, what nothing reads. */
  findOutputs() {
    const named = [...this.names].filter(([, name]) => name.startsWith("output"));
    const found = named.map(([row]) => row).filter((row) => !this.isInput(row));
    if (found.length) return found;
    const ends = [];
    for (let i = 0; i < this.count; i++) {
      if (this.readerStart[i] === this.readerStart[i + 1] && !this.isInput(i)) ends.push(i);
    }
    return ends;
  }

  /** Whether a row is an input of the run; those of a derivative within it read others. */
  isInput(row) {
    return this.readStart[row] === this.readStart[row + 1] && this.operations[this.operation[row]] === "input";
  }

  readsOf(row) {
    return this.reads.subarray(this.readStart[row], this.readStart[row + 1]);
  }

  readersOf(row) {
    return this.readers.subarray(this.readerStart[row], this.readerStart[row + 1]);
  }

  /** Which rows the given ones come from, themselves among them: 1 for each. */
  upstream(rows) {
    const found = new Uint8Array(this.count);
    for (const row of rows) found[row] = 1;
    for (let i = this.count - 1; i >= 0; i--) {
      if (!found[i]) continue;
      for (let e = this.readStart[i]; e < this.readStart[i + 1]; e++) found[this.reads[e]] = 1;
    }
    return found;
  }

  /** Which rows come from the given ones, themselves among them: 1 for each. */
  downstream(rows) {
    const found = new Uint8Array(this.count);
    for (const row of rows) found[row] = 1;
    for (let i = 0; i < this.count; i++) {
      for (let e = this.readStart[i]; e < this.readStart[i + 1] && !found[i]; e++) {
        found[i] = found[this.reads[e]];
      }
    }
    return found;
  }

  /** What the gradient of a row flows through: on a way to an output, and with a cotangent. */
  gradientPath(row) {
    const found = this.downstream([row]);
    this.gradual ??= this.upstream(this.outputs);
    for (let i = 0; i < this.count; i++) {
      if (!this.gradual[i] || (this.norm && this.norm[i] === UNKNOWN)) found[i] = 0;
    }
    return found;
  }

  /** The user's frames of a row, innermost first: {file, line, function}. */
  frames(row) {
    return this.texts.sites[this.site[row]].map((at) => this.frame(at));
  }

  frame(at) {
    const [file, line, name] = this.texts.frames[at];
    return { file: this.texts.files[file], line, function: this.texts.functions[name] };
  }

  /** The line of a row as the table has it: model.py:12. */
  line(row) {
    const site = this.texts.sites[this.site[row]];
    return site.length ? placeOf(this.frame(site[0])) : "";
  }

  /** Rows that match a query: each word is in its texts, or is its slot (#12). */
  search(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const found = new Uint8Array(this.count);
    if (!words.length) return { found, count: 0 };
    found.fill(1);
    for (const word of words) this.keepMatches(word, found);
    let count = 0;
    for (let i = 0; i < this.count; i++) count += found[i];
    return { found, count };
  }

  keepMatches(word, found) {
    const has = (text) => (text.toLowerCase().includes(word) ? 1 : 0);
    const operations = this.operations.map(has);
    const kinds = this.kinds.map(has);
    const frames = this.texts.frames.map((_, at) => {
      const frame = this.frame(at);
      return has(`${frame.file}:${frame.line}`) || has(frame.function);
    });
    const sites = this.texts.sites.map((site) => (site.some((at) => frames[at]) ? 1 : 0));
    const slot = /^#\d+$/.test(word) ? Number(word.slice(1)) : -1;
    for (let i = 0; i < this.count; i++) {
      if (!found[i] || operations[this.operation[i]] || kinds[this.kind[i]]) continue;
      if (sites[this.site[i]] || this.slot[i] === slot) continue;
      found[i] = has(this.names.get(i) ?? "");
    }
  }
}

function baseName(file) {
  return file.slice(Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1);
}

function placeOf(frame) {
  return `${baseName(frame.file)}:${frame.line}`;
}

// -- how numbers are written ----------------------------------------------------------------------

/** At least three digits of a number. */
function digits(number) {
  return number >= 100 ? String(Math.round(number)) : String(Number(number.toPrecision(3)));
}

function secondsText(value) {
  if (value === UNKNOWN || !value) return "";
  for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) {
    if (value >= size) return `${digits(value / size)} ${unit}`;
  }
  return `${Math.round(value * 1e9)} ns`;
}

function bytesText(value) {
  if (!value) return "";
  let unit = 0;
  while (value >= 1024 && unit < 3) {
    value /= 1024;
    unit++;
  }
  return `${unit ? digits(value) : value} ${["B", "KiB", "MiB", "GiB"][unit]}`;
}

function normText(value) {
  if (value === UNKNOWN || value === undefined) return "";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return "∞";
  if (value === 0) return "0";
  return value >= 1e-3 && value < 1e5 ? String(Number(value.toPrecision(4))) : value.toExponential(2);
}

function countText(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}
