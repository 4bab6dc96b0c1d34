export const DATABASE = 'app';

/** The database of the quorum in each replica set. */
export const QUORUM_DATABASE = 'quorum';

/** The collection of the lock documents. */
export const LOCKS = 'distributed.locks';
