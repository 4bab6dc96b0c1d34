// A process that owns a server and does not stop it, for the tests of what is left when such a process ends.
import { tell } from '../processes/parent.js';
import { startStandalone } from './start.js';

const server = await startStandalone();
tell({ says: 'port', port: server.members[0]?.port });
if (process.argv[2] === 'throw') throw new Error('as asked');
if (process.argv[2] === 'exit') process.exit(3);
setInterval(() => undefined, 1000);
