// What is beside the canvas: the chosen row, the operations, the tip, the chart of the norms.
// Knows elements, and writes text into them, never markup. Must not know how the state changes.

/** An element with attributes and children; texts stay texts. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const byId = (id) => document.getElementById(id);

function totalsText(tape) {
  let inputs = 0;
  for (let row = 0; row < tape.count; row++) inputs += tape.isInput(row) ? 1 : 0;
  const sum = (name) => tape.sums[name]?.at(-1) ?? 0;
  const parts = [countText(tape.count - inputs, "call"), countText(inputs, "input")];
  if (sum("bytes")) parts.push(`${bytesText(sum("bytes"))} kept`);
  if (sum("forward")) parts.push(`forward ${secondsText(sum("forward"))}`);
  if (sum("backward")) parts.push(`backward ${secondsText(sum("backward"))}`);
  if (!tape.norm) parts.push("no replay recorded: tape(…).run()");
  return parts.join("  ·  ");
}

/** The facts of a row, as pairs of a title and a text. */
function factsOf(tape, row) {
  const facts = [["result", tape.kinds[tape.kind[row]]]];
  const add = (title, text) => text && facts.push([title, text]);
  add("line", tape.line(row));
  add("kept", bytesText(tape.bytes[row]));
  add("forward", tape.forward && secondsText(tape.forward[row]));
  add("backward", tape.backward && secondsText(tape.backward[row]));
  add("‖cotangent‖", tape.norm && normText(tape.norm[row]));
  if (tape.of?.[row]) add("replay", `of slot ${tape.slot[row - tape.of[row]]}`);
  return facts;
}

function factsOfFold(lines, line) {
  const { tape } = lines;
  const fold = ~lines.item[line];
  const facts = [["rows", `${tape.slot[lines.from(line)]} to ${tape.slot[lines.to(line) - 1]}, ${countText(tape.folds.length[fold], "row")}`]];
  const at = tape.folds.place[fold];
  if (at) facts.push(["called at", placeOf(tape.frame(at - 1))]);
  for (const name of ["bytes", "forward", "backward"]) {
    const text = tape[name] && NUMBERS[name].text(tape.sums[name][lines.to(line)] - tape.sums[name][lines.from(line)]);
    if (text) facts.push([NUMBERS[name].title, text]);
  }
  return facts;
}

function nameOf(tape, row) {
  const name = tape.names.get(row);
  return `${tape.operations[tape.operation[row]]}${name ? ` ${name}` : ""}`;
}

/** What the tip and a screen reader say of a line. */
function captionOf(lines, line) {
  const { tape } = lines;
  const item = lines.item[line];
  if (item >= 0) return { name: `${tape.slot[item]}: ${nameOf(tape, item)}`, facts: factsOf(tape, item) };
  const { name, times } = lines.foldText(~item);
  return { name: `${name} ${times}`.trim(), facts: factsOfFold(lines, line) };
}

function definitions(facts) {
  return element("dl", {}, ...facts.flatMap(([title, text]) => [element("dt", {}, title), element("dd", {}, text)]));
}

function showTip(lines, line, x, y) {
  const tip = byId("tip");
  if (line < 0) return (tip.hidden = true);
  const { name, facts } = captionOf(lines, line);
  tip.replaceChildren(element("b", {}, name), definitions(facts));
  tip.hidden = false;
  const stage = byId("stage");
  tip.style.left = `${Math.max(4, Math.min(x + 16, stage.clientWidth - tip.offsetWidth - 8))}px`;
  const below = y + 18 + tip.offsetHeight < stage.clientHeight;
  tip.style.top = `${below ? y + 18 : Math.max(4, y - tip.offsetHeight - 10)}px`;
}

/** Rows as links, the first of many. */
function rowLinks(tape, rows, go) {
  const most = 24;
  const links = [...rows.slice(0, most)].map((row) =>
    element("button", { class: "link", onclick: () => go(row) }, `${tape.slot[row]} ${nameOf(tape, row)}`),
  );
  if (rows.length > most) links.push(element("span", { class: "faint" }, `and ${rows.length - most} more`));
  return links;
}

function framesOf(tape, row) {
  const parts = tape.frames(row).map((frame) =>
    element("div", { title: frame.file }, element("code", {}, placeOf(frame)), element("span", { class: "faint" }, ` ${frame.function}`)),
  );
  return element("div", { class: "frames" }, ...parts);
}

function keyed(name, text) {
  return element("span", {}, element("i", { class: `key ${name}` }), text);
}

/** The chosen row or fold: all that is known of it. */
function showDetails(page) {
  const { tape, lines, chosen } = page;
  const into = byId("details");
  if (!chosen) {
    into.replaceChildren(
      element("h2", {}, "Nothing chosen"),
      element("p", { class: "faint" }, "Choose a row to mark what it comes from and what it leads to; an input, to see what its gradient flows through."),
    );
    return;
  }
  const row = chosen.from;
  const single = chosen.fold < 0;
  const parts = [];
  if (single) {
    parts.push(element("p", { class: "name" }, nameOf(tape, row)), definitions([["slot", String(tape.slot[row])], ...factsOf(tape, row)]));
  } else {
    const line = lines.lineOf[row];
    const { name, times } = lines.foldText(chosen.fold);
    parts.push(element("p", { class: "name" }, `${name} ${times}`));
    if (line >= 0 && lines.item[line] === ~chosen.fold) parts.push(definitions(factsOfFold(lines, line)));
  }
  const marks = [];
  if (chosen.flow) marks.push(keyed("flow", `its gradient flows through ${countText(chosen.flow, "row")}`));
  if (chosen.up) marks.push(keyed("up", `comes from ${countText(chosen.up, "row")}`));
  if (chosen.down) marks.push(keyed("down", `leads to ${countText(chosen.down, "row")}${chosen.flow ? " without a cotangent" : ""}`));
  parts.push(element("p", {}, ...marks.flatMap((mark, i) => (i ? [element("br"), mark] : [mark]))));
  if (single) {
    const links = (title, rows) => rows.length && parts.push(element("p", {}, element("span", { class: "faint" }, `${title} `), element("br"), ...rowLinks(tape, rows, page.go)));
    links("reads", tape.readsOf(row));
    links("is read by", tape.readersOf(row));
    if (tape.frames(row).length) parts.push(element("p", { class: "faint" }, "called at"), framesOf(tape, row));
  }
  into.replaceChildren(...parts);
}

/** The operations with their counts: a legend, and a filter. */
function showOperations(page) {
  const { drawing, lines, tape } = page;
  const order = [...drawing.counts.keys()].sort((a, b) => drawing.counts[b] - drawing.counts[a]);
  const parts = order.map((number) => {
    const box = element("input", { type: "checkbox", onchange: () => page.filter([number], !box.checked) });
    box.checked = !lines.hidden[number];
    box.dataset.operation = tape.operations[number];
    const swatch = element("i");
    swatch.style.background = drawing.paints[drawing.hueOf[number]];
    return element(
      "li", {},
      element("label", {}, box, swatch, element("span", {}, tape.operations[number]), element("small", {}, drawing.counts[number].toLocaleString("en"))),
    );
  });
  byId("operations").replaceChildren(...parts);
}

/** The norms of the cotangents by the step of the replay, on a logarithmic scale. */
function drawNorms(page) {
  const { tape, order, drawing } = page;
  const canvas = byId("norms");
  const ratio = window.devicePixelRatio || 1;
  const [width, tall] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = width * ratio;
  canvas.height = tall * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  let [low, high] = [Infinity, 0];
  for (const row of order) {
    const norm = tape.norm[row];
    if (!(norm > 0) || norm === Infinity) continue;
    low = Math.min(low, norm);
    high = Math.max(high, norm);
  }
  low = Math.max(low, high * 1e-12); // less is rounding
  const range = Math.max(Math.log(high / low) || 0, 1e-9);
  const room = tall - 14; // the text is above the bars
  const margin = 8; // half of the slider's handle
  const each = (width - 2 * margin) / Math.max(1, order.length);
  const done = margin + page.step * each;
  const { colours } = drawing;
  for (let i = 0, x = -1; i < order.length; i++) {
    const norm = tape.norm[order[i]];
    const bad = !Number.isFinite(norm);
    const at = Math.floor(margin + i * each);
    if (at === x && !bad) continue; // one bar a pixel, and each that is not a number
    x = at;
    const share = bad ? 1 : norm > low ? 0.1 + 0.9 * (Math.log(norm / low) / range) : 0.06;
    pen.fillStyle = bad ? colours.down : colours.flow;
    pen.globalAlpha = at < done ? 0.85 : 0.22;
    pen.fillRect(at, tall - share * room, Math.max(1, Math.min(each - 1, 14)), share * room);
  }
  pen.globalAlpha = 1;
  pen.fillStyle = colours.faint;
  pen.font = "10px system-ui, sans-serif";
  pen.fillText(`‖cotangent‖, largest ${normText(high)}, as the replay comes to it`, margin, 9);
}

/** The lines as a table, for paper: the first of many. */
function printed(page) {
  const most = 1500;
  const { tape, lines, drawing } = page;
  const numbers = drawing.columns;
  const head = element("tr", {}, ...["slot", "operation", "reads", "result", "line"].map((title) => element("th", {}, title)), ...numbers.map((name) => element("th", { class: "number" }, NUMBERS[name].title)));
  const body = element("tbody");
  drawing.takeValues();
  for (let line = 0; line < Math.min(most, lines.count); line++) {
    const item = lines.item[line];
    const single = item >= 0;
    const { name, times } = single ? { name: nameOf(tape, item), times: "" } : lines.foldText(~item);
    const texts = [
      single ? String(tape.slot[item]) : "",
      `${"  ".repeat(lines.depth[line])}${times} ${name}`.trimEnd(),
      single ? [...tape.readsOf(item)].map((row) => tape.slot[row]).join(", ") : "",
      single ? tape.kinds[tape.kind[item]] : countText(lines.to(line) - lines.from(line), "row"),
      single ? tape.line(item) : "",
    ];
    const values = numbers.map((column) => (lines.isOpenFold(line) ? "" : NUMBERS[column].text(drawing.values[column][line])));
    body.append(element("tr", {}, ...texts.map((text) => element("td", { style: "white-space:pre-wrap" }, text)), ...values.map((text) => element("td", { class: "number" }, text))));
  }
  const rest = lines.count > most ? [element("p", {}, `${countText(lines.count - most, "more line")}, not printed`)] : [];
  byId("printed").replaceChildren(element("table", {}, element("thead", {}, head), body), ...rest);
}
