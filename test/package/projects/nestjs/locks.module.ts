import { Global, Inject, Module } from '@nestjs/common';
import type { DynamicModule, OnApplicationShutdown } from '@nestjs/common';
import { LockProvider } from 'leasehold';
import type { LockProviderOptions } from 'leasehold';
import { MongoClient } from 'mongodb';

export interface LocksModuleOptions extends LockProviderOptions {
  readonly uri: string;
  readonly database: string;
  /** How long holders have to release when the application ends, in ms. */
  readonly drainMs?: number;
}

const DRAIN_MS = Symbol('drainMs');

/** One provider for the whole application. Any service injects it by its class: `constructor(locks: LockProvider)`. */
@Global()
@Module({})
export class LocksModule implements OnApplicationShutdown {
  constructor(
    @Inject(LockProvider) private readonly locks: LockProvider,
    @Inject(MongoClient) private readonly client: MongoClient,
    @Inject(DRAIN_MS) private readonly drainMs: number,
  ) {}

  static forRoot({ uri, database, drainMs = 5_000, ...options }: LocksModuleOptions): DynamicModule {
    return {
      module: LocksModule,
      providers: [
        { provide: MongoClient, useFactory: () => new MongoClient(uri) },
        {
          provide: LockProvider,
          inject: [MongoClient],
          useFactory: (client: MongoClient) => new LockProvider(client.db(database), options),
        },
        { provide: DRAIN_MS, useValue: drainMs },
      ],
      exports: [LockProvider],
    };
  }

  /** Nest calls this after the HTTP server has closed, so no request begins after the locks have ended. */
  async onApplicationShutdown(): Promise<void> {
    await this.locks.close({ drainMs: this.drainMs });
    await this.client.close();
  }
}
