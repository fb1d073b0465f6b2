// What every chat keeps, whatever its platform is: one gateway with a trigger of each, and people of local platforms who write to
// them. Each case runs for each chat; what only one platform has is in the tests of that platform, and what an operator has of a
// chat in every-chat-operated.test.ts. A new chat is a line in test/fixtures/chats/local-chats.ts.

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
import { atRest } from '../../fixtures/automation/killed.ts';
import type { LocalChat, Seen } from '../../fixtures/chats/local-chat.ts';
import { localChats } from '../../fixtures/chats/local-chats.ts';
import { postForgery } from '../../fixtures/chats/post-forgery.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { seeded } from '../../fixtures/seeded.ts';

/** Of three attempts, so that a message that is refused more often shows whether these were counted. */
const retry = { attempts: 3, min_backoff_seconds: 0.2, factor: 2, max_backoff_seconds: 1 };
const GIVEN_UP = 'Sorry, that did not work, and it will not be tried again.';
const WELCOME = 'Here I am.';
const WAITS = 'This takes longer than usual. The answer will come here.';
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
/** What the agent answers only when it is told to, by what was said. */
const held = new Map<string, Promise<void>>();
/** Gives what has it answered. */
function hold(...said: readonly string[]): () => void {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  for (const each of said) held.set(each, gate);
  return release;
}

/** As the agent was told it: platforms with commands only have it in a parameter. */
const saidIn = ({ body }: AgentRequest) => body.parameters.text ?? body.input;
const isOf = (name: string, { body }: AgentRequest) => body.trigger === name;
const chatOf = (request: AgentRequest) =>
  (chats.find(({ name }) => isOf(name, request)) as { chat: LocalChat }).chat;
const asked = (text: string) => program.requests.filter((request) => saidIn(request) === text);

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
/** In several messages. */
const rowsFor = ({ longText = 9_000 }: LocalChat) => Math.ceil(longText / row(100).length);
const long = (chat: LocalChat) => {
  const quarter = Math.floor(rowsFor(chat) / 4);
  const code = ['```js', ...rows(quarter, 3 * quarter), '```'];
  return ['First of all:', ...rows(0, quarter), ...code, ...rows(3 * quarter, rowsFor(chat))].join('\n');
};

beforeAll(async () => {
  program = await startAgent(async (request) => {
    const { command, parameters } = request.body;
    const said = saidIn(request);
    await held.get(said);
    if (said.endsWith('refuse it')) return { status: 400, text: 'no' };
    if (said.endsWith('later') && asked(said).length === 1)
      return { status: 503, headers: { 'retry-after': '3' } };
    if (said === 'card') return { text: 'Is it ready?', data: card };
    if (said.startsWith('long')) return { text: long(chatOf(request)) };
    return { text: command === 'deploy' ? `deploys ${JSON.stringify(parameters)}` : `heard: ${said}` };
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
  held.clear();
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

/** To the conversation of a request to the agent. */
const send = (name: string, request: AgentRequest | undefined, text: string) =>
  api(`/triggers/${name}/send`, { conversation: request?.body.conversation, text });

/** The newest first. */
const deliveries = async (query: string) =>
  (await api<{ deliveries: readonly Delivery[] }>(`/deliveries?limit=1000&${query}`)).deliveries;

const rowOf = (eventId: string, about: string) =>
  `/deliveries/${encodeURIComponent(`outbox:${eventId}/${about === '' ? '' : `${about}/`}1`)}`;

const texts = (chat: LocalChat, place: string) => chat.seen(place).map(({ text }) => text);
const sees = (chat: LocalChat, place: string, ...expected: readonly string[]) =>
  eventually(() => expect(texts(chat, place)).toEqual(expected));
/** All that can be read in a message, whatever form the platform has for it. */
const words = ({ title = '', text, fields }: Seen) =>
  [title, text, ...fields.map(({ name, value }) => `${name}: ${value}`)].join('\n');

describe.concurrent.each(chats)('$name', ({ name, chat }) => {
  test('what people write is answered once, where they wrote it, and is one conversation', async () => {
    for (const place of ['Answered', '#answered']) {
      await chat.say(place, `${name} in ${place}`);
      await sees(chat, place, `heard: ${name} in ${place}`);
      await chat.say(place, `${name} again in ${place}`);
      await sees(chat, place, `heard: ${name} in ${place}`, `heard: ${name} again in ${place}`);
      const requests = [asked(`${name} in ${place}`), asked(`${name} again in ${place}`)];
      expect(requests.map(({ length }) => length)).toEqual([1, 1]);
      const [first, second] = requests.map(([request]) => request?.body);
      const { type } = chat.trigger('echo');
      expect(first).toMatchObject({ trigger: name, event: { type } });
      expect(first?.conversation).toMatch(new RegExp(`^${type.toLowerCase()}/`));
      expect(second?.conversation).toBe(first?.conversation);
      expect(second?.history.map(({ role }) => role)).toEqual(['user', 'assistant']);
    }
    const [one, other] = ['Answered', '#answered'].map((place) => asked(`${name} in ${place}`)[0]);
    expect(one?.body.conversation).not.toBe(other?.body.conversation);
  });

  test('a command has its parameters; one that lacks some is answered with help, and nobody is asked', async () => {
    await chat.command('Commands', 'deploy', { env: `${name} prod`, version: '1.2' });
    await sees(chat, 'Commands', expect.stringContaining('deploys {'));
    await chat.command('Commands', 'deploy', { env: `only ${name}` });
    await sees(
      chat,
      'Commands',
      expect.anything(),
      expect.stringMatching(/A parameter is missing:.*version/s),
    );
    const [answer, help] = chat.seen('Commands');
    if (answer?.mark !== undefined) expect(help?.mark).not.toBe(answer.mark);
    // And that is not remembered.
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

  test('title, fields and actions are shown, and a press is an event of the same conversation', async () => {
    await chat.say('Card', 'card');
    const [shown] = await eventually(() => {
      const seen = chat.seen('Card');
      expect(seen.flatMap(({ choices }) => choices)).toEqual(['Ship it', 'Drop it']);
      return seen;
    });
    const read = words(shown!);
    for (const word of ['Release 7', 'Is it ready?', 'Branch', 'main', 'For good'])
      expect(read).toContain(word);
    await chat.press('Card', 'Ship it');
    const pressed = await eventually(() => {
      const found = program.requests.find(
        (request) =>
          isOf(name, request) &&
          JSON.stringify([request.body.input, request.body.parameters]).includes('ship-7'),
      );
      return found ?? expect.unreachable('nobody was asked about the button');
    });
    const [said] = asked('card').filter((request) => isOf(name, request));
    expect(pressed.body.conversation).toBe(said?.body.conversation);
    await eventually(() => expect(texts(chat, 'Card').at(-1)).toContain('heard: '));
  });

  test('a long answer with code arrives whole and in order, and each part is code where it should be', async () => {
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

  test('who writes again waits for the answer before, and another conversation does not', async () => {
    const release = hold(`${name} first`);
    await chat.say('Waits', `${name} first`);
    await eventually(() => expect(asked(`${name} first`)).toHaveLength(1));
    await chat.say('Waits', `${name} second`);
    await chat.say('Passes', 'passing');
    await sees(chat, 'Passes', 'heard: passing');
    expect(asked(`${name} second`)).toEqual([]);
    release();
    await sees(chat, 'Waits', `heard: ${name} first`, `heard: ${name} second`);
  });

  test('an event that comes again is answered once', async () => {
    await chat.say('Twice', `${name} twice`);
    await sees(chat, 'Twice', `heard: ${name} twice`);
    await chat.repeat('Twice');
    await chat.say('Twice', 'after');
    await sees(chat, 'Twice', `heard: ${name} twice`, 'heard: after');
    expect(asked(`${name} twice`)).toHaveLength(1);
  });

  test('a message that is refused for good is dead, with the word of the platform; the event is done, and a replay sends it', async () => {
    const word = chat.refuse('Refused');
    await chat.say('Refused', `${name} refused`);
    const [dead] = await eventually(async () => {
      const found = (await deliveries('state=dead&source=outbox')).filter((each) => each.trigger === name);
      expect(found).toMatchObject([{ attempts: 1, note: expect.stringContaining(word) }]);
      return found;
    });
    expect(texts(chat, 'Refused')).toEqual([]);
    const { id } = asked(`${name} refused`)[0]?.body.event ?? { id: '' };
    expect(await api(`/deliveries/${encodeURIComponent(id)}`)).toMatchObject({ state: 'done' });
    await api(`/deliveries/${encodeURIComponent(dead?.id ?? '')}/replay`, {});
    await sees(chat, 'Refused', `heard: ${name} refused`);
    expect(asked(`${name} refused`)).toHaveLength(1);
  });

  test('a message that answers nothing is seen in the conversation that it was sent to', async () => {
    await chat.say('Sent', `${name} where am I?`);
    await sees(chat, 'Sent', `heard: ${name} where am I?`);
    const [request] = asked(`${name} where am I?`);
    await send(name, request, `news of ${name}`);
    await sees(chat, 'Sent', `heard: ${name} where am I?`, `news of ${name}`);
  });

  // Not every platform tells of it.
  if (chat.arrive !== undefined)
    test('where we are brought in, a welcome is said, once, and nobody is asked', async () => {
      await chat.arrive?.('#arrived');
      await sees(chat, '#arrived', WELCOME);
      await chat.repeat('#arrived');
      await chat.say('#arrived', `${name} arrived`);
      await sees(chat, '#arrived', WELCOME, `heard: ${name} arrived`);
      expect(asked(`${name} arrived`)[0]?.body.history).toEqual([]);
    });

  // What is asked for, and not sent to us, cannot be forged.
  if (chat.forgeries !== undefined)
    test('a forged event is refused and reaches nobody', async () => {
      for (const forgery of (await chat.forgeries?.('Forged', `${name} forged`)) ?? [])
        expect(await postForgery(`${gateway.url}/webhook/${name}`, forgery), forgery.what).toBe(401);
      await chat.say('Forged', 'real');
      await sees(chat, 'Forged', 'heard: real');
      expect(asked(`${name} forged`)).toEqual([]);
    });
});

/** The numbers of the rows, in the order in which they are read. */
function rowsIn(parts: readonly string[]): readonly number[] {
  return parts.flatMap((part) => [...part.matchAll(/^row (\d+) /gm)].map(([, n]) => Number(n)));
}

/** The same for all of them at once: the gateway is one. */
const everywhere = (step: (chat: LocalChat, name: string) => Promise<unknown>) =>
  Promise.all(
    chats.map(({ name, chat }) =>
      step(chat, name).catch((error: Error) => {
        error.message = `${name}: ${error.message}`;
        throw error;
      }),
    ),
  );

test('a platform that takes no more for now is waited for: no attempt is counted, nothing is lost or out of order', async () => {
  await everywhere(async (chat, name) => {
    chat.tooMany('Many', 2);
    for (const text of ['one', 'two']) await chat.say('Many', `${name} ${text}`);
    await sees(chat, 'Many', `heard: ${name} one`, `heard: ${name} two`);
    await eventually(async () => {
      const rows = (await deliveries('source=outbox')).filter((each) => each.trigger === name);
      // Of one message, or of two where these need no order among each other.
      const refused = rows.filter(({ deferrals }) => deferrals > 0);
      expect(refused.reduce((sum, { deferrals }) => sum + deferrals, 0)).toBeGreaterThanOrEqual(2);
      const ends = refused.map(({ state, attempts }) => ({ state, attempts }));
      expect(ends).toEqual(refused.map(() => ({ state: 'done', attempts: 1 })));
    });
  });
});

test('what was said and answered while a platform is away arrives when it is back', async () => {
  const release = hold(...chats.map(({ name }) => `${name} before`));
  await everywhere(async (chat, name) => {
    await chat.say('Away', `${name} before`);
    await eventually(() => expect(asked(`${name} before`)).toHaveLength(1));
    chat.isAway = true;
  });
  release();
  await eventually(async () => {
    const rows = await deliveries('source=outbox&state=retrying');
    expect(new Set(rows.map((each) => each.trigger))).toEqual(new Set(chats.map(({ name }) => name)));
  });
  await everywhere(async (chat, name) => {
    chat.isAway = false;
    await chat.say('Away', `${name} after`);
    await sees(chat, 'Away', `heard: ${name} before`, `heard: ${name} after`);
  });
});

test('kill -9 between any two steps: under one key each, in order, and nothing is lost', async () => {
  await atRest(gateway);
  hold(...chats.map(({ name }) => `${name} while asked`));
  await everywhere(async (chat, name) => {
    await chat.say('Done', `${name} done`);
    await sees(chat, 'Done', `heard: ${name} done`);
    await chat.say('Later', `${name} later`);
    await sees(chat, 'Later', WAITS);
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
    await eventually(() => expect(asked(`${name} while asked`)).toHaveLength(1));
    await chat.say('Asked', `${name} behind it`);
    await Promise.all(hanging);
    // What the platform has taken it could not know to be sent if it were killed before it heard of that.
    const { id } = asked(`${name} later`)[0]?.body.event ?? { id: '' };
    await eventually(async () => expect(await api(rowOf(id, 'waits'))).toMatchObject({ state: 'done' }));
  });
  await kill();
  await everywhere(async (chat, name) => {
    await chat.repeat('Done');
    await chat.say('Done', `${name} after`);
    await sees(chat, 'Done', `heard: ${name} done`, `heard: ${name} after`);
    await send(name, asked(`${name} done`)[0], `${name} sent`);
    await sees(chat, 'Done', `heard: ${name} done`, `heard: ${name} after`, `${name} sent`);
    await sees(chat, 'Asked', `heard: ${name} while asked`, `heard: ${name} behind it`);
    await sees(chat, 'Before', `heard: ${name} before it left`);
    await sees(chat, 'Told', GIVEN_UP);
    // In place of the notice, or below it.
    await eventually(() => expect(texts(chat, 'Later').at(-1)).toBe(`heard: ${name} later`));
    expect(texts(chat, 'Later').slice(0, -1)).toEqual(chat.isAwaited ? [] : [WAITS]);
    const all = Array.from({ length: rowsFor(chat) }, (_, n) => n);
    await eventually(() => expect(rowsIn(texts(chat, 'In parts'))).toEqual(all));
    // Whether it had arrived not every platform can be asked.
    await eventually(() => expect(texts(chat, 'Shown').length).toBeGreaterThan(0));
  });
  await atRest(gateway);
  await everywhere(async (chat, name) => {
    expect(new Set(texts(chat, 'Shown'))).toEqual(new Set([`heard: ${name} before we knew`]));
    expect(texts(chat, 'Shown').length).toBeLessThanOrEqual(2);
    expect(asked(`${name} done`)).toHaveLength(1);
    const twice = asked(`${name} while asked`).map(({ headers }) => headers['idempotency-key']);
    expect(twice).toEqual([twice[0], twice[0]]);
  });
});

test('kill -9 at any moments, while people write: what was taken is answered once, or its record says that it may have been twice', async () => {
  await atRest(gateway);
  const random = seeded(20_261_123);
  let isOver = false;
  const taken = new Map(chats.map(({ name }) => [name, [] as string[]]));
  const writing = everywhere(async (chat, name) => {
    // What is not taken nobody promises anything of; whoever wrote it sees that, and goes on.
    for (let n = 0; !isOver; n += 1) {
      const text = `${name} at any moment ${n}`;
      const isTaken = await chat.say(n % 2 === 0 ? 'Killed' : '#killed', text).then(
        () => true,
        () => false,
      );
      if (isTaken) taken.get(name)?.push(text);
      await pause(300 + 400 * random());
    }
  });
  for (let times = 0; times < 4; times += 1) {
    await pause(200 + 1_000 * random());
    await kill();
  }
  isOver = true;
  await writing;
  await atRest(gateway);
  await everywhere(async (chat, name) => {
    const seen = [...texts(chat, 'Killed'), ...texts(chat, '#killed')];
    expect(taken.get(name)?.length).toBeGreaterThan(3);
    for (const text of taken.get(name) ?? []) {
      const requests = asked(text);
      expect([text, new Set(requests.map(({ headers }) => headers['idempotency-key'])).size]).toEqual([
        text,
        1,
      ]);
      const times = seen.filter((each) => each === `heard: ${text}`).length;
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

test('a filter that lets nobody pass has nobody asked; who is to hear nothing of failures does not', async () => {
  const reload = async (more?: Parameters<typeof resources>[0]) => {
    writeResources(gateway.folder, resources(more));
    await api('/admin/reload', {});
  };
  await reload(({ nobody }) => ({ config: nobody }));
  const ignored = async () => (await deliveries('state=ignored')).length;
  const before = await ignored();
  await everywhere((chat, name) => chat.say('Filtered', `${name} unheard`));
  await eventually(async () => expect(await ignored()).toBeGreaterThanOrEqual(before + chats.length));
  await reload(() => ({ on_failure: 'silent' }));
  await everywhere(async (chat, name) => {
    for (const text of ['refuse it', 'heard']) await chat.say('Filtered', `${name}, ${text}`);
    await eventually(() => expect(texts(chat, 'Filtered').at(-1)).toBe(`heard: ${name}, heard`));
    expect(chat.seen('Filtered')).toHaveLength(chat.isAwaited ? 3 : 1);
    expect(asked(`${name} unheard`)).toEqual([]);
  });
});

test('who was asked by a trigger that a reload renames meanwhile is answered in the name of the other one', async () => {
  const said = chats.map(({ name }) => `${name} renamed`);
  const release = hold(...said);
  await everywhere((chat, name) => chat.say('Renamed', `${name} renamed`));
  await eventually(() => expect(said.flatMap(asked)).toHaveLength(chats.length));
  const renamed = resources().map((each) =>
    each.kind === 'Trigger' ? { ...each, name: `${each.name}-renamed` } : each,
  );
  writeResources(gateway.folder, renamed);
  await api('/admin/reload', {});
  release();
  await everywhere(async (chat, name) => {
    await sees(chat, 'Renamed', `heard: ${name} renamed`);
    const [request] = asked(`${name} renamed`);
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
  const shown = output + gateway.text() + JSON.stringify([records, await api('/triggers'), program.requests]);
  for (const { chat } of chats) for (const secret of chat.secrets) expect(shown).not.toContain(secret);
  expect(records.length).toBeGreaterThan(20);
});
