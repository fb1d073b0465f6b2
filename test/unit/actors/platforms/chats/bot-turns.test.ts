// Bots that answer each other: BT1, BT2, BT3.

import { beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { BotTurns } from '../../../../../actors/platforms/chats/bot-turns.ts';

let turns: BotTurns;
let warnings: unknown[];
const log = { ...silentLog, warn: (about: object, message: string) => warnings.push([about, message]) };

beforeEach(() => {
  turns = new BotTurns();
  warnings = [];
});

const take = (isByBot: boolean, conversation = 'a', id?: string) =>
  turns.take({ conversation, isByBot, id }, log, { chat: conversation });

test('ten messages of bots in a row are taken, then none in that conversation until a person has written', () => {
  for (let count = 0; count < 10; count += 1) expect(take(true)).toBe(true);
  expect(take(true)).toBe(false);
  expect(take(true)).toBe(false);
  expect(take(true, 'b')).toBe(true);
  expect(take(false)).toBe(true);
  expect(take(true)).toBe(true);
});

test('the first that is not taken is told to the log, once in a row of messages (BT3)', () => {
  for (let count = 0; count < 10; count += 1) take(true);
  expect(warnings).toEqual([]);
  const warning = [{ chat: 'a' }, expect.stringContaining('bots answer each other')];
  for (let count = 0; count < 3; count += 1) take(true);
  expect(warnings).toEqual([warning]);
  take(false);
  for (let count = 0; count < 13; count += 1) take(true);
  expect(warnings).toEqual([warning, warning]);
});

test('a message that comes twice is counted once, and judged the same', () => {
  for (let count = 0; count < 10; count += 1) {
    expect(take(true, 'a', `${count}`)).toBe(true);
    expect(take(true, 'a', `${count}`)).toBe(true);
  }
  expect(take(true, 'a', '10')).toBe(false);
  expect(take(true, 'a', '10')).toBe(false);
  expect(warnings).toHaveLength(1);
});

test('and so is one that comes twice with others between', () => {
  for (let count = 0; count < 10; count += 2)
    for (const id of [count, count + 1, count, count + 1]) expect(take(true, 'a', `${id}`)).toBe(true);
  expect(take(true, 'a', '10')).toBe(false);
  expect(warnings).toHaveLength(1);
});
