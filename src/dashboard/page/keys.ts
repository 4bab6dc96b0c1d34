import { dismissNotice } from './notice.js';

/**
 * Moves the focus by keys: `/` to the filter, the arrows from row to row, Home and End to the first and the last row.
 * Esc dismisses the notice. If there is none, Esc closes the row that has the focus. If the row is not open, Esc clears
 * the filter. If the filter is empty, Esc takes the focus away.
 */
export function listenToKeys(filter: HTMLInputElement, buttons: () => readonly HTMLButtonElement[]): void {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const active = document.activeElement;
    const isTyping = active instanceof HTMLInputElement && active.type !== 'checkbox';
    if (event.key === '/' && !isTyping) focus(filter);
    else if (event.key === 'Escape') goBack(filter, active);
    else if (isTyping && !(active === filter && event.key === 'ArrowDown')) return;
    else if (!move(buttons(), active, event.key)) return;
    event.preventDefault();
  });
}

function focus(filter: HTMLInputElement): void {
  filter.focus();
  filter.select();
}

function goBack(filter: HTMLInputElement, active: Element | null): void {
  if (dismissNotice()) return;
  const row = active?.closest('tr.details')?.previousElementSibling ?? active?.closest('tr.row');
  const button = row?.querySelector<HTMLButtonElement>('button.name');
  if (button?.getAttribute('aria-expanded') === 'true') {
    button.click();
    button.focus();
    return;
  }
  if (filter.value !== '') {
    filter.value = '';
    filter.dispatchEvent(new Event('input'));
  } else if (active instanceof HTMLElement) active.blur();
}

/** Puts the focus on the row to which the key leads. Returns false if the key leads to no row. */
function move(all: readonly HTMLButtonElement[], active: Element | null, key: string): boolean {
  const row = active?.closest('tr.details')?.previousElementSibling;
  const from = row?.querySelector('button.name') ?? active;
  const at = all.findIndex((each) => each === from);
  const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? 0 : at - 1, Home: 0, End: all.length - 1 }[key];
  if (to === undefined) return false;
  const button = all[Math.max(0, Math.min(all.length - 1, to))];
  button?.focus();
  button?.scrollIntoView({ block: 'nearest' });
  return button !== undefined;
}
