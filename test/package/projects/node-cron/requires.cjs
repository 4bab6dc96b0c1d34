const { LockProvider } = require('leasehold');
const { runCoordinator } = require('leasehold/node-cron');
const { MongoClient } = require('mongodb');
const cron = require('node-cron');

const { fireOnce } = require('./fire-once.cjs');

void fireOnce({ LockProvider, runCoordinator, MongoClient, cron }, 'requires');
