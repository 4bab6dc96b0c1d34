/**
 * Declarations that the examples presuppose, so that they can be short: functions of the reader, and a client, a database
 * and a provider. An example that declares one of these names itself hides it.
 */
export const presupposed = `
import type { LockProvider } from 'leasehold';
import type { Db, MongoClient } from 'mongodb';

interface Work {
  readonly signal: AbortSignal;
  readonly fencingToken: number;
}

declare global {
  const client: MongoClient;
  const db: Db;
  const locks: LockProvider;
  function sendMail(work: Work): Promise<void>;
  function charge(invoice: string, work: Work): Promise<void>;
  function sendReport(day: string, work: { readonly signal: AbortSignal }): Promise<void>;
  function pendingMigrations(): Promise<
    { run(work: { readonly signal: AbortSignal }): Promise<void> }[]
  >;
  function readShelves(): Promise<readonly string[]>;
  function areShelvesSorted(): Promise<boolean>;
  function sortShelves(work: Work): Promise<void>;
  function fetchForecast(city: string, work: { readonly signal: AbortSignal }): Promise<string>;
  function fetchProducts(
    day: string,
    work: { readonly signal: AbortSignal },
  ): Promise<readonly { readonly sku: string; readonly cents: number }[]>;
}
`;
