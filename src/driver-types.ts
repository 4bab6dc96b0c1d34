// Types for the parts of the driver that the library uses. The types belong to no copy of the driver, because a program
// may have several copies, such as its own and the copy of Mongoose. The classes of the driver have private members, so
// TypeScript does not accept a class of one copy where it expects the class of another copy. The classes of all copies
// fit these types.

/** A document as the driver sends or returns it. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- as in the driver's own `Document`
export type DriverDocument = Record<string, any>;

/** A `Db` of any copy of the driver: `client.db('app')`, or `connection.db` of a connected Mongoose connection. */
export interface DriverDb {
  /** The name of the database. */
  readonly databaseName: string;
  /** Runs one command. */
  command(command: DriverDocument, options?: DriverCommandOptions): Promise<DriverDocument>;
  /** Returns a collection. Only its change streams are used. */
  collection(name: string): DriverWatched;
}

/** A collection whose changes can be watched. */
export interface DriverWatched {
  watch(pipeline?: DriverDocument[], options?: DriverStreamOptions): DriverChangeStream;
}

/**
 * The command options that the library uses, except `signal`, which some supported drivers ignore (`Aborting` in
 * store/connection.ts).
 */
export interface DriverCommandOptions {
  readonly readPreference?: 'primary';
  readonly promoteLongs?: boolean;
  readonly promoteValues?: boolean;
  readonly promoteBuffers?: boolean;
  readonly useBigInt64?: boolean;
  readonly bsonRegExp?: boolean;
  readonly raw?: boolean;
  readonly serializeFunctions?: boolean;
  readonly ignoreUndefined?: boolean;
  readonly checkKeys?: boolean;
}

/** The options of change streams that the library uses, except `session`. */
export interface DriverStreamOptions extends DriverCommandOptions {
  readonly maxAwaitTimeMS?: number;
  readonly readConcern?: { readonly level: 'majority' };
}

/**
 * The client that a database belongs to. A `Db` of every supported driver has the property `client`, but the types of
 * driver 6.10 do not show this property.
 */
export const clientOf = (db: DriverDb): DriverClient => (db as unknown as { client: DriverClient }).client;

/** The `MongoClient` of a {@link DriverDb}. */
export interface DriverClient {
  readonly options: DriverClientOptions;
  connect(): Promise<unknown>;
  startSession(options?: { causalConsistency?: boolean }): DriverSession;
  on(event: 'topologyDescriptionChanged', listener: (event: DriverTopologyChange) => void): unknown;
  on(event: 'topologyClosed', listener: () => void): unknown;
  off(event: 'topologyDescriptionChanged', listener: (event: DriverTopologyChange) => void): unknown;
  off(event: 'topologyClosed', listener: () => void): unknown;
}

/** The client options that the library reads, except `timeoutMS`, which some supported drivers do not have. */
export interface DriverClientOptions {
  readonly hosts: readonly unknown[];
  readonly maxPoolSize: number;
  readonly replicaSet?: string | undefined;
  readonly socketTimeoutMS?: number | undefined;
}

/** The event in which the driver reports that it has learned something about the servers. */
export interface DriverTopologyChange {
  readonly previousDescription: DriverTopology;
  readonly newDescription: DriverTopology;
}

/** The driver's knowledge of all servers. */
export interface DriverTopology {
  readonly type: string;
  readonly servers: ReadonlyMap<string, DriverServer>;
  readonly compatibilityError?: string | undefined;
}

/** The driver's knowledge of one server. */
export interface DriverServer {
  readonly type: string;
  readonly address: string;
  readonly error: Error | null;
}

/** A change stream. The library reads its Node.js stream. */
export interface DriverChangeStream {
  stream(): DriverStream;
  on(event: 'resumeTokenChanged', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  once(event: 'resumeTokenChanged', listener: () => void): unknown;
  close(): Promise<void>;
}

/** The Node.js stream of a change stream. */
export interface DriverStream {
  on(event: string, listener: (value: DriverDocument) => void): unknown;
  once(event: string, listener: (value: DriverDocument) => void): unknown;
  pause(): unknown;
  resume(): unknown;
  destroy(): unknown;
}

/** A `ClientSession` of any copy of the driver. */
export interface DriverSession {
  /** Whether a transaction is open. */
  inTransaction(): boolean;
  /** Ends the session. */
  endSession(): Promise<void>;
}

/** A `MongoClient` of any copy of the driver, whose sessions have the type `S`. */
export interface DriverTransactions<S> {
  /** Returns a database. The default is the database of the connection string. */
  db(name?: string): DriverCollections;
  /** Returns a new session. */
  startSession(): S;
}

/** A `Db`. The library uses only its collections. */
export interface DriverCollections {
  collection(name: string): DriverUpdated;
}

/** A `Collection` of any copy of the driver. */
export interface DriverUpdated {
  /** Updates one document. */
  // The driver's own types of a filter, an update and a result differ between its versions and collections.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  updateOne(filter: any, update: any, options?: any): Promise<any>;
  /** The write concern of updates that name none. */
  readonly writeConcern?: DriverWriteConcern | undefined;
}

/** The result of the driver's `updateOne`. */
export interface DriverUpdateResult {
  /** Whether the server has answered the update. */
  readonly acknowledged: boolean;
  /** The number of documents that the filter selected: 0 or 1. */
  readonly matchedCount: number;
  /** The number of documents that were changed: 0 or 1. */
  readonly modifiedCount: number;
  /** The number of documents that were inserted: 0 or 1. */
  readonly upsertedCount: number;
  /** The `_id` of the inserted document; `null` if none was inserted. */
  readonly upsertedId: unknown;
}

/** A read concern, as a value of the driver or as a string. */
export type DriverReadConcern = string | { readonly level: string };

/** A read preference, as a value of the driver or as a string. */
export type DriverReadPreference = string | { readonly mode: string };

/** A write concern, as a value of the driver or as an object. */
export interface DriverWriteConcern {
  readonly w?: number | string;
  readonly j?: boolean;
  readonly journal?: boolean;
  readonly wtimeoutMS?: number;
  readonly wtimeout?: number;
  readonly fsync?: boolean | 1;
}

/** The options of a transaction, as in the driver. */
export interface DriverTransactionOptions {
  /** Which state of the data the transaction reads. Default here: `snapshot`. */
  readConcern?: DriverReadConcern | undefined;
  /** Which members must have stored the commit. Default here: `majority`. */
  writeConcern?: DriverWriteConcern | undefined;
  /** Which member the transaction reads from. Default here: `primary`. */
  readPreference?: DriverReadPreference | undefined;
  /** The longest time that the server may take for the commit, in ms. */
  maxCommitTimeMS?: number | undefined;
}

/** A collation of the server. */
export interface DriverCollation {
  readonly locale: string;
  readonly caseLevel?: boolean;
  readonly caseFirst?: string;
  readonly strength?: number;
  readonly numericOrdering?: boolean;
  readonly alternate?: string;
  readonly maxVariable?: string;
  readonly backwards?: boolean;
  readonly normalization?: boolean;
}

/** The options of an update, as in the driver's `updateOne`. */
export interface DriverUpdateOptions {
  /** Which elements of arrays the update changes. */
  arrayFilters?: DriverDocument[] | undefined;
  /** As in the driver. */
  authdb?: string | undefined;
  /** Whether regular expressions are returned as `BSONRegExp`. */
  bsonRegExp?: boolean | undefined;
  /** Whether the update may break the validation rules of the collection. */
  bypassDocumentValidation?: boolean | undefined;
  /** Whether the driver refuses keys that begin with `$` or contain a dot. */
  checkKeys?: boolean | undefined;
  /** How strings are compared. */
  collation?: DriverCollation | undefined;
  /** A comment for the logs and the profiler of the server. */
  comment?: unknown;
  /** As in the driver. */
  dbName?: string | undefined;
  /** Whether the driver checks that returned strings are UTF-8. */
  enableUtf8Validation?: boolean | undefined;
  /** As in the driver. */
  explain?: string | boolean | object | undefined;
  /** As in the driver. */
  fieldsAsRaw?: DriverDocument | undefined;
  /** The index to use. */
  hint?: string | DriverDocument | undefined;
  /** Whether fields that are `undefined` are left out. */
  ignoreUndefined?: boolean | undefined;
  /** Variables for the expressions of the filter and the update. */
  let?: DriverDocument | undefined;
  /** The longest time that the server may take, in ms. */
  maxTimeMS?: number | undefined;
  /** Whether a binary `upsertedId` is returned as a `Buffer`. */
  promoteBuffers?: boolean | undefined;
  /** Has no effect on the result. */
  promoteLongs?: boolean | undefined;
  /** Has no effect on the result. */
  promoteValues?: boolean | undefined;
  /** Has no effect on the result. */
  raw?: boolean | undefined;
  /** As in the driver. */
  readConcern?: DriverReadConcern | undefined;
  /** As in the driver. */
  readPreference?: DriverReadPreference | undefined;
  /** Whether functions are stored as code. */
  serializeFunctions?: boolean | undefined;
  /** The session. If it has an open transaction, the update belongs to the transaction. */
  session?: DriverSession | undefined;
  /** The longest time of the whole call, in ms, if the driver knows this option. */
  timeoutMS?: number | undefined;
  /** Whether a missing document is inserted. */
  upsert?: boolean | undefined;
  /** Has no effect on the result. */
  useBigInt64?: boolean | undefined;
  /** As in the driver. */
  willRetryWrite?: boolean | undefined;
  /** Which members must have stored the update. */
  writeConcern?: DriverWriteConcern | undefined;
}
