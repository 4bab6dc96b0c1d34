// Makes elements. Every text from the collection becomes text of the page here, and nothing else.

/** Characters that could hide what a text says: control characters, and the invisible ones, such as those that reverse its direction. */
const HOSTILE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

const escaped = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** The text with every hostile character as an escape. */
export const plain = (text: string): string => text.replaceAll(HOSTILE, escaped);

type Attributes = Readonly<Record<string, string | boolean>>;

/** An element with attributes and children. An attribute that is false is left out. */
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

/** A stored text. Its direction does not reach beyond it, and its escapes can be told from what is stored. */
export function stored(text: string, attributes: Attributes = {}): HTMLElement {
  const element = make('bdi', attributes);
  let from = 0;
  for (const { 0: character, index } of text.matchAll(HOSTILE)) {
    if (index > from) element.append(text.slice(from, index));
    element.append(make('span', { class: 'escape' }, escaped(character)));
    from = index + character.length;
  }
  element.append(text.slice(from));
  return element;
}

/** Changes the text of an element, if it differs: the browser then has nothing to lay out. */
export function write(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function elementOf(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no element ${id}`);
  return element;
}
