import { Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';

import { UseMutex } from './use-mutex.js';

@Injectable()
export class OrdersService {
  /** For the test of this project: how many shipments of one order have run at the same time. */
  static atATime = 0;
  static most = 0;

  /** One shipment of an order at a time, in all processes. */
  @UseMutex((orderId: string) => `order:${orderId}`, { timeoutMs: 30_000, why: 'shipment' })
  async ship(orderId: string): Promise<string> {
    OrdersService.atATime += 1;
    OrdersService.most = Math.max(OrdersService.most, OrdersService.atATime);
    await sleep(50); // your work
    OrdersService.atATime -= 1;
    return `shipped ${orderId}`;
  }
}
