const leasehold = require('leasehold');
const quorum = require('leasehold/quorum');
const { MongoClient } = require('mongodb');

const { flow } = require('./flow.mjs');

void flow(leasehold, quorum, MongoClient, process.env.FLOW);
