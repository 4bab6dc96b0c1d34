import { LockProvider } from 'leasehold';
import { runCoordinator } from 'leasehold/node-cron';
import { MongoClient } from 'mongodb';
import cron from 'node-cron';

import { fireOnce } from './fire-once.cjs';

await fireOnce({ LockProvider, runCoordinator, MongoClient, cron }, 'imports');
