// Handle, pool, connections and state machine together, under random interleavings: clients with equal ids
// and progress tokens, cancellations, links that respond late, twice, too much or not at all, links that
// close, stops and starts. Every response contains a marker of its call, which reveals mixed-up responses.
// Invariants: A1, A2, A5 and A8 in ARCHITECTURE.md; P2 in actors/mcp/servers/pool/pool.ts.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConnectionLostError } from '../../../../../actors/base/errors/errors.ts';
import type { Call } from '../../../../../actors/mcp/servers/calls/call.ts';
import { runs } from '../../../../fixtures/property-runs.ts';
import type { FakeLink, Sent } from '../../../../fixtures/server/fake-link.ts';
import {
  FakeManagedServer,
  FakeOwner,
  type ResponseRecorder,
  settle,
} from '../../../../fixtures/server/fake-server.ts';

type Step =
  | { do: 'call'; owner: number; id: number; hasToken: boolean }
  | { do: 'cancel' | 'answer' | 'again' | 'progress' | 'ask' | 'notice'; at: number }
  | { do: 'undelivered'; at: number; mayHaveRun: boolean }
  | { do: 'oversized' | 'die' | 'invent' | 'noise'; at: number }
  | { do: 'stop' | 'start' | 'due' | 'half' | 'whole' | 'release' | 'wait' };

const at = fc.nat({ max: 50 });
const oneOf = <T extends string>(...names: T[]) => fc.constantFrom(...names);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: oneOf('call'),
      owner: fc.nat({ max: 3 }),
      id: fc.nat({ max: 1 }),
      hasToken: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: oneOf('answer', 'answer', 'again', 'progress', 'ask', 'notice'), at }),
  },
  { weight: 2, arbitrary: fc.record({ do: oneOf('cancel'), at }) },
  { weight: 2, arbitrary: fc.record({ do: oneOf('undelivered'), at, mayHaveRun: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: oneOf('oversized', 'die', 'invent', 'noise'), at }) },
  { weight: 1, arbitrary: fc.record({ do: oneOf('stop', 'start', 'half', 'whole', 'release') }) },
  { weight: 3, arbitrary: fc.record({ do: oneOf('due', 'wait') }) },
);

interface SentCall {
  readonly recorder: ResponseRecorder;
  readonly call: Call;
  readonly marker: string;
  readonly token: string | undefined;
  readonly owner: FakeOwner;
}

interface Kind {
  readonly isolation: 'shared' | 'session';
  /** A lost remote session is reopened in place; a process is not. */
  readonly runtime: 'stdio' | 'http';
}

const bounds = { max: 3, in_flight: 4, waiting: 5 };

class World {
  readonly owners = Array.from({ length: 4 }, (_, i) => new FakeOwner(`owner${i}`, { sampling: {} }));
  readonly sentCalls: SentCall[] = [];
  readonly managed: FakeManagedServer;
  readonly isolation: 'shared' | 'session';
  /** Every client message that reached a server, with the link. */
  readonly arrived: { link: FakeLink; sent: Sent }[] = [];
  readonly formerOwners: FakeOwner[] = [];
  sentWhileClosed = 0;
  #count = 0;

  constructor({ isolation, runtime }: Kind) {
    this.isolation = isolation;
    this.managed = new FakeManagedServer(
      { isolation, runtime, pool: bounds },
      {
        onSent: (link, sent) => {
          if (sent.method !== 'tools/call') return;
          // A1: messages are sent only while the handle is open.
          if (!this.managed.server.handle.isOpen) this.sentWhileClosed += 1;
          this.arrived.push({ link, sent });
        },
      },
    );
  }

  async run(one: Step): Promise<void> {
    const { managed, sentCalls, arrived } = this;
    const pick = <T>(list: readonly T[], index: number): T | undefined =>
      list[index % Math.max(1, list.length)];
    switch (one.do) {
      case 'call': {
        const owner = this.owners[one.owner] as FakeOwner;
        const marker = `${owner.label}/${this.#count++}`;
        const token = one.hasToken ? '"token"' : undefined;
        sentCalls.push({ ...managed.call(owner, String(one.id), marker, token), marker, token, owner });
        return;
      }
      case 'cancel':
        pick(sentCalls, one.at)?.call.cancel();
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
        pick(managed.links, one.at)?.answer(one.at + 1000, 'unexpected');
        pick(managed.links, one.at)?.answer(null, 'unexpected');
        pick(managed.links, one.at)?.answer(`call ${one.at}`, 'an id of the wrong type');
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

  /**
   * Like ClientSession.end: cancels the calls, then releases the owner at the server. The next owner is a new
   * object.
   */
  #endSession(index: number): void {
    const former = this.owners[index] as FakeOwner;
    for (const { call, owner } of this.sentCalls) if (owner === former) call.cancel();
    this.managed.server.release(former);
    this.formerOwners.push(former);
    this.owners[index] = new FakeOwner(`${former.label}'`, former.capabilities);
  }

  #serverSays(one: Step, { link, sent }: { link: FakeLink; sent: Sent }): void {
    const { id, params } = sent.message;
    const { marker } = params.arguments;
    switch (one.do) {
      case 'answer':
      case 'again':
        // Some servers return the id as text.
        link.answer(Number(id) % 3 === 0 ? String(id) : id, marker);
        return;
      case 'progress': {
        // With the token of the call, or an invented token.
        const token = params._meta?.progressToken ?? id;
        const sentCall = this.sentCalls.find((other) => other.marker === marker);
        const isLive =
          !link.isOver && sentCall?.call.isDone === false && sentCall.call.connection?.link === link;
        const isWanted = isLive && sentCall?.call.id === id && sentCall.token !== undefined;
        const before = sentCall?.recorder.relayed.length ?? 0;
        link.say({
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken: token, progress: 1, message: marker },
        });
        expect((sentCall?.recorder.relayed.length ?? 0) - before).toBe(isWanted ? 1 : 0);
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
        link.undelivered(id, new ConnectionLostError('undelivered'), one.mayHaveRun);
    }
  }

  check(): void {
    const { managed, arrived, sentCalls } = this;
    const owners = [...this.owners, ...this.formerOwners];
    const { handle, pool, state } = managed.server;
    // A1
    expect(this.sentWhileClosed).toBe(0);
    expect(handle.isOpen).toBe(state === 'running' || state === 'idle');
    // A8: under session isolation each session has separate limits. Stateless calls count as one more
    // session.
    const crowd = managed.server.entry.isolation === 'session' ? owners.length + 1 : 1;
    expect(handle.inFlight).toBeLessThanOrEqual(bounds.in_flight * crowd);
    expect(handle.waiting).toBeLessThanOrEqual(bounds.waiting * crowd);
    for (const { inFlight } of pool.members) expect(inFlight).toBeLessThanOrEqual(bounds.in_flight);
    expect(pool.members.size).toBeLessThanOrEqual(bounds.max);
    let inFlight = 0;
    for (const member of pool.members) inFlight += member.inFlight;
    expect(handle.inFlight).toBe(inFlight);
    // A2: at most one response or error, with the result of the right call.
    for (const { recorder, marker, token } of sentCalls) {
      expect(recorder.ends).toBeLessThanOrEqual(1);
      if (recorder.answers.length > 0) expect(recorder.result).toBe(marker);
      for (const text of recorder.relayed) {
        const { params } = JSON.parse(text);
        expect([params.progressToken, params.message]).toEqual(['token', marker]);
        expect(token).toBeDefined();
      }
    }
    // No duplicate ids on one link.
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
    // No call is sent a third time, or again after an attempt that may have arrived.
    const times = new Map<string, number>();
    for (const { sent } of arrived) {
      const { marker } = sent.message.params.arguments;
      times.set(marker, (times.get(marker) ?? 0) + 1);
    }
    for (const [marker, count] of times) expect(count, marker).toBeLessThanOrEqual(2);
    if (this.isolation === 'session') this.#checkIsolation(owners);
    else
      for (const { received } of owners)
        for (const { text } of received) expect(text).not.toContain('sampling');
  }

  /** P2: a link carries calls of one owner, and only that owner receives its messages. */
  #checkIsolation(owners: readonly FakeOwner[]): void {
    for (const link of this.managed.links) {
      const speakers = new Set(
        link.calls.map(({ message }) => message.params.arguments.marker.split('/')[0]),
      );
      expect(speakers.size).toBeLessThanOrEqual(1);
    }
    for (const { label: id, received } of owners) {
      for (const { text } of received) {
        const { marker, data } = JSON.parse(text).params;
        expect((marker ?? data).split('/')[0]).toBe(id);
      }
    }
  }

  /** Stops all faults. Then every call must complete, and the state must be empty. */
  async finish(): Promise<void> {
    const { managed, sentCalls } = this;
    for (let round = 0; round < 60 && sentCalls.some(({ recorder }) => recorder.ends === 0); round += 1) {
      managed.actor.send({ type: 'due' });
      await settle(2);
      for (const link of managed.links) {
        for (const { message } of [...link.calls]) link.answer(message.id, message.params.arguments.marker);
      }
      // Real time suffices: a drain without a grace period waits up to 20 ms.
      if (managed.server.state === 'stopping') await new Promise((resolve) => setTimeout(resolve, 5));
      this.check();
    }
    expect(sentCalls.filter(({ recorder }) => recorder.ends !== 1).map(({ marker }) => marker)).toEqual([]);
    expect(managed.server.handle).toMatchObject({ inFlight: 0, waiting: 0 });
    // A5: a link outside the pool is closed.
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

describe('a server and its links under any events', () => {
  test('answer every call once, with the right response or an error, within the limits of the pool (A1, A2, A5, A8, P2)', async () => {
    await fc.assert(fc.asyncProperty(kind, fc.array(step, { maxLength: 60 }), live), {
      numRuns: runs(400),
      interruptAfterTimeLimit: 15_000,
    });
  });

  test('answer every call once under any order of concurrent steps', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        kind,
        fc.array(fc.array(step, { minLength: 1, maxLength: 12 }), { minLength: 2, maxLength: 5 }),
        async (scheduler, chosen, actors) => {
          const world = new World(chosen);
          try {
            // Each actor runs its own steps in order. The scheduler interleaves several actors.
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
