import { once } from 'node:events';
import { connect, createServer } from 'node:net';

import { pause } from './patience.js';

const LOWEST_PORT = 20_000;
const FIRST_EPHEMERAL_PORT = 32_768;

/**
 * Returns a port of 127.0.0.1 that is free now. The system does not give it away by itself: while a server is down, an
 * outgoing connection could otherwise take its port, even one that is meant for this port, which would then be connected
 * with itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST_PORT + Math.floor(Math.random() * (FIRST_EPHEMERAL_PORT - LOWEST_PORT));
    const probe = createServer();
    try {
      probe.listen(port, '127.0.0.1');
      await once(probe, 'listening');
      return port;
    } catch {
      await pause(1);
    } finally {
      probe.close();
    }
  }
}

/** Whether a server accepts connections at this port of 127.0.0.1. */
export async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
