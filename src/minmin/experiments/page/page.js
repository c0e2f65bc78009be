"use strict";
(async () => {
  async function unpack(id) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  // What a link leads to must not end up under the bar: on a phone only the axis stays at the top, elsewhere the whole form.
  function measureBar(form) {
    const bar = [form, ...form.children].find((part) => {
      const { position, display } = getComputedStyle(part);
      return position === "sticky" && display !== "contents";
    });
    form.closest("section").style.setProperty("--bar", `${bar ? bar.offsetHeight : 0}px`);
  }

  function showWhetherMore(scroller) {
    const hidden = scroller.scrollWidth - scroller.clientWidth;
    const wide = scroller.parentElement;
    wide.classList.toggle("more", hidden - scroller.scrollLeft > 1);
    wide.previousElementSibling.hidden = hidden <= 1;
  }

  const forms = document.querySelectorAll(".controls");
  const scrollers = document.querySelectorAll(".scroller");
  for (const scroller of scrollers) scroller.addEventListener("scroll", () => showWhetherMore(scroller));
  const sizes = new ResizeObserver(() => {
    forms.forEach(measureBar);
    scrollers.forEach(showWhetherMore);
  });
  for (const element of [...scrollers, ...document.querySelectorAll(".controls fieldset")]) sizes.observe(element);
  forms.forEach(measureBar); // at once, before the browser scrolls to the address's anchor

  const data = JSON.parse(await unpack("data"));
  const plotly = document.createElement("script");
  plotly.textContent = await unpack("plotly");
  document.head.append(plotly);

  const titles = { grad_x: "∇ₓ calls", grad_y: "∇ᵧ calls", seconds: "seconds" };
  const dashes = data.dashes.map((dash) => (dash === "none" ? "solid" : dash.split(" ").map((length) => `${length}px`).join()));
  const touch = window.matchMedia("(pointer: coarse)").matches;
  const config = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud", "sendDataToCloud"] };

  const darkScheme = window.matchMedia("(prefers-color-scheme: dark)");
  let printing = false;
  const isDark = () => darkScheme.matches && !printing;
  const ink = (colour) => (isDark() ? data.inks[colour] : colour);
  const theme = () => isDark()
    ? { page: "#14181d", text: "#e6e9ed", grid: "#2b323a", line: "#7d8792" }
    : { page: "#ffffff", text: "#1f2328", grid: "#e6e9ec", line: "#8c959f" };

  function chosen(section) {
    const form = section.querySelector(".controls");
    const axis = form.elements.axis?.value; // a sweep over condition numbers has none
    const c = Number((10 ** Number(form.elements.ratio?.value)).toPrecision(2));
    const methods = [...form.querySelectorAll(".methods input:checked")].map((box) => box.value);
    return { axis, c, methods };
  }

  // As in the tables: linear interpolation, and runs that did not reach the level count as infinite.
  function quantile(sorted, share) {
    const place = share * (sorted.length - 1);
    const low = sorted[Math.floor(place)];
    const high = sorted[Math.ceil(place)];
    return low === high ? low : low + (place - Math.floor(place)) * (high - low);
  }

  function spread(values) {
    const sorted = values.slice().sort((a, b) => a - b);
    return [0.1, 0.5, 0.9].map((share) => quantile(sorted, share));
  }

  function along(run, axis, c) {
    return axis === "cost" ? run.grad_x.map((calls, i) => c * calls + run.grad_y[i]) : run[axis];
  }

  function lineAndBand(key, x, y, bandX, bandY) {
    const style = data.methods[key];
    const line = {
      x, y, name: style.label, mode: "lines", showlegend: false, meta: key,
      line: { color: ink(style.colour), width: style.width, dash: dashes[style.dash] },
    };
    const band = {
      x: bandX, y: bandY, fill: "toself", mode: "none", hoverinfo: "skip", showlegend: false,
      fillcolor: ink(style.colour), opacity: 0.16,
    };
    return [band, line];
  }

  function raceTraces(panel, { axis, c, methods }) {
    return methods.filter((key) => key in panel.runs).flatMap((key) => {
      const runs = panel.runs[key].map((run) => along(run, axis, c));
      const spreads = data.levels.map((_, i) => spread(runs.map((run) => (i < run.length ? run[i] : Infinity))));
      const reached = data.levels.map((_, i) => i).filter((i) => Number.isFinite(spreads[i][1]));
      const whole = runs.length > 1 ? reached.filter((i) => Number.isFinite(spreads[i][2])) : [];
      const back = whole.slice().reverse();
      const traces = lineAndBand(
        key, reached.map((i) => spreads[i][1]), reached.map((i) => data.levels[i]),
        [...whole.map((i) => spreads[i][0]), ...back.map((i) => spreads[i][2])],
        [...whole, ...back].map((i) => data.levels[i]),
      );
      const unit = axis === "seconds" ? "%{x:.3g} s" : axis === "cost" ? "cost %{x:.4g}" : `%{x:.4g} ${titles[axis]}`;
      traces[1].hovertemplate = `${data.methods[key].label}<br>gap %{y:.2g}: ${unit}<extra></extra>`;
      return traces;
    });
  }

  function sweepTraces(panel, { methods }) {
    const traces = methods.filter((key) => key in panel.calls).flatMap((key) => {
      const calls = panel.calls[key];
      const back = calls.map((_, i) => i).reverse();
      const made = lineAndBand(
        key, panel.kappas, calls.map((s) => s[1]),
        [...panel.kappas, ...back.map((i) => panel.kappas[i])],
        [...calls.map((s) => s[0]), ...back.map((i) => calls[i][2])],
      );
      made[1].mode = "lines+markers";
      made[1].hovertemplate = `${data.methods[key].label}<br>${panel.sweep} = %{x:.0e}: %{y:.4g} ${titles[panel.kind]}<extra></extra>`;
      return made;
    });
    const theory = {
      x: panel.kappas, y: panel.theory, mode: "lines", showlegend: false, name: "theory",
      line: { color: theme().text, width: 1.2, dash: "dot" },
      hovertemplate: "bound of Theorem 2.2 for BAM, up to a constant<extra></extra>",
    };
    return [...traces, theory];
  }

  function studyTraces(panel) {
    const symbols = ["circle", "square", "triangle-up"];
    return panel.curves.flatMap(({ label, colour, dash, calls, promised }) => {
      const back = calls.map((_, i) => i).reverse();
      const band = {
        x: [...panel.x, ...back.map((i) => panel.x[i])], y: [...calls.map((s) => s[0]), ...back.map((i) => calls[i][2])],
        fill: "toself", mode: "none", hoverinfo: "skip", showlegend: false, fillcolor: ink(colour), opacity: 0.16,
      };
      const line = {
        x: panel.x, y: calls.map((s) => s[1]), name: label, mode: "lines+markers", meta: label,
        line: { color: ink(colour), width: 2, dash: dashes[dash] }, marker: { symbol: symbols[dash], size: 7 },
        hovertemplate: `${label}<br>${panel.x_title} = %{x:.4g}: %{y:.5g}<extra></extra>`,
      };
      const theory = {
        x: panel.x, y: promised, mode: "lines", showlegend: false, line: { color: theme().text, width: 1.2, dash: "dot" },
        hovertemplate: `${label}: what theory promises, up to a constant<extra></extra>`,
      };
      return promised ? [band, line, theory] : [band, line];
    });
  }

  // Too few powers of ten to read an axis by.
  function isNarrow(values) {
    const finite = values.filter((value) => value !== null);
    return Math.max(...finite) <= 20 * Math.min(...finite);
  }

  function layout(xTitle, yTitle) {
    const { page, text, grid, line } = theme();
    const axis = { type: "log", exponentformat: "power", gridcolor: grid, linecolor: line, tickcolor: line, mirror: true, ticks: "outside" };
    return {
      paper_bgcolor: page, plot_bgcolor: page, modebar: { color: line, activecolor: text, bgcolor: page },
      margin: { l: 62, r: 12, t: 30, b: 46 }, hovermode: "closest", dragmode: touch ? false : "zoom",
      font: { family: "system-ui, sans-serif", size: 12, color: text },
      xaxis: { ...axis, nticks: 5, title: { text: xTitle } },
      yaxis: { ...axis, dtick: 1, title: { text: yTitle } },
    };
  }

  function draw(plot, panel) {
    if (panel.curves) {
      const legend = { orientation: "h", x: 0, y: -0.28, yanchor: "top" };
      const { xaxis, yaxis, ...rest } = layout(panel.x_title, panel.y_title);
      if (isNarrow(panel.x)) Object.assign(xaxis, { tickvals: panel.x, ticktext: panel.x.map(String) });
      if (isNarrow(panel.curves.flatMap(({ calls }) => calls.flat()))) yaxis.dtick = "D2";
      return Plotly.react(plot, studyTraces(panel), { ...rest, xaxis, yaxis, legend, showlegend: true }, config);
    }
    const now = chosen(plot.closest("section"));
    if (panel.sweep) {
      return Plotly.react(plot, sweepTraces(panel, now), layout(panel.sweep, `${titles[panel.kind]} to ${data.tol}`), config);
    }
    const xTitle = now.axis === "cost" ? `cost ${now.c}·∇ₓ + ∇ᵧ` : titles[now.axis];
    return Plotly.react(plot, raceTraces(panel, now), layout(xTitle, "relative gap (f − f*)/(f(0) − f*)"), config);
  }

  // Panels on the screen are redrawn at once; the others when they are scrolled into view or printed.
  const outdated = new Set();
  const visible = new Set();
  const panels = new Map([...document.querySelectorAll(".panel")].map((figure) => [figure, data.panels[figure.dataset.panel]]));

  function refresh(figures) {
    for (const figure of figures) {
      if (outdated.delete(figure)) draw(figure.querySelector(".plot"), panels.get(figure));
    }
  }

  let waiting = false;
  function change() {
    for (const figure of panels.keys()) outdated.add(figure);
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      refresh(visible);
    });
  }

  function print(now) {
    printing = now;
    change();
    if (now) refresh(panels.keys());
  }

  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) visible.add(target);
      else visible.delete(target);
    }
    refresh(visible);
  }, { rootMargin: "300px" });

  for (const form of forms) {
    const section = form.closest("section");
    form.addEventListener("input", () => {
      const { axis, c } = chosen(section);
      const slider = form.querySelector(".slider");
      if (slider) {
        slider.hidden = axis !== "cost";
        slider.querySelector("output").textContent = c;
      }
      change();
    });
    form.addEventListener("submit", (event) => event.preventDefault());
  }
  darkScheme.addEventListener("change", change);
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
  change();
  for (const figure of panels.keys()) watcher.observe(figure);
})().catch((error) => {
  for (const plot of document.querySelectorAll(".plot")) {
    plot.textContent = "The curves could not be drawn in this browser. The figures in the list of files show them, too.";
  }
  throw error;
});
