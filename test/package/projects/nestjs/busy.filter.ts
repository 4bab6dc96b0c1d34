import { Catch } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import { AcquireTimeoutError } from 'leasehold';

interface HttpResponse {
  status(code: number): { json(body: object): void };
}

@Catch(AcquireTimeoutError)
export class BusyFilter implements ExceptionFilter<AcquireTimeoutError> {
  catch({ lockName }: AcquireTimeoutError, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<HttpResponse>().status(409).json({ busy: lockName });
  }
}
