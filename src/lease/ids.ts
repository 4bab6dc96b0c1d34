import { randomBytes } from 'node:crypto';

/** Of one look: no two are alike, so each of them is a real write. */
export const newNonce = (): string => randomBytes(6).toString('hex');

/** 96 random bits, drawn at use: a cloned process must not repeat them (E34). */
export const newAttemptId = (): string => `w${randomBytes(12).toString('hex')}`;
