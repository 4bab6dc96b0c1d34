import { isArray, isDocument } from './bson-value.js';
import type { ArrayValue, DocumentValue, Value } from './bson-value.js';
import type { Environment, Evaluation } from './compiler.js';
import { namesOf } from './field-paths.js';
import { ServerError } from './server-error.js';

/** A document in the making. A field that was removed, or was set to a missing value, keeps its position. */
type Fields = Map<string, Value | undefined>;

/** What a stage or a projection says about one path. */
export type Leaf = 'listed' | Evaluation;

/** The paths of a stage or a projection as a tree: those that are listed, and those that are computed. */
export class FieldTree {
  readonly #children = new Map<string, FieldTree | Leaf>();
  #computes = false;

  add(path: string, leaf: Leaf): void {
    this.#add(namesOf(path), leaf, path);
  }

  #add([name = '', ...rest]: readonly string[], leaf: Leaf, path: string): void {
    const child = this.#children.get(name);
    if (child !== undefined && !(child instanceof FieldTree && rest.length > 0)) throw conflict(path);
    this.#computes ||= leaf !== 'listed';
    if (rest.length === 0) {
      this.#children.set(name, leaf);
      return;
    }
    const inner = child ?? new FieldTree();
    this.#children.set(name, inner);
    inner.#add(rest, leaf, path);
  }

  /** The document with the computed fields. All expressions see the document as it was. */
  withComputed(document: DocumentValue, at: Environment): DocumentValue {
    const fields: Fields = new Map(document);
    for (const [name, child] of this.#children) {
      if (typeof child === 'function') fields.set(name, child(at));
      else if (child !== 'listed' && child.#computes)
        fields.set(name, child.#valueWithComputed(fields.get(name), at));
    }
    return fields as DocumentValue;
  }

  /** A computed field replaces a value that is neither an object nor an array. */
  #valueWithComputed(value: Value | undefined, at: Environment): Value {
    if (isDocument(value)) return this.withComputed(value, at);
    if (isArray(value)) return value.map((element) => this.#valueWithComputed(element, at));
    return this.withComputed(new Map(), at);
  }

  /** The document with the listed fields only. Of an object within, too, only listed fields are left. */
  including(document: DocumentValue): DocumentValue {
    const fields = new Map<string, Value>();
    for (const [name, value] of document as ReadonlyMap<string, Value | undefined>) {
      const child = this.#children.get(name);
      if (value === undefined || child === undefined || typeof child === 'function') continue;
      if (child === 'listed') fields.set(name, value);
      else {
        const [inner] = child.#includingWithin(value);
        if (inner !== undefined) fields.set(name, inner);
      }
    }
    return fields;
  }

  /** The value with the listed fields, as an array; empty if it has no fields, and so is left out. */
  #includingWithin(value: Value): ArrayValue {
    if (isDocument(value)) return [this.including(value)];
    return isArray(value) ? [value.flatMap((element) => this.#includingWithin(element))] : [];
  }

  /** The document without the listed fields. */
  excluding(document: DocumentValue): DocumentValue {
    const fields: Fields = new Map(document);
    for (const [name, child] of this.#children) {
      const value = fields.get(name);
      if (child === 'listed') fields.set(name, undefined);
      else if (child instanceof FieldTree && value !== undefined)
        fields.set(name, child.#excludingWithin(value));
    }
    return fields as DocumentValue;
  }

  #excludingWithin(value: Value): Value {
    if (isDocument(value)) return this.excluding(value);
    return isArray(value) ? value.map((element) => this.#excludingWithin(element)) : value;
  }
}

const conflict = (path: string): ServerError =>
  new ServerError(40_176, `specification contains two conflicting paths, one of them ${path}`);

/** The document without the positions of removed fields, at every depth. */
export function compacted(document: DocumentValue): DocumentValue {
  let isChanged = false;
  const fields = new Map<string, Value>();
  for (const [name, value] of document as Fields) {
    if (value === undefined) isChanged = true;
    else {
      const inner = compactedValue(value);
      isChanged ||= inner !== value;
      fields.set(name, inner);
    }
  }
  return isChanged ? fields : document;
}

function compactedValue(value: Value): Value {
  if (isDocument(value)) return compacted(value);
  if (!isArray(value)) return value;
  const elements = value.map(compactedValue);
  return elements.some((element, at) => element !== value[at]) ? elements : value;
}
