import { describe, expect, it } from 'vitest';

import { eventually, rejection } from '../../lab/patience.js';

describe('the error of a condition that never comes true', () => {
  it('shows what was seen last', async () => {
    let waiters = 5;
    const never = eventually('three wait', (see) => see({ waiters: (waiters -= 1) }).waiters === 30, 100);
    expect(String(await rejection(never))).toMatch(
      /not within 100 ms: three wait; last seen: { waiters: -?\d+ }/,
    );
  });

  it('shows the condition itself if that notes nothing', async () => {
    const isThere = (): boolean => false;
    expect(String(await rejection(eventually('it is there', isThere, 1)))).toMatch(
      /last seen: false of .*=> false/,
    );
  });

  it('is the error that the condition throws, at once', async () => {
    const broken = (): boolean => {
      throw new Error('it is broken');
    };
    expect(String(await rejection(eventually('never looked at twice', broken)))).toContain('it is broken');
  });
});
