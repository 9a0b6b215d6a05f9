"use strict";
// Open what a link points into, also where a browser does not.
const open = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
  if (target) target.scrollIntoView({ block: "nearest" });
};
addEventListener("hashchange", open);
open();

// Sort the items by a column, and step through those that the filters leave.
const body = document.querySelector("#items tbody");
if (body) {
  const button = (text, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.append(text);
    made.addEventListener("click", action);
    return made;
  };
  const value = (row, column) => {
    const text = row.cells[column].textContent.trim();
    const number = parseFloat(text);
    return text.endsWith("%") && !isNaN(number) ? number : text;
  };
  document.querySelectorAll("#items thead th").forEach((head, column) => {
    head.replaceChildren(button(head.textContent, () => {
      const down = head.ariaSort === "ascending";
      document.querySelectorAll("#items thead th").forEach(other => (other.ariaSort = null));
      head.ariaSort = down ? "descending" : "ascending";
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [value(a, column), value(b, column)];
        const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true });
        return down ? -order : order;
      });
      body.append(...rows);
    }));
  });
  const step = by => {
    const rows = [...body.rows].filter(row => row.offsetParent);
    const here = rows.findIndex(row => `#${row.id}` === decodeURIComponent(location.hash));
    const next = rows[here < 0 ? (by > 0 ? 0 : rows.length - 1) : here + by];
    if (next) location.hash = encodeURIComponent(next.id);
  };
  const steps = document.createElement("div");
  steps.className = "steps";
  steps.append(button("Previous", () => step(-1)), button("Next", () => step(1)));
  document.querySelector("#items .filters").append(steps);
}

// Where the model was asked about changes of a text, a reader may choose one, and sees what it says.
document.querySelectorAll(".change select").forEach(select => {
  const item = select.closest("li, tr");
  const parts = ["blockquote, .prose bdi", ".predicted", ".sure"].map(name => item.querySelector(name)).filter(Boolean);
  const before = parts.map(part => [...part.childNodes]);
  select.addEventListener("change", () => {
    const now = [select.value, select.selectedOptions[0].dataset.label, "not kept"];
    parts.forEach((part, place) => part.replaceChildren(...(select.value ? [now[place]] : before[place])));
  });
});

// A person says which features are reasons for a label: ticks become the options of the command.
document.querySelectorAll(".actions code").forEach(code => {
  const found = code.textContent.match(/^(.*) --(\w+)-not-reasons ('[^']*'|\S+)$/);
  if (!found) return;
  const [, command, question, list] = found;
  const names = list.replace(/^'|'$/g, "").split(",");
  const quoted = chosen => (/^[\w.,-]+$/.test(chosen) ? chosen : `'${chosen}'`);
  const ticks = document.createElement("fieldset");
  const legend = document.createElement("legend");
  legend.append("These are reasons for the label:");
  const boxes = names.map(name => {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    label.append(box, ` ${name}`);
    return [name, box, label];
  });
  ticks.append(legend, ...boxes.map(([, , label]) => label));
  ticks.addEventListener("change", () => {
    const chosen = want => boxes.filter(([, box]) => box.checked === want).map(([name]) => name).join(",");
    const [yes, no] = [chosen(true), chosen(false)];
    code.textContent = command + (yes && ` --${question}-reasons ${quoted(yes)}`) + (no && ` --${question}-not-reasons ${quoted(no)}`);
  });
  code.parentElement.before(ticks);
});
