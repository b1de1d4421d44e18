// Draws the pictures, sorts the tables, and opens every table for paper. No request leaves this file.

const DRAWING = {
  mode: "vega-lite",
  renderer: "svg", // its colours come from the style sheet, so they follow light, dark and paper
  actions: false, // no menu: nothing is sent to an editor elsewhere
  ast: true, // expressions are walked, not compiled: the page may not evaluate text
  defaultStyle: false,
  tooltip: { disableDefaultStyle: true, theme: "report" },
};

for (const place of document.querySelectorAll("[data-chart]")) {
  const spec = JSON.parse(document.getElementById(place.dataset.chart).textContent);
  window.vegaEmbed(place, spec, DRAWING).then(
    () => place.setAttribute("data-drawn", ""),
    (error) => {
      place.textContent = "This picture could not be drawn; the table below holds its numbers.";
      console.error(error);
    },
  );
}

const keyOf = (row, column) => {
  const cell = row.cells[column];
  return cell.dataset.sort === undefined ? cell.textContent.trim() : Number(cell.dataset.sort);
};

// Numbers before text (a cell without a number says so in words), text in the order of the language.
const compare = (one, other) => {
  if (typeof one === "number" && typeof other === "number") return one - other;
  if (typeof one === "number") return -1;
  if (typeof other === "number") return 1;
  return one.localeCompare(other, "en", { numeric: true });
};

for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const header = button.closest("th");
    const body = header.closest("table").tBodies[0];
    const falling = header.getAttribute("aria-sort") === "ascending";
    for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const column = header.cellIndex;
    const rows = [...body.rows].sort((a, b) => compare(keyOf(a, column), keyOf(b, column)) * (falling ? -1 : 1));
    body.append(...rows);
  });
}

// Paper has no tooltips and nothing to click: it shows every table.
let closed = [];
window.addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const each of closed) each.open = true;
});
window.addEventListener("afterprint", () => {
  for (const each of closed) each.open = false;
});
