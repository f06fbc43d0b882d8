'use strict';
// Draws the charts of a report from the data embedded in the page, sorts tables and filters by name.
// Without scripts the tables remain.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const kColours = 10;
  const kLegendLimit = 12;  // with more entries, a legend would be larger than its chart
  const kWideRange = 20;    // from this ratio on, the axis of a falling quality is logarithmic
  const kManySeries = 30;   // with more series, points would hide each other
  const kPrint = {ink: '#000000', quiet: '#444444', rule: '#bbbbbb', page: '#ffffff'};
  const charts = [];
  let printing = false;
  let wanted = '';  // the filter: only names that contain it are shown

  const css = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const tone = name => printing ? kPrint[name] : css(name);
  const colour = index => css((printing ? 'p' : 'c') + index % kColours);
  const figure = value => Number(value.toPrecision(5)).toString();
  const isWanted = name => name.toLowerCase().includes(wanted);
  // Written out, counts of samples and tokens would take more room than the curves.
  const compact = new Intl.NumberFormat('en', {notation: 'compact', maximumSignificantDigits: 4});
  const tick = value => Math.abs(value) >= 1e5 ? compact.format(value) : figure(value);
  const logarithmicTick = value => /^[125]e/.test(value.toExponential()) ? tick(value) : '';
  const shortened = text => text.length > 40 ? '…' + text.slice(-39) : text;

  function axis(title, more) {
    return Object.assign({
      title: {display: title !== '', text: title, color: tone('ink')},
      ticks: {color: tone('quiet')},
      grid: {color: tone('rule')},
    }, more);
  }

  function legend(count) {
    return {display: count <= kLegendLimit, position: 'bottom', labels: {color: tone('ink'), boxWidth: 18}};
  }

  function options(more) {
    return Object.assign({
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      interaction: {mode: 'nearest', axis: 'xy', intersect: false},
    }, more);
  }

  function dashed(label, points, width) {
    return {
      type: 'line',
      label,
      data: points.map(([x, y]) => ({x, y})),
      borderColor: tone('quiet'),
      backgroundColor: 'transparent',
      borderDash: [6, 4],
      borderWidth: width,
      pointRadius: 0,
      pointHitRadius: 0,
    };
  }

  // ---- convergence: a line per run, and the target -------------------------------------------
  // Hours if a run takes more than two, else seconds.
  function timeUnit(chart) {
    const long = chart.series.some(series => series.points.some(point => point[1] > 7200));
    return long ? {name: 'hours', seconds: 3600} : {name: 'seconds', seconds: 1};
  }

  function convergencePoints(series, by, unit) {
    return series.points
        .map(([epoch, time, quality], index) => {
          const x = by === 'time' ? time / unit.seconds : epoch === null ? index + 1 : epoch;
          return {x, y: quality, epoch, time};
        })
        .filter(point => point.y !== null);
  }

  function convergenceDatasets(chart, by, unit) {
    const many = chart.series.length > kManySeries;
    const sets = [];
    chart.series.forEach((series, index) => {
      if (!isWanted(series.name)) return;
      sets.push({
        label: series.name,
        data: convergencePoints(series, by, unit),
        borderColor: colour(index),
        backgroundColor: colour(index),
        borderWidth: many ? 1 : 2,
        pointRadius: many || series.points.length > 60 ? 0 : 3,
        pointHitRadius: 8,
      });
    });
    const all = sets.flatMap(set => set.data.map(point => point.x));
    if (chart.target !== null && all.length > 0) {
      const ends = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
      sets.push(dashed('target ' + chart.target, ends.map(x => [x, chart.target]), 1.5));
    }
    return sets;
  }

  // Logarithmic for a loss that falls by kWideRange or more: on a linear axis it would lie on its
  // target for most of the run.
  function qualityAxis(chart) {
    const all = chart.series.flatMap(series => series.points.map(point => point[2])).filter(value => value !== null);
    const least = all.reduce((a, b) => Math.min(a, b), Infinity), most = all.reduce((a, b) => Math.max(a, b), 0);
    const title = chart.metric + (chart.better ? `, ${chart.better}` : '');
    if (chart.better !== 'less is better' || least <= 0 || most < kWideRange * least) return axis(title, {});
    return axis(title, {type: 'logarithmic', ticks: {color: tone('quiet'), callback: logarithmicTick}});
  }

  function convergenceConfig(chart, by) {
    const unit = timeUnit(chart);
    const describe = item => {
      const point = item.raw;
      if (point.time === undefined) return item.dataset.label;
      const epoch = point.epoch === null ? '' :
        chart.position === 'epoch_num' ? ', epoch ' + figure(point.epoch) : `, ${figure(point.epoch)} ${chart.position}`;
      return `${item.dataset.label}: ${figure(point.y)}${epoch}, ${figure(point.time)} s`;
    };
    const ticks = {color: tone('quiet'), callback: tick};
    if (by === 'epoch' && chart.series.every(s => s.points.every(p => Number.isInteger(p[0] ?? 0)))) {
      ticks.precision = 0;
    }
    return {
      type: 'line',
      data: {datasets: convergenceDatasets(chart, by, unit)},
      options: options({
        parsing: false,
        scales: {
          x: axis(by === 'time' ? unit.name + ' since run_start' : chart.position, {type: 'linear', ticks}),
          y: qualityAxis(chart),
        },
        plugins: {legend: legend(chart.series.length), tooltip: {callbacks: {title: () => '', label: describe}}},
      }),
    };
  }

  // ---- breakdown: a stacked bar per run, folder or rank ------------------------------------------
  function breakdownConfig(chart, by) {
    const values = part => by === 'percent' ? part.percent : part.seconds;
    const unit = by === 'percent' ? '%' : 's';
    const rows = chart.labels.map((label, index) => index).filter(index => isWanted(chart.labels[index]) || isRank(chart));
    return {
      type: 'bar',
      data: {
        labels: rows.map(index => shortened(chart.labels[index])),
        datasets: chart.parts.map((part, index) => ({
          label: part.name,
          data: rows.map(row => values(part)[row]),
          backgroundColor: colour(index),
          borderColor: tone('page'),
          borderWidth: 1,
          maxBarThickness: 36,
        })),
      },
      options: options({
        indexAxis: 'y',
        interaction: {mode: 'nearest', axis: 'xy', intersect: true},
        scales: {
          x: axis(by === 'percent' ? '% of the run' : 'seconds',
                  Object.assign({stacked: true}, by === 'percent' ? {max: 100} : {})),
          y: axis('', {stacked: true}),
        },
        plugins: {
          legend: legend(0),
          tooltip: {callbacks: {
            title: items => items.length > 0 ? chart.labels[rows[items[0].dataIndex]] : '',
            label: item => `${item.dataset.label}: ${figure(item.raw)} ${unit}`,
          }},
        },
      }),
    };
  }
  const isRank = chart => chart.id.startsWith('ranks');

  // ---- points: systems by two figures, with the spread of the second -----------------------------
  const whiskers = {
    id: 'whiskers',
    afterDatasetsDraw(chart) {
      const {ctx, scales} = chart;
      chart.data.datasets.forEach((set, index) => {
        if (!chart.isDatasetVisible(index)) return;
        for (const point of set.data) {
          if (!point.spread) continue;
          const low = chart.options.scales.y.type === 'logarithmic' ?
              Math.max(point.y - point.spread, point.y / 100) : point.y - point.spread;
          ctx.save();
          ctx.strokeStyle = set.borderColor;
          ctx.lineWidth = 1.5;
          ctx.beginPath();
          ctx.moveTo(scales.x.getPixelForValue(point.x), scales.y.getPixelForValue(low));
          ctx.lineTo(scales.x.getPixelForValue(point.x), scales.y.getPixelForValue(point.y + point.spread));
          ctx.stroke();
          ctx.restore();
        }
      });
    },
  };

  // A logarithmic axis has numbers at 1, 2 and 5 times the powers of ten.
  function scaleOf(description) {
    const ticks = {color: tone('quiet'), callback: description.logarithmic ? logarithmicTick : tick};
    return axis(description.title, {type: description.logarithmic ? 'logarithmic' : 'linear', ticks});
  }

  function pointsConfig(chart) {
    const sets = chart.groups.map((group, index) => ({
      type: 'scatter',
      label: group.name,
      data: group.points.filter(point => isWanted(point[2])).map(([x, y, name, spread]) => ({x, y, name, spread})),
      borderColor: colour(index),
      backgroundColor: colour(index),
      pointRadius: 5,
      pointHoverRadius: 7,
      pointHitRadius: 8,
    }));
    for (const line of chart.lines) sets.push(dashed(line.name, line.points, 1));
    const ys = chart.groups.flatMap(group => group.points.map(point => point[1]));
    const y = scaleOf(chart.y);
    if (chart.lines.length > 0) {  // the lines reach further than the points
      y.min = Math.min(...ys) / 2;
      y.max = Math.max(...ys) * 2;
    }
    if (!chart.y.logarithmic) {
      const spreads = chart.groups.flatMap(group => group.points.map(([x, at, name, spread]) => [at - spread, at + spread]));
      y.suggestedMin = Math.min(...spreads.map(([low]) => low));
      y.suggestedMax = Math.max(...spreads.map(([low, high]) => high));
    }
    const lineNames = new Set(chart.lines.map(line => line.name));
    return {
      type: 'scatter',
      data: {datasets: sets},
      options: options({
        scales: {x: scaleOf(chart.x), y},
        plugins: {
          legend: {
            display: sets.length - chart.lines.length <= kLegendLimit,
            position: 'bottom',
            labels: {color: tone('ink'), boxWidth: 18, filter: item => !lineNames.has(item.text)},
          },
          tooltip: {callbacks: {
            title: () => '',
            label: item => item.raw.name === undefined ? item.dataset.label :
                `${item.raw.name}: ${figure(item.raw.y)}${item.raw.spread ? ' ± ' + figure(item.raw.spread) : ''} ` +
                `at ${figure(item.raw.x)}`,
          }},
        },
      }),
      plugins: [whiskers, lineLabels],
    };
  }

  // Writes the name of each budget line in the middle of its visible part.
  const lineLabels = {
    id: 'lineLabels',
    afterDatasetsDraw(chart) {
      const {ctx, chartArea, scales} = chart;
      for (const set of chart.data.datasets) {
        if (set.type !== 'line' || set.data.length < 2) continue;
        const [from, to] = set.data.map(
            point => ({x: scales.x.getPixelForValue(point.x), y: scales.y.getPixelForValue(point.y)}));
        const part = y => Math.min(Math.max((y - from.y) / (to.y - from.y), 0), 1);
        const ends = [part(chartArea.top), part(chartArea.bottom)];
        if (Math.abs(ends[0] - ends[1]) < 0.1) continue;
        const middle = (ends[0] + ends[1]) / 2;
        const x = from.x + middle * (to.x - from.x), y = from.y + middle * (to.y - from.y);
        ctx.save();
        ctx.font = '11px system-ui, sans-serif';
        ctx.textAlign = 'center';
        ctx.textBaseline = 'middle';
        const width = ctx.measureText(set.label).width + 6;
        ctx.fillStyle = tone('page');
        ctx.fillRect(x - width / 2, y - 7, width, 14);
        ctx.fillStyle = tone('quiet');
        ctx.fillText(set.label, x, y);
        ctx.restore();
      }
    },
  };

  // ---- spread: every run of a set as a point on its line ------------------------------------------
  function spreadConfig(chart) {
    const rows = chart.rows.filter(row => isWanted(row.name));
    return {
      type: 'scatter',
      data: {
        datasets: rows.map((row, index) => ({
          label: row.name,
          data: row.values.map(([x, name]) => ({x, y: row.name, name})),
          borderColor: colour(index),
          backgroundColor: colour(index),
          pointRadius: 4,
          pointHitRadius: 6,
        })),
      },
      options: options({
        scales: {
          x: axis('time to train, min', {type: 'logarithmic', ticks: {color: tone('quiet'), callback: logarithmicTick}}),
          y: axis('', {
            type: 'category',
            labels: rows.map(row => row.name),
            offset: true,
            ticks: {
              color: tone('quiet'),
              autoSkip: false,
              callback: value => rows[value].name.split(/\/(.*)/, 2).map(shortened),  // submitter, then system
            },
          }),
        },
        plugins: {
          legend: {display: false},
          tooltip: {callbacks: {
            title: () => '',
            label: item => `${item.dataset.label}, ${item.raw.name}: ${figure(item.raw.x)} min`,
          }},
        },
      }),
    };
  }

  // ---- histogram of steps -------------------------------------------------------------------------
  function histogramConfig(chart) {
    const middle = ([low, high]) => Math.sqrt(low * high);
    return {
      type: 'bar',
      data: {
        labels: chart.buckets.map(bucket => figure(middle(bucket))),
        datasets: [{
          label: 'steps',
          data: chart.buckets.map(bucket => bucket[2]),
          backgroundColor: colour(0),
          barPercentage: 1,
          categoryPercentage: 0.95,
        }],
      },
      options: options({
        scales: {
          x: axis('ms (buckets of equal ratio)', {}),
          y: axis('steps', {beginAtZero: true, ticks: {color: tone('quiet'), precision: 0}}),
        },
        plugins: {
          legend: {display: false},
          tooltip: {callbacks: {
            title: items => {
              const [low, high] = chart.buckets[items[0].dataIndex];
              return `${figure(low)} to ${figure(high)} ms`;
            },
          }},
        },
      }),
    };
  }

  // ---- timeline: each rank's scopes --------------------------------------------------------------
  function timelineConfig(chart) {
    const labels = Array.from({length: chart.ranks}, (nothing, rank) => 'rank ' + rank);
    return {
      type: 'bar',
      data: {
        labels,
        datasets: chart.names.map((name, index) => ({
          label: name,
          data: chart.spans.filter(span => span[0] === index)
                    .map(([of, rank, begin, end]) => ({x: [begin, end], y: labels[rank]})),
          backgroundColor: colour(index),
          borderWidth: 0,
          grouped: false,
          minBarLength: 1,
          barPercentage: 0.8,
          categoryPercentage: 0.9,
        })),
      },
      options: options({
        indexAxis: 'y',
        interaction: {mode: 'nearest', axis: 'xy', intersect: true},
        scales: {x: axis('ms since the first event', {type: 'linear', min: 0}), y: axis('', {})},
        plugins: {
          legend: legend(0),
          tooltip: {callbacks: {
            label: item => `${item.dataset.label}: ${figure(item.raw.x[1] - item.raw.x[0])} ms from ` +
                `${figure(item.raw.x[0])} ms on`,
          }},
        },
      }),
    };
  }

  // ---- the page --------------------------------------------------------------------------------
  const kinds = {
    convergence: convergenceConfig,
    breakdown: breakdownConfig,
    points: pointsConfig,
    spread: spreadConfig,
    histogram: histogramConfig,
    timeline: timelineConfig,
  };

  function draw(entry) {
    if (entry.drawn) entry.drawn.destroy();
    entry.drawn = new Chart(document.getElementById(entry.chart.id), kinds[entry.chart.kind](entry.chart, entry.by));
  }

  // Sets the height of charts that grow with their rows.
  function size(entry) {
    const {chart} = entry;
    let rem = 0;
    if (chart.kind === 'breakdown') rem = 7 + 2.6 * (isRank(chart) ? chart.labels.length : chart.labels.filter(isWanted).length);
    if (chart.kind === 'spread') rem = 6 + 2.6 * chart.rows.filter(row => isWanted(row.name)).length;
    if (chart.kind === 'timeline') rem = 8 + 2.6 * chart.ranks;
    if (rem > 0) document.getElementById(chart.id).parentElement.style.height = rem + 'rem';
  }

  function watch(entry) {
    for (const input of document.getElementsByName(entry.chart.id + '-by')) {
      if (input.checked) entry.by = input.value;  // browsers keep choices over a reload
      input.addEventListener('change', () => {
        entry.by = input.value;
        draw(entry);
      });
    }
  }

  // A chart is drawn when it comes near the window, so that a page of many opens at once.
  const near = new IntersectionObserver(seen => {
    for (const one of seen) {
      const entry = charts.find(entry => entry.chart.id === one.target.id);
      if (one.isIntersecting && !entry.drawn) draw(entry);
    }
  }, {rootMargin: '400px'});
  for (const chart of data.charts) {
    const entry = {chart, by: null, drawn: null};
    charts.push(entry);
    watch(entry);
    size(entry);
    near.observe(document.getElementById(chart.id));
  }

  const redraw = () => charts.filter(entry => entry.drawn).forEach(draw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  let folded = [];  // tables to close again after printing
  addEventListener('beforeprint', () => {
    printing = true;
    folded = Array.from(document.querySelectorAll('details.data:not([open])'));
    for (const details of folded) details.open = true;
    charts.forEach(draw);
  });
  addEventListener('afterprint', () => {
    printing = false;
    for (const details of folded) details.open = false;
    redraw();
  });

  // ---- tables: a click on a heading sorts ----------------------------------------------------------
  const valueOf = (row, column, isNumber) => {
    const text = row.cells[column].textContent;
    if (!isNumber) return text;
    const value = parseFloat(text);
    return Number.isNaN(value) ? Infinity : value;  // absent values come last
  };

  function sortBy(table, heading, column) {
    const falls = heading.getAttribute('aria-sort') === 'ascending';
    for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
    heading.setAttribute('aria-sort', falls ? 'descending' : 'ascending');
    const isNumber = heading.classList.contains('n');
    const rows = Array.from(table.tBodies[0].rows);
    rows.sort((one, other) => {
      const a = valueOf(one, column, isNumber), b = valueOf(other, column, isNumber);
      const order = isNumber ? (a === b ? 0 : a - b) : a.localeCompare(b, undefined, {numeric: true});
      if (isNumber && (a === Infinity || b === Infinity)) return order;
      return falls ? -order : order;
    });
    table.tBodies[0].append(...rows);
  }

  for (const table of document.querySelectorAll('table')) {
    if (table.tBodies[0].rows.length < 2) continue;
    Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'sort';
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener('click', () => sortBy(table, heading, column));
    });
  }

  // ---- filter: by part of a name --------------------------------------------------------------------
  const filter = document.getElementById('filter');
  const filtered = document.getElementById('filtered');
  const named = Array.from(document.querySelectorAll('table'))
                    .filter(table => ['log', 'folder', 'system', 'where'].includes(table.tHead.rows[0].cells[0].textContent));
  function applyFilter() {
    wanted = filter.value.trim().toLowerCase();
    let shown = 0, all = 0;
    for (const table of named) {
      for (const row of table.tBodies[0].rows) {
        row.hidden = !isWanted(row.cells[0].textContent);
        shown += row.hidden ? 0 : 1;
        ++all;
      }
    }
    filtered.textContent = wanted === '' ? '' : `${shown} of ${all} rows`;
    charts.forEach(size);
    redraw();
  }
  if (filter) {
    filter.closest('.filter').hidden = false;
    let waiting = 0;
    filter.addEventListener('input', () => {
      clearTimeout(waiting);
      waiting = setTimeout(applyFilter, 150);
    });
    if (filter.value !== '') applyFilter();  // browsers keep the value over a reload
  }
})();
