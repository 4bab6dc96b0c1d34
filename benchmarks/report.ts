import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import pc from 'picocolors';
import { distributionOf } from './statistics.js';
import type { Distribution } from './statistics.js';

/** A figure and what it must be. */
export interface Gate {
  readonly name: string;
  readonly measured: number;
  readonly must: '≤' | '≥' | '=';
  readonly bound: number;
  /** False: the machine was too busy for the figure to mean much. */
  readonly isSteady?: boolean;
}

interface Timing extends Distribution {
  readonly name: string;
}

const resultsFolder = fileURLToPath(new URL('results/', import.meta.url));

/** What one scenario measured on one server: tables for people, a file for later comparison. */
export class Report {
  readonly #scenario: string;
  readonly #server: string;
  readonly #gates: Gate[] = [];
  readonly #timings: Timing[] = [];
  readonly #notes: Record<string, number | string> = {};

  constructor(scenario: string, server: string) {
    this.#scenario = scenario;
    this.#server = server;
  }

  gate(gate: Gate): void {
    this.#gates.push(gate);
  }

  timing(name: string, valuesMs: readonly number[]): void {
    this.#timings.push({ name, ...distributionOf(valuesMs) });
  }

  note(name: string, value: number | string): void {
    this.#notes[name] = value;
  }

  async publish(): Promise<void> {
    console.log(`\n${pc.bold(this.#scenario)} on ${this.#server}`);
    console.log(this.#timingTable());
    for (const [name, value] of Object.entries(this.#notes)) console.log(pc.dim(`${name}: ${value}`));
    console.log(this.#gateTable());
    const file = await this.#write();
    console.log(pc.dim(`written to ${relative(process.cwd(), file)}`));
  }

  #timingTable(): string {
    const table = newTable(['ms', 'count', 'p10', 'p50', 'p90', 'p99', 'max']);
    for (const { name, count, p10, p50, p90, p99, max } of this.#timings) {
      table.push([name, count, ...[p10, p50, p90, p99, max].map((ms) => ms.toFixed(2))]);
    }
    return table.toString();
  }

  #gateTable(): string {
    const table = newTable(['gate', 'measured', 'bound', '']);
    for (const gate of this.#gates) {
      table.push([gate.name, shown(gate.measured), `${gate.must} ${shown(gate.bound)}`, verdictOn(gate)]);
    }
    return table.toString();
  }

  async #write(): Promise<string> {
    const at = new Date().toISOString();
    const record = {
      scenario: this.#scenario,
      at,
      server: this.#server,
      node: process.version,
      processors: availableParallelism(),
      loadOfLastMinute: loadavg()[0],
      gates: this.#gates.map((gate) => ({ ...gate, isPassed: isPassed(gate) })),
      timingsMs: this.#timings,
      notes: this.#notes,
    };
    await mkdir(resultsFolder, { recursive: true });
    const file = `${resultsFolder}${this.#scenario}-${at.replaceAll(':', '-')}.json`;
    await writeFile(file, `${JSON.stringify(record, null, 2)}\n`);
    return file;
  }
}

function isPassed({ measured, must, bound }: Gate): boolean {
  if (must === '=') return measured === bound;
  return must === '≤' ? measured <= bound : measured >= bound;
}

function verdictOn(gate: Gate): string {
  const verdict = isPassed(gate) ? pc.green('pass') : pc.bold(pc.red('missed'));
  return gate.isSteady === false ? `${verdict}${pc.yellow(', unsteady')}` : verdict;
}

const shown = (figure: number): string => (Number.isInteger(figure) ? String(figure) : figure.toFixed(3));

function newTable(head: readonly string[]): Table.Table {
  const colAligns = head.map((_, column) => (column === 0 ? ('left' as const) : ('right' as const)));
  return new Table({ head: [...head], style: { head: [], border: [], compact: true }, colAligns });
}
