"use strict";

// The script of a report. `startReport`, at the end, takes the root of the report: the document of a stored page, or the
// shadow root in which another page shows the report.

const asPercent = share => `${(100 * share).toFixed(1)}%`;
// The value of an item in a column, as `ItemColumn.write_value` writes it.
const asValue = (value, { unit }) => {
  if (value === null) return "not tested";
  if (unit === "flag") return value > 0 ? "yes" : "no";
  return (unit === "fraction" ? asPercent(value) : value.toFixed(3)).replace("-", "\u2212");
};
// Whether an item shows the fault that a column is about, as in `ItemColumn.is_affected`.
const isAffected = (value, { unit, better }) =>
  value !== null && (unit === "flag" && better === "higher" ? value <= 0 : value > 0);
// A prediction with its confidence, as in "98.0% negative"; some models give none.
const withConfidence = (prediction, confidence) => (confidence === null ? prediction : `${asPercent(confidence)} ${prediction}`);
const normalized = text => text.split(/\s+/).filter(Boolean).join(" ");
// The name by which a link finds an item; `get_address` in render.py makes the same.
const addressOf = id => `item-${id.split(/\s+/).filter(Boolean).join("_")}`;

const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  element.append(...children);
  return element;
};

// ---------------------------------------------------------------- changed texts

// A text with the edits of a change, the new words marked.
const changedText = (text, edits) => {
  const pieces = [];
  let end = 0;
  for (const [start, stop, replacement] of edits) {
    pieces.push(text.slice(end, start));
    if (replacement) pieces.push(make("mark", { class: "change" }, replacement));
    end = stop;
  }
  return [...pieces, text.slice(end)];
};

// A list of the changes that the model was asked about; the choice shows the changed text, and the prediction before and after.
const offerChanges = (changes, textElement, text, before) => {
  if (!changes) return null;
  const select = make("select", {}, make("option", { value: "" }, "unchanged"));
  changes.forEach(([name], place) => select.append(make("option", { value: place }, name)));
  const outcome = make("output");
  const original = [...textElement.childNodes];
  select.addEventListener("change", () => {
    if (select.value === "") {
      textElement.replaceChildren(...original);
      outcome.textContent = "";
      return;
    }
    const [, prediction, confidence, edits] = changes[select.value];
    textElement.replaceChildren(...changedText(normalized(text), edits));
    outcome.textContent = ` ${before} → ${withConfidence(prediction, confidence)}`;
  });
  return make("label", { class: "change" }, "Change a word: ", select, outcome);
};

const offerExampleChanges = (root, changes) => root.querySelectorAll(".example").forEach(example => {
  const quote = example.querySelector("blockquote");
  const predicted = example.querySelector(".predicted");
  // An item with choices has its answers in a table.
  if (!quote || !predicted) return;
  const prediction = predicted.textContent;
  const confidence = example.querySelector(".confidence");
  const before = [confidence ? confidence.textContent : "", prediction].filter(Boolean).join(" ");
  const text = quote.textContent;
  const offer = offerChanges(changes[normalized(text)], quote, text, before);
  if (offer) example.append(offer);
});

// ---------------------------------------------------------------- what if

// `rightreasons serve` names its models in a meta element; a stored page has none, and asks nobody.
const findServer = () => {
  const meta = document.querySelector("meta[name=live]");
  if (!meta) return null;
  const post = async (path, request) => {
    const response = await fetch(path, { method: "POST", body: JSON.stringify(request) });
    if (!response.ok) throw new Error(response.statusText);
    return response.json();
  };
  const ask = request => post("predict", request);
  const findTexts = (split, id) => post("item", { split, id });
  return { ...JSON.parse(meta.content), ask, findTexts };
};

// Shows the predictions of the models of `live` for a text while a reader edits it, beginning with an item. Returns a
// function that takes another item into the box.
const startTrying = (root, live, firstItem) => {
  const section = root.getElementById("try");
  const box = root.getElementById("try-text");
  const pairBox = root.getElementById("try-pair");
  const holder = root.getElementById("try-models");
  const LONGEST_LIST = 6;
  const PAUSE = 250;
  let before = null;
  let newest = 0;

  const ask = async () => {
    const request = { text: box.value };
    if (live.has_pairs) request.text_pair = pairBox.value;
    const answer = await live.ask(request);
    if (answer.error) throw new Error(answer.error);
    return answer.models.map(model => model.probabilities);
  };

  const best = probabilities => probabilities.indexOf(Math.max(...probabilities));
  const predict = (labels, probabilities) => {
    const label = best(probabilities);
    return withConfidence(labels[label], probabilities[label]);
  };

  const bar = (share, kind) => {
    const filled = make("div", { class: `filled ${kind}` });
    filled.style.width = asPercent(share);
    return make("td", {}, make("div", { class: "bar" }, filled), ` ${asPercent(share)}`);
  };

  const table = ({ name, labels }, old, now) => {
    const order = labels.map((_, place) => place).sort((a, b) => now[b] - now[a]).slice(0, LONGEST_LIST);
    const shown = labels.length <= LONGEST_LIST ? labels.map((_, place) => place) : order;
    const rows = shown.map(place =>
      make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, labels[place])), bar(old[place], "before"), bar(now[place], "now")));
    const head = make("thead", {}, make("tr", {}, ...["Label", "Before", "Now"].map(text => make("th", { scope: "col" }, text))));
    const outcome = make("p", { class: best(old) === best(now) ? "" : "flips" },
      make("b", {}, name), `: ${predict(labels, old)} → ${predict(labels, now)}`);
    return make("div", {}, outcome, make("table", { class: "probabilities", "aria-label": name }, head, make("tbody", {}, ...rows)));
  };

  const show = now => holder.replaceChildren(...live.models.map((model, place) => table(model, before[place], now[place])));
  // The answers to earlier texts may come late; only the newest is shown.
  const refresh = async isFirst => {
    const number = ++newest;
    if (![box, ...(live.has_pairs ? [pairBox] : [])].every(each => each.value.trim())) {
      holder.replaceChildren("Type a text.");
      return;
    }
    try {
      const now = await ask();
      if (number !== newest) return;
      if (isFirst) before = now;
      show(now);
    } catch (error) {
      if (number === newest) holder.replaceChildren(make("p", { class: "failed" }, error.message));
    }
  };

  let timer;
  [box, pairBox].forEach(each => each.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => refresh(before === null), PAUSE);
  }));
  const load = (text, pair) => {
    box.value = text;
    pairBox.value = pair || "";
    refresh(true);
  };
  // The page has the beginning of long texts: the server has all of them.
  const loadItem = async ({ split, id, text, pair }) => {
    const texts = live.findTexts ? await live.findTexts(split, id) : {};
    load(texts.text || text, texts.text_pair || pair);
  };
  section.hidden = false;
  root.getElementById("try-pair-label").hidden = !live.has_pairs;
  const example = root.querySelector(".example blockquote");
  if (example && !live.has_pairs) load(normalized(example.textContent));
  else loadItem(firstItem);
  return async item => {
    await loadItem(item);
    section.scrollIntoView({ block: "start" });
    box.focus();
  };
};

// ---------------------------------------------------------------- the items

const PAGE_SIZE = 50;
const HIGH_CONFIDENCE = 0.9;

const asItem = (names, [id, text, label, prediction, confidence, flags, values, pair = ""]) => ({
  id, text, confidence, values, pair,
  label: names[label],
  prediction: names[prediction],
  isCorrect: Boolean(flags & 1),
  contradicts: Boolean(flags & 2),
});

const OUTCOMES = {
  "": () => true,
  wrong: item => !item.isCorrect,
  correct: item => item.isCorrect,
  confident: item => !item.isCorrect && item.confidence >= HIGH_CONFIDENCE,
  unsure: item => item.isCorrect && item.confidence < HIGH_CONFIDENCE,
};

// Lists the items of a report; returns functions that show the item of a link, and the items that a finding is about. `tryItem`
// takes an item into the box of a live page, null without one.
const startItems = (section, data, tryItem) => {
  const splits = data.splits.map(split => ({ ...split, items: split.rows.map(row => asItem(data.names, row)) }));
  const find = id => section.querySelector(`#${id}`);
  const control = { split: find("item-split"), search: find("item-search"), outcome: find("item-outcome"), column: find("item-column") };
  const body = section.querySelector("tbody");
  const heads = [...section.querySelectorAll("thead th")];
  const columnHead = section.querySelector("thead th.affected");
  // The table shows the values of one column.
  const state = { split: splits[data.first_split], column: 0, listed: [], first: 0, sortKey: "", isDescending: false, current: "" };
  const valueOf = item => item.values[state.column];
  const isTested = column => state.split.items.some(item => item.values[column] !== null);

  const sortValue = item => (state.sortKey === "value" ? valueOf(item) : item[state.sortKey]);
  const compare = (a, b) => {
    const [x, y] = [sortValue(a), sortValue(b)];
    const order = typeof x === "string" ? x.localeCompare(y, undefined, { numeric: true }) : Number(x) - Number(y);
    return state.isDescending ? -order : order;
  };

  const makeRow = item => {
    const link = make("a", { href: `#${encodeURIComponent(addressOf(item.id))}` }, make("bdi", {}, item.id));
    const row = make("tr", { id: addressOf(item.id), class: item.isCorrect ? "correct" : "wrong" });
    const cells = {
      Item: () => make("th", { scope: "row" }, link),
      Text: () => {
        const text = make("bdi", {}, item.text);
        const cell = make("td", { class: "prose" }, text);
        const before = withConfidence(item.prediction, item.confidence);
        const offer = offerChanges(data.changes[normalized(item.text)], text, item.text, before);
        if (item.pair) cell.append(make("p", {}, make("bdi", {}, item.pair)));
        if (offer) cell.append(offer);
        const edit = make("button", { type: "button", class: "edit" }, "Edit this text");
        edit.addEventListener("click", () => tryItem({ ...item, split: state.split.name }));
        if (tryItem) cell.append(edit);
        return cell;
      },
      Label: () => make("td", {}, make("bdi", {}, item.label), item.contradicts ? " (contradicts the text)" : ""),
      Predicted: () => make("td", {}, make("bdi", {}, item.prediction)),
      Confidence: () => make("td", { class: "num" }, item.confidence === null ? "–" : asPercent(item.confidence)),
    };
    const affected = () => make("td", { class: "affected" }, asValue(valueOf(item), data.columns[state.column]));
    heads.forEach(head => {
      const name = head.textContent;
      const cell = head === columnHead ? affected() : cells[name]();
      cell.dataset.label = name;
      row.append(cell);
    });
    if (row.id === state.current) row.classList.add("current");
    else row.addEventListener("click", () => link.click());
    return row;
  };

  const show = () => {
    const { listed, first } = state;
    body.replaceChildren(...listed.slice(first, first + PAGE_SIZE).map(makeRow));
    const last = Math.min(first + PAGE_SIZE, listed.length);
    find("shown-items").textContent = listed.length ? `${first + 1} to ${last} of ${listed.length.toLocaleString("en")}` : "No matching items.";
    find("previous-items").disabled = first === 0;
    find("next-items").disabled = last === listed.length;
    section.querySelector(".tall").scrollTop = 0;
  };

  const list = () => {
    const words = control.search.value.toLowerCase();
    const isWanted = OUTCOMES[control.outcome.value];
    state.listed = state.split.items.filter(item =>
      isWanted(item)
      && (!control.column || control.column.value === "" || isAffected(valueOf(item), data.columns[state.column]))
      && (!words || [item.text, item.pair, item.id].some(text => text.toLowerCase().includes(words))));
    if (state.sortKey) state.listed.sort(compare);
    state.first = 0;
  };

  const chooseSplit = split => {
    state.split = split;
    if (control.split) control.split.value = splits.indexOf(split);
    // What a finding is about was tested on some splits only.
    if (control.column) {
      const tested = data.columns.map((_, column) => isTested(column));
      [...control.column.options].slice(1).forEach((option, column) => (option.disabled = !tested[column]));
      find("item-column-label").hidden = !tested.includes(true);
      if (!tested[state.column]) {
        state.column = Math.max(tested.indexOf(true), 0);
        control.column.value = "";
      }
      showColumn();
    }
    find("split-facts").textContent = split.facts;
  };

  // Show the values of the column in the table, and its name above them.
  const showColumn = () => {
    const { name } = data.columns[state.column];
    (columnHead.querySelector("button") || columnHead).textContent = name;
    orderSelect.querySelectorAll("option").forEach(option => {
      const { key, isDescending } = orders[option.value] || {};
      if (key === "value") option.textContent = describeOrder(name, isDescending);
    });
    section.querySelector("table").classList.toggle("untested", !isTested(state.column));
  };

  // Show the item of a link. What would hide it is cleared: a link leads somewhere, whatever was filtered before.
  const showItem = address => {
    const holds = split => split.items.some(item => addressOf(item.id) === address);
    const split = holds(state.split) ? state.split : splits.find(holds);
    if (!split) return;
    state.current = address;
    const isListed = () => state.listed.findIndex(item => addressOf(item.id) === address);
    if (split !== state.split || isListed() < 0) {
      control.search.value = "";
      control.outcome.value = "";
      if (control.column) control.column.value = "";
      chooseSplit(split);
      list();
    }
    state.first = PAGE_SIZE * Math.floor(isListed() / PAGE_SIZE);
    show();
  };

  const sort = (key, isDescending) => {
    Object.assign(state, { sortKey: key, isDescending });
    heads.forEach(head => (head.ariaSort = head.dataset.key === key ? (isDescending ? "descending" : "ascending") : null));
    list();
    show();
  };
  const sortable = heads.filter(head => head.dataset.key);
  // A narrow screen shows no heads, and a list in their place.
  const orders = sortable.flatMap(head => [false, true].map(isDescending => ({ name: head.textContent, key: head.dataset.key, isDescending })));
  const describeOrder = (name, isDescending) => `${name}, ${isDescending ? "descending" : "ascending"}`;
  const orderSelect = find("item-sort");
  orderSelect.append(make("option", { value: "" }, "errors first"), ...orders.map(({ name, isDescending }, place) =>
    make("option", { value: place }, describeOrder(name, isDescending))));
  orderSelect.addEventListener("input", () => {
    const { key, isDescending } = orders[orderSelect.value] || { key: "", isDescending: false };
    sort(key, isDescending);
  });
  sortable.forEach(head => {
    const { key } = head.dataset;
    const button = make("button", { type: "button" }, head.textContent);
    button.addEventListener("click", () => sort(key, state.sortKey === key && !state.isDescending));
    head.replaceChildren(button);
  });
  const turn = by => {
    state.first += by * PAGE_SIZE;
    show();
  };
  find("previous-items").addEventListener("click", () => turn(-1));
  find("next-items").addEventListener("click", () => turn(1));
  const relist = () => {
    list();
    show();
  };
  [control.search, control.outcome].forEach(element => element.addEventListener("input", relist));
  // Show the items that a column is about; of a column of numbers, the largest first.
  const showAffected = column => {
    if (!isTested(column)) chooseSplit(splits.find(split => split.items.some(item => item.values[column] !== null)) || state.split);
    state.column = column;
    control.column.value = column;
    showColumn();
    if (data.columns[column].unit === "flag") relist();
    else sort("value", data.columns[column].better === "lower");
  };
  if (control.column) control.column.addEventListener("input", () => {
    if (control.column.value === "") relist();
    else showAffected(Number(control.column.value));
  });
  if (control.split) control.split.addEventListener("input", () => {
    chooseSplit(splits[control.split.value]);
    relist();
  });
  section.querySelectorAll("[hidden]").forEach(element => (element.hidden = false));
  chooseSplit(state.split);
  relist();
  // A link shows all such items, whatever was filtered before.
  const showAllAffected = column => {
    control.search.value = "";
    control.outcome.value = "";
    showAffected(column);
  };
  return { showItem, showAffected: showAllAffected };
};

// ---------------------------------------------------------------- reasons

// A person says which features are reasons for a label: ticks become the options of the command.
const offerReasons = root => root.querySelectorAll(".actions code").forEach(code => {
  const found = code.textContent.match(/^(.*) --(\w+)-not-reasons ('[^']*'|\S+)$/);
  if (!found) return;
  const [, command, question, list] = found;
  const names = list.replace(/^'|'$/g, "").split(",");
  const quoted = chosen => (/^[\w.,-]+$/.test(chosen) ? chosen : `'${chosen}'`);
  const boxes = names.map(name => {
    const box = make("input", { type: "checkbox" });
    return { name, box, label: make("label", {}, box, ` ${name}`) };
  });
  const ticks = make("fieldset", {}, make("legend", {}, "These are reasons for the label:"), ...boxes.map(({ label }) => label));
  ticks.addEventListener("change", () => {
    const join = isReason => boxes.filter(({ box }) => box.checked === isReason).map(({ name }) => name).join(",");
    const [reasons, others] = [join(true), join(false)];
    code.textContent = command + (reasons && ` --${question}-reasons ${quoted(reasons)}`) + (others && ` --${question}-not-reasons ${quoted(others)}`);
  });
  code.parentElement.before(ticks);
});

// ---------------------------------------------------------------- links

// Opens what a link points into, also where a browser does not: in a folded part, in the list of items, in a shadow root.
const followLinks = (root, showItem) => {
  const follow = () => {
    if (!location.hash) return;
    const address = decodeURIComponent(location.hash.slice(1));
    if (address.startsWith("item-")) showItem(address);
    const target = root.getElementById(address);
    if (!target) return;
    for (let element = target; element; element = element.parentElement) {
      if (element.tagName === "DETAILS") element.open = true;
    }
    // The head of the table would cover a row at the upper end, and the lower end would hide the rows after it.
    target.scrollIntoView({ block: target.closest("tr") ? "center" : "nearest" });
  };
  addEventListener("hashchange", follow);
  follow();
};

// ---------------------------------------------------------------- the report

const getFirstItem = ({ name, rows: [row] }) => ({ split: name, id: row[0], text: row[1], pair: row[7] });

// Filters the items by a column before the browser goes to them.
const followColumns = (root, showAffected) => root.querySelectorAll("a[data-column]").forEach(link =>
  link.addEventListener("click", () => showAffected(Number(link.dataset.column))));

// Starts a report. `live` names the models that answer to edited texts, and asks them: `{ models, has_pairs, ask }`, and
// `findTexts` where the texts of items are stored; null for a report without its model.
const startReport = (root, live) => {
  const holder = root.getElementById("page-data");
  const data = holder ? JSON.parse(holder.textContent) : { names: [], splits: [], columns: [], changes: {} };
  offerExampleChanges(root, data.changes);
  const canTry = live && root.getElementById("try");
  const tryItem = canTry ? startTrying(root, live, getFirstItem(data.splits[0])) : null;
  const itemSection = root.getElementById("items");
  const ignore = { showItem: () => {}, showAffected: () => {} };
  const { showItem, showAffected } = itemSection && data.splits.length ? startItems(itemSection, data, tryItem) : ignore;
  followColumns(root, showAffected);
  followLinks(root, showItem);
  offerReasons(root);
};

// As the script of its own page, it starts the report there. Another page evaluates it, and calls `startReport` itself.
if (document.currentScript) startReport(document, findServer());
