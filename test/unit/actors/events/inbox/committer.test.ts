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
  readonly calls: string[] = [];

  constructor(key: string, answer = '') {
    this.result = { key, fence: 1, seq: 1, outcome: 'done', answer };
  }
  hasLostClaim(): boolean {
    return false;
  }
  onCommitted(): void {
    this.calls.push(`committed ${this.result.outcome}`);
  }
  onRefused(): boolean {
    this.calls.push('refused');
    this.result = { ...this.result, outcome: 'retrying', answer: undefined };
    return true;
  }
  onGivenUp(): void {
    this.calls.push('given up');
  }
}

const runPendingTasks = () =>
  new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));

/**
 * Store like the embedded one: a call succeeds or fails as a whole, and invalid results are internal errors.
 */
const storeWithCommit = (commit: (results: readonly TurnResult[]) => void): Pick<Store, 'commit'> => ({
  async commit(results) {
    commit(results);
    return results.map(() => ({ isCurrent: true, next: undefined }));
  },
});

test('if the store rejects one result of a batch as invalid, it is replaced and the others are committed', async () => {
  const store = storeWithCommit((results) => {
    if (results.some(({ answer }) => answer === 'poison'))
      throw new InternalError('could not be carried out');
  });
  const committer = new Committer(store, new LogNotes());
  const [bad, good] = [new FakeCommit('a', 'poison'), new FakeCommit('b')];
  for (const commit of [bad, good]) committer.add(commit);
  await runPendingTasks();
  expect([bad.calls, good.calls]).toEqual([['refused', 'committed retrying'], ['committed done']]);
});

test('a closed committer commits and schedules nothing', async () => {
  const store = storeWithCommit(() => {
    throw new StoreUnavailableError('is closed');
  });
  const log = new LogNotes();
  const committer = new Committer(store, log);
  const [early, late] = [new FakeCommit('a'), new FakeCommit('b')];
  committer.add(early);
  await runPendingTasks();
  expect(vi.getTimerCount()).toBe(1);
  committer.close();
  committer.add(late);
  await runPendingTasks();
  expect([vi.getTimerCount(), early.calls, late.calls]).toEqual([0, [], []]);
});
