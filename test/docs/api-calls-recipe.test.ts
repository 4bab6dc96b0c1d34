import { describe, expect, test } from 'vitest';

import { OwnDatabase } from '../support/test-provider.js';
import { eventually, later, rejection } from '../../lab/patience.js';
import { recipe } from './recipe.js';

type Forecast = (city: string) => Promise<string>;

/** One call of the service, which the test ends. */
interface Call {
  readonly city: string;
  answer(): void;
  fail(error: Error): void;
}

/** The service, and three processes that call it by the recipe. */
class Weather extends OwnDatabase {
  /** Every call that has begun. */
  readonly begun: Call[] = [];
  /** The calls that have not ended. */
  readonly open = new Set<Call>();
  mostAtOnce = 0;
  /** The pauses that have begun, which the test ends. */
  readonly pauses: { readonly ms: number; readonly end: () => void }[] = [];
  readonly #locks = this.client().provider();
  readonly #forecasts = [this.#locks, this.client().provider(), this.client().provider()].map((locks) => {
    const given = { locks, fetchForecast: (city: string) => this.#call(city) };
    const modules = { 'node:timers/promises': { setTimeout: (ms: number) => this.#pause(ms) } };
    return recipe('docs/semaphore.md', 'forecast', given, modules) as Forecast;
  });

  /** Asks for this many forecasts, by each process in turn. */
  forecasts(count: number): readonly Promise<string>[] {
    return Array.from({ length: count }, (_, index) =>
      later(this.#forecasts[index % 3]?.(`city ${String(index)}`) ?? Promise.reject(new Error())),
    );
  }

  async holdersAndWaiters(): Promise<readonly number[]> {
    const snapshot = await this.#locks.inspect('api:forecast');
    return [snapshot?.holders.length ?? 0, snapshot?.waiters.length ?? 0];
  }

  endPauses(): void {
    for (const { end } of this.pauses) end();
  }

  #call(city: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const call = {
        city,
        answer: () => {
          this.open.delete(call);
          resolve(`sunny in ${city}`);
        },
        fail: (error: Error) => {
          this.open.delete(call);
          reject(error);
        },
      };
      this.begun.push(call);
      this.open.add(call);
      this.mostAtOnce = Math.max(this.mostAtOnce, this.open.size);
    });
  }

  #pause(ms: number): Promise<void> {
    return new Promise((end) => this.pauses.push({ ms, end }));
  }
}

const settled = (weather: Weather, holders: number, waiters: number): Promise<unknown> =>
  eventually(`${holders} holders and ${waiters} waiters`, async () => {
    const [held, waiting] = await weather.holdersAndWaiters();
    return held === holders && waiting === waiters && weather.begun.length === 15 - waiters;
  });

describe('the client of the API in docs/semaphore.md', () => {
  test('makes five calls at once in all processes together, and never more', async () => {
    await using weather = new Weather();
    const answers = weather.forecasts(15);

    for (let waiting = 10; waiting > 0; waiting -= 1) {
      await settled(weather, 5, waiting);
      expect(weather.open.size).toBe(5);
      [...weather.open][0]?.answer();
      weather.endPauses();
    }
    await settled(weather, 5, 0);
    for (const call of weather.open) call.answer();
    weather.endPauses();

    const cities = Array.from({ length: 15 }, (_, index) => `sunny in city ${String(index)}`);
    expect(await Promise.all(answers)).toEqual(cities);
    expect(weather.mostAtOnce).toBe(5);
  });

  test('begins no sixth call within the second of five calls, even if these end early or fail', async () => {
    await using weather = new Weather();
    const answers = weather.forecasts(15);
    await settled(weather, 5, 10);
    const [first, ...others] = weather.begun;
    first?.fail(new Error('no such city'));
    for (const call of others) call.answer();

    expect(weather.pauses.map(({ ms }) => ms)).toEqual([1_000, 1_000, 1_000, 1_000, 1_000]);
    expect(await weather.holdersAndWaiters()).toEqual([5, 10]);
    weather.pauses[0]?.end();
    await settled(weather, 5, 9);
    expect(weather.begun).toHaveLength(6);

    const failed = answers[Number(first?.city.slice(5))];
    expect(await rejection(failed ?? Promise.resolve())).toMatchObject({ message: 'no such city' });
  });
});
