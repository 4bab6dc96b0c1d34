import { Controller, Get, Inject, ServiceUnavailableException } from '@nestjs/common';
import { LockProvider } from 'leasehold';
import type { LockProviderHealth } from 'leasehold';

@Controller('health')
export class HealthController {
  constructor(@Inject(LockProvider) private readonly locks: LockProvider) {}

  @Get('live')
  live(): string {
    return 'ok';
  }

  @Get('ready')
  ready(): LockProviderHealth {
    const health = this.locks.health();
    if (!health.healthy) throw new ServiceUnavailableException(health.reasons);
    return health;
  }
}
