// Where conversations can be reached later, in a store that is opened again.

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

const about = { platform: 'teamchat', account: '42', keepMs: 1_000_000, max: 3 };
const reference = (place: string) => ({ target: { place }, serviceUrl: 'https://smba.example' });

test('a reference is found by another process, and is written when it changes, not with each event (REF1)', async () => {
  const store = new CountingStore();
  let time = 0;
  const references = new ConversationReferences({ ...about, store, now: () => time });
  await references.note('general', reference('c1'));
  await references.note('general', reference('c1'));
  expect(store.puts).toBe(1);
  await references.note('general', reference('c2'));
  expect(store.puts).toBe(2);
  time += 500_000;
  await references.note('general', reference('c2'));
  expect(store.puts).toBe(3);
  const later = new ConversationReferences({ ...about, store });
  expect(await later.find('general')).toEqual(reference('c2'));
  expect(await later.find('random')).toBeUndefined();
  const other = new ConversationReferences({ ...about, account: '43', store });
  expect(await other.find('general')).toBeUndefined();
});

test('of an account only those noted last are kept, those of an earlier process included (REF2)', async () => {
  const store = new MemoryStore();
  const before = new ConversationReferences({ ...about, store });
  for (const name of ['a', 'b', 'c']) await before.note(name, reference(name));
  const references = new ConversationReferences({ ...about, store });
  await references.note('b', reference('b'));
  await references.note('d', reference('d'));
  await references.note('e', reference('e'));
  expect((await store.keys('references/teamchat/42')).toSorted()).toEqual(['b', 'd', 'e']);
});

test('what is noted again while others are is not forgotten, and what the store refused is noted by the next event (REF1, REF2)', async () => {
  const store = new MemoryStore();
  const references = new ConversationReferences({ ...about, store });
  for (const name of ['a', 'b', 'c']) await references.note(name, reference(name));
  const put = store.put.bind(store);
  // The first is answered last.
  store.put = async (...args) => {
    const isKept = await put(...args);
    if (args[1] === 'a') await new Promise((done) => setTimeout(done, 20));
    return isKept;
  };
  await Promise.all([references.note('a', reference('new')), references.note('d', reference('d'))]);
  expect(await references.find('a')).toEqual(reference('new'));
  expect((await store.keys('references/teamchat/42')).toSorted()).toEqual(['a', 'c', 'd']);

  store.put = () => Promise.reject(new Error('full'));
  await expect(references.note('c', reference('moved'))).rejects.toThrow('full');
  store.put = put;
  await references.note('c', reference('moved'));
  expect(await references.find('c')).toEqual(reference('moved'));
});

test('one that is noted again is kept, though nothing is written, before others that were noted since (REF2)', async () => {
  const store = new CountingStore();
  const references = new ConversationReferences({ ...about, store });
  for (const name of ['daily', 'b', 'c', 'daily', 'd', 'e']) await references.note(name, reference(name));
  expect(store.puts).toBe(5);
  expect((await store.keys('references/teamchat/42')).toSorted()).toEqual(['d', 'daily', 'e']);
});

test('who notes the same while it is being written hears what comes of that (REF1)', async () => {
  const store = new MemoryStore();
  const references = new ConversationReferences({ ...about, store });
  const put = store.put.bind(store);
  let fail = (_: Error) => {};
  store.put = () => new Promise((_, reject) => (fail = reject));
  const noting = Promise.allSettled([
    references.note('a', reference('a')),
    references.note('a', reference('a')),
  ]);
  await new Promise((resolve) => setImmediate(resolve));
  fail(new Error('full'));
  expect((await noting).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  store.put = put;
  await references.note('a', reference('a'));
  expect(await references.find('a')).toEqual(reference('a'));
});
