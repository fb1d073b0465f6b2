// Handle, pool, connections and machine of one server together, under random interleavings: clients with equal ids
// and equal progress tokens, cancellations, links that answer late, twice, too much or not at all, links that die,
// stops and starts. Every answer carries a marker of the call it is for, so that a crossed one shows.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConnectionLostError } from '../../../../../actors/base/errors/errors.ts';
import type { Call } from '../../../../../actors/mcp/servers/calls/call.ts';
import { runs } from '../../../../fixtures/property-runs.ts';
import type { FakeLink, Sent } from '../../../../fixtures/server/fake-link.ts';
import { type Ear, FakeManaged, FakeOwner, settle } from '../../../../fixtures/server/fake-server.ts';

type Step =
  | { do: 'call'; owner: number; id: number; hasToken: boolean }
  | { do: 'cancel' | 'answer' | 'again' | 'progress' | 'ask' | 'notice'; at: number }
  | { do: 'undelivered'; at: number; wasCarriedOut: boolean }
  | { do: 'oversized' | 'die' | 'invent' | 'noise'; at: number }
  | { do: 'stop' | 'start' | 'due' | 'half' | 'whole' | 'release' | 'wait' };

const at = fc.nat({ max: 50 });
const one = <T extends string>(...names: T[]) => fc.constantFrom(...names);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: one('call'),
      owner: fc.nat({ max: 3 }),
      id: fc.nat({ max: 1 }),
      hasToken: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: one('answer', 'answer', 'again', 'progress', 'ask', 'notice'), at }),
  },
  { weight: 2, arbitrary: fc.record({ do: one('cancel'), at }) },
  { weight: 2, arbitrary: fc.record({ do: one('undelivered'), at, wasCarriedOut: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: one('oversized', 'die', 'invent', 'noise'), at }) },
  { weight: 1, arbitrary: fc.record({ do: one('stop', 'start', 'half', 'whole', 'release') }) },
  { weight: 3, arbitrary: fc.record({ do: one('due', 'wait') }) },
);

interface Asked {
  readonly ear: Ear;
  readonly call: Call;
  readonly marker: string;
  readonly token: string | undefined;
  readonly owner: FakeOwner;
}

interface Kind {
  readonly isolation: 'shared' | 'session';
  /** A remote session that is lost is begun anew in place; a process is not. */
  readonly runtime: 'stdio' | 'http';
}

const bounds = { max: 3, in_flight: 4, waiting: 5 };

class World {
  readonly owners = Array.from({ length: 4 }, (_, i) => new FakeOwner(`owner${i}`, { sampling: {} }));
  readonly asked: Asked[] = [];
  readonly managed: FakeManaged;
  readonly isolation: 'shared' | 'session';
  /** Everything clients have sent that reached a server, with the link it came on. */
  readonly arrived: { link: FakeLink; sent: Sent }[] = [];
  readonly gone: FakeOwner[] = [];
  sentWhileShut = 0;
  #count = 0;

  constructor({ isolation, runtime }: Kind) {
    this.isolation = isolation;
    this.managed = new FakeManaged(
      { isolation, runtime, pool: bounds },
      {
        onSent: (link, sent) => {
          if (sent.method !== 'tools/call') return;
          // A1: whatever is sent is sent while the gate is open.
          if (!this.managed.server.handle.isOpen) this.sentWhileShut += 1;
          this.arrived.push({ link, sent });
        },
      },
    );
  }

  async run(one: Step): Promise<void> {
    const { managed, asked, arrived } = this;
    const pick = <T>(list: readonly T[], index: number): T | undefined =>
      list[index % Math.max(1, list.length)];
    switch (one.do) {
      case 'call': {
        const owner = this.owners[one.owner] as FakeOwner;
        const marker = `${owner.label}/${this.#count++}`;
        const token = one.hasToken ? '"token"' : undefined;
        asked.push({ ...managed.call(owner, String(one.id), marker, token), marker, token, owner });
        return;
      }
      case 'cancel':
        pick(asked, one.at)?.call.cancel();
        return;
      case 'answer':
      case 'again':
      case 'progress':
      case 'undelivered':
      case 'oversized':
      case 'ask':
      case 'notice': {
        const found = pick(arrived, one.at);
        if (found === undefined) return;
        this.#serverSays(one, found);
        return;
      }
      case 'invent':
        pick(managed.links, one.at)?.answer(one.at + 1000, 'nobody asked');
        pick(managed.links, one.at)?.answer(null, 'nobody asked');
        pick(managed.links, one.at)?.answer(String(one.at), 'an id of the wrong type');
        return;
      case 'noise':
        pick(managed.links, one.at)?.say('no JSON');
        return;
      case 'die':
        pick(managed.links, one.at)?.die();
        return;
      case 'due':
        managed.actor.send({ type: 'due' });
        return;
      case 'stop':
      case 'start':
        managed.actor.send({ type: one.do });
        return;
      case 'half':
      case 'whole':
        managed.actor.send({ type: 'quiet', span: one.do });
        return;
      case 'release':
        this.#endSession(0);
        return;
      case 'wait':
        await settle(1);
    }
  }

  /** As ClientSession.end does it: its calls are cancelled, then the server lets it go; the next one is another. */
  #endSession(index: number): void {
    const gone = this.owners[index] as FakeOwner;
    for (const { call, owner } of this.asked) if (owner === gone) call.cancel();
    this.managed.server.release(gone);
    this.gone.push(gone);
    this.owners[index] = new FakeOwner(`${gone.label}'`, gone.capabilities);
  }

  #serverSays(one: Step, { link, sent }: { link: FakeLink; sent: Sent }): void {
    const { id, params } = sent.message;
    const { marker } = params.arguments;
    switch (one.do) {
      case 'answer':
      case 'again':
        link.answer(id, marker);
        return;
      case 'progress': {
        // N2: by the token it was given, or by an invented one.
        const token = params._meta?.progressToken ?? id;
        const asked = this.asked.find((other) => other.marker === marker);
        const isLive = !link.isOver && asked?.call.isDone === false && asked.call.connection?.link === link;
        const isWanted = isLive && asked?.call.id === id && asked.token !== undefined;
        const before = asked?.ear.relayed.length ?? 0;
        link.say({
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken: token, progress: 1, message: marker },
        });
        expect((asked?.ear.relayed.length ?? 0) - before).toBe(isWanted ? 1 : 0);
        return;
      }
      case 'ask':
        link.say({ jsonrpc: '2.0', id: 1, method: 'sampling/createMessage', params: { marker } });
        return;
      case 'notice':
        link.say({
          jsonrpc: '2.0',
          method: 'notifications/message',
          params: { level: 'error', data: marker },
        });
        return;
      case 'oversized':
        link.oversized(String(id));
        return;
      case 'undelivered':
        link.undelivered(id, new ConnectionLostError('undelivered'), one.wasCarriedOut);
    }
  }

  check(): void {
    const { managed, arrived, asked } = this;
    const owners = [...this.owners, ...this.gone];
    const { handle, pool, state } = managed.server;
    // A1
    expect(this.sentWhileShut).toBe(0);
    expect(handle.isOpen).toBe(state === 'running' || state === 'idle');
    // A8: under session isolation each session has the bounds for itself; stateless calls count as one more.
    const crowd = managed.server.entry.isolation === 'session' ? owners.length + 1 : 1;
    expect(handle.inFlight).toBeLessThanOrEqual(bounds.in_flight * crowd);
    expect(handle.waiting).toBeLessThanOrEqual(bounds.waiting * crowd);
    for (const { inFlight } of pool.members) expect(inFlight).toBeLessThanOrEqual(bounds.in_flight);
    // P1
    expect(pool.members.size).toBeLessThanOrEqual(bounds.max);
    let inFlight = 0;
    for (const member of pool.members) inFlight += member.inFlight;
    expect(handle.inFlight).toBe(inFlight);
    // A2, N1–N3: at most one end, and its own.
    for (const { ear, marker, token } of asked) {
      expect(ear.ends).toBeLessThanOrEqual(1);
      if (ear.answers.length > 0) expect(ear.result).toBe(marker);
      for (const text of ear.relayed) {
        const { params } = JSON.parse(text);
        expect([params.progressToken, params.message]).toEqual(['token', marker]);
        expect(token).toBeDefined();
      }
    }
    // N1: no id twice on one link.
    for (const link of managed.links) {
      const ids = link.sent
        .filter(({ method }) => method !== undefined)
        .flatMap(({ message }) => message.id ?? []);
      expect(new Set(ids).size).toBe(ids.length);
    }
    for (const { sent } of arrived) {
      const { id, params } = sent.message;
      if (params._meta !== undefined) expect(params._meta.progressToken).toBe(id);
    }
    // C2: nothing is sent a third time, and never beside an attempt that may have arrived.
    const times = new Map<string, number>();
    for (const { sent } of arrived) {
      const { marker } = sent.message.params.arguments;
      times.set(marker, (times.get(marker) ?? 0) + 1);
    }
    for (const [marker, count] of times) expect(count, marker).toBeLessThanOrEqual(2);
    if (this.isolation === 'session') this.#checkIsolation(owners);
    else for (const { heard } of owners) for (const { text } of heard) expect(text).not.toContain('sampling');
  }

  /** P2: a link carries one owner's calls, and only that owner hears what is said on it. */
  #checkIsolation(owners: readonly FakeOwner[]): void {
    for (const link of this.managed.links) {
      const speakers = new Set(
        link.calls.map(({ message }) => message.params.arguments.marker.split('/')[0]),
      );
      expect(speakers.size).toBeLessThanOrEqual(1);
    }
    for (const { label: id, heard } of owners) {
      for (const { text } of heard) {
        const { marker, data } = JSON.parse(text).params;
        expect((marker ?? data).split('/')[0]).toBe(id);
      }
    }
  }

  /** From now on everything goes well: then every call must end, and nothing may be left over. */
  async finish(): Promise<void> {
    const { managed, asked } = this;
    for (let round = 0; round < 60 && asked.some(({ ear }) => ear.ends === 0); round += 1) {
      managed.actor.send({ type: 'due' });
      await settle(2);
      for (const link of managed.links) {
        for (const { message } of [...link.calls]) link.answer(message.id, message.params.arguments.marker);
      }
      // Fake time is not needed: 20 ms are the longest wait of a drain without grace.
      if (managed.server.state === 'stopping') await new Promise((resolve) => setTimeout(resolve, 5));
      this.check();
    }
    expect(asked.filter(({ ear }) => ear.ends !== 1).map(({ marker }) => marker)).toEqual([]);
    expect(managed.server.handle).toMatchObject({ inFlight: 0, waiting: 0 });
    // N4, P3, A5: a link that is not in the pool is over.
    const live = new Set([...managed.server.pool.members].map(({ connection }) => connection.link));
    for (const link of managed.links) expect(link.isOver || live.has(link)).toBe(true);
    managed.end();
    await settle(1);
    for (const link of managed.links) expect(link.isOver).toBe(true);
  }
}

async function live(kind: Kind, steps: readonly Step[]): Promise<void> {
  const world = new World(kind);
  try {
    for (const one of steps) {
      await world.run(one);
      world.check();
    }
    await world.finish();
  } finally {
    world.managed.end();
  }
}

const kind: fc.Arbitrary<Kind> = fc.record({
  isolation: fc.constantFrom('shared', 'session'),
  runtime: fc.constantFrom('stdio', 'http'),
});

describe('whatever happens to a server and its links', () => {
  test('every call ends once, with its own answer or an error (A1, A2, A8, N1–N4, P1–P3, C2, H1, H2, H3, IF1, SG1, SG2, OS1)', async () => {
    await fc.assert(fc.asyncProperty(kind, fc.array(step, { maxLength: 60 }), live), {
      numRuns: runs(400),
      interruptAfterTimeLimit: 15_000,
    });
  });

  test('and so under any order of what is under way at the same time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        kind,
        fc.array(fc.array(step, { minLength: 1, maxLength: 12 }), { minLength: 2, maxLength: 5 }),
        async (scheduler, chosen, actors) => {
          const world = new World(chosen);
          try {
            // Each actor does its own steps in order; how those of several mix is the scheduler's affair.
            const lives = actors.map((steps) =>
              scheduler.scheduleSequence(
                steps.map((one) => async () => {
                  await world.run(one);
                  world.check();
                }),
              ),
            );
            await scheduler.waitIdle();
            await Promise.all(lives.map(({ task }) => task.then((end) => expect(end.faulty).toBe(false))));
            await world.finish();
          } finally {
            world.managed.end();
          }
        },
      ),
      { numRuns: runs(100), interruptAfterTimeLimit: 10_000 },
    );
  });
});
