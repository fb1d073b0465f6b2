// Operator features of every chat platform: trigger state, a command menu that follows the files, and the
// `register` command. Runs for every chat of test/fixtures/chats. Features for chat users:
// every-chat.test.ts.

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sizeOf, type TextUnit } from '../../../actors/events/outbox/split-text.ts';
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
import { localChats } from '../../fixtures/chats/local-chats.ts';
import { postForgery } from '../../fixtures/chats/post-forgery.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

const chats = Object.entries(localChats).map(([name, make]) => ({ name, chat: make() }));
const withMenu = chats.filter(({ chat }) => chat.menu !== undefined);
const withoutMenu = chats.filter(({ chat }) => chat.menu === undefined && chat.isMenuByHand !== true);
const names = withoutMenu.map(({ name }) => name);
let gateway: GatewayProcess;
let program: AgentProgram;
let printed = '';

beforeAll(async () => {
  program = await startAgent(({ body: { input, parameters } }) => {
    const [, length] = /long (\d+)$/.exec(parameters.text ?? input) ?? [];
    return { text: length === undefined ? 'heard' : 'word '.repeat(Number(length) / 5) };
  });
  for (const { chat } of chats) await chat.start();
  gateway = await startAutomation({ resources: resources() });
  await Promise.all(chats.map(({ chat }) => chat.attach(gateway.url)));
});
afterAll(() => Promise.all(chats.map(({ chat }) => chat.stop())));

/** Trigger and agent, optionally with an extra command. */
function resources(more?: string) {
  const echo = { agent: 'echo' };
  const triggers = chats.map(({ name, chat }) => {
    const { commands, ...spec } = chat.trigger('echo');
    const own = { ...commands, deploy: echo, ...(more !== undefined && { [more]: echo }) };
    return trigger(name, { ...spec, commands: own, default_agent: 'echo' });
  });
  return [...triggers, httpAgent('echo', program.url)];
}

async function reload(more?: string): Promise<void> {
  writeResources(gateway.folder, resources(more));
  expect((await ask(`${gateway.url}/admin/reload`, { method: 'POST' })).status).toBe(200);
}

async function run(...args: readonly string[]) {
  const done = await runMain(args, { env: { GATEWAY_API_KEY: '' }, cwd: gateway.folder });
  printed += done.stdout + done.stderr;
  return done;
}

const details = async (name: string) => (await ask(`${gateway.url}/triggers/${name}`)).json;

describe.concurrent.each(chats)('$name', ({ name, chat }) => {
  test('the API and `triggers show` return connection, last event, last rejection, menu and limits of a chat trigger', async () => {
    const forgeries = (await chat.forgeries?.('Forged', 'forged')) ?? [];
    for (const forgery of forgeries)
      expect(await postForgery(`${gateway.url}/webhook/${name}`, forgery), forgery.what).toBe(401);
    const errorText = chat.refuse('Refused');
    await chat.say('Refused', 'refused');
    await eventually(async () => expect((await details(name)).last_refusal).not.toBeNull());
    const { longText = 9_000 } = chat;
    const input = `${name} long ${longText}`;
    await chat.say('Shown', input);
    const isRequested = ({ body }: AgentRequest) => (body.parameters.text ?? body.input) === input;
    const { id } = await eventually(() => {
      const [request] = program.requests.filter(isRequested);
      return request?.body.event ?? expect.unreachable('nobody was asked');
    });
    const json = await eventually(async () => {
      const shown = await details(name);
      expect(shown).toMatchObject({
        type: chat.trigger('echo').type,
        // No chat has a maturity label.
        maturity: null,
        state: 'open',
        last_error: null,
        connection: chat.hasConnection === false ? null : { state: 'connected', last_error: null },
        last_event: { id, state: 'done' },
        refused_requests: forgeries.length === 0 ? null : { count: forgeries.length },
        last_refusal: { state: 'dead', note: expect.stringContaining(errorText) },
      });
      expect(shown.menu?.map(({ command }: { readonly command: string }) => command)).toEqual(chat.menu?.());
      return shown;
    });
    const { text, rates } = json.limits as {
      text: { most: number; unit: TextUnit };
      rates: readonly object[];
    };
    expect(rates).toContainEqual(expect.objectContaining({ of: 'account' }));
    const sizes = await eventually(() => {
      const parts = chat.visibleMessages('Shown').map((each) => each.text);
      expect(parts.join('').match(/word/g)).toHaveLength(longText / 5);
      return parts.map((part) => sizeOf(part, text.unit));
    });
    expect(Math.max(...sizes)).toBeLessThanOrEqual(text.most);
    expect(sizes.length).toBeGreaterThan(1);

    const { stdout } = await run('triggers', 'show', name, '--url', gateway.url);
    const lineOf = (title: string) =>
      stdout.split('\n').find((line) => line.startsWith(`${title.padEnd(13)} `));
    const has = (...words: readonly string[]) => words.map((each) => expect.stringContaining(each));
    const expected: Readonly<Record<string, readonly unknown[] | undefined>> = {
      type: [`${'type'.padEnd(13)} ${json.type}`],
      state: has('open'),
      connection: chat.hasConnection === false ? undefined : has('connected to '),
      'last event': has(id, 'done'),
      refused: forgeries.length === 0 ? undefined : has(`${forgeries.length} requests unverified`),
      'last refusal': has(' dead ', errorText),
      menu: chat.menu && has(chat.menu()[0] ?? ''),
      limits: has(`${text.most} `),
    };
    for (const [title, all] of Object.entries(expected))
      for (const each of all ?? [undefined]) expect([title, lineOf(title)]).toEqual([title, each]);
  });
});

test('the command menu of a chat platform contains the commands of the trigger files, also after a reload', async () => {
  expect(withMenu.length).toBeGreaterThan(1);
  await reload('later');
  for (const { name, chat } of withMenu)
    await eventually(() =>
      expect([name, ...(chat.menu?.() ?? [])]).toEqual(expect.arrayContaining(['deploy', 'later'])),
    );
  await reload();
  for (const { name, chat } of withMenu)
    await eventually(() => expect([name, ...(chat.menu?.() ?? [])]).not.toContain('later'));
});

test('`triggers register` registers the commands in the menu of each chat platform, or reports that it has no menu', async () => {
  // The gateway does not register this command, because the files change without a reload.
  writeResources(gateway.folder, resources('added'));
  const register = ['triggers', 'register', '--config', join(gateway.folder, 'gateway.yaml')];
  const [all, none, guild] = await Promise.all([
    run(...register, '--json'),
    run(...register, ...names),
    run(...register, '--guild', '1', ...names),
  ]);
  expect([all.code, none.code, guild.code]).toEqual([0, 0, 2]);
  const { accounts, without } = JSON.parse(all.stdout);
  for (const { name, chat } of chats) {
    const account = accounts.find(({ triggers }: { triggers: readonly string[] }) => triggers.includes(name));
    const expected = chat.isMenuByHand
      ? { done: 'by hand', text: expect.stringContaining('/added') }
      : { done: 'registered', commands: expect.arrayContaining(['/deploy', '/added']) };
    if (!names.includes(name)) expect(account).toMatchObject(expected);
    if (chat.menu !== undefined) expect([name, ...chat.menu()]).toContain('added');
  }
  expect(without.toSorted()).toEqual(names.toSorted());
  expect(none.stdout).toMatch(/^no menu: /);
  expect(guild.stderr).toBe('error: --guild: no trigger belongs to a platform with guilds\n');
});

test('the commands `triggers show` and `triggers register` print no secret', () => {
  expect(printed.length).toBeGreaterThan(1_000);
  for (const { chat } of chats) for (const secret of chat.secrets) expect(printed).not.toContain(secret);
});
