import { Controller, Inject, Param, Post } from '@nestjs/common';
import { LockProvider } from 'leasehold';

@Controller('invoices')
export class InvoicesController {
  constructor(@Inject(LockProvider) private readonly locks: LockProvider) {}

  @Post(':number/charge')
  async charge(@Param('number') number: string): Promise<{ readonly token: number }> {
    const name = `invoice:${number}`;
    return await this.locks.useMutex(name, ({ fencingToken: token }) => ({ token }), { timeoutMs: 500 });
  }
}
