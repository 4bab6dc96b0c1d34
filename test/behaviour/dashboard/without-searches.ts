import { vi } from 'vitest';

import { Board } from '../../../src/dashboard/board.js';
import { whenTestEnds } from '../../support/current-test.js';

/** Until the returned function is called, every filter waits for its search, as if other filters took all the time. */
export function withoutSearches(): () => void {
  const view = vi.spyOn(Board.prototype, 'view').mockReturnValue(undefined);
  const goOn = (): void => {
    view.mockRestore();
  };
  whenTestEnds(goOn);
  return goOn;
}
