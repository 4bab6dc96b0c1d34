import { elementOf, make, stored } from './elements.js';

const notice = elementOf('notice');
const text = make('p');
const dismiss = make('button', { type: 'button', 'aria-label': 'Dismiss' }, '\u00d7');
/** The element that had the focus before the button that dismisses the notice. */
let focusedBefore: EventTarget | null = null;

dismiss.addEventListener('focus', ({ relatedTarget }) => (focusedBefore = relatedTarget));
dismiss.addEventListener('click', dismissNotice);

/** Says what has become of a revocation, in place of what was said before. */
export function tell(name: string, who: string, what: string): void {
  text.replaceChildren(stored(name), ', ', stored(who), `: ${what}`);
  if (!dismiss.isConnected) notice.replaceChildren(text, dismiss);
}

/** Takes the notice away, and gives the focus back. Returns false if there is no notice. */
export function dismissNotice(): boolean {
  if (!dismiss.isConnected) return false;
  const hadFocus = document.activeElement === dismiss;
  notice.replaceChildren();
  if (hadFocus && focusedBefore instanceof HTMLElement) focusedBefore.focus();
  return true;
}
