// Folder `errors`: what the simulated server throws.

/** The names of error codes. A code without a name here is named after its number. */
const CODE_NAMES: Readonly<Record<number, string>> = {
  2: 'BadValue',
  9: 'FailedToParse',
  14: 'TypeMismatch',
  15: 'Overflow',
  28: 'PathNotViable',
  40: 'ConflictingUpdateOperators',
  52: 'DollarPrefixedFieldName',
  53: 'InvalidIdField',
  54: 'NotSingleValueField',
  56: 'EmptyFieldName',
  66: 'ImmutableField',
  159: 'DurationOverflow',
  168: 'InvalidPipelineOperator',
  241: 'ConversionFailure',
  10_334: 'BSONObjectTooLarge',
};

/** The refusal of a command. A real server refuses the same update, query or projection with the same code. */
export class ServerError extends Error {
  readonly code: number;
  readonly codeName: string;

  constructor(code: number, message: string) {
    super(message);
    // The name that the driver gives to a refusal of the server.
    this.name = 'MongoServerError';
    this.code = code;
    this.codeName = CODE_NAMES[code] ?? `Location${code}`;
  }
}

/** The error for a feature that the simulation does not have. A real server may have the feature. */
export class NotSimulatedError extends Error {
  constructor(what: string) {
    super(`leasehold/testing does not simulate ${what}`);
    this.name = 'NotSimulatedError';
  }
}
