// The driver in the command line reads connection strings by the URL of Node.js, and elsewhere by the package whatwg-url.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { MongoClient } from 'mongodb';
import { build } from 'tsup';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { cacheFolder } from '../../../lab/processes/program.js';
import { COMMAND_LINE } from '../../../scripts/entries.js';
import type { MongoClient as ClientInside } from './driver-inside.js';

interface DriverInside {
  readonly MongoClient: typeof ClientInside;
}

let folder: Awaited<ReturnType<typeof cacheFolder>> | undefined;
let inside: DriverInside | undefined;

beforeAll(async () => {
  folder = await cacheFolder('driver-inside');
  const entry = { driver: 'test/behaviour/command-line/driver-inside.ts' };
  const tsconfig = 'tsconfig.json';
  const common = { config: false, dts: false, silent: true } as const;
  await build({ ...COMMAND_LINE, ...common, entry, tsconfig, outDir: folder.path });
  inside = (await import(pathToFileURL(join(folder.path, 'driver.js')).href)) as DriverInside;
});

afterAll(async () => {
  await folder?.[Symbol.asyncDispose]();
});

/** Everything that the driver has read from the string, or what it says against it. */
function readBy(Client: typeof MongoClient, uri: string): unknown {
  try {
    const { options } = new Client(uri);
    const plain = JSON.stringify(options, (key, value: unknown) => {
      if (key === 'metadata' || key === 'mongoLogger') return undefined;
      return typeof value === 'function' ? 'a function' : value;
    });
    return {
      hosts: options.hosts.map(String),
      srvHost: options.srvHost,
      options: JSON.parse(plain) as unknown,
    };
  } catch (error) {
    return String(error);
  }
}

const READ = [
  'mongodb://a',
  'mongodb://a:27018',
  'mongodb://a,b:27018,c.example:27019/?replicaSet=rs0',
  'mongodb://A.Example.ORG/Db',
  'mongodb://127.0.0.1:27017,[::1]:27018/',
  'mongodb://[2001:db8::ff00:42:8329]:27017/db',
  'mongodb://%2Ftmp%2Fmongodb-27017.sock',
  'mongodb://user:word@%2Ftmp%2Fmongodb-27017.sock/admin?authMechanism=SCRAM-SHA-256',
  'mongodb://user:word@a/db',
  'mongodb://user@a/?authMechanism=MONGODB-X509&authSource=$external&tls=true',
  'mongodb://us%40er:w%3Ao%2Fr%25d@a,b/db?authSource=other',
  'mongodb://%E2%98%83:%F0%9F%94%92@a/%E2%98%83',
  'mongodb://ünï:wörd@a/',
  "mongodb://user:!$&'()*+,;=~-._@a/?appName=x",
  'mongodb://a/?appName=a%20b+c%26d%3D%E2%98%83',
  'mongodb://a/?w=majority&wtimeoutMS=5000&journal=true&readConcernLevel=majority',
  'mongodb://a/?readPreference=nearest&readPreferenceTags=dc:ny,rack:1&readPreferenceTags=',
  'mongodb://a/?authMechanismProperties=SERVICE_NAME:other,CANONICALIZE_HOST_NAME:true&authMechanism=GSSAPI',
  'mongodb://user%40REALM@a/?authMechanism=GSSAPI&authMechanismProperties=SERVICE_NAME:x',
  'mongodb://a/?compressors=zlib&zlibCompressionLevel=3',
  'mongodb://a/?directConnection=true&socketTimeoutMS=1&connectTimeoutMS=2&maxPoolSize=3',
  'mongodb://a/?tls=true&tlsAllowInvalidHostnames=true',
  'mongodb://a/?TLS=true&ReplicaSet=rs0&MAXPOOLSIZE=7',
  'mongodb://a?replicaSet=rs0',
  'mongodb://a/db.with.dots?w=1',
  'mongodb://a/#fragment',
  'mongodb+srv://cluster.example.org/db?retryWrites=false',
  'mongodb+srv://user:word@cluster.example.org/?srvMaxHosts=2&srvServiceName=own',
  'mongodb+srv://cluster.example.org/?tls=false',
] as const;

const REFUSED = [
  '',
  'a',
  'http://a',
  'mongodb:/a',
  'mongodb://',
  'mongodb:///db',
  'mongodb://a,,b',
  'mongodb://a:0',
  'mongodb://a:65536',
  'mongodb://a:-1',
  'mongodb://a:b',
  'mongodb://[::1',
  'mongodb://us@er:word@a',
  'mongodb://user:wo/rd@a',
  'mongodb://user:wo%rd@a',
  'mongodb://:word@a',
  'mongodb://a/?unknownOption=1',
  'mongodb://a/?maxPoolSize=many',
  'mongodb://a/?w=majority&w=2',
  'mongodb://a/?tls=true&ssl=false',
  'mongodb://a,b/?directConnection=true',
  'mongodb://a/?loadBalanced=true&replicaSet=rs0',
  'mongodb+srv://cluster.example.org:27017',
  'mongodb+srv://a.example.org,b.example.org',
  'mongodb+srv://localhost/?directConnection=true',
] as const;

describe('the driver in the command line', () => {
  for (const uri of [...READ, ...REFUSED]) {
    it(`reads ${JSON.stringify(uri)} as the driver does elsewhere`, () => {
      if (inside === undefined) throw new Error('the driver was not built');
      expect(readBy(inside.MongoClient, uri)).toEqual(readBy(MongoClient, uri));
    });
  }

  it('takes some of these strings and refuses others, so that both are compared', () => {
    const refused = [...READ, ...REFUSED].filter((uri) => typeof readBy(MongoClient, uri) === 'string');
    expect(refused.length).toBeGreaterThan(15);
    expect(READ.length + REFUSED.length - refused.length).toBeGreaterThan(20);
  });
});
