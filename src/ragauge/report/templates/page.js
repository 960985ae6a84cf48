(function () {
  "use strict";
  const views = new Map();
  let coefficient = null;

  // Small multiples cannot fill their container by themselves: give their cells the width that the page has.
  function fit(spec, width) {
    const how = spec.usermeta || {};
    if (how.entry) spec.config.legend.columns = Math.max(1, Math.floor(width / how.entry));
    if (how.fit === "rows") {
      spec.spec.width = Math.max(how.minimum, width - how.gutter);
    } else if (how.fit === "wrap") {
      const columns = Math.max(1, Math.min(spec.columns, Math.floor(width / how.cell)));
      spec.columns = columns;
      spec.spec.width = Math.max(140, Math.floor(width / columns) - how.gutter);
    }
    return spec;
  }

  function failed(plot, error) {
    plot.removeAttribute("role");
    plot.textContent = "This chart could not be drawn: " + error.message;
  }

  function draw(name, text) {
    const plot = document.getElementById("chart-" + name);
    if (!plot) return Promise.resolve();
    const width = plot.parentElement.clientWidth;
    const spec = fit(JSON.parse(text), width);
    for (const param of spec.params || []) {
      if (param.name === "coefficient" && coefficient) param.value = coefficient;
    }
    const options = { mode: "vega-lite", actions: false, renderer: "svg", ast: true, tooltip: { theme: "light" } };
    return vegaEmbed(plot, spec, options).then(
      function (result) {
        if (views.has(name)) views.get(name).finalize();
        views.set(name, result);
      },
      function (error) { failed(plot, error); }
    );
  }

  const specs = Array.from(document.querySelectorAll("script.chart-spec"), function (node) {
    return [node.dataset.chart, node.textContent];
  });
  function drawAll() { specs.forEach(function (pair) { draw(pair[0], pair[1]); }); }
  drawAll();

  let drawnAt = document.documentElement.clientWidth;
  let timer = 0;
  window.addEventListener("resize", function () {
    clearTimeout(timer);
    timer = setTimeout(function () {
      const width = document.documentElement.clientWidth;
      if (width !== drawnAt) { drawnAt = width; drawAll(); }
    }, 200);
  });

  document.querySelectorAll("input[name=coefficient]").forEach(function (input) {
    input.addEventListener("change", function () {
      coefficient = input.value;
      specs.forEach(function (pair) {
        if (pair[0] === "heatmap" || pair[0] === "ratio") draw(pair[0], pair[1]);
      });
    });
  });

  // Paper has nothing to click: print what is folded, and fold it again.
  let opened = [];
  window.addEventListener("beforeprint", function () {
    opened = Array.from(document.querySelectorAll("details:not([open])"));
    opened.forEach(function (node) { node.open = true; });
  });
  window.addEventListener("afterprint", function () {
    opened.forEach(function (node) { node.open = false; });
  });
})();
