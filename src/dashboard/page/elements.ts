// Makes elements. A text from the collection becomes a text node or an attribute, and never markup.

import { escaped, hostileIn } from '../hostile-characters.js';

type Attributes = Readonly<Record<string, string | boolean>>;

/** Makes an element with attributes and children. An attribute that is false is left out. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children);
  return element;
}

/**
 * Makes an element for a stored text. The text cannot reverse the direction of the text beside it. Escapes have their
 * own style.
 */
export function stored(text: string, attributes: Attributes = {}): HTMLElement {
  const element = make('bdi', attributes);
  let from = 0;
  for (const { 0: character, index } of hostileIn(text)) {
    if (index > from) element.append(text.slice(from, index));
    element.append(make('span', { class: 'escape' }, escaped(character)));
    from = index + character.length;
  }
  element.append(text.slice(from));
  return element;
}

/** Writes the text of an element only if it differs: the browser lays out the page again even for the same text. */
export function write(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function elementOf(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no element ${id}`);
  return element;
}
