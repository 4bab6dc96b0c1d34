import 'reflect-metadata';
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert';

import type { INestApplication } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockProvider, ProviderClosedError } from 'leasehold';

import { HealthController } from './health.controller.js';
import { LocksModule } from './locks.module.js';
import { OrdersService } from './orders.service.js';

const uri = process.env['MONGODB_URI'] ?? '';
const database = `nestjs-${String(process.pid)}`;

@Module({
  imports: [LocksModule.forRoot({ uri, database, drainMs: 10_000 })],
  controllers: [HealthController],
  providers: [OrdersService],
})
class AppModule {}

/** One instance of the application, as one container has it. */
async function start(): Promise<{ readonly app: INestApplication; readonly url: string }> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
  app.enableShutdownHooks(); // SIGTERM calls app.close(), which drains the locks
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl() };
}

async function main(): Promise<void> {
  const [one, other] = [await start(), await start()];
  const shipments = [one, other, one, other].map(({ app }) => app.get(OrdersService).ship('42'));
  deepStrictEqual(await Promise.all(shipments), Array(4).fill('shipped 42'));
  strictEqual(OrdersService.most, 1);

  const ready = await fetch(`${one.url}/health/ready`);
  strictEqual(ready.status, 200);
  const { healthy, held } = (await ready.json()) as { healthy: boolean; held: number };
  deepStrictEqual({ healthy, held }, { healthy: true, held: 0 });

  // The end of one instance asks its holders to release, and waits for them.
  const locks = one.app.get(LockProvider);
  const hold = await locks.acquireMutex('report');
  hold.releaseRequested.addEventListener('abort', () => void hold.release());
  await one.app.close();
  strictEqual(locks.health().healthy, false);
  await rejects(locks.acquireMutex('report'), ProviderClosedError);
  const next = await other.app.get(LockProvider).tryAcquireMutex('report');
  ok(next);
  await next.release();
  await other.app.close();
  console.log('NestJS 11: a module, a decorator, health and shutdown');
}

void main();
