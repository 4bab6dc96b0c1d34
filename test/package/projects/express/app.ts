import express from 'express';
import type { Express } from 'express';
import { AcquireTimeoutError } from 'leasehold';
import type { LockProvider } from 'leasehold';

/** Ships an order. The signal aborts when the lock is lost, and the token fences what is written. */
export type Ship = (
  orderId: string,
  lock: { readonly signal: AbortSignal; readonly fencingToken: number },
) => Promise<string>;

export function createApp(locks: LockProvider, ship: Ship): Express {
  const app = express();

  // One shipment of an order at a time, in all processes. A request that finds the order busy for 5 s gets a 409.
  app.post('/orders/:id/shipments', async (request, response) => {
    const { id } = request.params;
    const gone = new AbortController();
    response.on('close', () => {
      gone.abort(); // the client has gone: leave the queue
    });
    const shipped = await locks.useMutex(`order:${id}`, (lock) => ship(id, lock), {
      timeoutMs: 5_000,
      signal: gone.signal,
    });
    response.status(201).send(shipped);
  });

  app.get('/health/live', (_, response) => void response.send('ok'));
  app.get('/health/ready', (_, response) => {
    const health = locks.health();
    response.status(health.healthy ? 200 : 503).json(health);
  });

  const failed: express.ErrorRequestHandler = (error, _, response, next) => {
    if (response.closed) return; // the client has gone
    if (response.headersSent) return next(error);
    if (error instanceof AcquireTimeoutError) return void response.status(409).send('the order is busy');
    next(error);
  };
  app.use(failed);
  return app;
}
