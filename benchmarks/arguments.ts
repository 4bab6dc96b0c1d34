import { InvalidArgumentError } from 'commander';

export function memberCount(text: string): 1 | 3 {
  if (text === '1') return 1;
  if (text === '3') return 3;
  throw new InvalidArgumentError('It must be 1 or 3.');
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number.');
  return value;
}
