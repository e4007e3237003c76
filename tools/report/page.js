'use strict';
// Draws the plots of the page from the data in it. Nothing is fetched, and no text of the data is run.
(() => {
  const {config, plots} = JSON.parse(document.getElementById('plots').textContent);
  const views = new Map();  // of plots that are drawn
  const tip = document.getElementById('tip');
  const live = document.getElementById('live');
  const root = document.documentElement;

  // Light, dark, or as the system has it.
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let theme = 'auto';
  try { theme = localStorage.getItem('lapwing-theme') || 'auto'; } catch { /* a page of a file may have no storage */ }
  const themeButton = document.getElementById('theme');
  function showTheme() {
    root.dataset.theme = theme === 'auto' ? (dark.matches ? 'dark' : 'light') : theme;
    themeButton.textContent = `Theme: ${theme}`;
  }
  themeButton.addEventListener('click', () => {
    theme = {auto: 'light', light: 'dark', dark: 'auto'}[theme] || 'auto';
    try { localStorage.setItem('lapwing-theme', theme); } catch { /* then for this visit only */ }
    showTheme();
  });
  dark.addEventListener('change', showTheme);
  showTheme();

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
  const hideTip = () => { tip.hidden = true; };
  function onTip(handler, event, item, value) {
    if (value == null || value === '') hideTip(); else showTip([].concat(value), event.clientX, event.clientY);
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

  // Of a slice of a timeline, a bar, or a point.
  function placeOf(view, scales, point) {
    if (scales.has('track')) return [Math.max(0, view.scale('x')(point.a)), point.y];
    if (scales.has('band')) return [view.scale('v')(point.m), view.scale('band')(point.w)];
    return [view.scale('x')(point.x), view.scale('v')(point.m)];
  }
  // Arrow keys go from point to point.
  function walk(canvas, step) {
    const view = views.get(canvas.dataset.plot);
    const points = view.data('points');
    if (!points.length) return;
    const place = Math.max(0, Math.min(points.length - 1, (canvas.lapwingPlace ?? -step) + step));
    canvas.lapwingPlace = place;
    const point = points[place];
    const [left, top] = view.origin();
    const box = canvas.getBoundingClientRect();
    const [x, y] = placeOf(view, new Set(plots[canvas.dataset.plot].scales.map(scale => scale.name)), point);
    showTip(point.tip, box.left + left + x, box.top + top + y);
    live.textContent = point.says;
  }
  document.addEventListener('keydown', event => {
    const canvas = event.target.closest?.('.canvas');
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (canvas && step && views.has(canvas.dataset.plot)) {
      event.preventDefault();
      walk(canvas, step);
    }
    if (event.key === 'Escape') hideTip();
  });
  document.addEventListener('focusout', hideTip);

  // Series on and off, in all plots of a figure; another quantity.
  document.addEventListener('click', event => {
    const button = event.target.closest('button');
    if (!button) return;
    if (button.dataset.series !== undefined) {
      button.setAttribute('aria-pressed', button.getAttribute('aria-pressed') === 'true' ? 'false' : 'true');
      for (const canvas of button.closest('.figure').querySelectorAll('.canvas')) {
        views.get(canvas.dataset.plot)?.signal('hidden', hiddenOf(button)).runAsync();
      }
    } else if (button.dataset.save) {
      save(button.dataset.plot, button.dataset.save, hiddenOf(button));
    } else if (button.dataset.zoom) {
      zoom(button.dataset.plot, button.dataset.zoom);
    }
  });
  document.addEventListener('change', event => {
    if (event.target.type !== 'radio') return;
    for (const part of event.target.closest('.figure').querySelectorAll('.view')) {
      part.hidden = part.id !== event.target.value;
    }
    drawAll();
  });

  // A stretch of a timeline: half or twice as long, earlier or later.
  function zoom(id, how) {
    const view = views.get(id);
    const [first, last] = plots[id].usermeta.whole;
    let [from, to] = view.signal('stretch');
    const length = to - from, middle = (from + to) / 2;
    if (how === 'in') [from, to] = [middle - length / 4, middle + length / 4];
    if (how === 'out') [from, to] = [middle - length, middle + length];
    if (how === 'earlier') [from, to] = [from - length / 2, to - length / 2];
    if (how === 'later') [from, to] = [from + length / 2, to + length / 2];
    if (how === 'whole' || to - from >= last - first) [from, to] = [first, last];
    if (from < first) [from, to] = [first, first + to - from];
    if (to > last) [from, to] = [last - (to - from), last];
    view.signal('stretch', [from, to]).runAsync();
  }

  // Pictures of their own: title and legend in them, colours written out.
  async function picture(id, hidden) {
    const spec = structuredClone(plots[id]);
    spec.title = {text: spec.usermeta.title, subtitle: spec.usermeta.notes};
    spec.legends = spec.usermeta.legends;
    spec.width = 680;
    const view = makeView(spec, {renderer: 'none'});
    if (hidden.length) view.signal('hidden', hidden);
    const live = views.get(id);
    if (live && spec.usermeta.whole) view.signal('stretch', live.signal('stretch'));
    const style = getComputedStyle(root);
    const svg = (await view.toSVG()).replace(/var\((--[\w-]+)\)/g, (all, name) => style.getPropertyValue(name).trim());
    return svg.replace('>', `><rect width="100%" height="100%" fill="${style.getPropertyValue('--surface').trim()}"/>`);
  }
  async function save(id, kind, hidden) {
    const svg = await picture(id, hidden);
    let blob = new Blob([svg], {type: 'image/svg+xml'});
    if (kind === 'png') {
      const image = new Image();
      image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
      await image.decode();
      const canvas = document.createElement('canvas');
      canvas.width = 2 * image.naturalWidth;
      canvas.height = 2 * image.naturalHeight;
      canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
      blob = await new Promise(done => canvas.toBlob(done, 'image/png'));
    }
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = `${plots[id].usermeta.file}.${kind}`;
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
