import { randomBytes } from 'node:crypto';

/** The nonce of one `extend` for a place or a seat. A fresh nonce makes each `extend` a real write. */
export const newNonce = (): string => randomBytes(6).toString('hex');

/** 96 random bits, drawn when the id is used: a cloned process must not repeat an id (E34). */
export const newAttemptId = (): string => `w${randomBytes(12).toString('hex')}`;
