'use strict';
// Draws the plots of the page from the data in it. Nothing is fetched, and no text of the data is run.
(() => {
  const {config, plots} = JSON.parse(document.getElementById('plots').textContent);
  const views = new Map();  // of plots that are drawn
  const tip = document.getElementById('tip');
  const root = document.documentElement;

  // What a point says.
  function showTip(lines, x, y) {
    tip.replaceChildren(...lines.map(line => {
      const row = document.createElement('div');
      row.textContent = line;
      return row;
    }));
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${Math.max(4, y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18)}px`;
  }
  function onTip(handler, event, item, value) {
    if (value == null || value === '') tip.hidden = true; else showTip([].concat(value), event.clientX, event.clientY);
  }

  function makeView(spec, options) {
    return new vega.View(vega.parse(spec, config, {ast: true}), {expr: vega.expressionInterpreter, ...options});
  }
  const hiddenOf = element => [...element.closest('.figure').querySelectorAll('.legend button[aria-pressed="false"]')]
    .map(button => button.dataset.series);

  async function draw(canvas) {
    const id = canvas.dataset.plot;
    if (views.has(id) || canvas.clientWidth === 0) return;
    const view = makeView(plots[id], {renderer: 'svg', container: canvas, hover: false});
    views.set(id, view);
    view.tooltip(onTip).width(canvas.clientWidth);
    if ('hidden' in view.getState().signals) view.signal('hidden', hiddenOf(canvas));
    await view.runAsync();
    canvas.dataset.drawn = '';
  }
  const drawAll = () => Promise.all([...document.querySelectorAll('.canvas')].map(draw));

  // Series on and off, in all plots of a figure.
  document.addEventListener('click', event => {
    const button = event.target.closest('button');
    if (!button) return;
    if (button.dataset.series !== undefined) {
      button.setAttribute('aria-pressed', button.getAttribute('aria-pressed') === 'true' ? 'false' : 'true');
      for (const canvas of button.closest('.figure').querySelectorAll('.canvas')) {
        views.get(canvas.dataset.plot)?.signal('hidden', hiddenOf(button)).runAsync();
      }
    } else if (button.dataset.save) {
      save(button.dataset.save, hiddenOf(button));
    }
  });

  // A picture of its own: title and legend in it, colours written out.
  async function save(id, hidden) {
    const spec = structuredClone(plots[id]);
    spec.title = spec.usermeta.title;
    spec.legends = spec.usermeta.legends;
    spec.width = 680;
    const view = makeView(spec, {renderer: 'none'});
    if (hidden.length) view.signal('hidden', hidden);
    const style = getComputedStyle(root);
    const svg = (await view.toSVG()).replace(/var\((--[\w-]+)\)/g, (all, name) => style.getPropertyValue(name).trim())
      .replace('>', `><rect width="100%" height="100%" fill="${style.getPropertyValue('--surface').trim()}"/>`);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([svg], {type: 'image/svg+xml'}));
    link.download = `${plots[id].usermeta.file}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // On paper everything is open.
  let opened = [];
  addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll('details:not([open])')];
    for (const one of opened) one.open = true;
  });
  addEventListener('afterprint', () => { for (const one of opened) one.open = false; });

  let pause;
  addEventListener('resize', () => {
    clearTimeout(pause);
    pause = setTimeout(() => {
      for (const canvas of document.querySelectorAll('.canvas')) {
        if (canvas.clientWidth) views.get(canvas.dataset.plot)?.width(canvas.clientWidth).runAsync();
      }
      drawAll();
    }, 100);
  });
  drawAll().then(() => { root.dataset.ready = ''; });
})();
