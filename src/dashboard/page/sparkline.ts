const SVG = 'http://www.w3.org/2000/svg';
const [WIDTH, HEIGHT] = [120, 24];

/** A line of the last values, scaled to the highest of them. It is decoration: a number beside it says the rate. */
export class Sparkline {
  readonly element: SVGSVGElement;
  readonly #line: SVGPolylineElement;
  readonly #area: SVGPolygonElement;

  constructor() {
    this.element = document.createElementNS(SVG, 'svg');
    this.#line = document.createElementNS(SVG, 'polyline');
    this.#area = document.createElementNS(SVG, 'polygon');
    this.element.setAttribute('viewBox', `0 0 ${String(WIDTH)} ${String(HEIGHT)}`);
    this.element.setAttribute('preserveAspectRatio', 'none');
    this.element.setAttribute('class', 'sparkline');
    this.element.setAttribute('aria-hidden', 'true');
    this.element.append(this.#area, this.#line);
  }

  show(values: readonly number[]): void {
    const top = Math.max(1, ...values);
    const step = WIDTH / Math.max(1, values.length - 1);
    const points = values
      .map(
        (value, at) => `${(at * step).toFixed(1)},${(HEIGHT - 1 - (value / top) * (HEIGHT - 3)).toFixed(1)}`,
      )
      .join(' ');
    if (this.#line.getAttribute('points') === points) return;
    this.#line.setAttribute('points', points);
    this.#area.setAttribute('points', `0,${String(HEIGHT)} ${points} ${String(WIDTH)},${String(HEIGHT)}`);
  }
}
