'use strict';
// Draws the charts of a report from the data embedded in the page. Without it the tables remain.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const kColours = 10;
  const kLegendLimit = 12;  // beyond, a legend would be larger than its chart
  const kPrint = {ink: '#000000', quiet: '#444444', rule: '#bbbbbb', page: '#ffffff'};
  const charts = [];
  let printing = false;

  const css = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const tone = name => printing ? kPrint[name] : css(name);
  const colour = index => css('c' + index % kColours);
  const figure = value => Number(value.toPrecision(5)).toString();

  function axis(title, more) {
    return Object.assign({
      title: {display: true, text: title, color: tone('ink')},
      ticks: {color: tone('quiet')},
      grid: {color: tone('rule')},
    }, more);
  }

  function legend(count) {
    return {display: count <= kLegendLimit, position: 'bottom', labels: {color: tone('ink'), boxWidth: 18}};
  }

  // ---- convergence: a line per run, and the target -------------------------------------------
  // By time in hours once a run takes more than two.
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
    const sets = chart.series.map((series, index) => ({
      label: series.name,
      data: convergencePoints(series, by, unit),
      borderColor: colour(index),
      backgroundColor: colour(index),
      borderWidth: 2,
      pointRadius: series.points.length > 60 ? 0 : 3,
      pointHitRadius: 8,
    }));
    const all = sets.flatMap(set => set.data.map(point => point.x));
    if (chart.target !== null && all.length > 0) {
      const ends = [Math.min(...all), Math.max(...all)];
      sets.push({
        label: 'target ' + chart.target,
        data: ends.map(x => ({x, y: chart.target})),
        borderColor: tone('quiet'),
        backgroundColor: 'transparent',
        borderDash: [6, 4],
        borderWidth: 1.5,
        pointRadius: 0,
        pointHitRadius: 0,
      });
    }
    return sets;
  }

  function convergenceConfig(chart, by) {
    const unit = timeUnit(chart);
    const describe = item => {
      const point = item.raw;
      if (point.time === undefined) return item.dataset.label;
      const epoch = point.epoch === null ? '' : ', epoch ' + figure(point.epoch);
      return `${item.dataset.label}: ${figure(point.y)}${epoch}, ${figure(point.time)} s`;
    };
    const ticks = {color: tone('quiet')};
    if (by === 'epoch' && chart.series.every(s => s.points.every(p => Number.isInteger(p[0] ?? 0)))) {
      ticks.precision = 0;
    }
    return {
      type: 'line',
      data: {datasets: convergenceDatasets(chart, by, unit)},
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        parsing: false,
        interaction: {mode: 'nearest', axis: 'xy', intersect: false},
        scales: {
          x: axis(by === 'time' ? unit.name + ' since run_start' : 'epoch_num',
                  {type: 'linear', ticks}),
          y: axis(chart.metric, {}),
        },
        plugins: {legend: legend(chart.series.length), tooltip: {callbacks: {title: () => '', label: describe}}},
      },
    };
  }

  // ---- breakdown: a stacked bar per run --------------------------------------------------------
  function breakdownConfig(chart, by) {
    const values = part => by === 'percent' ? part.percent : part.seconds;
    const unit = by === 'percent' ? '%' : 's';
    const name = text => text.length > 34 ? '…' + text.slice(-33) : text;
    return {
      type: 'bar',
      data: {
        labels: chart.labels.map(name),
        datasets: chart.parts.map((part, index) => ({
          label: part.name,
          data: values(part),
          backgroundColor: colour(index),
          borderColor: tone('page'),
          borderWidth: 1,
          maxBarThickness: 36,
        })),
      },
      options: {
        animation: false,
        indexAxis: 'y',
        responsive: true,
        maintainAspectRatio: false,
        interaction: {mode: 'nearest', axis: 'xy', intersect: true},
        scales: {
          x: axis(by === 'percent' ? '% of the run' : 'seconds',
                  Object.assign({stacked: true}, by === 'percent' ? {max: 100} : {})),
          y: axis('', {stacked: true, title: {display: false}}),
        },
        plugins: {
          legend: legend(0),
          tooltip: {callbacks: {
            title: items => items.length > 0 ? chart.labels[items[0].dataIndex] : '',
            label: item => `${item.dataset.label}: ${figure(item.raw)} ${unit}`,
          }},
        },
      },
    };
  }

  // ---- the page --------------------------------------------------------------------------------
  function draw(entry) {
    if (entry.drawn) entry.drawn.destroy();
    const config = entry.config(entry.chart, entry.by);
    entry.drawn = new Chart(document.getElementById(entry.chart.id), config);
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

  function add(chart, config, by) {
    const entry = {chart, config, by, drawn: null};
    charts.push(entry);
    watch(entry);
    draw(entry);
  }

  for (const chart of data.convergence) add(chart, convergenceConfig, 'epoch');
  for (const chart of data.breakdown) {
    const bars = 7 + 2.6 * chart.labels.length;
    document.getElementById(chart.id).parentElement.style.height = bars + 'rem';
    add(chart, breakdownConfig, 'percent');
  }

  const redraw = () => charts.forEach(draw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  addEventListener('beforeprint', () => {
    printing = true;
    for (const details of document.querySelectorAll('details.data')) details.open = true;
    redraw();
  });
  addEventListener('afterprint', () => {
    printing = false;
    redraw();
  });
})();
