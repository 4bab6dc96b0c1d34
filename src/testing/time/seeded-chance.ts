import { inSixDigits } from '../../chance.js';
import type { Chance } from '../../chance.js';

/** A stream of random numbers, by the generator sfc32. The seed and the name of the stream decide all numbers. */
export class SeededChance implements Chance {
  readonly seesCollections: boolean;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;
  #uniques = 0;

  /** @param stream - The name of the stream: one seed gives several streams. */
  constructor(seed: number, stream: string, seesCollections = false) {
    this.seesCollections = seesCollections;
    this.#a = hashOf(`a${String(seed)}/${stream}`);
    this.#b = hashOf(`b${String(seed)}/${stream}`);
    this.#c = hashOf(`c${String(seed)}/${stream}`);
    for (let warmUp = 0; warmUp < 12; warmUp += 1) this.#next();
  }

  number(): number {
    return this.#next() / 0x1_00_00_00_00;
  }

  hex(bytes: number): string {
    let digits = '';
    while (digits.length < 2 * bytes) digits += this.#next().toString(16).padStart(8, '0');
    return digits.slice(0, 2 * bytes);
  }

  unique(): string {
    this.#uniques += 1;
    return this.hex(9) + inSixDigits(this.#uniques);
  }

  /** A random number from `least` up to, but not including, `most`. */
  between(least: number, most: number): number {
    return least + this.number() * (most - least);
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }
}

/** A hash of 32 bits, by FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash | 0;
}
