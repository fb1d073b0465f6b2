// How long a handler may take, and who takes an event of a chat.

import { describe, expect, test } from 'vitest';
import type { Handler, Job } from '../../../../../actors/agents/handlers/handler.ts';
import { makeHandler } from '../../../../../actors/agents/handlers/make-handler.ts';
import { RunFeed } from '../../../../../actors/agents/runs/run-feed.ts';
import { ConversationWork } from '../../../../../actors/automation/conversations/conversation-work.ts';
import { Handlers } from '../../../../../actors/automation/conversations/handlers.ts';
import type { Routing } from '../../../../../actors/automation/conversations/routing.ts';
import { timeLimit } from '../../../../../actors/automation/conversations/run-deadline.ts';
import { chatFilters } from '../../../../../actors/events/inbox/chat-filters.ts';
import { WorkPlaces } from '../../../../../actors/events/inbox/work-places.ts';
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

const places = new WorkPlaces({ places: 16, bytes: 1_000_000, release: async () => 0 });

const origin = { id: '1', trace: '', principal: anonymous };
const run = { command: '', input: {}, text: 'go', isConfirmed: true };

/** A work with one trigger and one handler, and an event for both. */
function bench(
  trigger: ManualTrigger,
  handler: Handler | Routing['handlerOf'],
  said: Partial<ManualInput> = {},
  more: Partial<StoredEvent> = {},
  kept: unknown[] = [],
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
  const event = { ...manualEvent(trigger, { ...run, ...said }, origin), seq: 1, at: 0, ...more };
  const { signal } = new AbortController();
  const work = new ConversationWork(routing, places, noRecords);
  return {
    work,
    feed,
    event,
    perform: (attempt = 1, crashes = 0) =>
      work.perform({
        event: { ...event, attempt, crashes },
        snapshot: undefined,
        signal,
        checkpoint: async (...said) => void kept.push(...said),
      }),
  };
}

/** Has no answer, and ends when it is told to. */
const endless: Handler = {
  run: (_, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
};

test('an answer that has no form on its platform is counted as an attempt that failed, and as no answer', async () => {
  const outbound = {
    target: () => ({ place: 'room' }),
    sendsTo: () => 'https://chat.example',
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

test('a run by hand ends with its own timeout, not with that of other triggers', async () => {
  const trigger = manualTrigger('deploy', { timeout: 0.05 });
  const { perform } = bench(trigger, endless);
  expect(await perform()).toMatchObject({ kind: 'failed', note: 'no answer within timeout (0.05)' });
  expect(timeLimit(manualTrigger('deploy'))).toEqual({ seconds: 60, field: 'timeout_seconds' });
});

test('an attempt may have a limit of any number of seconds', async () => {
  const trigger = { ...manualTrigger('deploy'), timeout_seconds: 2.01 };
  const { perform } = bench(trigger, { run: async () => ({ text: 'fine' }) });
  expect(await perform()).toMatchObject({ kind: 'done', answer: 'fine' });
});

test.each([
  ['a word for a parameter', { command: 'deploy staging' }, { env: 'staging', version: 'latest' }],
  ['one by name', { command: 'deploy', input: { env: 'x' } }, { env: 'x', version: 'latest' }],
  ['none', { command: 'deploy' }, undefined],
] as [string, Partial<ManualInput>, Record<string, string> | undefined][])(
  'what is said beside a command with %s is no parameter of it',
  async (_, said, parameters) => {
    const heard: Job[] = [];
    const handler: Handler = {
      run: async (job) => {
        heard.push(job);
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
    const { kind } = await bench(trigger, handler, { ...said, text }).perform();
    expect(kind).toBe(parameters === undefined ? 'ignored' : 'done');
    expect(heard.map((job) => ({ ...job.parameters }))).toEqual(parameters === undefined ? [] : [parameters]);
    for (const { input } of heard) expect(input).toBe(`${said.command}\n${text}`);
  },
);

test('an event is not given to a trigger of its name that is of another type by now', async () => {
  const adapter = { ...manualAdapter, type: 'HTTP' } as unknown as Adapter;
  const { perform } = bench(manualTrigger('deploy'), endless, {}, {}, [], adapter);
  const note = 'the triggers it came for are gone or switched off';
  expect(await perform()).toEqual({ kind: 'ignored', note });
});

test('an event whose attempts all ended without a word is dead, and is not tried once more', async () => {
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
  // Those that ended with the process are none of them; only what is to blame for that is dead by it.
  expect(await perform(trigger.retry.attempts + 9, 9)).toMatchObject({ kind: 'done' });
  expect(await perform(CRASH_LIMIT + 1, CRASH_LIMIT)).toMatchObject({
    kind: 'failed',
    isFinal: true,
    note: `the gateway ended ${CRASH_LIMIT} times while it was handled`,
  });
  expect(runs).toBe(2);
});

test('of the triggers of a chat the one takes an event whose filters fit it best; they are made ready once', async () => {
  const configs = new Map([
    ['everybody', {}],
    ['ops', { channels: ['#ops'] }],
    ['ops-help', { channels: ['ops'], patterns: ['(?i)help'] }],
    ['elsewhere', { channels: ['random'], patterns: ['HELP'] }],
  ]);
  const triggers = new Map([...configs.keys()].map((name) => [name, manualTrigger(name)]));
  let made = 0;
  const adapter: Adapter = {
    ...(manualAdapter as Adapter),
    read: (event) => ({ ...manualAdapter.read(event), triggers: [...configs.keys()], channel: '#ops' }),
    takes: () => true,
    filters: ({ name }) => {
      made += 1;
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
    places,
    noRecords,
  );
  const say = async (text: string) => {
    const posted = manualEvent(manualTrigger('everybody'), { ...run, text }, origin);
    const event = { ...posted, seq: 1, at: 0, attempt: 1, crashes: 0 };
    const { signal } = new AbortController();
    return (await work.perform({ event, snapshot: undefined, signal, checkpoint: async () => {} })).trigger;
  };
  expect([await say('Help me'), await say('hello')]).toEqual(['ops-help', 'ops']);
  expect(made).toBe(configs.size);
});

describe('what waits', () => {
  const trigger = manualTrigger('deploy');

  test('is parked as its handler says, with a timer of its own where it is not to wait for ever (CW5)', async () => {
    const seen: unknown[] = [];
    const handler: Handler = {
      run: async (_, { state, woken, leftMs }) => {
        seen.push({ state, woken, hasTime: leftMs > 50_000 });
        return { parkedOn: 'yes', wakeInMs: 1_000, state: 'asked', holdsConversation: true, note: 'asks' };
      },
    };
    const { perform, event } = bench(trigger, handler);
    const outcomes = [await perform(), await perform()];
    expect(seen[0]).toEqual({ state: undefined, woken: undefined, hasTime: true });
    const timer = { inMs: 1_000, event: { key: event.key, kind: 'timer', wakes: 'yes' } };
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({
        ...{ kind: 'parked', trigger: 'deploy', parkedOn: 'yes', holdsKey: true },
        ...{ state: 'asked', note: 'asks', timers: [timer] },
      });
    const ids = outcomes.map((outcome) => (outcome.kind === 'parked' ? outcome.timers?.[0]?.event.id : ''));
    expect(new Set(ids).size).toBe(2);
  });

  test('goes on with what it kept, and what woke it', async () => {
    const woken = { id: 'w:1', kind: 'decision', meta: '', body: Buffer.from('yes') };
    const kept: unknown[] = [];
    const handler: Handler = {
      run: async (_, context) => {
        await context.checkpoint('told', { cancelTimers: ['x'] });
        return { text: `${context.state} ${Buffer.from(context.woken?.body ?? []).toString()}` };
      },
    };
    const { perform } = bench(trigger, handler, {}, { state: 'asked', woken }, kept);
    expect(await perform()).toMatchObject({ kind: 'done', answer: 'asked yes' });
    expect(kept).toEqual(['told', { cancelTimers: ['x'] }]);
  });

  test('what was to wake what does not wait is read by no adapter, and ignored', async () => {
    const handler: Handler = { run: () => Promise.reject(new Error('it was asked')) };
    const { perform } = bench(trigger, handler, {}, { kind: 'decision', wakes: 'yes' });
    expect(await perform()).toEqual({
      kind: 'ignored',
      note: 'a decision for what nothing here waits for: yes',
    });
  });
});

test('who is asked is what the trigger leads to, and an agent stands in for no flow of its name', async () => {
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
  const asked: Target[] = [];
  const trigger = { ...manualTrigger('ops'), default_target: { kind: 'flow', name: 'echo' } as const };
  const { perform } = bench(trigger, (target) => {
    asked.push(target);
    return handlers.of(target);
  });
  expect(await perform()).toMatchObject({ kind: 'failed', note: 'there is no flow echo' });
  expect(asked).toEqual([{ kind: 'flow', name: 'echo' }]);
  expect(handlers.of(agentTarget('echo'))).toBeDefined();
});

test('of an event that no platform sent nobody is told, and no adapter is asked to read it (CW5)', () => {
  let reads = 0;
  const read = () => {
    reads += 1;
    throw new Error('it cannot be read');
  };
  const adapter = { ...manualAdapter, read, outbound: {} } as unknown as Adapter;
  const { work, event } = bench(
    manualTrigger('ops'),
    { run: async () => ({ text: '' }) },
    {},
    {},
    [],
    adapter,
  );
  const stored = { ...event, attempt: 1, crashes: 0 };
  expect(work.notice({ ...stored, kind: 'timer', wakes: 'x' }, 'failed')).toEqual([]);
  expect(reads).toBe(0);
  // Of one that cannot be read nobody knows whom to tell.
  expect(work.notice(stored, 'failed')).toEqual([]);
  expect(reads).toBe(1);
});

test('an event is not taken by a trigger that uses another account by now', async () => {
  const asked: Job[] = [];
  const handler: Handler = {
    run: async (job) => {
      asked.push(job);
      return { text: 'yes' };
    },
  };
  const come = (account: string) => {
    const adapter: Adapter = {
      ...(manualAdapter as Adapter),
      account: () => 'the bot of today',
      read: (event) => ({ ...manualAdapter.read(event), account }),
    };
    return bench(manualTrigger('chat'), handler, {}, {}, [], adapter).perform();
  };
  expect(await come('the bot of yesterday')).toEqual({
    kind: 'ignored',
    note: 'the triggers it came for use another account now',
  });
  expect(asked).toEqual([]);
  expect(await come('the bot of today')).toMatchObject({ kind: 'done' });
});

test('the platform is asked for what a filter of channels needs only where that can decide', async () => {
  let asked = 0;
  const come = (user: string) => {
    const adapter: Adapter = {
      ...(manualAdapter as Adapter),
      filters: () => chatFilters({ channels: ['#ops'], users: ['ann'] }),
      read: (event) => ({ ...manualAdapter.read(event), channel: 'C1', user }),
      complete: (event) => {
        asked += 1;
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
  expect(await come('bob')).toMatchObject({ kind: 'ignored' });
  expect(asked).toBe(0);
  expect(await come('ann')).toMatchObject({ kind: 'done' });
  expect(asked).toBe(1);
});

test('a message is marked as seen when it is first handled, and not when its event was parked and goes on', async () => {
  let seen = 0;
  const outbound = {
    target: () => undefined,
    sendsTo: () => 'here',
    seen: async () => {
      seen += 1;
    },
  };
  const adapter = { ...manualAdapter, account: () => 'app', outbound } as unknown as Adapter;
  const handler: Handler = { run: async () => ({ text: '' }) };
  const woken = { id: 'w', kind: 'timer', meta: '', body: new Uint8Array() };
  for (const more of [{ woken }, {}, {}])
    await bench(manualTrigger('ops'), handler, {}, more, [], adapter).perform();
  expect(seen).toBe(2);
});

test('a fault of an adapter fails the attempt, and takes no place for good', async () => {
  const outbound = {
    sendsTo: () => {
      throw new Error('no such host');
    },
    typing: async () => {},
  };
  const adapter = { ...manualAdapter, account: () => 'app', outbound } as unknown as Adapter;
  const handler: Handler = { run: async () => ({ text: 'fine' }) };
  for (let n = 0; n < 20; n += 1) {
    const outcome = await bench(manualTrigger('ops'), handler, {}, {}, [], adapter).perform();
    expect(outcome).toMatchObject({ kind: 'failed', note: 'no such host' });
  }
  expect(await bench(manualTrigger('ops'), handler).perform()).toMatchObject({ kind: 'done' });
});
