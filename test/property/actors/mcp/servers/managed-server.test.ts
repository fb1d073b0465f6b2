// A managed server over fake links (channels to processes): its handle for callers, its pool of connections
// and its state machine together, in random steps. The clients use equal ids and progress tokens. Each call
// ends once, within the limits, with its response or an error. A marker in each response reveals mixed-up
// responses. Invariants: A1, A2, A5 and A8 in ARCHITECTURE.md; P2 in actors/mcp/servers/pool/pool.ts.

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

/**
 * Steps of a run. `index` selects an item of the list that the step concerns, modulo its length.
 *
 * - Clients: `call`, `cancel` a call, `release` all calls at the end of the session.
 * - Server: `answer` a call, `again` a second time, `progress`, `ask` the client, `notice` is a log message,
 *   `oversized` is a response that exceeds the limit, `invent` responds to unknown ids, `noise` is no JSON.
 * - Links: `die`, or report a call as `undelivered`.
 * - State machine: `stop`, `start`, `due` after a backoff, no calls for the `half` or `whole` idle time.
 */
type Step =
  | { do: 'call'; owner: number; id: number; hasToken: boolean }
  | { do: 'cancel' | 'answer' | 'again' | 'progress' | 'ask' | 'notice'; index: number }
  | { do: 'undelivered'; index: number; mayHaveRun: boolean }
  | { do: 'oversized' | 'die' | 'invent' | 'noise'; index: number }
  | { do: 'stop' | 'start' | 'due' | 'half' | 'whole' | 'release' | 'wait' };

const anyIndex = fc.nat({ max: 50 });
const oneOf = <T extends string>(...names: T[]) => fc.constantFrom(...names);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
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
    arbitrary: fc.record({
      do: oneOf('answer', 'answer', 'again', 'progress', 'ask', 'notice'),
      index: anyIndex,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: oneOf('cancel'), index: anyIndex }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: oneOf('undelivered'), index: anyIndex, mayHaveRun: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: oneOf('oversized', 'die', 'invent', 'noise'), index: anyIndex }) },
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

interface ServerKind {
  readonly isolation: 'shared' | 'session';
  /** A lost remote session is reopened in place; a process is not. */
  readonly runtime: 'stdio' | 'http';
}

/** Limits of the pool. */
const limits = { max: 3, in_flight: 4, waiting: 5 };

/** Clients and a managed server, which execute the steps and check the invariants. */
class Scenario {
  readonly owners = Array.from({ length: 4 }, (_, i) => new FakeOwner(`owner${i}`, { sampling: {} }));
  readonly sentCalls: SentCall[] = [];
  readonly managed: FakeManagedServer;
  readonly isolation: 'shared' | 'session';
  /** Every client message that reached a server, with the link. */
  readonly arrived: { link: FakeLink; sent: Sent }[] = [];
  readonly formerOwners: FakeOwner[] = [];
  sentWhileClosed = 0;
  #count = 0;

  constructor({ isolation, runtime }: ServerKind) {
    this.isolation = isolation;
    this.managed = new FakeManagedServer(
      { isolation, runtime, pool: limits },
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

  async run(step: Step): Promise<void> {
    const { managed, sentCalls, arrived } = this;
    const pick = <T>(list: readonly T[], index: number): T | undefined =>
      list[index % Math.max(1, list.length)];
    switch (step.do) {
      case 'call': {
        const owner = this.owners[step.owner] as FakeOwner;
        const marker = `${owner.label}/${this.#count++}`;
        const token = step.hasToken ? '"token"' : undefined;
        sentCalls.push({ ...managed.call(owner, String(step.id), marker, token), marker, token, owner });
        return;
      }
      case 'cancel':
        pick(sentCalls, step.index)?.call.cancel();
        return;
      case 'answer':
      case 'again':
      case 'progress':
      case 'undelivered':
      case 'oversized':
      case 'ask':
      case 'notice': {
        const found = pick(arrived, step.index);
        if (found === undefined) return;
        this.#actOnCall(step, found);
        return;
      }
      case 'invent':
        pick(managed.links, step.index)?.answer(step.index + 1000, 'unexpected');
        pick(managed.links, step.index)?.answer(null, 'unexpected');
        pick(managed.links, step.index)?.answer(`call ${step.index}`, 'an id of the wrong type');
        return;
      case 'noise':
        pick(managed.links, step.index)?.say('no JSON');
        return;
      case 'die':
        pick(managed.links, step.index)?.die();
        return;
      case 'due':
        managed.actor.send({ type: 'due' });
        return;
      case 'stop':
      case 'start':
        managed.actor.send({ type: step.do });
        return;
      case 'half':
      case 'whole':
        managed.actor.send({ type: 'quiet', span: step.do });
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

  /** Lets the server or the link act on a call that arrived at the server. */
  #actOnCall(step: Step, { link, sent }: { link: FakeLink; sent: Sent }): void {
    const { id, params } = sent.message;
    const { marker } = params.arguments;
    switch (step.do) {
      case 'answer':
      case 'again':
        // Some servers return the id as text.
        link.answer(Number(id) % 3 === 0 ? String(id) : id, marker);
        return;
      case 'progress': {
        // With the token of the call, or an invented token.
        const token = params._meta?.progressToken ?? id;
        const sentCall = this.sentCalls.find((other) => other.marker === marker);
        const isPending =
          !link.isOver && sentCall?.call.isDone === false && sentCall.call.connection?.link === link;
        const isRelayed = isPending && sentCall?.call.id === id && sentCall.token !== undefined;
        const before = sentCall?.recorder.relayed.length ?? 0;
        link.say({
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken: token, progress: 1, message: marker },
        });
        expect((sentCall?.recorder.relayed.length ?? 0) - before).toBe(isRelayed ? 1 : 0);
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
        link.undelivered(id, new ConnectionLostError('undelivered'), step.mayHaveRun);
    }
  }

  check(): void {
    const { managed, arrived, sentCalls } = this;
    const owners = [...this.owners, ...this.formerOwners];
    const { handle, pool, state } = managed.server;
    // A1: closed handles send no calls.
    expect(this.sentWhileClosed).toBe(0);
    expect(handle.isOpen).toBe(state === 'running' || state === 'idle');
    // A8: under session isolation each session has separate limits. Stateless calls count as one more
    // session.
    const sessionCount = managed.server.entry.isolation === 'session' ? owners.length + 1 : 1;
    expect(handle.inFlight).toBeLessThanOrEqual(limits.in_flight * sessionCount);
    expect(handle.waiting).toBeLessThanOrEqual(limits.waiting * sessionCount);
    for (const { inFlight } of pool.members) expect(inFlight).toBeLessThanOrEqual(limits.in_flight);
    expect(pool.members.size).toBeLessThanOrEqual(limits.max);
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
    // No duplicate ids per link.
    for (const link of managed.links) {
      const requestIds = link.sent
        .filter(({ method }) => method !== undefined)
        .flatMap(({ message }) => message.id ?? []);
      expect(new Set(requestIds).size).toBe(requestIds.length);
    }
    for (const { sent } of arrived) {
      const { id, params } = sent.message;
      // The gateway replaces the client's token by the unique id.
      if (params._meta !== undefined) expect(params._meta.progressToken).toBe(id);
    }
    // No call is sent a third time, or a second time after an attempt that may have arrived.
    const sentTimes = new Map<string, number>();
    for (const { sent } of arrived) {
      const { marker } = sent.message.params.arguments;
      sentTimes.set(marker, (sentTimes.get(marker) ?? 0) + 1);
    }
    for (const [marker, count] of sentTimes) expect(count, marker).toBeLessThanOrEqual(2);
    if (this.isolation === 'session') this.#checkIsolation(owners);
    // On a shared connection no session receives a server request.
    else
      for (const { received } of owners)
        for (const { text } of received) expect(text).not.toContain('sampling');
  }

  /** P2: a link carries calls of one owner, and only that owner receives its messages. */
  #checkIsolation(owners: readonly FakeOwner[]): void {
    for (const link of this.managed.links) {
      const ownerLabels = new Set(
        link.calls.map(({ message }) => message.params.arguments.marker.split('/')[0]),
      );
      expect(ownerLabels.size).toBeLessThanOrEqual(1);
    }
    for (const { label, received } of owners) {
      for (const { text } of received) {
        const { marker, data } = JSON.parse(text).params;
        expect((marker ?? data).split('/')[0]).toBe(label);
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
    const pooledLinks = new Set([...managed.server.pool.members].map(({ connection }) => connection.link));
    for (const link of managed.links) expect(link.isOver || pooledLinks.has(link)).toBe(true);
    managed.end();
    await settle(1);
    for (const link of managed.links) expect(link.isOver).toBe(true);
  }
}

async function runScenario(kind: ServerKind, steps: readonly Step[]): Promise<void> {
  const scenario = new Scenario(kind);
  try {
    for (const step of steps) {
      await scenario.run(step);
      scenario.check();
    }
    await scenario.finish();
  } finally {
    scenario.managed.end();
  }
}

const anyServerKind: fc.Arbitrary<ServerKind> = fc.record({
  isolation: fc.constantFrom('shared', 'session'),
  runtime: fc.constantFrom('stdio', 'http'),
});

describe('a server and its links under any events', () => {
  test('answer every call once, with the right response or an error, within the limits of the pool (A1, A2, A5, A8, P2)', async () => {
    await fc.assert(fc.asyncProperty(anyServerKind, fc.array(anyStep, { maxLength: 60 }), runScenario), {
      numRuns: runs(400),
      interruptAfterTimeLimit: 15_000,
    });
  });

  test('answer every call once under any order of concurrent steps', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        anyServerKind,
        fc.array(fc.array(anyStep, { minLength: 1, maxLength: 12 }), { minLength: 2, maxLength: 5 }),
        async (scheduler, kind, actors) => {
          const scenario = new Scenario(kind);
          try {
            // Each actor runs its own steps in order. The scheduler interleaves several actors.
            const sequences = actors.map((steps) =>
              scheduler.scheduleSequence(
                steps.map((step) => async () => {
                  await scenario.run(step);
                  scenario.check();
                }),
              ),
            );
            await scheduler.waitIdle();
            await Promise.all(
              sequences.map(({ task }) => task.then((end) => expect(end.faulty).toBe(false))),
            );
            await scenario.finish();
          } finally {
            scenario.managed.end();
          }
        },
      ),
      { numRuns: runs(100), interruptAfterTimeLimit: 10_000 },
    );
  });
});
