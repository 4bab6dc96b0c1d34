import { EventEmitter } from 'node:events';

import type { LockCollection } from '../../../src/store/lock-collection.js';

/** A change stream that says what a test wants it to. */
export class MockStream extends EventEmitter {
  readonly readable = Object.assign(new EventEmitter(), { destroy: () => undefined });
  isClosed = false;

  stream(): EventEmitter {
    return this.readable;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.resolve();
  }

  refuse(code: number): void {
    this.emit('error', Object.assign(new Error('no'), { name: 'MongoServerError', code }));
  }

  answer(): void {
    this.emit('resumeTokenChanged');
  }

  change(name: string): void {
    this.readable.emit('data', { operationType: 'update', documentKey: { _id: name }, wake: '-w1:1' });
  }
}

/** A collection whose change streams a test drives. */
export class MockCollection {
  readonly streams: MockStream[] = [];
  handshakes = 0;

  async handshake(): Promise<object> {
    this.handshakes += 1;
    return await Promise.resolve({ type: 'done', value: { hasChangeStreams: true } });
  }

  shortened(error: unknown): unknown {
    return error;
  }

  onFollowed(): () => void {
    return () => undefined;
  }

  watch(): ReturnType<LockCollection['watch']> {
    const stream = new MockStream();
    this.streams.push(stream);
    const session = { endSession: () => Promise.resolve() };
    return { stream, session } as unknown as ReturnType<LockCollection['watch']>;
  }

  get asCollection(): LockCollection {
    return this as unknown as LockCollection;
  }
}
