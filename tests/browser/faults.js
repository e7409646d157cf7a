/** What is wrong with a page for eyes, ears and fingers, in words; nothing where all is well. Run in the page. */
() => {
  const faults = [];
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((c, i) => a * c + (1 - a) * under[i]);
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255]);
  };
  const light = (rgb) => rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("svg, noscript, .skip, option") || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const under = behind(element);
    const [a, b] = [light(over(rgba(style.color), under)), light(under)].sort((x, y) => y - x);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) faults.push(`contrast ${ratio.toFixed(2)}: ${node.data.trim().slice(0, 40)}`);
  }
  for (const control of document.querySelectorAll("input, select, progress, output")) {
    if (control.tagName !== "OUTPUT" && !control.labels?.length) faults.push(`no label: ${control.id}`);
  }
  for (const svg of document.querySelectorAll("svg")) {
    if (svg.getAttribute("aria-hidden") !== "true" && !svg.getAttribute("aria-label")) faults.push("a picture without words");
  }
  for (const control of document.querySelectorAll("button, select, input:not([type=radio], [type=checkbox]), .choice, a.button")) {
    const box = control.getBoundingClientRect();
    if (box.height && box.height < 44) faults.push(`small target: ${control.outerHTML.slice(0, 60)}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  if (new Set(ids).size < ids.length) faults.push("an id twice");
  for (const element of document.querySelectorAll("[aria-describedby]")) {
    const ids = element.getAttribute("aria-describedby").split(" ");
    if (!ids.every((id) => document.getElementById(id))) faults.push("described by nothing");
  }
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].map((heading) => Number(heading.tagName[1]));
  if (levels[0] !== 1 || levels.filter((level) => level === 1).length !== 1) faults.push("headings");
  if (!document.documentElement.lang) faults.push("no language");
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`scrolls sideways: ${document.documentElement.scrollWidth}`);
  if (document.getAnimations().length) faults.push("moves");
  return faults;
}
