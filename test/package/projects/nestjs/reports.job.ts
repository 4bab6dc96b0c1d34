import { Inject, Injectable } from '@nestjs/common';
import type { OnApplicationBootstrap } from '@nestjs/common';
import { LockProvider } from 'leasehold';

@Injectable()
export class ReportsJob implements OnApplicationBootstrap {
  /** The instants of the runs in this process. */
  readonly runs: Date[] = [];

  constructor(@Inject(LockProvider) private readonly locks: LockProvider) {}

  /** `locks.close()` stops the job. */
  async onApplicationBootstrap(): Promise<void> {
    const job = this.locks.createScheduledJob('daily-report', {
      cron: '30 6 * * *',
      timeZone: 'Europe/Berlin',
      missed: 'run-once',
      run: ({ firedAt }) => {
        this.runs.push(firedAt); // your work
      },
    });
    job.on('failed', ({ error }) => {
      console.error(error);
    });
    await job.start();
  }
}
