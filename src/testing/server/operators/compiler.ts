import { isArray } from '../values/bson-value.js';
import type { DateValue, DocumentValue, Value } from '../values/bson-value.js';
import { ServerError } from '../errors/server-error.js';

export interface Environment {
  root: DocumentValue;
  readonly now: DateValue;
  /** The values of the variables. A `Scope` knows the position of each. */
  readonly slots: (Value | undefined)[];
  /** The constants and paths of the expression that is evaluated now. */
  parameters: readonly ParameterValue[];
}

export type ParameterValue = Value | PathParameter;

export class PathParameter {
  readonly names: readonly string[];

  constructor(names: readonly string[]) {
    this.names = names;
  }
}

/** Stands in an expression for a constant or a path, whose value is in `parameters` of the environment. */
export class Parameter {
  readonly index: number;
  readonly isPath: boolean;

  constructor(index: number, isPath: boolean) {
    this.index = index;
    this.isPath = isPath;
  }
}

/** One compiled expression. `undefined`: the value is missing. */
export type Evaluation = (at: Environment) => Value | undefined;

/** The innermost variable that an expression sees, and the scope around it. */
export class Scope {
  readonly #name: string;
  readonly #outer: Scope | undefined;
  readonly slot: number;

  private constructor(name: string, slot: number, outer: Scope | undefined) {
    this.#name = name;
    this.slot = slot;
    this.#outer = outer;
  }

  static readonly EMPTY: Scope = new Scope('', -1, undefined);

  with(name: string): Scope {
    return new Scope(name, this.slot + 1, this);
  }

  find(name: string): number | undefined {
    if (this.#name === name) return this.slot;
    return this.#outer?.find(name);
  }
}

export type Compile = (expression: Value, scope: Scope) => Evaluation;

export type OperatorCompiler = (argument: Value, scope: Scope, compile: Compile) => Evaluation;

export type Operators = Readonly<Record<string, OperatorCompiler>>;

export const operandsOf = (argument: Value): readonly Value[] => (isArray(argument) ? argument : [argument]);

export const withOperands =
  (
    operator: string,
    least: number,
    most: number,
    make: (operands: readonly Evaluation[]) => Evaluation,
  ): OperatorCompiler =>
  (argument, scope, compile) => {
    const operands = operandsOf(argument);
    if (operands.length < least || operands.length > most) {
      const code = least === most ? 16_020 : 28_667;
      const count = least === most ? String(least) : `${least} to ${most}`;
      throw new ServerError(code, `Expression ${operator} takes ${count} arguments`);
    }
    return make(operands.map((operand) => compile(operand, scope)));
  };

export const unary = (
  operator: string,
  compute: (value: Value | undefined) => Value | undefined,
): OperatorCompiler =>
  withOperands(
    operator,
    1,
    1,
    ([operand = MISSING]) =>
      (at) =>
        compute(operand(at)),
  );

export const binary = (
  operator: string,
  compute: (a: Value | undefined, b: Value | undefined) => Value | undefined,
): OperatorCompiler =>
  withOperands(
    operator,
    2,
    2,
    ([a = MISSING, b = MISSING]) =>
      (at) =>
        compute(a(at), b(at)),
  );

export const variadic = (
  operator: string,
  make: (operands: readonly Evaluation[]) => Evaluation,
): OperatorCompiler => withOperands(operator, 0, Infinity, make);

export const MISSING: Evaluation = () => undefined;
