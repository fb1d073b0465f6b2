import { expect, it } from 'vitest';
import { WorkTurns } from '../../../../../actors/base/time/work-turns.ts';

it('tasks run one at a time in order, with other work between them, also after a failed task', async () => {
  const turns = new WorkTurns();
  const done: string[] = [];
  const observe = () => {
    done.push('other');
    if (done.length < 12) setImmediate(observe);
  };
  setImmediate(observe);
  const tasks = ['a', 'b', 'c'].map((name) =>
    turns.run(async () => {
      done.push(`${name} starts`);
      await new Promise((resolve) => setTimeout(resolve, 1));
      done.push(`${name} ends`);
      if (name === 'a') throw new Error('a fails');
    }),
  );
  const results = await Promise.allSettled(tasks);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  const own = done.filter((each) => each !== 'other');
  expect(own).toEqual(['a starts', 'a ends', 'b starts', 'b ends', 'c starts', 'c ends']);
});

it('other work runs between tasks that are ready at the same time', async () => {
  const turns = new WorkTurns();
  const done: string[] = [];
  const tasks = ['a', 'b', 'c'].map((name) => turns.run(() => done.push(name)));
  setImmediate(() => done.push('other'));
  await Promise.all(tasks);
  expect(done.indexOf('other')).toBeLessThan(2);
});
