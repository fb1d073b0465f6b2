// Groups that have become supergroups, as a bot knows them: FC1 by each of their ids, FC2 over a restart.

import { expect, test } from 'vitest';
import { FormerChats } from '../../../../../actors/platforms/botmessenger/former-chats.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

test('a chat is known by all of its ids, the last is the present one, and a restart forgets none', async () => {
  const store = new MemoryStore();
  const chats = new FormerChats('7', store);
  await chats.load();
  expect(await chats.note({ from: '-1', to: '-100' })).toBe(true);
  // Both the group and the supergroup say so.
  expect(await chats.note({ from: '-1', to: '-100' })).toBe(false);
  expect(await chats.note({ from: '-100', to: '-200' })).toBe(true);
  expect(await chats.note({ from: '-5', to: '-5' })).toBe(false);
  const later = new FormerChats('7', store);
  await later.load();
  for (const each of [chats, later]) {
    expect(each.formerIdsOf('-200')).toEqual(['-100', '-1']);
    expect(each.presentIdOf('-1')).toBe('-200');
    expect(each.presentIdOf('-100')).toBe('-200');
    expect(each.presentIdOf('-3')).toBe('-3');
    expect(each.formerIdsOf('-3')).toEqual([]);
  }
  const other = new FormerChats('8', store);
  await other.load();
  expect(other.formerIdsOf('-200')).toEqual([]);
});

test('of groups that change at the same time a restart forgets none', async () => {
  const store = new MemoryStore();
  const chats = new FormerChats('7', store);
  await chats.load();
  const changes = [1, 2, 2, 3].map((id) => chats.note({ from: `-${id}`, to: `-10${id}` }));
  expect(await Promise.all(changes)).toEqual([true, true, false, true]);
  const later = new FormerChats('7', store);
  await later.load();
  for (const id of [1, 2, 3]) expect(later.presentIdOf(`-${id}`)).toBe(`-10${id}`);
});

test('a change that the store did not take is noted when it is told again', async () => {
  const store = new MemoryStore();
  const chats = new FormerChats('7', store);
  await chats.load();
  const put = store.put.bind(store);
  store.put = () => Promise.reject(new Error('no room'));
  await expect(chats.note({ from: '-1', to: '-101' })).rejects.toThrow('no room');
  expect(chats.presentIdOf('-1')).toBe('-1');
  store.put = put;
  expect(await chats.note({ from: '-1', to: '-101' })).toBe(true);
});
