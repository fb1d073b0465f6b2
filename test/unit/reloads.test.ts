// Reloads with halves that do what a test says: their order, and what becomes of faults. test/e2e/automation/reload-turns.test.ts has
// the real ones.

import { beforeEach, describe, expect, test, vi } from 'vitest';
import { DeadlineError, InternalError, StoppedError } from '../../actors/base/errors/errors.ts';
import { type Log, silentLog } from '../../actors/base/errors/log.ts';
import type { Loaded } from '../../config/load-config.ts';
import { ConfigError, type Problem } from '../../config/reader/problem.ts';
import { Reloads, type ReloadsOptions } from '../../src/reloads.ts';

const problem = (file: string): Problem => ({ file, line: 1, column: 1, message: 'bad', severity: 'error' });
const textOf = ({ catalog }: Pick<Loaded, 'catalog'>) => String(catalog);
const nothing = { added: [], changed: [], removed: [], unchanged: [] };

/** What is on the disk, what is in use, and what was done to the latter. */
class World {
  onDisk = { catalog: 'one', triggers: 'one' };
  inUse = { catalog: 'zero', triggers: 'zero' };
  applied: string[] = [];
  lines: { msg: string; fields: object }[] = [];
  isStopping = false;
  /** Readings of the catalog that wait until they are let go. */
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
      log: this.log,
      ...more,
    });
  }

  async readCatalog(): Promise<Loaded> {
    const { catalog } = this.onDisk;
    await new Promise<void>((resolve) => {
      if (this.held === undefined) resolve();
      else this.held.push(resolve);
    });
    if (catalog === 'bad') throw new ConfigError([problem('catalog.yaml')]);
    return { catalog } as unknown as Loaded;
  }

  async applyCatalog(next: Loaded) {
    const text = textOf(next);
    this.applied.push(`catalog ${text}`);
    if (text === 'faulty') throw new TypeError('a fault');
    const isSame = this.inUse.catalog === text;
    this.inUse.catalog = text;
    return { ...nothing, [isSame ? 'unchanged' : 'changed']: [text] };
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
    return { ...nothing, changed: [triggers] };
  }
}

let world: World;
beforeEach(() => {
  world = new World();
});
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('a reload', () => {
  test('says of each half what it has changed', async () => {
    const answer = await world.reloads().ask();
    expect(answer).toEqual({ ...nothing, changed: ['one'], triggers: { ...nothing, changed: ['one'] } });
    expect(world.applied).toEqual(['triggers one', 'catalog one', 'commit one']);
    expect(await world.reloads({ triggers: undefined }).ask()).toEqual({ ...nothing, unchanged: ['one'] });
  });

  test.each([
    ['catalog', { catalog: 'bad', triggers: 'one' }, ['catalog.yaml:1:1: bad']],
    ['triggers', { catalog: 'one', triggers: 'bad' }, ['triggers.yaml:1:1: bad']],
    ['both', { catalog: 'bad', triggers: 'bad' }, ['catalog.yaml:1:1: bad', 'triggers.yaml:1:1: bad']],
  ])('with errors in %s changes neither half, and tells all of them (RL2)', async (_, onDisk, problems) => {
    world.onDisk = onDisk;
    const error = await world
      .reloads()
      .ask()
      .catch((error: unknown) => error);
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).lines).toEqual(problems);
    expect(world.applied).toEqual([]);
    expect(world.lines).toEqual([{ msg: 'reload failed; nothing was changed', fields: { problems } }]);
  });

  test('of a gateway that is stopping changes nothing', async () => {
    world.held = [];
    const answer = world.reloads().ask();
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
      /triggers were reloaded, the catalog perhaps in part/,
    ],
    ['triggers', { catalog: 'one', triggers: 'faulty' }, /the catalog is as it was/],
  ])('that a fault in the %s breaks off says what it left behind', async (_, onDisk, said) => {
    world.onDisk = onDisk;
    const error = await world
      .reloads()
      .ask()
      .catch((error: unknown) => error);
    expect(error).toBeInstanceOf(InternalError);
    expect((error as Error).message).toMatch(said);
    expect(world.lines).toMatchObject([
      { msg: 'a reload broke off by a fault', fields: { reason: expect.stringContaining('TypeError') } },
    ]);
    expect(world.applied).not.toContainEqual(expect.stringContaining('commit'));
    world.onDisk = { catalog: 'two', triggers: 'two' };
    await world.reloads().ask();
    expect(world.inUse).toEqual({ catalog: 'two', triggers: 'two' });
  });
});

describe('reloads that overlap', () => {
  test('follow each other: the last that was on the disk is in use, and each answer is of what its caller had seen (RL1, RL3, TU2)', async () => {
    world.held = [];
    const reloads = world.reloads();
    const first = reloads.ask();
    await settle();
    world.onDisk = { catalog: 'two', triggers: 'two' };
    const later = [reloads.ask(), reloads.ask(), reloads.ask()];
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

  test('do not wait for ever for a disk that hangs, and what hangs is not overtaken', async () => {
    world.held = [];
    const reloads = world.reloads({ patienceMs: 20 });
    const first = reloads.ask();
    await expect(first).rejects.toBeInstanceOf(DeadlineError);
    world.onDisk = { catalog: 'two', triggers: 'two' };
    await expect(reloads.ask()).rejects.toThrow(/has not ended after 0.02 s; it goes on/);
    expect(world.held).toHaveLength(1);
    expect(world.lines.map(({ msg }) => msg)).toEqual(
      Array(2).fill('a reload has not ended in time; it goes on'),
    );
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
