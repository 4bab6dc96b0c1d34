// What the commands do that connect to a server.

export { dashboard } from './dashboard.js';
export { doctor } from './doctor.js';
export { elect } from './elect.js';
export { ls } from './ls.js';
export { resize } from './resize.js';
export { revoke } from './revoke.js';
export { run } from './run.js';
export { show } from './show.js';
export { top } from './top.js';
export { wait } from './wait.js';
export { watch } from './watch.js';
