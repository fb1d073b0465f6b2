// Bots that answer each other: BT1.

import { expect, test } from 'vitest';
import { BotTurns } from '../../../../../actors/sources/botmessenger/bot-turns.ts';
import { botMessageOf } from '../../../../../actors/sources/botmessenger/bot-update.ts';

const said = (isBot: boolean, chat = -1) => {
  const from = { id: 5, is_bot: isBot, first_name: 'A' };
  const message = botMessageOf({ message: { message_id: 1, chat: { id: chat }, from, text: 'hi' } });
  if (message === undefined) throw new Error('it is no message');
  return message;
};

test('ten messages of bots in a row are taken, then none in that chat until a person has written', () => {
  const turns = new BotTurns();
  for (let count = 0; count < 10; count += 1) expect(turns.take(said(true))).toMatchObject({ isTaken: true });
  expect(turns.take(said(true))).toEqual({ isTaken: false, isFirst: true });
  expect(turns.take(said(true))).toEqual({ isTaken: false, isFirst: false });
  expect(turns.take(said(true, -2))).toMatchObject({ isTaken: true });
  expect(turns.take(said(false))).toMatchObject({ isTaken: true });
  expect(turns.take(said(true))).toMatchObject({ isTaken: true });
});
