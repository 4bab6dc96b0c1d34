/** Neighbouring seeds would otherwise begin with similar numbers. */
export function scattered(seed: number): number {
  const mixed = Math.imul(seed ^ (seed >>> 15), 0x2c_1b_3c_6d);
  return Math.imul(mixed ^ (mixed >>> 12), 0x29_7a_2d_39) ^ (mixed >>> 15);
}
