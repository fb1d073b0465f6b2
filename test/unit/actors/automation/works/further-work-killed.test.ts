// A third kind of work is one entry beside the others: with no word of it elsewhere its events are kept along their way, parked,
// woken by timers and counted, and kill -9 at any of these steps ends nothing.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { storeFolder } from '../../../../fixtures/store/engine-store.ts';
import { bundledStoreChild, start } from '../../../../fixtures/store/store-child.ts';

test('a further kind of work goes on from its checkpoints and waits over kill -9, with one registration', async () => {
  const bundle = bundledStoreChild('further-work.ts');
  const file = join(storeFolder(), 'runs.db');
  const begin = (stay: string) => start(process.execPath, [bundle.script, file, stay]);
  const killedAt = async (word: string) => {
    const { child, finished } = begin(word);
    child.stdout?.on('data', (text: string) => {
      if (text.split('\n').includes(word)) child.kill('SIGKILL');
    });
    const { signal, stderr, lines } = await finished;
    expect([signal, stderr, lines.at(-1)]).toEqual(['SIGKILL', '', word]);
    return lines;
  };
  expect(await killedAt('asked')).toEqual(['asked']);
  // Not asked again.
  expect(await killedAt('parked')).toEqual(['parked']);
  expect(await killedAt('told')).toContain('told');
  const { code, lines, stderr } = await begin('').finished;
  expect([code, stderr]).toEqual([0, '']);
  const { records, handled, ...figures } = JSON.parse(lines.at(-1) ?? '');
  expect(figures).toEqual({ done: handled.length, places: 4 });
  expect(handled.filter((id: string) => id === 'run:1')).toEqual(['run:1']);
  expect(records).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ id: 'run:1', state: 'done', answer: 'woken by a timer' }),
      expect.objectContaining({ id: 'alarm:1', state: 'done', note: 'it woke run:1' }),
      expect.objectContaining({ id: 'note:1', state: 'done' }),
      // Each was emitted once.
      ...['question', 'answer'].map((id) => expect.objectContaining({ id, state: 'queued' })),
    ]),
  );
  expect(records).toHaveLength(5);
  bundle.remove();
});
