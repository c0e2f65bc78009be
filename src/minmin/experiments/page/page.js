"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const titles = { grad_x: "∇ₓ calls", grad_y: "∇ᵧ calls", seconds: "seconds" };
  const touch = window.matchMedia("(pointer: coarse)").matches;
  const config = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud", "sendDataToCloud"] };

  function chosen() {
    const axis = document.querySelector("input[name=axis]:checked").value;
    const power = Number(document.getElementById("ratio").value);
    const c = Number((10 ** power).toPrecision(2));
    const methods = [...document.querySelectorAll("#methods input:checked")].map((box) => box.value);
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
      line: { color: style.colour, width: style.width, dash: style.dashed ? "6px,3px" : "solid" },
    };
    const band = {
      x: bandX, y: bandY, fill: "toself", mode: "none", hoverinfo: "skip", showlegend: false,
      fillcolor: style.colour, opacity: 0.16,
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
      made[1].hovertemplate = `${data.methods[key].label}<br>κ = %{x:.0e}: %{y:.4g} ${titles[panel.kind]}<extra></extra>`;
      return made;
    });
    const theory = {
      x: panel.kappas, y: panel.theory, mode: "lines", showlegend: false, name: "theory",
      line: { color: "#000", width: 1.2, dash: "dot" },
      hovertemplate: "bound of Theorem 2.2 for BAM, up to a constant<extra></extra>",
    };
    return [...traces, theory];
  }

  function studyTraces(panel) {
    const dashes = ["solid", "6px,3px", "8px,3px,2px,3px"];
    const symbols = ["circle", "square", "triangle-up"];
    return panel.curves.flatMap(({ label, colour, dash, calls, promised }) => {
      const back = calls.map((_, i) => i).reverse();
      const band = {
        x: [...panel.x, ...back.map((i) => panel.x[i])], y: [...calls.map((s) => s[0]), ...back.map((i) => calls[i][2])],
        fill: "toself", mode: "none", hoverinfo: "skip", showlegend: false, fillcolor: colour, opacity: 0.16,
      };
      const line = {
        x: panel.x, y: calls.map((s) => s[1]), name: label, mode: "lines+markers", meta: label,
        line: { color: colour, width: 2, dash: dashes[dash] }, marker: { symbol: symbols[dash], size: 7 },
        hovertemplate: `${label}<br>${panel.x_title} = %{x:.4g}: %{y:.5g}<extra></extra>`,
      };
      const theory = {
        x: panel.x, y: promised, mode: "lines", showlegend: false, line: { color: "#000", width: 1.2, dash: "dot" },
        hovertemplate: `${label}: what theory promises, up to a constant<extra></extra>`,
      };
      return promised ? [band, line, theory] : [band, line];
    });
  }

  function layout(xTitle, yTitle) {
    const axis = { type: "log", exponentformat: "power", gridcolor: "#e6e9ec", linecolor: "#8c959f", mirror: true, ticks: "outside",
      dtick: "D1" };
    return {
      margin: { l: 62, r: 12, t: 30, b: 46 }, hovermode: "closest", dragmode: touch ? false : "zoom",
      font: { family: "system-ui, sans-serif", size: 12 },
      xaxis: { ...axis, dtick: undefined, nticks: 5, title: { text: xTitle } },
      yaxis: { ...axis, dtick: 1, title: { text: yTitle } },
    };
  }

  function draw(plot, panel) {
    if (panel.curves) {
      const legend = { orientation: "h", x: 0, y: -0.28, yanchor: "top" };
      return Plotly.react(plot, studyTraces(panel), { ...layout(panel.x_title, panel.y_title), legend, showlegend: true }, config);
    }
    const now = chosen();
    if (panel.sweep) {
      return Plotly.react(plot, sweepTraces(panel, now), layout(panel.sweep, `${titles[panel.kind]} to ${data.tol}`), config);
    }
    const xTitle = now.axis === "cost" ? `${now.c}·∇ₓ + ∇ᵧ` : titles[now.axis];
    return Plotly.react(plot, raceTraces(panel, now), layout(xTitle, "(f − f*)/(f(0) − f*)"), config);
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
  const controls = document.getElementById("controls"); // a report on relatives alone has none
  function change() {
    if (controls) document.getElementById("ratio-shown").textContent = chosen().c;
    for (const figure of panels.keys()) outdated.add(figure);
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      refresh(visible);
    });
  }

  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) visible.add(target);
      else visible.delete(target);
    }
    refresh(visible);
  }, { rootMargin: "300px" });

  if (controls) {
    document.getElementById("ratio").addEventListener("input", () => {
      document.querySelector("input[name=axis][value=cost]").checked = true;
    });
    controls.addEventListener("input", change);
    controls.addEventListener("submit", (event) => event.preventDefault());
  }
  window.addEventListener("beforeprint", () => refresh(panels.keys()));
  change();
  for (const figure of panels.keys()) watcher.observe(figure);
})();
