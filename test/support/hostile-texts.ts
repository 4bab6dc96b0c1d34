// Texts that any process may store. The escapes are written out here. If the library computed them, the table would
// hide a character that the library does not escape.

export interface Hostile {
  readonly kind: string;
  readonly text: string;
  /** How a text for people shows it. */
  readonly shown: string;
}

export const asItIs = (kind: string, text: string): Hostile => ({ kind, text, shown: text });

/** Those that the page and the terminal show alike. No argument of a process can hold the character 0. */
export const HOSTILE: readonly Hostile[] = [
  {
    kind: 'control characters',
    text: 'a\u0007\b\t\n\r\u001b]0;title\u001b[2J\u007f\u0085\u009b31mz',
    shown: String.raw`a\u{7}\u{8}\u{9}\u{a}\u{d}\u{1b}]0;title\u{1b}[2J\u{7f}\u{85}\u{9b}31mz`,
  },
  {
    kind: 'bidi characters',
    text: 'a\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202egnp.exe\u2066\u2067\u2068\u2069z',
    shown: String.raw`a\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}gnp.exe\u{2066}\u{2067}\u{2068}\u{2069}z`,
  },
  {
    kind: 'wide blanks and invisible characters',
    text: 'a\u00a0\u00ad\u034f\u115f\u200b\u200d\u2028\u2029\u2800\u3000\u3164\ufe0f\ufeff\u{e0041}z',
    shown: String.raw`a\u{a0}\u{ad}\u{34f}\u{115f}\u{200b}\u{200d}\u{2028}\u{2029}\u{2800}\u{3000}\u{3164}\u{fe0f}\u{feff}\u{e0041}z`,
  },
  asItIs('1,024 bytes', 'x'.repeat(1_024)),
  { kind: '1,024 bytes of escapes', text: '\u001b'.repeat(1_024), shown: String.raw`\u{1b}`.repeat(1_024) },
];
