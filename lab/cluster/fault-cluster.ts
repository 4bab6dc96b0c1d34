import { join } from 'node:path';

import type { Document, Timestamp } from 'mongodb';

import { findBinary } from '../mongo-server/find-binary.js';
import type { MongodBinary } from '../mongo-server/mongod-binary.js';
import { eventually } from '../patience.js';
import { findFakeTime, setFakeClock } from './fake-time.js';
import type { FakeTime } from './fake-time.js';
import { ControlledMember } from './fault-member.js';
import type { FaultMember } from './fault-member.js';
import { startFaultProxy } from './fault-proxy.js';
import { Ground } from './ground.js';
import { MongodProcess } from './mongod-process.js';
import { freePort } from '../ports.js';

export interface ClusterOptions {
  /** Default: 2,000. */
  readonly electionTimeoutMs?: number;
  /** Whether members run under libfaketime, so that `setClock` works; without the library they do not: see `canSetClocks`. */
  readonly withClocks?: boolean;
  /** A parent folder for the data of a member by index, e.g. a small tmpfs. */
  readonly dataFolders?: readonly (string | undefined)[];
}

/**
 * Cut: a primary sees at once that it is alone, and steps down. Silence: what it sends is neither answered nor refused,
 * so that for an election timeout it remains primary, beside another one perhaps: the others do not wait for it.
 */
export type Isolation = 'cut' | 'silence';

/** A replica set of three under control, whose members reach one another, and are reached, through proxies only. */
export interface FaultCluster extends AsyncDisposable {
  /** Through the proxies. */
  readonly uri: string;
  /** Version and members, in words for people. */
  readonly description: string;
  readonly members: readonly FaultMember[];
  readonly canSetClocks: boolean;
  /** The one with the highest term among those that say of themselves that they are, if a majority takes it for that. */
  primary(): Promise<FaultMember | undefined>;
  untilPrimary(boundMs?: number): Promise<FaultMember>;
  secondaries(): Promise<readonly FaultMember[]>;
  /** Until `heal`, the member can neither reach the others nor be reached by them, while clients reach all three. */
  isolate(member: FaultMember, how?: Isolation): void;
  /** All proxies let everything through, all members run, with their clocks back, one is primary and all have caught up. */
  heal(boundMs?: number): Promise<void>;
  /** Copies what the members have logged so far. */
  saveLogs(folder: string): Promise<void>;
  /** The current election term. */
  term(): Promise<number>;
}

const SET_NAME = 'faults';
const MEMBERS = 3;
export const ELECTION_TIMEOUT_MS = 2_000;
/**
 * Not the usual two seconds, after which it would be known only late who has been elected. For the same cause a new
 * primary does not wait ten seconds, which is usual, for one that is silent before it lets anything be written.
 */
const HEARTBEAT_INTERVAL_MS = 500;
const HELLO_MS = 1_000;
const WELL_MS = 90_000;

export async function startFaultCluster(options: ClusterOptions = {}): Promise<FaultCluster> {
  const binary = await findBinary(console.log);
  const ground = new Ground(options.dataFolders ?? []);
  try {
    const fakeTime = options.withClocks === true ? await findFakeTime() : undefined;
    const members: ControlledMember[] = [];
    for (let index = 0; index < MEMBERS; index += 1) {
      members.push(await layOut(index, binary, ground, fakeTime));
    }
    const hosts = members.map(({ host }) => host).join(', ');
    const description = `mongod ${binary.version} (${binary.origin}), three members behind proxies on ${hosts}`;
    const cluster = new ControlledCluster(description, members, ground, fakeTime !== undefined);
    await cluster.start(options.electionTimeoutMs ?? ELECTION_TIMEOUT_MS);
    return cluster;
  } catch (error) {
    await ground.clear();
    throw error;
  }
}

async function layOut(
  index: number,
  binary: MongodBinary,
  ground: Ground,
  fakeTime: FakeTime | undefined,
): Promise<ControlledMember> {
  const clockFile = join(ground.folder, `clock-${index}`);
  if (fakeTime !== undefined) setFakeClock(clockFile, '+0');
  const mongod = new MongodProcess({
    binary: binary.path,
    setName: SET_NAME,
    port: await freePort(),
    dataFolder: ground.dataFolder(index),
    logFile: join(ground.folder, `member-${index}.log`),
    environment: fakeTime?.environment(clockFile) ?? {},
  });
  const proxy = await startFaultProxy(mongod.plan.port);
  const member = new ControlledMember(index, proxy, mongod, fakeTime === undefined ? undefined : clockFile);
  ground.occupy(mongod, member);
  return member;
}

class ControlledCluster implements FaultCluster {
  readonly uri: string;
  readonly description: string;
  readonly members: readonly FaultMember[];
  readonly canSetClocks: boolean;
  readonly #ground: Ground;

  constructor(
    description: string,
    members: readonly ControlledMember[],
    ground: Ground,
    canSetClocks: boolean,
  ) {
    this.uri = `mongodb://${members.map(({ host }) => host).join(',')}/?replicaSet=${SET_NAME}`;
    this.description = description;
    this.members = members;
    this.#ground = ground;
    this.canSetClocks = canSetClocks;
  }

  async start(electionTimeoutMs: number): Promise<void> {
    await Promise.all(this.members.map((member) => member.restart()));
    const [first] = this.members;
    const config = {
      _id: SET_NAME,
      members: this.members.map(({ index, host }) => ({ _id: index, host })),
      settings: {
        electionTimeoutMillis: electionTimeoutMs,
        heartbeatIntervalMillis: HEARTBEAT_INTERVAL_MS,
        heartbeatTimeoutSecs: electionTimeoutMs / 1_000,
        catchUpTimeoutMillis: electionTimeoutMs,
      },
    };
    await first?.admin({ replSetInitiate: config }, WELL_MS);
    await eventually('the first election', () => this.#isWell(), WELL_MS);
  }

  async primary(): Promise<FaultMember | undefined> {
    const greetings = await this.#ask({ hello: 1 });
    const [highest] = greetings
      .filter(({ answer }) => answer['isWritablePrimary'] === true)
      .sort((a, b) => electedIn(b.answer) - electedIn(a.answer));
    if (highest === undefined) return undefined;
    const takers = greetings.filter(({ answer }) => answer['primary'] === highest.member.host);
    return takers.length > this.members.length / 2 ? highest.member : undefined;
  }

  async untilPrimary(boundMs?: number): Promise<FaultMember> {
    return await eventually('there is a primary', () => this.primary(), boundMs);
  }

  async secondaries(): Promise<readonly FaultMember[]> {
    const greetings = await this.#ask({ hello: 1 });
    return greetings.filter(({ answer }) => answer['secondary'] === true).map(({ member }) => member);
  }

  async term(): Promise<number> {
    const statuses = await eventually('a member says in which term it is', async () => {
      const answers = await this.#ask({ replSetGetStatus: 1 });
      return answers.length > 0 && answers;
    });
    return Math.max(...statuses.map(({ answer }) => Number(answer['term'])));
  }

  isolate(member: FaultMember, how: Isolation = 'cut'): void {
    member.proxy.cut('members');
    for (const { proxy } of this.members) {
      if (proxy === member.proxy) continue;
      if (how === 'cut') proxy.cut({ memberPort: member.port });
      else proxy.freeze({ memberPort: member.port });
    }
  }

  async heal(boundMs: number = WELL_MS): Promise<void> {
    for (const member of this.members) {
      member.proxy.heal();
      member.continue();
      if (this.canSetClocks) await member.setClock('+0');
    }
    const becomesWell = async (): Promise<boolean> => {
      // One that was about to end by itself when its fault was over still ran a moment ago.
      await Promise.all(this.members.map((member) => member.restart()));
      // A member that has stepped down may stand for election again.
      await this.#ask({ replSetFreeze: 0 });
      return await this.#isWell();
    };
    await eventually('one is primary, and all have caught up', becomesWell, boundMs);
  }

  async saveLogs(folder: string): Promise<void> {
    await this.#ground.saveLogs(folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ground.clear();
  }

  /** One is primary, and the others are secondaries that have all that it had when it was asked. */
  async #isWell(): Promise<boolean> {
    const primary = await this.primary();
    if (primary === undefined) return false;
    const [ahead] = await this.#ask({ replSetGetStatus: 1 }, [primary]);
    const others = this.members.filter((member) => member !== primary);
    const statuses = await this.#ask({ replSetGetStatus: 1 }, others);
    return (
      ahead?.answer['myState'] === PRIMARY &&
      statuses.length === others.length &&
      statuses.every(({ answer }) => answer['myState'] === SECONDARY && hasAll(answer, ahead.answer))
    );
  }

  /** Those that answer in time, with what they say. */
  async #ask(
    command: Document,
    members = this.members,
  ): Promise<readonly { readonly member: FaultMember; readonly answer: Document }[]> {
    const answers = await Promise.all(
      members.map(async (member) => {
        if (!member.isRunning || member.isStopped) return undefined;
        const answer = await member.admin(command, HELLO_MS).catch(() => undefined);
        return answer === undefined ? undefined : { member, answer };
      }),
    );
    return answers.filter((answer) => answer !== undefined);
  }
}

const PRIMARY = 1;
const SECONDARY = 2;

/** The id of an election ends with its term. */
function electedIn(hello: Document): number {
  return parseInt(String(hello['electionId']).slice(8), 16);
}

function hasAll(status: Document, ahead: Document): boolean {
  const optimeOf = ({ optimes }: Document) =>
    (optimes as { appliedOpTime: { ts: Timestamp; t: number } }).appliedOpTime;
  const [own, its] = [optimeOf(status), optimeOf(ahead)];
  return own.t === its.t && own.ts.greaterThanOrEqual(its.ts);
}
