"use strict";
// What every page with figures does: colours by theme, a plot with its title and caption, a table. Everything that came
// from a run enters as text, never as markup.
const Figures = (() => {
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const TABLE_ROWS = 2000;

  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : prefersDark.matches;
  };

  // "@light|dark" is a colour in both themes; anything else stays as it is.
  const COLOUR = /^@(#[0-9a-f]{6}|rgba\([\d., ]+\))\|(#[0-9a-f]{6}|rgba\([\d., ]+\))$/;
  const inTheme = (value, dark) => {
    if (typeof value === "string") {
      const pair = COLOUR.exec(value);
      return pair ? pair[dark ? 2 : 1] : value;
    }
    if (Array.isArray(value)) return value.map((item) => inTheme(item, dark));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inTheme(item, dark)]));
    }
    return value;
  };

  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  // Of named ticks those stay that fit beside each other on a small screen: from the 1 that ratios are read against, or
  // the first one, outwards.
  const thinTicks = (plot) => {
    const changes = {};
    for (const [name, axis] of Object.entries(plot._fullLayout)) {
      if (!/^xaxis\d*$/.test(name)) continue;
      const texts = [...plot.querySelectorAll(`.${name.replace("axis", "")}tick text`)];
      if (axis.type === "date") {
        // The first has the day on a line of its own.
        const lines = texts.map((text) => text.querySelector("tspan") ?? text);
        const widest = Math.max(0, ...lines.map((line) => line.getComputedTextLength())) + 16;
        const most = Math.max(2, Math.floor(axis._length / widest));
        if (texts.length > most) changes[`${name}.nticks`] = most;
      }
      if (axis.tickmode !== "array") continue;
      const given = plot.layout[name];
      const shown = given.tickvals.map((value, index) => ({ index, value, at: axis.d2p(value) }))
        .filter(({ at }) => at >= -0.5 && at <= axis._length + 0.5);
      if (texts.length !== shown.length) continue;
      const ticks = shown.map((tick, place) => ({ ...tick, half: texts[place].getComputedTextLength() / 2 + 4 }));
      const outwards = (some) => some.reduce((kept, tick) => {
        const last = kept[kept.length - 1];
        return !last || Math.abs(tick.at - last.at) >= tick.half + last.half ? [...kept, tick] : kept;
      }, []);
      const anchor = Math.max(0, ticks.findIndex(({ value }) => value === 1));
      const below = outwards(ticks.slice(0, anchor + 1).reverse()).slice(1).reverse();
      const kept = [...below, ...outwards(ticks.slice(anchor))];
      if (kept.length === ticks.length) continue;
      changes[`${name}.tickvals`] = kept.map(({ value }) => value);
      if (given.ticktext) changes[`${name}.ticktext`] = kept.map(({ index }) => given.ticktext[index]);
    }
    return Object.keys(changes).length ? Plotly.relayout(plot, changes) : plot;
  };

  const LONG = 40;
  const tableOf = ({ columns, rows }) => {
    const head = element("tr", {}, ...columns.map((name) => element("th", { scope: "col", textContent: name })));
    const body = rows.slice(0, TABLE_ROWS).map((row) =>
      element("tr", {}, ...row.map((cell) => element("td", { textContent: cell, className: cell.length > LONG ? "words" : "" }))));
    const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
    const box = element("div", { className: "scroll", tabIndex: 0 }, table);
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", "Data of the figure");
    if (rows.length > TABLE_ROWS) {
      box.append(element("p", { textContent: `The first ${TABLE_ROWS} of ${rows.length} rows; all are in the run directory.` }));
    }
    return box;
  };

  // RFC 4180. The mark at the front tells spreadsheets that it is UTF-8.
  const csvOf = ({ columns, rows }) => {
    const cell = (text) => (/[",\r\n]/.test(text) ? `"${String(text).replaceAll('"', '""')}"` : text);
    return `\ufeff${[columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
  };

  // A button that saves the whole table of a figure, made from the data of the page when it is pressed.
  const saver = (table, name) => {
    const button = element("button", { type: "button", className: "save", textContent: "Save data (CSV)" });
    button.addEventListener("click", () => {
      const address = URL.createObjectURL(new Blob([csvOf(table)], { type: "text/csv" }));
      element("a", { href: address, download: `${name}.csv` }).click();
      // The browser has begun to save it by then; at once would be too early for some.
      setTimeout(() => URL.revokeObjectURL(address), 60000);
    });
    return button;
  };

  const THEMES = ["", "light", "dark"];
  // The button that chooses a theme; `redraw` is called when the page has another one.
  const offerThemes = (redraw) => {
    const button = document.getElementById("theme");
    button.hidden = false;
    button.addEventListener("click", () => {
      const root = document.documentElement;
      const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? "") + 1) % THEMES.length];
      if (next) root.dataset.theme = next;
      else delete root.dataset.theme;
      button.textContent = `Theme: ${next || "automatic"}`;
      redraw();
    });
    prefersDark.addEventListener("change", redraw);
  };

  return { csvOf, element, inTheme, isDark, offerThemes, saver, tableOf, thinTicks };
})();
