// For the build of the command line: the driver as it is inside.
export { MongoClient } from 'mongodb';
