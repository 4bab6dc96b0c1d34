import 'reflect-metadata';
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert';

import type { INestApplication } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockProvider, ProviderClosedError } from 'leasehold';

import { BusyFilter } from './busy.filter.js';
import { HealthController } from './health.controller.js';
import { InvoicesController } from './invoices.controller.js';
import { LocksModule } from './locks.module.js';
import { OrdersService } from './orders.service.js';
import { ReportsJob } from './reports.job.js';

const uri = process.env['MONGODB_URI'] ?? '';
const database = `nestjs-${String(process.pid)}`;

@Module({
  imports: [LocksModule.forRoot({ uri, database, drainMs: 10_000 })],
  controllers: [HealthController, InvoicesController],
  providers: [OrdersService, ReportsJob],
})
class AppModule {}

/** One instance of the application, as one container has it. */
async function start(): Promise<{ readonly app: INestApplication; readonly url: string }> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
  app.enableShutdownHooks(); // SIGTERM calls app.close(), which drains the locks
  app.useGlobalFilters(new BusyFilter());
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
  // The first instance leads the job.
  deepStrictEqual({ healthy, held }, { healthy: true, held: 1 });

  const charge = (): Promise<Response> => fetch(`${one.url}/invoices/7/charge`, { method: 'POST' });
  strictEqual((await charge()).status, 201);
  const invoice = await other.app.get(LockProvider).acquireMutex('invoice:7');
  const busy = await charge();
  deepStrictEqual([busy.status, await busy.json()], [409, { busy: 'invoice:7' }]);
  await invoice.release();

  // Called out of turn, the job runs once, in the instance that leads.
  await other.app
    .get(LockProvider)
    .createScheduledJob('daily-report', {
      cron: '30 6 * * *',
      timeZone: 'Europe/Berlin',
      run: () => undefined,
    })
    .runNow();
  strictEqual([one, other].flatMap(({ app }) => app.get(ReportsJob).runs).length, 1);

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
  console.log(
    'NestJS 11: a module, a decorator, a controller, a job, an error as an answer, health and shutdown',
  );
}

void main();
