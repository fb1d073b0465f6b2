// Bots that answer each other: BT1, BT2.

import { expect, test } from 'vitest';
import { BotTurns } from '../../../../actors/sources/bot-turns.ts';

const said = (isByBot: boolean, conversation = 'a', id?: string) => ({ conversation, isByBot, id });

test('ten messages of bots in a row are taken, then none in that conversation until a person has written', () => {
  const turns = new BotTurns();
  for (let count = 0; count < 10; count += 1) expect(turns.take(said(true))).toMatchObject({ isTaken: true });
  expect(turns.take(said(true))).toEqual({ isTaken: false, isFirst: true });
  expect(turns.take(said(true))).toEqual({ isTaken: false, isFirst: false });
  expect(turns.take(said(true, 'b'))).toMatchObject({ isTaken: true });
  expect(turns.take(said(false))).toMatchObject({ isTaken: true });
  expect(turns.take(said(true))).toMatchObject({ isTaken: true });
});

test('a message that comes twice is counted once, and judged the same', () => {
  const turns = new BotTurns();
  for (let count = 0; count < 10; count += 1) {
    expect(turns.take(said(true, 'a', `${count}`))).toMatchObject({ isTaken: true });
    expect(turns.take(said(true, 'a', `${count}`))).toMatchObject({ isTaken: true });
  }
  expect(turns.take(said(true, 'a', '10'))).toEqual({ isTaken: false, isFirst: true });
  expect(turns.take(said(true, 'a', '10'))).toEqual({ isTaken: false, isFirst: false });
});

test('and so is one that comes twice with others between', () => {
  const turns = new BotTurns();
  for (let count = 0; count < 10; count += 2)
    for (const id of [count, count + 1, count, count + 1])
      expect(turns.take(said(true, 'a', `${id}`))).toMatchObject({ isTaken: true });
  expect(turns.take(said(true, 'a', '10'))).toEqual({ isTaken: false, isFirst: true });
});
