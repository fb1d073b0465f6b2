// The root machine, with simulated parts: order of boot and drain, and failures at any time.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AnyActorLogic, type AnyActorRef, createActor, fromCallback, fromPromise } from 'xstate';
import { gatewayMachine } from '../../../machines/gateway.ts';

interface Pending {
  readonly what: 'boot' | 'drain';
  readonly part: string;
  resolve(): void;
  reject(error: Error): void;
}

class Root {
  /** Requests to the parts, in order. */
  readonly asked: string[] = [];
  /** The active part, at most one. */
  pending: Pending | undefined;
  readonly actor;
  readonly #parts: readonly string[];
  #requested = 0;

  constructor(parts: readonly string[]) {
    this.#parts = parts;
    const logic = (what: Pending['what']) =>
      fromPromise<void, { part: string }>(({ input: { part } }) => {
        expect(this.pending).toBeUndefined();
        this.asked.push(`${what} ${part}`);
        return new Promise<void>((resolve, reject) => {
          this.pending = { what, part, resolve, reject };
        });
      });
    this.actor = createActor(
      gatewayMachine.provide({ actors: { bootPart: logic('boot'), drainPart: logic('drain') } }),
    );
    this.actor.start();
    this.#request();
  }

  /**
   * Requests the next part after the previous has started, like the composition. Serves after the last part.
   */
  #request(): void {
    if (!this.actor.getSnapshot().matches({ booting: 'idle' })) return;
    const part = this.#parts[this.#requested];
    this.#requested += 1;
    this.actor.send(part === undefined ? { type: 'serve' } : { type: 'part.boot', part });
  }

  get state(): string {
    const { value } = this.actor.getSnapshot();
    return typeof value === 'string' ? value : (Object.keys(value)[0] ?? '');
  }

  async end(error?: Error): Promise<void> {
    const { pending } = this;
    this.pending = undefined;
    if (error === undefined) pending?.resolve();
    else pending?.reject(error);
    await new Promise((resolve) => setImmediate(resolve));
    this.#request();
  }

  async endAll(): Promise<void> {
    while (this.pending !== undefined) await this.end();
  }

  /** Simulates a bug in the supervisor of servers, a child of the root. */
  loseServers(error: Error): void {
    this.actor.send({ type: 'xstate.error.actor.servers', actorId: 'servers', error });
  }

  get output(): unknown {
    return (this.actor.getSnapshot().output as { error: unknown } | undefined)?.error;
  }
}

const parts = ['lock', 'servers', 'front'];

describe('the gateway', () => {
  test('boots its parts sequentially, and drains them in reverse', async () => {
    const root = new Root(parts);
    expect([root.state, root.asked]).toEqual(['booting', ['boot lock']]);
    await root.endAll();
    expect(root.state).toBe('serving');
    expect(root.asked).toEqual(['boot lock', 'boot servers', 'boot front']);
    root.actor.send({ type: 'shutdown' });
    root.actor.send({ type: 'shutdown' });
    await root.endAll();
    expect(root.asked.slice(3)).toEqual(['drain front', 'drain servers', 'drain lock']);
    expect([root.state, root.output]).toEqual(['stopped', undefined]);
  });

  test('drains the booted parts in reverse order if a part fails to boot', async () => {
    const root = new Root(parts);
    const error = new Error('port taken');
    await root.end();
    await root.end();
    await root.end(error);
    await root.endAll();
    expect(root.asked.slice(3)).toEqual(['drain servers', 'drain lock']);
    expect([root.state, root.output]).toEqual(['failed', error]);
  });

  test('that is stopped while it boots finishes the active part and boots no other part', async () => {
    const root = new Root(parts);
    await root.end();
    root.actor.send({ type: 'shutdown' });
    expect(root.asked.at(-1)).toBe('boot servers');
    await root.endAll();
    expect(root.asked).toEqual(['boot lock', 'boot servers', 'drain servers', 'drain lock']);
    expect(root.state).toBe('failed');
  });

  test('drains every part even if one fails, and reports the failure at the end', async () => {
    const root = new Root(parts);
    await root.endAll();
    root.actor.send({ type: 'shutdown' });
    const error = new Error('would not');
    await root.end(error);
    await root.end(new Error('nor would I'));
    await root.end();
    expect(root.asked.slice(3)).toEqual(['drain front', 'drain servers', 'drain lock']);
    expect([root.state, root.output]).toEqual(['failed', error]);
  });

  test('drains when a booted part fails permanently, also while others boot', async () => {
    const error = new Error('gone');
    const serving = new Root(parts);
    await serving.endAll();
    serving.actor.send({ type: 'part.failed', part: 'front', error });
    await serving.endAll();
    expect([serving.state, serving.output, serving.asked.length]).toEqual(['failed', error, 6]);

    const booting = new Root(parts);
    await booting.end();
    booting.actor.send({ type: 'part.failed', part: 'lock', error });
    await booting.endAll();
    expect(booting.asked).toEqual(['boot lock', 'boot servers', 'drain servers', 'drain lock']);
    expect([booting.state, booting.output]).toEqual(['failed', error]);
  });

  test('ignores boot and serve requests while a part boots', async () => {
    const root = new Root(parts);
    root.actor.send({ type: 'part.boot', part: 'other' });
    root.actor.send({ type: 'serve' });
    expect([root.state, root.asked]).toEqual(['booting', ['boot lock']]);
    await root.endAll();
    root.actor.send({ type: 'part.boot', part: 'late' });
    expect(root.asked).toEqual(['boot lock', 'boot servers', 'boot front']);
  });

  test('without parts serves and stops', async () => {
    const root = new Root([]);
    expect(root.state).toBe('serving');
    root.actor.send({ type: 'shutdown' });
    expect(root.state).toBe('stopped');
  });
});

describe('the loss of the supervisor of the servers', () => {
  const error = new Error('bug');

  test('while a part boots: the boot is completed, because a booting part cannot be drained', async () => {
    const root = new Root(parts);
    await root.end();
    root.loseServers(error);
    await root.endAll();
    expect(root.asked).toEqual(['boot lock', 'boot servers', 'drain servers', 'drain lock']);
    expect([root.state, root.output]).toEqual(['failed', error]);
  });

  test('while it serves: everything is drained', async () => {
    const root = new Root(parts);
    await root.endAll();
    root.loseServers(error);
    await root.endAll();
    expect(root.asked.slice(3)).toEqual(['drain front', 'drain servers', 'drain lock']);
    expect([root.state, root.output]).toEqual(['failed', error]);
  });

  test('while it drains: no part is drained a second time', async () => {
    const root = new Root(parts);
    await root.endAll();
    root.actor.send({ type: 'shutdown' });
    await root.end();
    root.loseServers(error);
    await root.endAll();
    expect(root.asked.slice(3)).toEqual(['drain front', 'drain servers', 'drain lock']);
  });
});

test('each booted part of a gateway is drained once, in reverse order, for any failures and events', async () => {
  const happens = fc.constantFrom('ok', 'ok', 'ok', 'fail', 'shutdown', 'part.failed', 'lose');
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 4 }), fc.array(happens, { maxLength: 15 }), async (count, list) => {
      const root = new Root(Array.from({ length: count }, (_, i) => `p${i}`));
      const up: string[] = [];
      const note = () => {
        if (root.pending?.what === 'boot') up.push(root.pending.part);
      };
      let hasFailed = false;
      for (const what of list) {
        if (root.actor.getSnapshot().status !== 'active') break;
        if (what === 'ok') {
          note();
          await root.end();
        } else if (what === 'fail') {
          hasFailed ||= root.pending !== undefined;
          await root.end(new Error('fail'));
        } else if (what === 'shutdown') {
          hasFailed ||= root.state === 'booting';
          root.actor.send({ type: 'shutdown' });
        } else if (what === 'lose') {
          hasFailed = true;
          root.loseServers(new Error('lost'));
        } else {
          hasFailed = true;
          root.actor.send({ type: 'part.failed', part: 'p0', error: new Error('part') });
        }
      }
      for (let i = 0; i < 20 && root.actor.getSnapshot().status === 'active'; i += 1) {
        if (root.state === 'serving') root.actor.send({ type: 'shutdown' });
        note();
        await root.end();
      }
      expect(root.state).toBe(hasFailed ? 'failed' : 'stopped');
      const drained = root.asked.filter((line) => line.startsWith('drain')).map((line) => line.slice(6));
      expect(drained).toEqual([...up].reverse());
    }),
    { numRuns: 200 },
  );
});

describe('an actor started by a gateway part', () => {
  const idle = fromCallback(() => {});
  const spawn = (root: Root, name: string, logic: AnyActorLogic = idle, input?: unknown) =>
    root.actor.send({ type: 'part.spawn', name, logic, input });
  const child = (root: Root, name: string) =>
    (root.actor.getSnapshot().children as Record<string, AnyActorRef | undefined>)[name];

  test('is registered by name, receives its input, and lives as long as the root', async () => {
    const inputs: unknown[] = [];
    const root = new Root(parts);
    const logic = fromCallback(({ input }) => {
      inputs.push(input);
    });
    // A part spawns actors while it boots.
    spawn(root, 'conversations', logic, { places: 3 });
    await root.endAll();
    const ref = child(root, 'conversations');
    expect(ref).toBe(root.actor.system.get('conversations'));
    expect(inputs).toEqual([{ places: 3 }]);
    root.actor.send({ type: 'shutdown' });
    expect(ref?.getSnapshot().status).toBe('active');
    await root.endAll();
    expect([root.state, ref?.getSnapshot().status]).toEqual(['stopped', 'stopped']);
  });

  test('is not spawned if its name is in use', async () => {
    const root = new Root([]);
    spawn(root, 'conversations');
    const first = child(root, 'conversations');
    spawn(root, 'conversations');
    expect([root.state, child(root, 'conversations')]).toEqual(['serving', first]);
  });

  test('is removed when it has ended, and its name is free again', async () => {
    const root = new Root([]);
    spawn(
      root,
      'conversations',
      fromPromise(async () => {}),
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect([root.state, child(root, 'conversations')]).toEqual(['serving', undefined]);
    spawn(root, 'conversations');
    expect(child(root, 'conversations')).toBeDefined();
  });

  test('shuts down the gateway if it fails, with its error as the cause', async () => {
    const root = new Root(parts);
    await root.endAll();
    const error = new Error('bug');
    spawn(
      root,
      'conversations',
      fromPromise(() => Promise.reject(error)),
    );
    await root.endAll();
    await root.endAll();
    expect(root.asked.slice(3)).toEqual(['drain front', 'drain servers', 'drain lock']);
    expect([root.state, root.output, child(root, 'conversations')]).toEqual(['failed', error, undefined]);
  });
});
