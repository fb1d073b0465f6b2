// A growing answer in a chat: one message grows and becomes the answer despite failures. Meanwhile the typing
// indicator is shown.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agent, eventually, startAgent, startAutomation } from '../../fixtures/automation/automation.ts';
import { botTrigger, echo, expectBotTexts, newPlatform, texts } from '../../fixtures/automation/bots.ts';
import { tooManyRequests } from '../../fixtures/bot-platform/bot-error.ts';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';

/** Starts a bot in a chat, whose agent streams the text of `stream`. */
async function startChat(stream: (input: string, count: number) => AsyncIterable<string>) {
  const platform = await newPlatform();
  const bot = platform.addBot('a_bot');
  const ann = platform.person('Ann');
  const chat = platform.privateChat(ann, bot);
  const program = await startAgent(({ body }, count) => ({ stream: stream(body.input, count) }));
  const gateway = await startAutomation({ resources: [botTrigger('bot', platform, bot), echo(program)] });
  const say = (text: string) => platform.say(chat, ann, text);
  const expectTexts = (...expected: string[]) => expectBotTexts(platform, bot, chat, ...expected);
  const until = async (check: () => void) => void (await eventually(check));
  return { platform, bot, chat, program, gateway, say, expectTexts, until };
}

const piece = (text: string) => `data: ${JSON.stringify({ delta: text })}`;
const hangingPromise = new Promise<never>(() => {});

test.concurrent('a streamed answer is shown by edits of one message, within the rate limit, with a typing indicator', async () => {
  const { platform, bot, chat, gateway, say, expectTexts, until } = await startChat(async function* () {
    yield 'event: progress\ndata: Looking…';
    await until(() => expect(texts(platform, bot, chat)).toEqual(['Looking…']));
    for (const word of ['Disk ', 'full ']) yield piece(word);
    await until(() => expect(texts(platform, bot, chat)).toEqual(['Disk full']));
    platform.faults.plan('editMessageText', { kind: 'error', error: tooManyRequests(1) });
    yield piece('on ');
    await until(() => expect(platform.callsOf('editMessageText', bot)).toHaveLength(2));
    await until(() => expect(platform.callsOf('sendChatAction', bot).length).toBeGreaterThan(1));
    yield piece('db-2.');
  });
  say('why?');
  await expectTexts('Disk full on db-2.');
  expect(platform.callsOf('sendMessage', bot)).toHaveLength(1);
  const edits = platform.callsOf('editMessageText', bot).map(({ at }) => at);
  expect((edits[1] ?? 0) - (edits[0] ?? 0)).toBeGreaterThan(1_400);
  // The typing indicator stops with the answer.
  const typed = platform.callsOf('sendChatAction', bot).length;
  await new Promise((resolve) => setTimeout(resolve, 4_500));
  expect(platform.callsOf('sendChatAction', bot)).toHaveLength(typed);
  const listed = await fetch(`${gateway.url}/deliveries?source=botmessenger`);
  const { deliveries } = (await listed.json()) as { deliveries: { state: string }[] };
  for (const { state } of deliveries) expect(state).toBe('done');
});

test.concurrent('after kill -9 during a streamed answer, the partial message is edited into the full answer', async () => {
  let isShown = false;
  const { platform, bot, chat, gateway, program, say, expectTexts, until } = await startChat(
    async function* (_, count) {
      yield piece(count === 1 ? 'At first' : 'In the end');
      if (count === 1) {
        await until(() => expect(texts(platform, bot, chat)).toEqual(['At first']));
        isShown = true;
        await hangingPromise;
      }
    },
  );
  say('why?');
  await until(() => expect(isShown).toBe(true));
  // Unless the message id is stored before the kill, the next process cannot find the message.
  await eventually(async () => {
    const listed = await fetch(`${gateway.url}/deliveries?state=done`);
    expect(await listed.text()).toContain('/draft/1');
  });
  await gateway.stop('SIGKILL');
  await startAutomation({ folder: gateway.folder });
  await expectTexts('In the end');
  expect(platform.callsOf('sendMessage', bot)).toHaveLength(1);
  expect(new Set(program.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
});

test.concurrent('an error notice replaces a failed partial answer; long answers use several messages; deleted ones are reposted', async () => {
  const long = `${'word '.repeat(900)}end`;
  const { platform, bot, chat, program, say, until } = await startChat(async function* (input) {
    yield `event: progress\ndata: ${input}…`;
    await until(() => expect(texts(platform, bot, chat)).toContain(`${input}…`));
    if (input === 'die') yield 'event: error\ndata: x';
    if (input === 'long') yield piece(long);
    if (input === 'nothing') yield 'data: [DONE]';
    if (input === 'deleted') {
      const [id] = [...chat.messages.values()].filter(({ text }) => text === 'deleted…');
      chat.messages.delete(id?.message_id ?? 0);
      yield piece('here again');
    }
  });
  const expectAnswer = async (input: string, ...expected: unknown[]) => {
    const before = texts(platform, bot, chat);
    say(input);
    await until(() => expect(texts(platform, bot, chat)).toEqual([...before, ...expected]));
  };
  await expectAnswer('long', expect.stringMatching(/^word /), expect.stringMatching(/end$/));
  await expectAnswer('deleted', 'here again');
  await expectAnswer('nothing', 'Done.');
  await expectAnswer('die', expect.stringMatching(/^Sorry, that failed/));
  expect(program.requests.filter(({ body }) => body.input === 'die')).toHaveLength(4);
});

test.concurrent('no typing indicator is shown while the run of an event waits for a time', async () => {
  const platform = await newPlatform();
  const bot = platform.addBot('a_bot');
  const ann = platform.person('Ann');
  const chat = platform.privateChat(ann, bot);
  const folder = temporaryFolder();
  // `wait_ms` parks the event: the run is a parked row in the store.
  writeFileSync(join(folder, 'desk.script'), '- { answer: It is time., wait_ms: 2000 }');
  const desk = agent('desk', { model: `scripted:${join(folder, 'desk.script')}` });
  await startAutomation({ folder, resources: [botTrigger('bot', platform, bot, { agent: 'desk' }), desk] });
  platform.say(chat, ann, 'remind me');
  await expectBotTexts(platform, bot, chat, 'It is time.');
  expect(platform.callsOf('sendChatAction')).toEqual([]);
});
