"use strict";
// Folds what is long, and opens what a link leads to or what goes to paper.
(() => {
  document.getElementById("contents").open = matchMedia("(min-width: 75rem)").matches;
  for (const button of document.querySelectorAll("button.rows")) {
    const box = button.previousElementSibling;
    box.classList.add("folded");
    button.hidden = false;
    button.addEventListener("click", () => { box.classList.remove("folded"); button.remove(); });
  }
  // Those of a section that stand alone, not the tables of its figures.
  const open = (section) => section?.querySelectorAll(":scope > details").forEach((part) => { part.open = true; });
  const follow = () => { if (location.hash) open(document.getElementById(decodeURIComponent(location.hash.slice(1)))); };
  addEventListener("hashchange", follow);
  follow();
  addEventListener("beforeprint", () => open(document.getElementById("promises")));
})();

// Draws the figures of the page from its embedded data. Everything that came from a run enters as text, never as markup.
(async () => {
  if (!("DecompressionStream" in window)) {
    for (const place of document.querySelectorAll(".figures")) {
      place.textContent = "This browser cannot unpack the figures; one of 2023 or later can.";
    }
    return;
  }
  // The library stands in the page as base64 of gzip. The page's policy allows exactly this text as a script.
  const packed = Uint8Array.from(atob(document.getElementById("library").textContent), (byte) => byte.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const library = document.createElement("script");
  library.textContent = await new Response(unpacked).text();
  document.head.append(library);

  const exhibits = JSON.parse(document.getElementById("report-data").textContent);
  const { element, inTheme, offerThemes, saver, tableOf, thinTicks } = Figures;
  const config = {
    displaylogo: false,
    responsive: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "toggleSpikelines"],
  };
  // Two figures to a sheet of A4 or Letter.
  const PRINT_WIDTH = 660;
  const PRINT_HEIGHT = 320;
  const PRINT_ROWS = 460;
  const drawn = new Map();
  let printing = false;

  const isDark = () => !printing && Figures.isDark();

  const draw = (plot) => {
    const figure = drawn.get(plot);
    const layout = inTheme(figure.layout, isDark());
    // What has a row for each of many keeps its height.
    const height = layout.height > PRINT_ROWS ? layout.height : PRINT_HEIGHT;
    if (printing) Object.assign(layout, { width: PRINT_WIDTH, height, autosize: false });
    return Plotly.react(plot, inTheme(figure.traces, isDark()), layout, config).then(thinTicks);
  };

  const show = (figure, identifier) => {
    const plot = element("div", { className: "plot", id: `${identifier}-plot`, tabIndex: 0 });
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", figure.alt);
    const details = element("details", {}, element("summary", { textContent: "Data of this figure" }));
    details.addEventListener("toggle", () => details.append(tableOf(figure.table)), { once: true });
    const title = element("h3", { id: `${identifier}-title`, textContent: figure.title });
    const whole = element("figure", {}, title, plot, element("figcaption", { textContent: figure.caption }), details,
      saver(figure.table, identifier));
    whole.setAttribute("aria-labelledby", title.id);
    drawn.set(plot, figure);
    return { whole, plot };
  };

  const choose = (section, exhibit, position) => {
    const place = section.querySelector(".figures");
    for (const old of place.querySelectorAll(".plot")) {
      Plotly.purge(old);
      drawn.delete(old);
    }
    const shown = exhibit.variants[position].figures.map((figure, index) => show(figure, `${exhibit.identifier}-${index}`));
    place.replaceChildren(...shown.map(({ whole }) => whole));
    return Promise.all(shown.map(({ plot }) => draw(plot)));
  };

  // The page says in which theme its figures stand: what looks at it from outside waits for that.
  const done = () => { document.documentElement.dataset.drawn = isDark() ? "dark" : "light"; };
  const redraw = () => Promise.all([...drawn.keys()].map(draw)).then(done);

  offerThemes(redraw);
  // What is folded has no width to be drawn in, and is drawn when it is opened.
  const folded = new Map();
  const unfold = (fold) => {
    const start = folded.get(fold);
    folded.delete(fold);
    fold.open = true;
    return start?.();
  };
  // Paper is narrower than a screen, and white, and nobody can open anything on it.
  addEventListener("beforeprint", () => {
    printing = true;
    document.querySelectorAll("details.fold").forEach(unfold);
    redraw();
  });
  addEventListener("afterprint", () => { printing = false; redraw(); });

  const all = Object.values(exhibits).map((exhibit) => {
    const section = document.getElementById(exhibit.identifier);
    const select = section.querySelector("select");
    if (select) select.value = String(exhibit.default); // Browsers restore the old choice on reload.
    select?.addEventListener("change", () => choose(section, exhibit, Number(select.value)));
    const start = () => choose(section, exhibit, select ? Number(select.value) : exhibit.default);
    const fold = section.querySelector(":scope > details.fold");
    if (!fold || fold.open) return start();
    folded.set(fold, start);
    fold.addEventListener("toggle", () => unfold(fold), { once: true });
    return null;
  });
  Promise.all(all).then(done);
})();
