// The lock of gateways that start on the same folder. The steps of four starts are interleaved in random
// order, with crashes and releases in between. The folder is real, the processes are simulated. At most one
// gateway holds the lock, and a free lock can be acquired.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type LockOutcome, lockSteps } from '../../../../actors/state/numbered-lock.ts';
import { replaceFile } from '../../../../actors/state/small-file.ts';

type Steps = Generator<undefined, LockOutcome, undefined>;

/**
 * Starts gateways on the folder, one after another. Each process has a text that identifies it in the lock.
 */
class Starter {
  #processNumber = 0;
  #steps: Steps | undefined;
  /** Path of the lock file if the process has acquired it. */
  path: string | undefined;
  readonly #name: string;
  readonly #folder: string;
  /** Texts of the running processes, across starters. */
  readonly #living: Set<string>;

  constructor(name: string, folder: string, living: Set<string>) {
    this.#name = name;
    this.#folder = folder;
    this.#living = living;
  }

  get isHolder(): boolean {
    return this.path !== undefined;
  }

  /** Continues the start by one step. Returns true when it is complete. */
  step(): boolean {
    if (this.isHolder) return true;
    if (this.#steps === undefined) {
      this.#living.add(this.#text);
      const text = { text: this.#text, short: this.#text };
      this.#steps = lockSteps(this.#folder, text, (other) => this.#living.has(other));
    }
    const { done, value } = this.#steps.next();
    if (done !== true) return false;
    if (value.isAcquired) this.path = value.path;
    else this.die();
    return true;
  }

  die(): void {
    this.#living.delete(this.#text);
    this.#processNumber += 1;
    this.#steps = undefined;
    this.path = undefined;
  }

  release(): void {
    if (this.path !== undefined) replaceFile(this.path, 'released');
    // The process continues briefly, and then exits.
    this.path = undefined;
    this.#steps = undefined;
    this.#processNumber += 1;
  }

  get #text(): string {
    return `${this.#name}.${this.#processNumber}`;
  }
}

const anyAction = fc.record({
  starterIndex: fc.nat({ max: 3 }),
  /** A number of steps, the death of the process, or a release of the lock. */
  command: fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 1, max: 9 }) },
    { weight: 1, arbitrary: fc.constant('die' as const) },
    { weight: 1, arbitrary: fc.constant('release' as const) },
  ),
});

describe('the numbered lock', () => {
  test('is held by at most one process, and can be acquired whenever no process holds it', () => {
    fc.assert(
      fc.property(fc.array(anyAction, { minLength: 5, maxLength: 60 }), (actions) => {
        const folder = mkdtempSync(join(tmpdir(), 'actor-gateway-'));
        try {
          const living = new Set<string>();
          const starters = ['a', 'b', 'c', 'd'].map((name) => new Starter(name, folder, living));
          const holders = () => starters.filter(({ isHolder }) => isHolder);
          for (const { starterIndex, command } of actions) {
            const starter = starters[starterIndex];
            if (command === 'die') starter?.die();
            else if (command === 'release') {
              if (starter?.isHolder === true) starter.release();
            } else for (let count = 0; count < command && starter?.step() === false; count += 1);
            expect(holders().length).toBeLessThanOrEqual(1);
          }
          // After the death of all others, another gateway acquires the lock, and removes the other files.
          for (const starter of starters) starter.die();
          const last = new Starter('last', folder, living);
          for (let count = 0; count < 200 && !last.step(); count += 1);
          expect(last.isHolder).toBe(true);
          expect(readdirSync(folder)).toHaveLength(1);
        } finally {
          rmSync(folder, { recursive: true });
        }
      }),
      { numRuns: 1000 },
    );
  });
});
