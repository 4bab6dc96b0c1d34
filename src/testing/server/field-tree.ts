import { isArray, isDocument } from './values/bson-value.js';
import type { ArrayValue, DocumentValue, Value } from './values/bson-value.js';
import type { Environment, Evaluation } from './operators/compiler.js';
import { namesOf } from './field-paths.js';
import { ServerError } from './errors/server-error.js';

/** A document in the making. A field that was removed, or was set to a missing value, keeps its position. */
type Fields = Map<string, Value | undefined>;

/** One path of a stage or a projection: the path is listed, or its value is computed. */
export type Leaf = 'listed' | Evaluation;

/**
 * The error codes for two paths that meet. `within`: the new path goes on beyond the earlier one. `at`: the new path
 * is the same, or ends before the earlier one.
 */
interface Collisions {
  readonly within: number;
  readonly at: number;
}

export const IN_SET: Collisions = { within: 40_176, at: 40_176 };
export const IN_PROJECTION: Collisions = { within: 31_249, at: 31_250 };

/** The paths of a stage or a projection as a tree: those that are listed, and those that are computed. */
export class FieldTree {
  readonly #children = new Map<string, FieldTree | Leaf>();
  readonly #collisions: Collisions;
  #computes = false;

  get computes(): boolean {
    return this.#computes;
  }

  constructor(collisions: Collisions) {
    this.#collisions = collisions;
  }

  add(path: string, leaf: Leaf): void {
    this.#add(namesOf(path), leaf, path);
  }

  /** Adds the path of an object with paths inside it. The inner paths may have been added before. */
  enter(path: string): void {
    this.#add(namesOf(path), undefined, path);
  }

  #add([name = '', ...rest]: readonly string[], leaf: Leaf | undefined, path: string): void {
    const child = this.#children.get(name);
    const goesOn = rest.length > 0 || leaf === undefined;
    if (child !== undefined && !(child instanceof FieldTree && goesOn)) {
      const code = rest.length > 0 ? this.#collisions.within : this.#collisions.at;
      throw new ServerError(code, `two paths of the specification meet: ${path}`);
    }
    this.#computes ||= typeof leaf === 'function';
    if (rest.length === 0 && leaf !== undefined) {
      this.#children.set(name, leaf);
      return;
    }
    const inner = child ?? new FieldTree(this.#collisions);
    this.#children.set(name, inner);
    if (rest.length > 0) inner.#add(rest, leaf, path);
  }

  /**
   * The document with the computed fields. All expressions see the document as it was before. If a field is missing,
   * and the tree only lists fields within it, the missing field gets a position in the document.
   */
  withComputed(document: DocumentValue, at: Environment): DocumentValue {
    const fields: Fields = new Map(document);
    for (const [name, child] of this.#children) {
      if (typeof child === 'function') fields.set(name, child(at));
      else if (child !== 'listed') fields.set(name, child.#valueWithComputed(fields.get(name), at));
    }
    return fields as DocumentValue;
  }

  /**
   * A value that is neither an object nor an array is replaced: by an object with the computed fields, or by a missing
   * value if no field within it is computed.
   */
  #valueWithComputed(value: Value | undefined, at: Environment): Value | undefined {
    if (isDocument(value)) return this.withComputed(value, at);
    if (isArray(value)) return value.map((element) => this.#valueWithComputed(element, at)) as ArrayValue;
    return this.#computes ? this.withComputed(new Map(), at) : undefined;
  }

  /** The document with the listed fields only. An inner object keeps only its own listed fields. */
  including(document: DocumentValue): DocumentValue {
    const fields: Fields = new Map();
    for (const [name, value] of document as Fields) {
      if (value === undefined) continue;
      const child = this.#children.get(name);
      if (child === 'listed') fields.set(name, value);
      else if (child instanceof FieldTree) fields.set(name, child.#includingWithin(value));
    }
    return fields as DocumentValue;
  }

  /**
   * A value that is neither an object nor an array has no listed fields, so it becomes missing. In an array, the
   * missing element keeps its position, because `withComputed` may put an object there.
   */
  #includingWithin(value: Value | undefined): Value | undefined {
    if (isDocument(value)) return this.including(value);
    return isArray(value)
      ? (value.map((element) => this.#includingWithin(element)) as ArrayValue)
      : undefined;
  }

  /** The document without the listed fields. If no listed path begins with one of its fields, the document itself. */
  excluding(document: DocumentValue): DocumentValue {
    if ([...this.#children.keys()].every((name) => document.get(name) === undefined)) return document;
    const fields: Fields = new Map(document);
    for (const [name, child] of this.#children) {
      const value = fields.get(name);
      if (value === undefined) continue;
      if (child === 'listed') fields.set(name, undefined);
      else if (child instanceof FieldTree) fields.set(name, child.#excludingWithin(value));
    }
    return fields as DocumentValue;
  }

  #excludingWithin(value: Value): Value {
    if (isDocument(value)) return this.excluding(value);
    return isArray(value) ? value.map((element) => this.#excludingWithin(element)) : value;
  }
}

/** The document without the positions of removed fields and of missing elements, at every depth. */
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
  const elements: Value[] = [];
  let isChanged = false;
  for (const element of value as readonly (Value | undefined)[]) {
    const inner = element === undefined ? undefined : compactedValue(element);
    isChanged ||= inner === undefined || inner !== element;
    if (inner !== undefined) elements.push(inner);
  }
  return isChanged ? elements : value;
}
