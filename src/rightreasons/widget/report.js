// Shows a report within this page. `props.value` is { page, live }: the HTML of the report, and the models that answer to
// edits of a text, as `startReport` takes them; null for none.

// Requests to the models that are not answered yet, by number.
const requests = new Map();
let nRequests = 0;

const ask = request => new Promise(resolve => {
  nRequests += 1;
  requests.set(nRequests, resolve);
  trigger("input", { ...request, number: nRequests });
});

document.addEventListener("rr-answer", ({ detail: { number, ...answer } }) => {
  const resolve = requests.get(number);
  requests.delete(number);
  if (resolve) resolve(answer);
});

// The shadow root keeps the styles and the names of the report apart from those of this page. A parsed document runs no
// script, so the script of the report is evaluated here, with the shadow root in place of its page.
const show = () => {
  element.replaceChildren();
  if (!props.value) return;
  const { page, live } = props.value;
  const report = new DOMParser().parseFromString(page, "text/html");
  const script = report.querySelector("script:not([type])").textContent;
  const host = document.createElement("div");
  host.className = "rr-report";
  element.append(host);
  const root = host.attachShadow({ mode: "open" });
  root.append(...report.querySelectorAll("style"), ...report.body.childNodes);
  // This page has a main landmark of its own.
  root.querySelector("main").setAttribute("role", "presentation");
  const startReport = Function(`${script}; return startReport;`)();
  startReport(root, live && { ...live, ask });
};

watch("value", show);
show();
