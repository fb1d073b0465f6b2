// Common features of the chat platforms. One gateway has a trigger per platform, and people use local
// platforms; each test runs for every chat. Separate files test special features of single platforms.
// Operator features: every-chat-operated.test.ts. A new chat is one line in
// test/fixtures/chats/local-chats.ts.

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AgentProgram,
  type AgentRequest,
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
  writeResources,
} from '../../fixtures/automation/automation.ts';
import { waitUntilIdle } from '../../fixtures/automation/killed.ts';
import type { LocalChat, VisibleMessage } from '../../fixtures/chats/local-chat.ts';
import { localChats } from '../../fixtures/chats/local-chats.ts';
import { postForgery } from '../../fixtures/chats/post-forgery.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { seeded } from '../../fixtures/seeded.ts';

/** Three attempts: if more refusals than that are harmless, they were not counted as attempts. */
const retry = { attempts: 3, min_backoff_seconds: 0.2, factor: 2, max_backoff_seconds: 1 };
const GIVEN_UP = 'Sorry, that failed and will not be retried.';
const WELCOME = 'Here I am.';
const WAITS = 'This takes longer than usual. The answer will appear here.';
const deploy = { agent: 'echo', parameters: ['env', 'version'].map((name) => ({ name, required: true })) };

interface Delivery {
  readonly id: string;
  readonly trigger: string;
  readonly state: string;
  readonly attempts: number;
  readonly deferrals: number;
  readonly note: string | null;
}

const chats = Object.entries(localChats).map(([name, make]) => ({ name, chat: make() }));
let gateway: GatewayProcess;
let program: AgentProgram;
let output = '';
/** Answers that the agent holds until `release`, by input. */
const heldInputs = new Map<string, Promise<void>>();
/** Delays the answers to these inputs. Returns the release function. */
function holdInputs(...inputs: readonly string[]): () => void {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  for (const each of inputs) heldInputs.set(each, gate);
  return release;
}

/** Input of the agent. A platform with nothing but commands sends it as a parameter. */
const inputOf = ({ body }: AgentRequest) => body.parameters.text ?? body.input;
const isOf = (name: string, { body }: AgentRequest) => body.trigger === name;
const chatOf = (request: AgentRequest) =>
  (chats.find(({ name }) => isOf(name, request)) as { chat: LocalChat }).chat;
const requestsFor = (text: string) => program.requests.filter((request) => inputOf(request) === text);

const card = {
  title: 'Release 7',
  fields: [{ name: 'Branch', value: 'main' }],
  actions: [
    { id: 'ship-7', title: 'Ship it' },
    { id: 'drop-7', title: 'Drop it', style: 'danger', description: 'For good' },
  ],
};
const row = (n: number) => `row ${n} of what has to be read in order`;
const rows = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => row(from + n));
/** Number of rows in a text that needs several messages. */
const rowsFor = ({ longText = 9_000 }: LocalChat) => Math.ceil(longText / row(100).length);
const long = (chat: LocalChat) => {
  const quarter = Math.floor(rowsFor(chat) / 4);
  const code = ['```js', ...rows(quarter, 3 * quarter), '```'];
  return ['First of all:', ...rows(0, quarter), ...code, ...rows(3 * quarter, rowsFor(chat))].join('\n');
};

beforeAll(async () => {
  program = await startAgent(async (request) => {
    const { command, parameters } = request.body;
    const input = inputOf(request);
    await heldInputs.get(input);
    if (input.endsWith('refuse it')) return { status: 400, text: 'no' };
    if (input.endsWith('later') && requestsFor(input).length === 1)
      return { status: 503, headers: { 'retry-after': '3' } };
    if (input === 'card') return { text: 'Is it ready?', data: card };
    if (input.startsWith('long')) return { text: long(chatOf(request)) };
    return { text: command === 'deploy' ? `deploys ${JSON.stringify(parameters)}` : `heard: ${input}` };
  });
  for (const { chat } of chats) await chat.start();
  await begin(resources());
});
afterAll(() => Promise.all(chats.map(({ chat }) => chat.stop())));

function resources(moreOf: (chat: LocalChat) => { config?: object; on_failure?: string } = () => ({})) {
  const triggers = chats.map(({ name, chat }) => {
    const { config, commands, ...spec } = chat.trigger('echo');
    const more = moreOf(chat);
    return trigger(name, {
      ...spec,
      ...more,
      config: { ...config, ...more.config },
      commands: { ...commands, deploy },
      ...(chat.arrive !== undefined && { welcome: WELCOME }),
      default_agent: 'echo',
      retry,
    });
  });
  return [...triggers, httpAgent('echo', program.url)];
}

async function begin(first?: ReturnType<typeof resources>): Promise<void> {
  gateway = await startAutomation(first === undefined ? { folder: gateway.folder } : { resources: first });
  await Promise.all(chats.map(({ chat }) => chat.attach(gateway.url)));
}

async function kill(): Promise<void> {
  await gateway.stop('SIGKILL');
  output += gateway.text();
  // The next gateway repeats the requests as soon as it starts.
  heldInputs.clear();
  await begin();
}

const api = async <T>(path: string, body?: object): Promise<T> => {
  const init = body && {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  };
  const response = await fetch(gateway.url + path, init);
  expect(response.ok, `${path}: ${response.status}`).toBe(true);
  return (await response.json()) as T;
};

/** Sends a message to the conversation of an agent request. */
const send = (name: string, request: AgentRequest | undefined, text: string) =>
  api(`/triggers/${name}/send`, { conversation: request?.body.conversation, text });

/** Newest first. */
const deliveries = async (query: string) =>
  (await api<{ deliveries: readonly Delivery[] }>(`/deliveries?limit=1000&${query}`)).deliveries;

const rowOf = (eventId: string, about: string) =>
  `/deliveries/${encodeURIComponent(`outbox:${eventId}/${about === '' ? '' : `${about}/`}1`)}`;

const texts = (chat: LocalChat, place: string) => chat.visibleMessages(place).map(({ text }) => text);
const expectTexts = (chat: LocalChat, place: string, ...expected: readonly string[]) =>
  eventually(() => expect(texts(chat, place)).toEqual(expected));
/** All readable text in the message, on any platform. */
const readableText = ({ title = '', text, fields }: VisibleMessage) =>
  [title, text, ...fields.map(({ name, value }) => `${name}: ${value}`)].join('\n');

describe.concurrent.each(chats)('$name', ({ name, chat }) => {
  test('a chat bot answers each message once, in its chat, and messages of one chat share a conversation', async () => {
    for (const place of ['Answered', '#answered']) {
      await chat.say(place, `${name} in ${place}`);
      await expectTexts(chat, place, `heard: ${name} in ${place}`);
      await chat.say(place, `${name} again in ${place}`);
      await expectTexts(chat, place, `heard: ${name} in ${place}`, `heard: ${name} again in ${place}`);
      const requests = [requestsFor(`${name} in ${place}`), requestsFor(`${name} again in ${place}`)];
      expect(requests.map(({ length }) => length)).toEqual([1, 1]);
      const [first, second] = requests.map(([request]) => request?.body);
      const { type } = chat.trigger('echo');
      expect(first).toMatchObject({ trigger: name, event: { type } });
      expect(first?.conversation).toMatch(new RegExp(`^${type.toLowerCase()}/`));
      expect(second?.conversation).toBe(first?.conversation);
      expect(second?.history.map(({ role }) => role)).toEqual(['user', 'assistant']);
    }
    const [one, other] = ['Answered', '#answered'].map((place) => requestsFor(`${name} in ${place}`)[0]);
    expect(one?.body.conversation).not.toBe(other?.body.conversation);
  });

  test('a chat command passes its parameters to the agent; if one is missing, the user gets help instead', async () => {
    await chat.command('Commands', 'deploy', { env: `${name} prod`, version: '1.2' });
    await expectTexts(chat, 'Commands', expect.stringContaining('deploys {'));
    await chat.command('Commands', 'deploy', { env: `only ${name}` });
    await expectTexts(
      chat,
      'Commands',
      expect.anything(),
      expect.stringMatching(/A parameter is missing:.*version/s),
    );
    const [answer, help] = chat.visibleMessages('Commands');
    if (answer?.mark !== undefined) expect(help?.mark).not.toBe(answer.mark);
    // The incomplete command is not remembered.
    await chat.command('Commands', 'deploy', { env: `${name} stage`, version: '1.2' });
    await eventually(() => expect(texts(chat, 'Commands')).toHaveLength(3));
    const requests = program.requests.filter(
      (request) => request.body.command?.includes('deploy') && isOf(name, request),
    );
    expect(requests.map(({ body }) => [body.parameters, body.history.length])).toEqual([
      [{ env: `${name} prod`, version: '1.2' }, 0],
      [{ env: `${name} stage`, version: '1.2' }, 2],
    ]);
  });

  test('a card in a chat shows title, fields and buttons, and a button press continues the same conversation', async () => {
    await chat.say('Card', 'card');
    const [shown] = await eventually(() => {
      const cards = chat.visibleMessages('Card');
      expect(cards.flatMap(({ choices }) => choices)).toEqual(['Ship it', 'Drop it']);
      return cards;
    });
    const text = readableText(shown!);
    for (const word of ['Release 7', 'Is it ready?', 'Branch', 'main', 'For good'])
      expect(text).toContain(word);
    await chat.press('Card', 'Ship it');
    const pressed = await eventually(() => {
      const commandRequest = program.requests.find(
        (request) =>
          isOf(name, request) &&
          JSON.stringify([request.body.input, request.body.parameters]).includes('ship-7'),
      );
      return commandRequest ?? expect.unreachable('nobody was asked about the button');
    });
    const [said] = requestsFor('card').filter((request) => isOf(name, request));
    expect(pressed.body.conversation).toBe(said?.body.conversation);
    await eventually(() => expect(texts(chat, 'Card').at(-1)).toContain('heard: '));
  });

  test('a long chat answer with code is sent in several parts, complete, in order, each with code formatting', async () => {
    await chat.say('Long', 'long');
    await eventually(() =>
      expect(rowsIn(texts(chat, 'Long'))).toEqual(Array.from({ length: rowsFor(chat) }, (_, n) => n)),
    );
    const quarter = Math.floor(rowsFor(chat) / 4);
    for (const text of texts(chat, 'Long')) {
      let isCode = false;
      for (const line of text.split('\n')) {
        if (line.startsWith('```')) isCode = !isCode;
        const [, n] = /^row (\d+) /.exec(line) ?? [];
        const isInCode = Number(n) >= quarter && Number(n) < 3 * quarter;
        if (n !== undefined) expect([line, isCode]).toEqual([line, isInCode]);
      }
      expect(isCode).toBe(false);
    }
  });

  test('messages of one chat conversation are handled in order and do not delay other conversations', async () => {
    const release = holdInputs(`${name} first`);
    await chat.say('Waits', `${name} first`);
    await eventually(() => expect(requestsFor(`${name} first`)).toHaveLength(1));
    await chat.say('Waits', `${name} second`);
    await chat.say('Passes', 'passing');
    await expectTexts(chat, 'Passes', 'heard: passing');
    expect(requestsFor(`${name} second`)).toEqual([]);
    release();
    await expectTexts(chat, 'Waits', `heard: ${name} first`, `heard: ${name} second`);
  });

  test('a chat event that the platform delivers twice is answered once', async () => {
    await chat.say('Twice', `${name} twice`);
    await expectTexts(chat, 'Twice', `heard: ${name} twice`);
    await chat.repeat('Twice');
    await chat.say('Twice', 'after');
    await expectTexts(chat, 'Twice', `heard: ${name} twice`, 'heard: after');
    expect(requestsFor(`${name} twice`)).toHaveLength(1);
  });

  test('a message that a chat platform refuses permanently is marked dead with the error, and a replay sends it', async () => {
    const errorText = chat.refuse('Refused');
    await chat.say('Refused', `${name} refused`);
    const [dead] = await eventually(async () => {
      const deadRows = (await deliveries('state=dead&source=outbox')).filter((each) => each.trigger === name);
      expect(deadRows).toMatchObject([{ attempts: 1, note: expect.stringContaining(errorText) }]);
      return deadRows;
    });
    expect(texts(chat, 'Refused')).toEqual([]);
    const { id } = requestsFor(`${name} refused`)[0]?.body.event ?? { id: '' };
    expect(await api(`/deliveries/${encodeURIComponent(id)}`)).toMatchObject({ state: 'done' });
    await api(`/deliveries/${encodeURIComponent(dead?.id ?? '')}/replay`, {});
    await expectTexts(chat, 'Refused', `heard: ${name} refused`);
    expect(requestsFor(`${name} refused`)).toHaveLength(1);
  });

  test('a proactive chat message appears in the conversation that it names', async () => {
    await chat.say('Sent', `${name} where am I?`);
    await expectTexts(chat, 'Sent', `heard: ${name} where am I?`);
    const [request] = requestsFor(`${name} where am I?`);
    await send(name, request, `news of ${name}`);
    await expectTexts(chat, 'Sent', `heard: ${name} where am I?`, `news of ${name}`);
  });

  // Not every platform reports it.
  if (chat.arrive !== undefined)
    test('a chat gets one welcome message when the bot is added, without a call to the agent', async () => {
      await chat.arrive?.('#arrived');
      await expectTexts(chat, '#arrived', WELCOME);
      await chat.repeat('#arrived');
      await chat.say('#arrived', `${name} arrived`);
      await expectTexts(chat, '#arrived', WELCOME, `heard: ${name} arrived`);
      expect(requestsFor(`${name} arrived`)[0]?.body.history).toEqual([]);
    });

  // Polled events cannot be forged.
  if (chat.forgeries !== undefined)
    test('a chat webhook request with a forged signature is rejected', async () => {
      for (const forgery of (await chat.forgeries?.('Forged', `${name} forged`)) ?? [])
        expect(await postForgery(`${gateway.url}/webhook/${name}`, forgery), forgery.what).toBe(401);
      await chat.say('Forged', 'real');
      await expectTexts(chat, 'Forged', 'heard: real');
      expect(requestsFor(`${name} forged`)).toEqual([]);
    });
});

/** Row numbers in reading order. */
function rowsIn(parts: readonly string[]): readonly number[] {
  return parts.flatMap((part) => [...part.matchAll(/^row (\d+) /gm)].map(([, n]) => Number(n)));
}

/** Runs a step for all chats in parallel: they share one gateway. */
const inEachChat = (step: (chat: LocalChat, name: string) => Promise<unknown>) =>
  Promise.all(
    chats.map(({ name, chat }) =>
      step(chat, name).catch((error: Error) => {
        error.message = `${name}: ${error.message}`;
        throw error;
      }),
    ),
  );

test('a rate limit only delays messages: no attempt is counted, and no message is lost or reordered', async () => {
  await inEachChat(async (chat, name) => {
    chat.tooMany('Many', 2);
    for (const text of ['one', 'two']) await chat.say('Many', `${name} ${text}`);
    await expectTexts(chat, 'Many', `heard: ${name} one`, `heard: ${name} two`);
    await eventually(async () => {
      const rows = (await deliveries('source=outbox')).filter((each) => each.trigger === name);
      // The limit applied to one message. On platforms that define no order it may apply to both.
      const deferredRows = rows.filter(({ deferrals }) => deferrals > 0);
      expect(deferredRows.reduce((sum, { deferrals }) => sum + deferrals, 0)).toBeGreaterThanOrEqual(2);
      const finalStates = deferredRows.map(({ state, attempts }) => ({ state, attempts }));
      expect(finalStates).toEqual(deferredRows.map(() => ({ state: 'done', attempts: 1 })));
    });
  });
});

test('messages and answers during a platform outage arrive afterwards', async () => {
  const release = holdInputs(...chats.map(({ name }) => `${name} before`));
  await inEachChat(async (chat, name) => {
    await chat.say('Away', `${name} before`);
    await eventually(() => expect(requestsFor(`${name} before`)).toHaveLength(1));
    chat.isUnavailable = true;
  });
  release();
  await eventually(async () => {
    const rows = await deliveries('source=outbox&state=retrying');
    expect(new Set(rows.map((each) => each.trigger))).toEqual(new Set(chats.map(({ name }) => name)));
  });
  await inEachChat(async (chat, name) => {
    chat.isUnavailable = false;
    await chat.say('Away', `${name} after`);
    await expectTexts(chat, 'Away', `heard: ${name} before`, `heard: ${name} after`);
  });
});

test('kill -9 at any step of a chat answer loses nothing, and each agent request keeps its idempotency key', async () => {
  await waitUntilIdle(gateway);
  holdInputs(...chats.map(({ name }) => `${name} while asked`));
  await inEachChat(async (chat, name) => {
    await chat.say('Done', `${name} done`);
    await expectTexts(chat, 'Done', `heard: ${name} done`);
    await chat.say('Later', `${name} later`);
    await expectTexts(chat, 'Later', WAITS);
    const hanging = [
      chat.hang('In parts', { skip: 1 }),
      chat.hang('Before'),
      chat.hang('Shown', { isShown: true }),
      chat.hang('Told'),
    ];
    await chat.say('Asked', `${name} while asked`);
    await chat.say('In parts', `long ${name}`);
    await chat.say('Before', `${name} before it left`);
    await chat.say('Shown', `${name} before we knew`);
    await chat.say('Told', `${name} refuse it`);
    await eventually(() => expect(requestsFor(`${name} while asked`)).toHaveLength(1));
    await chat.say('Asked', `${name} behind it`);
    await Promise.all(hanging);
    // Killed earlier, the gateway could not know that the platform had accepted this message.
    const { id } = requestsFor(`${name} later`)[0]?.body.event ?? { id: '' };
    await eventually(async () => expect(await api(rowOf(id, 'waits'))).toMatchObject({ state: 'done' }));
  });
  await kill();
  await inEachChat(async (chat, name) => {
    await chat.repeat('Done');
    await chat.say('Done', `${name} after`);
    await expectTexts(chat, 'Done', `heard: ${name} done`, `heard: ${name} after`);
    await send(name, requestsFor(`${name} done`)[0], `${name} sent`);
    await expectTexts(chat, 'Done', `heard: ${name} done`, `heard: ${name} after`, `${name} sent`);
    await expectTexts(chat, 'Asked', `heard: ${name} while asked`, `heard: ${name} behind it`);
    await expectTexts(chat, 'Before', `heard: ${name} before it left`);
    await expectTexts(chat, 'Told', GIVEN_UP);
    // Replaces the placeholder, or is posted below it.
    await eventually(() => expect(texts(chat, 'Later').at(-1)).toBe(`heard: ${name} later`));
    expect(texts(chat, 'Later').slice(0, -1)).toEqual(chat.isAwaited ? [] : [WAITS]);
    const all = Array.from({ length: rowsFor(chat) }, (_, n) => n);
    await eventually(() => expect(rowsIn(texts(chat, 'In parts'))).toEqual(all));
    // Not every platform reports whether a message arrived.
    await eventually(() => expect(texts(chat, 'Shown').length).toBeGreaterThan(0));
  });
  await waitUntilIdle(gateway);
  await inEachChat(async (chat, name) => {
    expect(new Set(texts(chat, 'Shown'))).toEqual(new Set([`heard: ${name} before we knew`]));
    expect(texts(chat, 'Shown').length).toBeLessThanOrEqual(2);
    expect(requestsFor(`${name} done`)).toHaveLength(1);
    const twice = requestsFor(`${name} while asked`).map(({ headers }) => headers['idempotency-key']);
    expect(twice).toEqual([twice[0], twice[0]]);
  });
});

test('after kill -9 at random moments every accepted message is answered once, unless the record reports a possible duplicate', async () => {
  await waitUntilIdle(gateway);
  const random = seeded(20_261_123);
  let isOver = false;
  const acceptedByChat = new Map(chats.map(({ name }) => [name, [] as string[]]));
  const writing = inEachChat(async (chat, name) => {
    // Unaccepted messages have no guarantee: the sender notices the error and continues. Botmessenger allows
    // 20 messages per minute in a group.
    for (let n = 0; !isOver && (acceptedByChat.get(name)?.length ?? 0) < 30; n += 1) {
      const text = `${name} at any moment ${n}`;
      const isTaken = await chat.say(n % 2 === 0 ? 'Killed' : '#killed', text).then(
        () => true,
        () => false,
      );
      if (isTaken) acceptedByChat.get(name)?.push(text);
      await pause(300 + 400 * random());
    }
  });
  for (let times = 0; times < 4; times += 1) {
    await eventually(() => {
      for (const texts of acceptedByChat.values()) expect(texts.length).toBeGreaterThan(times);
    });
    await pause(1_000 * random());
    await kill();
  }
  isOver = true;
  await writing;
  await waitUntilIdle(gateway);
  await inEachChat(async (chat, name) => {
    const visibleTexts = [...texts(chat, 'Killed'), ...texts(chat, '#killed')];
    expect(acceptedByChat.get(name)?.length).toBeGreaterThan(3);
    for (const text of acceptedByChat.get(name) ?? []) {
      const requests = requestsFor(text);
      expect([text, new Set(requests.map(({ headers }) => headers['idempotency-key'])).size]).toEqual([
        text,
        1,
      ]);
      const times = visibleTexts.filter((each) => each === `heard: ${text}`).length;
      const record = await api<{ crashes: number; state: string }>(
        rowOf(requests[0]?.body.event.id ?? '', ''),
      );
      expect([text, record.state, times]).toEqual([
        text,
        'done',
        record.crashes > 0 ? expect.toBeOneOf([1, 2]) : 1,
      ]);
    }
  });
});

test('a message that a filter excludes calls no agent, and failures with on_failure: silent send no notice', async () => {
  const reload = async (more?: Parameters<typeof resources>[0]) => {
    writeResources(gateway.folder, resources(more));
    await api('/admin/reload', {});
  };
  await reload(({ nobody }) => ({ config: nobody }));
  const ignored = async () => (await deliveries('state=ignored')).length;
  const before = await ignored();
  await inEachChat((chat, name) => chat.say('Filtered', `${name} unheard`));
  await eventually(async () => expect(await ignored()).toBeGreaterThanOrEqual(before + chats.length));
  await reload(() => ({ on_failure: 'silent' }));
  await inEachChat(async (chat, name) => {
    for (const text of ['refuse it', 'heard']) await chat.say('Filtered', `${name}, ${text}`);
    await eventually(() => expect(texts(chat, 'Filtered').at(-1)).toBe(`heard: ${name}, heard`));
    expect(chat.visibleMessages('Filtered')).toHaveLength(chat.isAwaited ? 3 : 1);
    expect(requestsFor(`${name} unheard`)).toEqual([]);
  });
});

test('an answer in progress while a reload renames its trigger is still sent, under the new trigger name', async () => {
  const inputs = chats.map(({ name }) => `${name} renamed`);
  const release = holdInputs(...inputs);
  await inEachChat((chat, name) => chat.say('Renamed', `${name} renamed`));
  await eventually(() => expect(inputs.flatMap(requestsFor)).toHaveLength(chats.length));
  const renamed = resources().map((each) =>
    each.kind === 'Trigger' ? { ...each, name: `${each.name}-renamed` } : each,
  );
  writeResources(gateway.folder, renamed);
  await api('/admin/reload', {});
  release();
  await inEachChat(async (chat, name) => {
    await expectTexts(chat, 'Renamed', `heard: ${name} renamed`);
    const [request] = requestsFor(`${name} renamed`);
    const row = rowOf(request?.body.event.id ?? '', '');
    await eventually(async () =>
      expect(await api(row)).toMatchObject({ state: 'done', trigger: `${name}-renamed` }),
    );
  });
});

test('no secret was in the log, in a record or in a request to the agent', async () => {
  const records = await Promise.all(
    (await deliveries('')).map(({ id }) => api(`/deliveries/${encodeURIComponent(id)}`)),
  );
  const allTexts =
    output + gateway.text() + JSON.stringify([records, await api('/triggers'), program.requests]);
  for (const { chat } of chats) for (const secret of chat.secrets) expect(allTexts).not.toContain(secret);
  expect(records.length).toBeGreaterThan(20);
});
