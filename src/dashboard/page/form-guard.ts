/**
 * How long a form must have stood where it is before its button revokes, in ms: somebody who aims at one form must not
 * hit another one that has just come there. A finger is not seen before it taps, so the page cannot keep still for it.
 */
const SETTLED_MS = 1_000;

/** A place in the window and in the document, in pixels from the left and from the top. */
interface Place {
  readonly inWindow: readonly [number, number];
  readonly inDocument: readonly [number, number];
}

const guards = new WeakMap<Element, FormGuard>();
/** How often the forms have been looked at. */
let looks = 0;

/** Finds out which forms have come or moved. It has to be called after each change of the page, and now and then. */
export function lookAtForms(): void {
  looks += 1;
  for (const form of document.forms) guards.get(form)?.look();
}

/** Knows whether a form has just come or moved. */
export class FormGuard {
  readonly #button: HTMLButtonElement;
  #look = -1;
  #place: Place | undefined;
  #cameAtMs = -Infinity;
  #movedAtMs = -Infinity;
  #focusedAtMs = -Infinity;

  constructor(form: HTMLFormElement, button: HTMLButtonElement) {
    this.#button = button;
    button.classList.add('unsettled');
    guards.set(form, this);
    form.addEventListener('focusin', ({ relatedTarget }) => {
      if (!(relatedTarget instanceof Node && form.contains(relatedTarget)))
        this.#focusedAtMs = performance.now();
    });
  }

  look(): void {
    const hasCome = this.#look !== looks - 1;
    this.#look = looks;
    this.#compare(hasCome);
    this.#button.classList.toggle('unsettled', isRecent(this.#cameAtMs) || isRecent(this.#movedAtMs));
  }

  /**
   * Whether the click on the button may be meant for another form. A key reaches the form that has the focus, wherever
   * that form has moved to.
   */
  isTooSoon({ detail }: MouseEvent): boolean {
    // A form that came after the last look was never shown for long enough.
    if (this.#look !== looks) return true;
    this.#compare(false);
    const isByKey = detail === 0;
    const isFocusOlder = this.#focusedAtMs < this.#movedAtMs;
    return isRecent(this.#cameAtMs) || (isRecent(this.#movedAtMs) && !(isByKey && isFocusOlder));
  }

  #compare(hasCome: boolean): void {
    const before = this.#place;
    this.#place = placeOf(this.#button);
    if (hasCome || before === undefined) this.#cameAtMs = performance.now();
    else if (hasMoved(before, this.#place)) this.#movedAtMs = performance.now();
  }
}

const isRecent = (atMs: number): boolean => performance.now() - atMs < SETTLED_MS;

function placeOf(element: Element): Place {
  const { left, top } = element.getBoundingClientRect();
  return { inWindow: [left, top], inDocument: [left + scrollX, top + scrollY] };
}

/**
 * If only the place in the window has changed, the user has scrolled. If only the place in the document has changed, the
 * browser has scrolled, so that nothing moves on the screen.
 */
const hasMoved = (before: Place, now: Place): boolean =>
  differ(before.inWindow, now.inWindow) && differ(before.inDocument, now.inDocument);

const differ = (a: readonly [number, number], b: readonly [number, number]): boolean =>
  Math.abs(a[0] - b[0]) >= 1 || Math.abs(a[1] - b[1]) >= 1;
