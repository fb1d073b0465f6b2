// Migrated groups: lookup by both ids, also after a restart.

import { expect, test } from 'vitest';
import { MigratedChats } from '../../../../../actors/platforms/botmessenger/migrated-chats.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

test('a migrated chat is found by all its ids, the last id is current, and a restart keeps the ids', async () => {
  const store = new MemoryStore();
  const chats = new MigratedChats('7', store);
  await chats.load();
  expect(await chats.note({ from: '-1', to: '-100' })).toBe(true);
  // The platform reports a migration twice: in the group and in the supergroup.
  expect(await chats.note({ from: '-1', to: '-100' })).toBe(false);
  expect(await chats.note({ from: '-100', to: '-200' })).toBe(true);
  expect(await chats.note({ from: '-5', to: '-5' })).toBe(false);
  const later = new MigratedChats('7', store);
  await later.load();
  for (const each of [chats, later]) {
    expect(each.previousIdsOf('-200')).toEqual(['-100', '-1']);
    expect(each.currentIdOf('-1')).toBe('-200');
    expect(each.currentIdOf('-100')).toBe('-200');
    expect(each.currentIdOf('-3')).toBe('-3');
    expect(each.previousIdsOf('-3')).toEqual([]);
  }
  const other = new MigratedChats('8', store);
  await other.load();
  expect(other.previousIdsOf('-200')).toEqual([]);
});

test('concurrent migrations of chats are all kept after a restart', async () => {
  const store = new MemoryStore();
  const chats = new MigratedChats('7', store);
  await chats.load();
  const changes = [1, 2, 2, 3].map((id) => chats.note({ from: `-${id}`, to: `-10${id}` }));
  expect(await Promise.all(changes)).toEqual([true, true, false, true]);
  const later = new MigratedChats('7', store);
  await later.load();
  for (const id of [1, 2, 3]) expect(later.currentIdOf(`-${id}`)).toBe(`-10${id}`);
});

test('a chat migration that the store rejects is stored when the platform reports it again', async () => {
  const store = new MemoryStore();
  const chats = new MigratedChats('7', store);
  await chats.load();
  const storePut = store.put.bind(store);
  store.put = () => Promise.reject(new Error('store is full'));
  await expect(chats.note({ from: '-1', to: '-101' })).rejects.toThrow('store is full');
  expect(chats.currentIdOf('-1')).toBe('-1');
  store.put = storePut;
  expect(await chats.note({ from: '-1', to: '-101' })).toBe(true);
});
