/** Marks a line of JSON (RFC 7464), which may stand between lines that a program prints for people. */
const RECORD = '\u001e';

export const asRecord = (value: unknown): string => `${RECORD}${JSON.stringify(value)}\n`;

export const isRecord = (line: string): boolean => line.startsWith(RECORD);

export const recorded = (line: string): unknown => JSON.parse(line.slice(RECORD.length));
