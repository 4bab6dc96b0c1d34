import { load } from './packages.js';

/** A connection of ioredis, as far as it is used here. */
export interface RedisClient {
  ping(): Promise<string>;
  info(section: string): Promise<string>;
  quit(): Promise<unknown>;
}

type Redis = new (uri: string) => RedisClient;

/** Resolves when it is connected. */
export async function connectToRedis(uri: string): Promise<RedisClient> {
  const { Redis } = load('ioredis') as { Redis: Redis };
  const client = new Redis(uri);
  await client.ping();
  return client;
}
