import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { expectUsualBehaviour } from '../behaviour/environments/usual-behaviour.js';
import { startAuthorizingServer } from '../../lab/mongo-server/authorizing-server.js';
import type { AuthorizingServer } from '../../lab/mongo-server/authorizing-server.js';
import { OwnClient, randomName } from '../support/test-provider.js';
import { rejection } from '../../lab/patience.js';
import { printedPrivileges } from '../support/printed-privileges.js';

describe('the role of docs/operations.md', () => {
  let server: AuthorizingServer;

  beforeAll(async () => {
    server = await startAuthorizingServer();
  });

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  async function connect(without?: string): Promise<OwnClient> {
    const db = randomName('leasehold-test');
    const uri = await server.uriOfUser(randomName('user'), printedPrivileges(db, without));
    return new OwnClient(uri, db);
  }

  test('is enough for all calls', async () => {
    await using client = await connect();
    const [here, there] = [client.provider(), client.provider()];
    const { storeErrors } = await expectUsualBehaviour(here, there, 'change-stream');
    await here.ensureIndexes();
    expect(storeErrors).toEqual([]);
  });

  test('has no privilege that is not needed for them', async () => {
    await using client = await connect('createIndex');
    const error = await rejection(client.provider().ensureIndexes());
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', cause: { codeName: 'Unauthorized' } });

    await using polling = await connect('changeStream');
    await expectUsualBehaviour(polling.provider(), polling.provider(), 'polling');
  });

  test.each(['find', 'insert', 'update'])('allows no request without %s', async (action) => {
    await using client = await connect(action);
    const error = await rejection(client.provider().acquireMutex('a'));
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', cause: { codeName: 'Unauthorized' } });
  });
});
