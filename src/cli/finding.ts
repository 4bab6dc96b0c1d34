/** What one check of `doctor` has found. */
export interface Finding {
  readonly status: 'ok' | 'warn' | 'fail';
  /** What the check has found, and what that means for locks. */
  readonly detail: string;
  /** What to do; empty if all is well. */
  readonly advice: string;
}

export const ok = (detail: string): Finding => ({ status: 'ok', detail, advice: '' });

export const warn = (detail: string, advice: string): Finding => ({ status: 'warn', detail, advice });

export const fail = (detail: string, advice: string): Finding => ({ status: 'fail', detail, advice });
