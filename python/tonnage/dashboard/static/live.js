"use strict";
// Shows what the server tells, topic by topic: each event is the latest of its topic, whole. Everything that came from a
// run enters as text, never as markup.
(() => {
  const { element, inTheme, isDark, offerThemes, thinTicks } = Figures;
  const page = document.body.dataset.page;
  const config = { displaylogo: false, responsive: true, displayModeBar: false };
  const STATES = {
    running: "running", silent: "no sign of life", waiting: "waits for its next job", "ended-without-summary": "ended without a summary", complete: "complete",
    interrupted: "interrupted", failed: "failed", incomplete: "incomplete", damaged: "cannot be read", unknown: "in a state of its own",
  };
  const $ = (selector, from = document) => from.querySelector(selector);

  // Figures, by the place that holds them.
  const drawn = new Map();
  const draw = (plot) => {
    const { traces, layout } = drawn.get(plot);
    return Plotly.react(plot, inTheme(traces, isDark()), inTheme(layout, isDark()), config).then(thinTicks);
  };
  const figureAt = (place, position, key) => {
    const known = place.children[position];
    if (known && known.dataset.key === key) return known;
    const plot = element("div", { className: "plot", tabIndex: 0 });
    plot.setAttribute("role", "img");
    const made = element("figure", {}, element("h3"), plot, element("figcaption"));
    made.dataset.key = key;
    if (known) {
      forget(known);
      known.replaceWith(made);
    } else {
      place.append(made);
    }
    return made;
  };
  const forget = (figure) => {
    const plot = $(".plot", figure);
    drawn.delete(plot);
    Plotly.purge(plot);
  };
  const showFigures = (place, figures) => {
    // All get their places before any is drawn: what stands alone is drawn wider than what stands beside another.
    const plots = figures.map((figure, position) => {
      const box = figureAt(place, position, figure.title);
      $("h3", box).textContent = figure.title;
      $("figcaption", box).textContent = figure.caption;
      const plot = $(".plot", box);
      plot.setAttribute("aria-label", figure.alt);
      // While the kit draws, what is below stays where it is.
      plot.style.minHeight = `${figure.layout.height}px`;
      drawn.set(plot, figure);
      return plot;
    });
    for (const extra of [...place.children].slice(figures.length)) {
      forget(extra);
      extra.remove();
    }
    return Promise.all(plots.map(draw));
  };
  offerThemes(() => drawn.forEach((_, plot) => draw(plot)));

  const stateOf = (run) => {
    const made = element("span", { className: "state", textContent: STATES[run.state] ?? run.state });
    made.dataset.state = run.state;
    return made;
  };
  const codesOf = (findings) => {
    const counts = new Map();
    for (const code of findings ?? []) counts.set(code, (counts.get(code) ?? 0) + 1);
    return [...counts].map(([code, count]) => element("code", { textContent: count > 1 ? `${code} ×${count}` : code }));
  };
  const bar = (share, label) => {
    const made = element("progress", { max: 1, value: share });
    made.setAttribute("aria-label", label);
    return made;
  };
  const whenOf = (run) => run.started.replace("T", " ").replace(/(\.\d+)?(Z|\+00:00)$/, " UTC");
  const paragraph = (className, textContent) => element("p", { className, textContent });

  // A line from the left to the right; the words of it are for who cannot see it, and where the pointer is.
  const SVG = "http://www.w3.org/2000/svg";
  const drawing = (name, attributes, ...children) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const sparkOf = (spark) => {
    if (!spark) return [];
    const [width, height, room] = [120, 28, 3];
    const x = (at) => (room + ((width - 2 * room) * at) / (spark.heights.length - 1)).toFixed(1);
    const y = (share) => (height - room - (height - 2 * room) * share).toFixed(1);
    const title = drawing("title", {});
    title.textContent = spark.told;
    const last = spark.heights.length - 1;
    return [drawing("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, width, height, role: "img" }, title,
      drawing("polyline", { points: spark.heights.map((share, at) => `${x(at)},${y(share)}`).join(" ") }),
      drawing("circle", { cx: x(last), cy: y(spark.heights[last]), r: 2.5 }))];
  };

  // One list of runs under way, as cards; the focus stays where it was.
  const card = (run) => {
    const made = element("a", { className: "card", href: `/run/${run.id}` });
    made.dataset.id = run.id;
    made.append(
      element("div", { className: "top" }, element("span", { className: "name", textContent: run.name }), stateOf(run)),
      paragraph("quiet", [run.target, run.host && `on ${run.host}`].filter(Boolean).join(" ")),
      element("div", { className: "pace" }, paragraph("speed", run.speed || "–"), ...sparkOf(run.spark)),
      paragraph("", run.phase),
    );
    if (run.share !== null) made.append(bar(run.share, "share done"));
    made.append(paragraph("quiet", [run.trials, run.times].filter(Boolean).join(" · ")));
    if (run.problem) made.append(paragraph("banner", run.problem));
    const codes = codesOf(run.findings);
    const findings = run.findings === null ? "not judged yet" : codes.length ? "" : "no findings so far";
    made.append(element("p", { className: "codes quiet" }, ...codes, findings));
    return made;
  };
  const keepFocus = (change) => {
    const id = document.activeElement?.closest("[data-id]")?.dataset.id;
    const kind = document.activeElement?.tagName;
    change();
    if (id) $(`[data-id="${id}"]`)?.closest("main") && [...document.querySelectorAll(`[data-id="${id}"], [data-id="${id}"] *`)]
      .find((one) => one.tagName === kind)?.focus({ preventScroll: true });
  };
  const showUnderWay = (runs) => keepFocus(() => {
    $("#underway .cards").replaceChildren(...runs.map(card));
    $("#underway .empty").hidden = runs.length > 0;
    document.title = `${runs.length ? `(${runs.length}) ` : ""}Runs – Tonnage`;
  });

  // The runs that have ended; two of them can be chosen.
  let ended = [];
  const chosen = [];
  const offerComparison = () => {
    const names = chosen.map((id) => ended.find((run) => run.id === id)?.name ?? "");
    const link = $("#compare");
    link.hidden = chosen.length < 2;
    if (chosen.length === 2) link.href = `/compare/${chosen[0]}/${chosen[1]}`;
    else link.removeAttribute("href");
    $("#choice").textContent = [
      "Tick two runs to compare them; the first is the base.",
      `Base: ${names[0]}. Tick another run.`,
      `${names[1]} against ${names[0]}.`,
    ][chosen.length];
  };
  const endedRow = (run) => {
    const box = element("input", { type: "checkbox", checked: chosen.includes(run.id) });
    box.setAttribute("aria-label", `compare ${run.name}`);
    box.addEventListener("change", () => {
      const at = chosen.indexOf(run.id);
      if (at >= 0) chosen.splice(at, 1);
      else chosen.push(run.id);
      if (chosen.length > 2) chosen.splice(1, 1);
      showEnded();
    });
    const name = element("a", { href: `/run/${run.id}`, textContent: run.name });
    const place = element("span", { className: "quiet", textContent: run.place === "." ? "" : run.place });
    const state = element("td", {}, stateOf(run));
    if (run.problem) state.append(element("span", { className: "why", textContent: run.problem }));
    const lines = element("td", { className: "lines" }, ...sparkOf(run.spark), ...run.lines.map((line) => element("div", { textContent: line })));
    const report = run.state === "damaged" ? "" : element("a", { href: `/report/${run.id}`, textContent: "report" });
    const made = element("tr", {},
      element("td", {}, box),
      element("td", { className: "run" }, name, place),
      element("td", { className: "target", textContent: run.target }),
      element("td", { textContent: whenOf(run) }),
      state, lines,
      element("td", { className: "codes" }, ...codesOf(run.findings), run.findings === null ? "–" : run.findings.length ? "" : "none"),
      element("td", {}, report));
    made.dataset.id = run.id;
    return made;
  };
  const showEnded = () => keepFocus(() => {
    for (const id of [...chosen]) if (!ended.some((run) => run.id === id)) chosen.splice(chosen.indexOf(id), 1);
    const wanted = $("#filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const says = (run) => [run.name, run.place, run.target, run.state, run.campaign, ...(run.findings ?? [])].join(" ").toLowerCase();
    const shown = ended.filter((run) => chosen.includes(run.id) || wanted.every((word) => says(run).includes(word)));
    $("#ended tbody").replaceChildren(...shown.map(endedRow));
    $("#ended .empty").hidden = ended.length > 0;
    offerComparison();
  });

  const showBoard = (name, { rows, notes }) => {
    const section = document.getElementById(name);
    const width = section.querySelectorAll("th").length;
    $("tbody", section).replaceChildren(...rows.flatMap((row) => {
      const cells = row.cells.map((cell) => element("td", { textContent: cell }));
      const share = element("td", {}, ...(row.share === null ? [] : [bar(row.share, row.cells[0])]));
      const details = row.details.map((detail) =>
        element("tr", { className: "detail" }, element("td", { colSpan: width }, element("p", { textContent: detail }))));
      return [element("tr", { className: row.kind }, ...cells, share), ...details];
    }));
    $(".scroll", section).hidden = rows.length === 0;
    $(".empty", section).hidden = rows.length > 0 || notes.length > 0;
    $(".notes-of-board", section).replaceChildren(...notes.map((textContent) => element("li", { textContent })));
  };

  // One run.
  const showRun = (run) => {
    const state = stateOf(run);
    $("#now .headline").replaceChildren(state, " ", element("span", { className: "phase", textContent: run.phase }));
    const progress = $("#now progress");
    progress.hidden = run.share === null;
    if (run.share !== null) progress.value = run.share;
    const tiles = [
      ["now", run.speed], ["p99 of the last second", run.live.p99], ["tasks running", run.live.running],
      ["target", run.target], ["campaign", run.campaign], ["host", run.host], ["started", whenOf(run)],
    ];
    $("#now .tiles").replaceChildren(...tiles.filter(([, value]) => value).map(([name, value]) =>
      element("div", {}, element("dt", { textContent: name }), element("dd", { textContent: value }))));
    $("#now .times").textContent = [run.trials, run.times].filter(Boolean).join(" · ");
    const banner = $("#now .banner");
    const killed = run.state === "ended-without-summary";
    banner.hidden = !run.problem && !killed && run.state !== "silent";
    banner.textContent = run.problem || (killed ? "Its process is gone, and it has no summary: tonnage run --resume goes on with it." : "Nothing has been written for a while, or its process is gone: it can be resumed.");
    $(".notes-of-run").replaceChildren(...run.notes.map((textContent) => element("li", { textContent })));
    $("#latest").hidden = run.latest.length === 0;
    $("#latest tbody").replaceChildren(...run.latest.map((row) =>
      element("tr", {}, ...row.map((textContent) => element("td", { textContent })))));
    document.title = `${run.speed || (STATES[run.state] ?? run.state)} – ${run.name} – Tonnage`;
  };
  let heat = null;
  let course = [];
  const showCourse = () => {
    // The phase that runs now is longer with each event, and the heat map ends with the last record: one time for both.
    if (heat && course.length) heat.layout.xaxis.range = course[0].layout.xaxis.range;
    const figures = heat ? [...course, heat] : course;
    $("#course .empty").hidden = figures.length > 0;
    return showFigures($("#course .figures"), figures).then(() => { document.documentElement.dataset.drawn = String(figures.length); });
  };
  // What stands between backticks is the name of a key.
  const keys = (text) => text.split("`").map((part, number) => number % 2 ? element("code", { textContent: part }) : part);
  const showJudged = ({ problem, findings, lines, figures }) => {
    $("#findings .list").replaceChildren(...findings.map((one) =>
      element("article", { className: "finding" },
        element("h3", {}, element("code", { textContent: one.code }), ` ${one.subject}`),
        element("p", { className: "evidence", textContent: one.evidence }),
        element("p", { className: "advice" }, ...keys(one.advice)))));
    const empty = $("#findings .empty");
    empty.hidden = findings.length > 0;
    empty.textContent = problem ?? "None so far: no rule of the Method page found anything to object to.";
    $("#lines").hidden = lines.length === 0 && figures.length === 0;
    $("#lines .list").replaceChildren(...lines.map((line) =>
      element("div", { className: `answer ${line.sure ? "reached" : "open"}` },
        element("p", { className: "sentence", textContent: line.said }))));
    showFigures($("#lines .figures"), figures);
  };

  const topics = page === "list"
    ? {
        underway: showUnderWay,
        ended: ({ runs, note }) => {
          ended = runs;
          $("#ended .note").textContent = note ?? "";
          showEnded();
        },
      }
    : {
        run: showRun,
        course: (figures) => { course = figures; return showCourse(); },
        heat: (figure) => { heat = figure; return showCourse(); },
        judged: showJudged,
      };
  for (const board of document.querySelectorAll(".board")) topics[board.id] = (table) => showBoard(board.id, table);
  $("#filter")?.addEventListener("input", showEnded);

  // The browser comes back by itself after a lost connection, and says what it saw last; but not after a refusal. Who does
  // not look at the page needs no news: a hidden one gives its connection, of which a browser has few, to others.
  const RETRY_MS = 2000;
  const connection = $("#connection");
  let source = null;
  let waiting = null;
  const say = (state, textContent) => Object.assign(connection, { textContent }).dataset.state = state;
  const connect = () => {
    clearTimeout(waiting);
    source?.close();
    source = new EventSource(page === "run" ? `/events?run=${document.body.dataset.run}` : "/events");
    source.addEventListener("open", () => say("live", "live"));
    source.addEventListener("error", () => {
      say("lost", "connection lost, trying again");
      if (source.readyState === EventSource.CLOSED) waiting = setTimeout(connect, RETRY_MS);
    });
    for (const [topic, show] of Object.entries(topics)) {
      source.addEventListener(topic, (event) => show(JSON.parse(event.data)));
    }
  };
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) return connect();
    clearTimeout(waiting);
    source?.close();
    return say("paused", "paused");
  });
  connect();
})();
