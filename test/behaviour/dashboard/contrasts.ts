/**
 * What of the page is below WCAG AA: visible texts with less contrast than 4.5 to 1 with their background, and fields
 * whose edge has less than 3 to 1.
 */
export async function contrasts(page: {
  evaluate(code: string): Promise<unknown>;
}): Promise<readonly unknown[]> {
  return (await page.evaluate(`(() => {
    const channels = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
    const luminance = ([r, g, b]) => [r, g, b]
      .map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
      .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
    const background = (element) => {
      for (let at = element; at !== null; at = at.parentElement) {
        const color = channels(getComputedStyle(at).backgroundColor);
        if (color[3] !== 0) return color;
      }
    };
    const opacity = (element) => element === null ? 1 : getComputedStyle(element).opacity * opacity(element.parentElement);
    const over = (color, paper, alpha) => color.slice(0, 3).map((value, at) => value * alpha + paper[at] * (1 - alpha));
    const ratio = (...colors) => {
      const [dark, light] = colors.map(luminance).sort((a, b) => a - b);
      return (light + 0.05) / (dark + 0.05);
    };
    const own = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
    const all = [...document.body.querySelectorAll('*')].filter((element) => element.checkVisibility());
    const texts = all.filter(own).flatMap((element) => {
      const paper = background(element);
      const found = ratio(over(channels(getComputedStyle(element).color), paper, opacity(element)), paper);
      return found < 4.5 ? [element.className + ' ' + element.textContent.slice(0, 40) + ' ' + found] : [];
    });
    const fields = all.filter((element) => element.matches('input:not([type=checkbox])')).flatMap((element) => {
      const found = ratio(channels(getComputedStyle(element).borderTopColor), background(element.parentElement));
      return found < 3 ? ['edge of ' + element.ariaLabel + ' ' + found] : [];
    });
    return [...texts, ...fields];
  })()`)) as readonly unknown[];
}
