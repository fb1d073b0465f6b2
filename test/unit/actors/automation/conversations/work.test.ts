// The work of conversations: handler timeouts, and selection of the trigger for chat events.

import { describe, expect, test } from 'vitest';
import type { Handler, Job } from '../../../../../actors/agents/handlers/handler.ts';
import { makeHandler } from '../../../../../actors/agents/handlers/make-handler.ts';
import { RunFeed } from '../../../../../actors/agents/runs/feed.ts';
import { Handlers } from '../../../../../actors/automation/conversations/handlers.ts';
import type { Routing } from '../../../../../actors/automation/conversations/routing.ts';
import { timeLimit } from '../../../../../actors/automation/conversations/run-deadline.ts';
import { ConversationWork } from '../../../../../actors/automation/conversations/work.ts';
import { chatFilters } from '../../../../../actors/events/inbox/chat-filters.ts';
import { WorkSlots } from '../../../../../actors/events/inbox/work-slots.ts';
import { UnrenderableError } from '../../../../../actors/events/outbox/delivery-error.ts';
import { anonymous } from '../../../../../actors/identity/principal.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { manualAdapter } from '../../../../../actors/platforms/manual/adapter.ts';
import { manualEvent } from '../../../../../actors/platforms/manual/event.ts';
import type { ManualInput } from '../../../../../actors/platforms/manual/input.ts';
import type { StoredEvent } from '../../../../../actors/store/event.ts';
import type { Agent } from '../../../../../config/resources/agents/agent.ts';
import { agentTarget, type Target } from '../../../../../config/resources/triggers/target.ts';
import type { ManualTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { CRASH_LIMIT } from '../../../../../machines/crashes.ts';
import { noRecords, noServices } from '../../../../fixtures/automation/contexts.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';

const slots = new WorkSlots({ slots: 16, bytes: 1_000_000, release: async () => 0 });

const origin = { id: '1', trace: '', principal: anonymous };
const run = { command: '', input: {}, text: 'go', isConfirmed: true };

/** Creates a work with a trigger and a handler, and an event for it. */
function bench(
  trigger: ManualTrigger,
  handler: Handler | Routing['handlerOf'],
  manualInput: Partial<ManualInput> = {},
  more: Partial<StoredEvent> = {},
  commits: unknown[] = [],
  adapter: Adapter = manualAdapter as Adapter,
) {
  const feed = new RunFeed();
  const routing: Routing = {
    feed,
    adapterOf: () => adapter,
    trigger: () => trigger,
    triggers: () => [],
    isPaused: () => false,
    onHeld: () => {},
    discard: async () => false,
    handlerOf: typeof handler === 'function' ? handler : () => handler,
    loaded: () => ({ agents: [], fleets: [], flows: [] }),
    attemptSecondsOf: () => undefined,
    stop: async () => false,
    services: noServices,
    count: () => {},
    longestTimeoutMs: 60_000,
  };
  const event = { ...manualEvent(trigger, { ...run, ...manualInput }, origin), seq: 1, at: 0, ...more };
  const { signal } = new AbortController();
  const work = new ConversationWork(routing, slots, noRecords);
  return {
    work,
    feed,
    event,
    perform: (attempt = 1, crashes = 0) =>
      work.perform({
        event: { ...event, attempt, crashes },
        snapshot: undefined,
        signal,
        checkpoint: async (...manualInput) => void commits.push(...manualInput),
      }),
  };
}

/** Runs until aborted. */
const endless: Handler = {
  run: (_, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
};

test('an answer that cannot be rendered counts as a failed attempt, not as an answer', async () => {
  const outbound = {
    target: () => ({ place: 'room' }),
    addressOf: () => 'https://chat.example',
    render: () => {
      throw new UnrenderableError('it is too long');
    },
  };
  const adapter = { ...manualAdapter, account: () => 'app', outbound } as unknown as Adapter;
  const { perform, feed } = bench(
    manualTrigger('deploy'),
    { run: async () => ({ text: 'x' }) },
    {},
    {},
    [],
    adapter,
  );
  expect(await perform()).toMatchObject({ kind: 'failed', isFinal: true, note: 'it is too long' });
  expect(feed.counters.of(agentTarget('echo'))).toMatchObject({ runs: 0, failed: 1, running: 0 });
});

test('a run of a manual trigger is limited by its setting timeout, or by timeout_seconds if that is not set', async () => {
  const trigger = manualTrigger('deploy', { timeout: 0.05 });
  const { perform } = bench(trigger, endless);
  expect(await perform()).toMatchObject({ kind: 'failed', note: 'no answer within timeout (0.05)' });
  expect(timeLimit(manualTrigger('deploy'))).toEqual({ seconds: 60, field: 'timeout_seconds' });
});

test('an attempt accepts a fractional timeout', async () => {
  const trigger = { ...manualTrigger('deploy'), timeout_seconds: 2.01 };
  const { perform } = bench(trigger, { run: async () => ({ text: 'fine' }) });
  expect(await perform()).toMatchObject({ kind: 'done', answer: 'fine' });
});

test.each([
  ['a positional parameter', { command: 'deploy staging' }, { env: 'staging', version: 'latest' }],
  ['a named parameter', { command: 'deploy', input: { env: 'x' } }, { env: 'x', version: 'latest' }],
  ['no parameter', { command: 'deploy' }, undefined],
] as [string, Partial<ManualInput>, Record<string, string> | undefined][])(
  'the text of a manual run of a command with %s does not become a parameter',
  async (_, manualInput, parameters) => {
    const jobs: Job[] = [];
    const handler: Handler = {
      run: async (job) => {
        jobs.push(job);
        return { text: '' };
      },
    };
    const env = { name: 'env', description: undefined, required: true, default: undefined };
    const version = { name: 'version', description: undefined, required: false, default: 'latest' };
    const binding = {
      command: 'deploy',
      target: agentTarget('echo'),
      description: undefined,
      parameters: [env, version],
    };
    const trigger = { ...manualTrigger('ops'), commands: [binding] };
    const text = 'because version=9 is slow';
    const { kind } = await bench(trigger, handler, { ...manualInput, text }).perform();
    expect(kind).toBe(parameters === undefined ? 'ignored' : 'done');
    expect(jobs.map((job) => ({ ...job.parameters }))).toEqual(parameters === undefined ? [] : [parameters]);
    for (const { input } of jobs) expect(input).toBe(`${manualInput.command}\n${text}`);
  },
);

test('an event is ignored if its trigger was replaced by one of the same name but another type', async () => {
  const adapter = { ...manualAdapter, type: 'HTTP' } as unknown as Adapter;
  const { perform } = bench(manualTrigger('deploy'), endless, {}, {}, [], adapter);
  const note = 'its triggers were removed or disabled';
  expect(await perform()).toEqual({ kind: 'ignored', note });
});

test('an event that has used all attempts is dead, and its handler does not run again', async () => {
  const trigger = manualTrigger('deploy');
  let runs = 0;
  const handler: Handler = {
    run: async () => {
      runs += 1;
      return { text: '' };
    },
  };
  const { perform } = bench(trigger, handler);
  expect(await perform(trigger.retry.attempts)).toMatchObject({ kind: 'done' });
  expect(await perform(trigger.retry.attempts + 1)).toMatchObject({ kind: 'failed', isFinal: true });
  expect(runs).toBe(1);
  // Attempts interrupted by a crash do not count as failed attempts; crashes have a separate limit.
  expect(await perform(trigger.retry.attempts + 9, 9)).toMatchObject({ kind: 'done' });
  expect(await perform(CRASH_LIMIT + 1, CRASH_LIMIT)).toMatchObject({
    kind: 'failed',
    isFinal: true,
    note: `the gateway ended ${CRASH_LIMIT} times while it was handled`,
  });
  expect(runs).toBe(2);
});

test('the trigger with the most specific filters accepts a chat event, and filters are compiled once', async () => {
  const configs = new Map([
    ['everybody', {}],
    ['ops', { channels: ['#ops'] }],
    ['ops-help', { channels: ['ops'], patterns: ['(?i)help'] }],
    ['elsewhere', { channels: ['random'], patterns: ['HELP'] }],
  ]);
  const triggers = new Map([...configs.keys()].map((name) => [name, manualTrigger(name)]));
  let created = 0;
  const adapter: Adapter = {
    ...(manualAdapter as Adapter),
    read: (event) => ({ ...manualAdapter.read(event), triggers: [...configs.keys()], channel: '#ops' }),
    accepts: () => true,
    filters: ({ name }) => {
      created += 1;
      return chatFilters(configs.get(name) ?? {});
    },
  };
  const work = new ConversationWork(
    {
      adapterOf: () => adapter,
      trigger: (name) => triggers.get(name),
      triggers: () => [],
      isPaused: () => false,
      onHeld: () => {},
      discard: async () => false,
      handlerOf: () => ({ run: async () => ({ text: 'yes' }) }),
      loaded: () => ({ agents: [], fleets: [], flows: [] }),
      attemptSecondsOf: () => undefined,
      stop: async () => false,
      services: noServices,
      count: () => {},
      longestTimeoutMs: 60_000,
    },
    slots,
    noRecords,
  );
  const say = async (text: string) => {
    const posted = manualEvent(manualTrigger('everybody'), { ...run, text }, origin);
    const event = { ...posted, seq: 1, at: 0, attempt: 1, crashes: 0 };
    const { signal } = new AbortController();
    return (await work.perform({ event, snapshot: undefined, signal, checkpoint: async () => {} })).trigger;
  };
  expect([await say('Help me'), await say('hello')]).toEqual(['ops-help', 'ops']);
  expect(created).toBe(configs.size);
});

describe('an event that waits for a decision or a time', () => {
  const trigger = manualTrigger('deploy');

  test('stores what its handler returned, with its own timer if the wait is limited', async () => {
    const received: unknown[] = [];
    const handler: Handler = {
      run: async (_, { state, waker: woken, remainingMs: leftMs }) => {
        received.push({ state, woken, hasTime: leftMs > 50_000 });
        return { parkedOn: 'yes', wakeInMs: 1_000, state: 'asked', holdsConversation: true, note: 'asks' };
      },
    };
    const { perform, event } = bench(trigger, handler);
    const outcomes = [await perform(), await perform()];
    expect(received[0]).toEqual({ state: undefined, woken: undefined, hasTime: true });
    const timer = { inMs: 1_000, event: { key: event.key, kind: 'timer', wakes: 'yes' } };
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({
        kind: 'parked',
        trigger: 'deploy',
        parkedOn: 'yes',
        holdsKey: true,
        state: 'asked',
        note: 'asks',
        timers: [timer],
      });
    const ids = outcomes.map((outcome) => (outcome.kind === 'parked' ? outcome.timers?.[0]?.event.id : ''));
    expect(new Set(ids).size).toBe(2);
  });

  test('resumes with its stored state and the waking event', async () => {
    const woken = { id: 'w:1', kind: 'decision', meta: '', body: Buffer.from('yes') };
    const commits: unknown[] = [];
    const handler: Handler = {
      run: async (_, context) => {
        await context.checkpoint('told', { cancelTimers: ['x'] });
        return { text: `${context.state} ${Buffer.from(context.waker?.body ?? []).toString()}` };
      },
    };
    const { perform } = bench(trigger, handler, {}, { state: 'asked', woken }, commits);
    expect(await perform()).toMatchObject({ kind: 'done', answer: 'asked yes' });
    expect(commits).toEqual(['told', { cancelTimers: ['x'] }]);
  });

  test('and has ended meanwhile: the event that should wake it is ignored', async () => {
    const handler: Handler = { run: () => Promise.reject(new Error('unexpected run of the handler')) };
    const { perform } = bench(trigger, handler, {}, { kind: 'decision', wakes: 'yes' });
    expect(await perform()).toEqual({
      kind: 'ignored',
      note: 'no waiting event for this decision: yes',
    });
  });
});

test('a trigger runs its target of the given kind: an agent does not replace a flow of the same name', async () => {
  const handlers = new Handlers({
    agent: (each) => makeHandler(each),
    fleet: () => undefined,
    flow: () => undefined,
  });
  const agent = {
    name: 'echo',
    hash: 'h',
    runtime: { kind: 'scripted', script: '/none' },
  } as unknown as Agent;
  handlers.use({ agents: [agent], fleets: [], flows: [] });
  const requested: Target[] = [];
  const trigger = { ...manualTrigger('ops'), default_target: { kind: 'flow', name: 'echo' } as const };
  const { perform } = bench(trigger, (target) => {
    requested.push(target);
    return handlers.of(target);
  });
  expect(await perform()).toMatchObject({ kind: 'failed', note: 'there is no flow echo' });
  expect(requested).toEqual([{ kind: 'flow', name: 'echo' }]);
  expect(handlers.of(agentTarget('echo'))).toBeDefined();
});

test('an internal timer event is not parsed by a platform adapter, and its failure sends no notice', () => {
  let reads = 0;
  const readState = () => {
    reads += 1;
    throw new Error('it cannot be read');
  };
  const adapter = { ...manualAdapter, read: readState, outbound: {} } as unknown as Adapter;
  const { work, event } = bench(
    manualTrigger('ops'),
    { run: async () => ({ text: '' }) },
    {},
    {},
    [],
    adapter,
  );
  const stored = { ...event, attempt: 1, crashes: 0 };
  expect(work.noticeRows({ ...stored, kind: 'timer', wakes: 'x' }, 'failed')).toEqual([]);
  expect(reads).toBe(0);
  // The sender of an unreadable event is unknown.
  expect(work.noticeRows(stored, 'failed')).toEqual([]);
  expect(reads).toBe(1);
});

test('an event of an account is ignored if its trigger now uses another account', async () => {
  const requested: Job[] = [];
  const handler: Handler = {
    run: async (job) => {
      requested.push(job);
      return { text: 'yes' };
    },
  };
  const receive = (account: string) => {
    const adapter: Adapter = {
      ...(manualAdapter as Adapter),
      account: () => 'the bot of today',
      read: (event) => ({ ...manualAdapter.read(event), account }),
    };
    return bench(manualTrigger('chat'), handler, {}, {}, [], adapter).perform();
  };
  expect(await receive('the bot of yesterday')).toEqual({
    kind: 'ignored',
    note: 'its triggers use another account now',
  });
  expect(requested).toEqual([]);
  expect(await receive('the bot of today')).toMatchObject({ kind: 'done' });
});

test('channel names are looked up only if the other filters match and a channel filter must decide', async () => {
  let requested = 0;
  const receive = (user: string) => {
    const adapter: Adapter = {
      ...(manualAdapter as Adapter),
      filters: () => chatFilters({ channels: ['#ops'], users: ['ann'] }),
      read: (event) => ({ ...manualAdapter.read(event), channel: 'C1', user }),
      addLookups: (event) => {
        requested += 1;
        return Promise.resolve({ ...event, channelAliases: ['ops'] });
      },
    };
    return bench(
      manualTrigger('chat'),
      { run: async () => ({ text: 'yes' }) },
      {},
      {},
      [],
      adapter,
    ).perform();
  };
  expect(await receive('bob')).toMatchObject({ kind: 'ignored' });
  expect(requested).toBe(0);
  expect(await receive('ann')).toMatchObject({ kind: 'done' });
  expect(requested).toBe(1);
});

test('a chat message is marked as seen at the first attempt, and not again when its run resumes after a wait', async () => {
  let received = 0;
  const outbound = {
    target: () => undefined,
    addressOf: () => 'here',
    markSeen: async () => {
      received += 1;
    },
  };
  const adapter = { ...manualAdapter, account: () => 'app', outbound } as unknown as Adapter;
  const handler: Handler = { run: async () => ({ text: '' }) };
  const woken = { id: 'w', kind: 'timer', meta: '', body: new Uint8Array() };
  for (const more of [{ woken }, {}, {}])
    await bench(manualTrigger('ops'), handler, {}, more, [], adapter).perform();
  expect(received).toBe(2);
});

test('an exception in a platform adapter fails the attempt and releases its concurrency slot', async () => {
  const outbound = {
    addressOf: () => {
      throw new Error('unknown host');
    },
    showTyping: async () => {},
  };
  const adapter = { ...manualAdapter, account: () => 'app', outbound } as unknown as Adapter;
  const handler: Handler = { run: async () => ({ text: 'fine' }) };
  for (let n = 0; n < 20; n += 1) {
    const outcome = await bench(manualTrigger('ops'), handler, {}, {}, [], adapter).perform();
    expect(outcome).toMatchObject({ kind: 'failed', note: 'unknown host' });
  }
  expect(await bench(manualTrigger('ops'), handler).perform()).toMatchObject({ kind: 'done' });
});
