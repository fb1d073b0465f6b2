import { beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { BotMessageLimit } from '../../../../../actors/platforms/chats/message-limit.ts';

let limit: BotMessageLimit;
let warnings: unknown[];
const log = { ...silentLog, warn: (about: object, message: string) => warnings.push([about, message]) };

beforeEach(() => {
  limit = new BotMessageLimit();
  warnings = [];
});

const admit = (isByBot: boolean, conversation = 'a', id?: string) =>
  limit.admit({ conversation, isByBot, id }, log, { chat: conversation });

test('after ten bot messages in a row, further ones in the conversation are ignored until a person writes', () => {
  for (let count = 0; count < 10; count += 1) expect(admit(true)).toBe(true);
  expect(admit(true)).toBe(false);
  expect(admit(true)).toBe(false);
  expect(admit(true, 'b')).toBe(true);
  expect(admit(false)).toBe(true);
  expect(admit(true)).toBe(true);
});

test('only the first bot message that is ignored in a row of bot messages is logged', () => {
  for (let count = 0; count < 10; count += 1) admit(true);
  expect(warnings).toEqual([]);
  const warning = [{ chat: 'a' }, expect.stringContaining('bots answer each other')];
  for (let count = 0; count < 3; count += 1) admit(true);
  expect(warnings).toEqual([warning]);
  admit(false);
  for (let count = 0; count < 13; count += 1) admit(true);
  expect(warnings).toEqual([warning, warning]);
});

test('a bot message that is delivered again is counted once, and accepted or ignored as before', () => {
  for (let count = 0; count < 10; count += 1) {
    expect(admit(true, 'a', `${count}`)).toBe(true);
    expect(admit(true, 'a', `${count}`)).toBe(true);
  }
  expect(admit(true, 'a', '10')).toBe(false);
  expect(admit(true, 'a', '10')).toBe(false);
  expect(warnings).toHaveLength(1);
});

test('a bot message that is redelivered after other messages is counted once', () => {
  for (let count = 0; count < 10; count += 2)
    for (const id of [count, count + 1, count, count + 1]) expect(admit(true, 'a', `${id}`)).toBe(true);
  expect(admit(true, 'a', '10')).toBe(false);
  expect(warnings).toHaveLength(1);
});
