export { instrument } from './instrument.js';
export type { Instrumentable, InstrumentOptions } from './instrument.js';
