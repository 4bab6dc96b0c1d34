import { describe, expect, it } from 'vitest';

import { withoutSecretsOfStrings } from '../../../src/cli/secrets.js';

const MANY = 1_000_000;

const shown = (message: string): string => withoutSecretsOfStrings(message, '');

describe('the secrets of connection strings in a message', () => {
  it('are hidden, whatever precedes the string', () => {
    const string = 'mongodb+srv://ann:pass@host/app?tlsCertificateKeyFilePassword=key';
    const hidden = 'mongodb+srv://ann:***@host/app?tlsCertificateKeyFilePassword=***';
    const beginnings = ['', 'at ', '--uri=', '(', '...', '-', '7', 'a'.repeat(50)];
    for (const beginning of beginnings) expect(shown(`${beginning}${string}`)).toBe(`${beginning}${hidden}`);
  });

  it('take no long time to hide in a text of 1 MB', () => {
    const letters = 'a'.repeat(MANY);
    expect(shown(letters)).toBe(letters);
    expect(shown(':/'.repeat(MANY / 2))).toHaveLength(MANY);
    const parameters = Array.from({ length: MANY / 10 }, (_, at) => `&token=${String(at)}`).join('');
    expect(shown(`a://u:p@h/?x=1${parameters} b://u:p@h`)).toBe('a://*** b://u:***@h');
    const repeated = 'a://u:p@h '.repeat(MANY / 10);
    expect(shown(repeated)).toBe(repeated.replaceAll(':p@', ':***@'));
  });
});
