const leasehold = require('leasehold');
const quorum = require('leasehold/quorum');
const { MongoClient } = require('mongodb');

void import('./flow.mjs').then(({ flow }) => flow(leasehold, quorum, MongoClient, process.env.FLOW));
