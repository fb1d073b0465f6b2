// Order and faults of reloads, with simulated parts. test/e2e/automation/reload-turns.test.ts tests the real
// parts.
// Invariant TU2 is in actors/base/time/coalesced-runs.ts.

import { beforeEach, describe, expect, test, vi } from 'vitest';
import { DeadlineError, InternalError, StoppedError } from '../../actors/base/errors/errors.ts';
import { type Log, silentLog } from '../../actors/base/errors/log.ts';
import type { LoadedConfig } from '../../config/load-config.ts';
import { ConfigError, type Problem } from '../../config/reader/problem.ts';
import { Reloads, type ReloadsOptions } from '../../src/reloads.ts';

const problem = (file: string): Problem => ({ file, line: 1, column: 1, message: 'bad', severity: 'error' });
const textOf = ({ catalog }: Pick<LoadedConfig, 'catalog'>) => String(catalog);
const noChanges = { added: [], changed: [], removed: [], unchanged: [] };

/** Records the files on disk, the resources in use, and the applied changes. */
class World {
  onDisk = { catalog: 'one', triggers: 'one' };
  inUse = { catalog: 'zero', triggers: 'zero' };
  applied: string[] = [];
  lines: { msg: string; fields: object }[] = [];
  isStopping = false;
  /** Blocked reads of the catalog. */
  held: (() => void)[] | undefined;

  readonly log: Log = {
    ...silentLog,
    error: (fields: object, msg: string) => void this.lines.push({ msg, fields }),
  };

  reloads(more: Partial<ReloadsOptions> = {}): Reloads {
    return new Reloads({
      files: {
        read: () => this.readCatalog(),
        commit: (next) => void this.applied.push(`commit ${textOf(next)}`),
      },
      applyCatalog: (next) => this.applyCatalog(next),
      triggers: {
        problems: async () => this.problems(),
        reload: async (_, applyRest) => applyRest(await this.reloadTriggers()),
      },
      isStopping: () => this.isStopping,
      onProblems: () => {},
      log: this.log,
      ...more,
    });
  }

  async readCatalog(): Promise<LoadedConfig> {
    const { catalog } = this.onDisk;
    await new Promise<void>((resolve) => {
      if (this.held === undefined) resolve();
      else this.held.push(resolve);
    });
    if (catalog === 'bad') throw new ConfigError([problem('catalog.yaml')]);
    return { catalog } as unknown as LoadedConfig;
  }

  async applyCatalog(next: LoadedConfig) {
    const text = textOf(next);
    this.applied.push(`catalog ${text}`);
    if (text === 'faulty') throw new TypeError('a fault');
    const isSame = this.inUse.catalog === text;
    this.inUse.catalog = text;
    return { ...noChanges, [isSame ? 'unchanged' : 'changed']: [text] };
  }

  problems(): readonly Problem[] {
    return this.onDisk.triggers === 'bad' ? [problem('triggers.yaml')] : [];
  }

  async reloadTriggers() {
    const { triggers } = this.onDisk;
    if (triggers === 'bad') throw new ConfigError(this.problems());
    if (triggers === 'faulty') throw new TypeError('a fault');
    this.applied.push(`triggers ${triggers}`);
    this.inUse.triggers = triggers;
    return { ...noChanges, changed: [triggers] };
  }
}

let world: World;
beforeEach(() => {
  world = new World();
});
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('a reload', () => {
  test('returns the changes of the catalog and of the triggers', async () => {
    const answer = await world.reloads().request();
    expect(answer).toEqual({ ...noChanges, changed: ['one'], triggers: { ...noChanges, changed: ['one'] } });
    expect(world.applied).toEqual(['triggers one', 'catalog one', 'commit one']);
    expect(await world.reloads({ triggers: undefined }).request()).toEqual({
      ...noChanges,
      unchanged: ['one'],
    });
  });

  test.each([
    ['catalog', { catalog: 'bad', triggers: 'one' }, ['catalog.yaml:1:1: bad']],
    ['triggers', { catalog: 'one', triggers: 'bad' }, ['triggers.yaml:1:1: bad']],
    ['both', { catalog: 'bad', triggers: 'bad' }, ['catalog.yaml:1:1: bad', 'triggers.yaml:1:1: bad']],
  ])(
    'with errors in %s changes neither the catalog nor the triggers, and reports all errors',
    async (_, onDisk, problems) => {
      world.onDisk = onDisk;
      const error = await world
        .reloads()
        .request()
        .catch((error: unknown) => error);
      expect(error).toBeInstanceOf(ConfigError);
      expect((error as ConfigError).lines).toEqual(problems);
      expect(world.applied).toEqual([]);
      expect(world.lines).toEqual([{ msg: 'reload failed; nothing was changed', fields: { problems } }]);
    },
  );

  test('of a stopping gateway changes nothing', async () => {
    world.held = [];
    const answer = world.reloads().request();
    await settle();
    world.isStopping = true;
    world.held[0]?.();
    await expect(answer).rejects.toBeInstanceOf(StoppedError);
    expect(world.applied).toEqual([]);
  });

  test.each([
    [
      'catalog',
      { catalog: 'faulty', triggers: 'one' },
      /triggers were reloaded, the catalog possibly in part/,
    ],
    ['triggers', { catalog: 'one', triggers: 'faulty' }, /the catalog is unchanged/],
  ])('interrupted by a fault in the %s reports what was changed', async (_, onDisk, report) => {
    world.onDisk = onDisk;
    const error = await world
      .reloads()
      .request()
      .catch((error: unknown) => error);
    expect(error).toBeInstanceOf(InternalError);
    expect((error as Error).message).toMatch(report);
    expect(world.lines).toMatchObject([
      { msg: 'internal error in a reload', fields: { reason: expect.stringContaining('TypeError') } },
    ]);
    expect(world.applied).not.toContainEqual(expect.stringContaining('commit'));
    world.onDisk = { catalog: 'two', triggers: 'two' };
    await world.reloads().request();
    expect(world.inUse).toEqual({ catalog: 'two', triggers: 'two' });
  });
});

describe('overlapping reloads', () => {
  test("run one after another: the last files on disk are in use, and each caller's files are included (TU2)", async () => {
    world.held = [];
    const reloads = world.reloads();
    const first = reloads.request();
    await settle();
    world.onDisk = { catalog: 'two', triggers: 'two' };
    const later = [reloads.request(), reloads.request(), reloads.request()];
    await settle();
    expect(world.held).toHaveLength(1);
    world.held[0]?.();
    expect(await first).toMatchObject({ changed: ['one'] });
    await settle();
    expect(world.held).toHaveLength(2);
    world.held[1]?.();
    for (const answer of await Promise.all(later))
      expect(answer).toMatchObject({ changed: ['two'], triggers: { changed: ['two'] } });
    expect(world.inUse).toEqual({ catalog: 'two', triggers: 'two' });
    expect(world.held).toHaveLength(2);
  });

  test('do not wait forever for a hanging disk, and do not overtake each other', async () => {
    world.held = [];
    let progress: { applied: number; total: number } | undefined;
    const reloads = world.reloads({ timeoutMs: 20, progress: () => progress });
    const first = reloads.request();
    await expect(first).rejects.toBeInstanceOf(DeadlineError);
    await expect(first).rejects.toThrow('did not end within 0.02 s; it continues, and');
    world.onDisk = { catalog: 'two', triggers: 'two' };
    progress = { applied: 30, total: 90 };
    await expect(reloads.request()).rejects.toThrow('it continues with 30 of 90 servers applied');
    expect(world.held).toHaveLength(1);
    expect(world.lines.map(({ msg }) => msg)).toEqual(Array(2).fill('a reload timed out; it continues'));
    const { held } = world;
    world.held = undefined;
    held[0]?.();
    await vi.waitFor(() => expect(world.inUse).toEqual({ catalog: 'two', triggers: 'two' }), {
      timeout: 10_000,
    });
    expect(world.applied.filter((each) => each.startsWith('catalog'))).toEqual([
      'catalog one',
      'catalog two',
    ]);
  });
});
