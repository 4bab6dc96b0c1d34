import { stripVTControlCharacters } from 'node:util';
import pc from 'picocolors';

/** Lines on the terminal; on a real one, also a last line that changes in place. */
export class Screen {
  readonly #out = process.stdout;
  readonly #isLive = process.stdout.isTTY && pc.isColorSupported;
  readonly #startedMs = performance.now();
  #hasLiveLine = false;

  /** A line that stays. */
  line(text = ''): void {
    this.#wipe();
    this.#out.write(`${text}\n`);
  }

  /** A line that stays, with the time since the start before it. */
  event(text: string): void {
    this.line(this.#timed(text));
  }

  heading(title: string, ...explanations: readonly string[]): void {
    this.line();
    this.line(pc.bold(title));
    for (const explanation of explanations) this.line(pc.dim(explanation));
  }

  /** A line that the next one replaces. */
  live(text: string): void {
    const timed = this.#timed(text);
    // A line that wraps could not be taken back.
    if (!this.#isLive || stripVTControlCharacters(timed).length >= this.#out.columns) return;
    this.#wipe();
    this.#out.write(timed);
    this.#hasLiveLine = true;
  }

  #timed(text: string): string {
    const seconds = (performance.now() - this.#startedMs) / 1000;
    return `${pc.dim(`${seconds.toFixed(1).padStart(6)} s`)}  ${text}`;
  }

  #wipe(): void {
    if (this.#hasLiveLine) this.#out.write('\r\x1b[2K');
    this.#hasLiveLine = false;
  }
}
