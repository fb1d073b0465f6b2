// Stored references to conversations, for messages after a restart.

import { expect, test } from 'vitest';
import { ConversationReferences } from '../../../../../actors/platforms/connections/references.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

class CountingStore extends MemoryStore {
  puts = 0;

  override put(...args: Parameters<MemoryStore['put']>): ReturnType<MemoryStore['put']> {
    this.puts += 1;
    return super.put(...args);
  }
}

const options = { platform: 'teamchat', account: '42', keepMs: 1_000_000, max: 3 };
const reference = (place: string) => ({ target: { place }, serviceUrl: 'https://smba.example' });

test('a conversation reference is stored for other processes, and is written only when it changes', async () => {
  const store = new CountingStore();
  let time = 0;
  const references = new ConversationReferences({ ...options, store, now: () => time });
  await references.save('general', reference('c1'));
  await references.save('general', reference('c1'));
  expect(store.puts).toBe(1);
  await references.save('general', reference('c2'));
  expect(store.puts).toBe(2);
  time += 500_000;
  await references.save('general', reference('c2'));
  expect(store.puts).toBe(3);
  const later = new ConversationReferences({ ...options, store });
  expect(await later.find('general')).toEqual(reference('c2'));
  expect(await later.find('random')).toBeUndefined();
  const other = new ConversationReferences({ ...options, account: '43', store });
  expect(await other.find('general')).toBeUndefined();
});

test('only the latest conversation references of an account are stored, including those of earlier processes', async () => {
  const store = new MemoryStore();
  const before = new ConversationReferences({ ...options, store });
  for (const name of ['a', 'b', 'c']) await before.save(name, reference(name));
  const references = new ConversationReferences({ ...options, store });
  await references.save('b', reference('b'));
  await references.save('d', reference('d'));
  await references.save('e', reference('e'));
  expect((await store.keys('references/teamchat/42')).toSorted()).toEqual(['b', 'd', 'e']);
});

test('a conversation reference survives concurrent saves; if the store refuses it, the next event saves it', async () => {
  const store = new MemoryStore();
  const references = new ConversationReferences({ ...options, store });
  for (const name of ['a', 'b', 'c']) await references.save(name, reference(name));
  const put = store.put.bind(store);
  // The first write finishes last.
  store.put = async (...args) => {
    const isStored = await put(...args);
    if (args[1] === 'a') await new Promise((done) => setTimeout(done, 20));
    return isStored;
  };
  await Promise.all([references.save('a', reference('new')), references.save('d', reference('d'))]);
  expect(await references.find('a')).toEqual(reference('new'));
  expect((await store.keys('references/teamchat/42')).toSorted()).toEqual(['a', 'c', 'd']);

  store.put = () => Promise.reject(new Error('full'));
  await expect(references.save('c', reference('moved'))).rejects.toThrow('full');
  store.put = put;
  await references.save('c', reference('moved'));
  expect(await references.find('c')).toEqual(reference('moved'));
});

test('a conversation reference that is saved again counts as the latest, without a write', async () => {
  const store = new CountingStore();
  const references = new ConversationReferences({ ...options, store });
  for (const name of ['daily', 'b', 'c', 'daily', 'd', 'e']) await references.save(name, reference(name));
  expect(store.puts).toBe(5);
  expect((await store.keys('references/teamchat/42')).toSorted()).toEqual(['d', 'daily', 'e']);
});

test('a caller that saves the same conversation reference waits for the pending write', async () => {
  const store = new MemoryStore();
  const references = new ConversationReferences({ ...options, store });
  const put = store.put.bind(store);
  let fail = (_: Error) => {};
  store.put = () => new Promise((_, reject) => (fail = reject));
  const saves = Promise.allSettled([
    references.save('a', reference('a')),
    references.save('a', reference('a')),
  ]);
  await new Promise((resolve) => setImmediate(resolve));
  fail(new Error('full'));
  expect((await saves).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  store.put = put;
  await references.save('a', reference('a'));
  expect(await references.find('a')).toEqual(reference('a'));
});
