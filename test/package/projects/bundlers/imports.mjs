import * as leasehold from 'leasehold';
import * as quorum from 'leasehold/quorum';
import { MongoClient } from 'mongodb';

import { flow } from './flow.mjs';

await flow(leasehold, quorum, MongoClient, process.env.FLOW);
