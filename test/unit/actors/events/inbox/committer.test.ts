import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { InternalError, StoreUnavailableError } from '../../../../../actors/base/errors/errors.ts';
import { type Commit, Committer } from '../../../../../actors/events/inbox/committer.ts';
import type { Store, TurnResult } from '../../../../../actors/store/store.ts';
import { LogNotes } from '../../../../fixtures/automation/inbox.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

class FakeCommit implements Commit {
  result: TurnResult;
  readonly heard: string[] = [];

  constructor(key: string, answer = '') {
    this.result = { key, fence: 1, seq: 1, outcome: 'done', answer };
  }
  hasLostClaim(): boolean {
    return false;
  }
  onCommitted(): void {
    this.heard.push(`committed ${this.result.outcome}`);
  }
  onRefused(): boolean {
    this.heard.push('refused');
    this.result = { ...this.result, outcome: 'retrying', answer: undefined };
    return true;
  }
  onGivenUp(): void {
    this.heard.push('given up');
  }
}

const settled = () => new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));

/** As the embedded store: a call is carried out as a whole, and its mistakes are internal errors. */
const storeThat = (commit: (results: readonly TurnResult[]) => void): Pick<Store, 'commit'> => ({
  async commit(results) {
    commit(results);
    return results.map(() => ({ isCurrent: true, next: undefined }));
  },
});

test('a result that the store calls a mistake of ours is replaced, and those with it are committed (CO2)', async () => {
  const store = storeThat((results) => {
    if (results.some(({ answer }) => answer === 'poison'))
      throw new InternalError('could not be carried out');
  });
  const committer = new Committer(store, new LogNotes());
  const [bad, good] = [new FakeCommit('a', 'poison'), new FakeCommit('b')];
  for (const commit of [bad, good]) committer.add(commit);
  await settled();
  expect([bad.heard, good.heard]).toEqual([['refused', 'committed retrying'], ['committed done']]);
});

test('after it was closed nothing is offered again, and no timer is set', async () => {
  const store = storeThat(() => {
    throw new StoreUnavailableError('is closed');
  });
  const log = new LogNotes();
  const committer = new Committer(store, log);
  const [early, late] = [new FakeCommit('a'), new FakeCommit('b')];
  committer.add(early);
  await settled();
  expect(vi.getTimerCount()).toBe(1);
  committer.close();
  committer.add(late);
  await settled();
  expect([vi.getTimerCount(), early.heard, late.heard]).toEqual([0, [], []]);
});
