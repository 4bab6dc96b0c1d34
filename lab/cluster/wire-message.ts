import { BSON } from 'mongodb';
import type { Document } from 'mongodb';

const HEADER_BYTES = 16;
const OP_QUERY = 2004;
const OP_MSG = 2013;
const MORE_TO_COME = 1 << 1;
/** Of OP_MSG: after the header and the flags, one byte that says of which kind the section is. */
const FIRST_SECTION = HEADER_BYTES + 4;
/** Of the length of a document and the type of its first field. */
const BEFORE_FIRST_NAME = 5;

export const requestIdOf = (message: Buffer): number => message.readInt32LE(4);
export const responseToOf = (message: Buffer): number => message.readInt32LE(8);
const opCodeOf = (message: Buffer): number => message.readInt32LE(12);

/** Cuts the bytes of a connection into the messages of the wire protocol, by the length that each begins with. */
export class MessageCutter {
  #parts: Buffer[] = [];
  #have = 0;
  #need = HEADER_BYTES;

  push(chunk: Buffer): readonly Buffer[] {
    this.#parts.push(chunk);
    this.#have += chunk.length;
    if (this.#have < this.#need) return [];
    const bytes = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts);
    const messages: Buffer[] = [];
    let at = 0;
    this.#need = HEADER_BYTES;
    while (bytes.length - at >= HEADER_BYTES) {
      const length = bytes.readInt32LE(at);
      if (length < HEADER_BYTES) throw new Error(`no message is ${length} bytes long`);
      if (bytes.length - at < length) {
        this.#need = length;
        break;
      }
      messages.push(bytes.subarray(at, at + length));
      at += length;
    }
    this.#parts = [bytes.subarray(at)];
    this.#have = bytes.length - at;
    return messages;
  }
}

/** Whether it is a command that will be answered. */
export const isRequest = (message: Buffer): boolean =>
  opCodeOf(message) === OP_MSG && (message.readUInt32LE(HEADER_BYTES) & MORE_TO_COME) === 0;

/** The command, its arguments and `$db`, without what is sent beside the body, such as the documents of an insert. */
export function bodyOf(message: Buffer): Document | undefined {
  const at = startOfBody(message);
  if (at === undefined) return undefined;
  return BSON.deserialize(message.subarray(at, at + message.readInt32LE(at)));
}

/** The first field of the body, which names the command; read without decoding anything. */
export function commandOf(message: Buffer): string | undefined {
  if (opCodeOf(message) !== OP_MSG) return undefined;
  const at = startOfBody(message);
  if (at === undefined) return undefined;
  const start = at + BEFORE_FIRST_NAME;
  return message.toString('latin1', start, message.indexOf(0, start));
}

/** Of a getMore: the value of its first field. */
export function cursorIdOf(getMore: Buffer): bigint {
  const at = startOfBody(getMore) ?? 0;
  return getMore.readBigInt64LE(at + BEFORE_FIRST_NAME + 'getMore'.length + 1);
}

/** Of the reply to a command that opens a cursor; undefined if it opened none. */
export function openedCursorOf(reply: Buffer): bigint | undefined {
  const at = startOfBody(reply);
  if (at === undefined) return undefined;
  const body = BSON.deserialize(reply.subarray(at), {
    allowObjectSmallerThanBufferSize: true,
    useBigInt64: true,
  }) as { readonly cursor?: { readonly id?: bigint } };
  const id = body.cursor?.id;
  return id === 0n ? undefined : id;
}

function startOfBody(message: Buffer): number | undefined {
  // Flags, the namespace up to its zero, how many to skip and to return.
  if (opCodeOf(message) === OP_QUERY) return message.indexOf(0, HEADER_BYTES + 4) + 1 + 8;
  if (opCodeOf(message) !== OP_MSG) return undefined;
  let at = FIRST_SECTION;
  // A section of another kind is a list of documents, which begins with its length.
  while (at < message.length && message[at] !== 0) at += 1 + message.readInt32LE(at + 1);
  return at < message.length ? at + 1 : undefined;
}
