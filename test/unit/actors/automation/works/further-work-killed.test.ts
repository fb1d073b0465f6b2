// A further kind of work needs only a registration: events are stored, parked, resumed by timers and counted,
// and survive kill -9 at any step.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { storeFolder } from '../../../../fixtures/store/engine-store.ts';
import { bundledStoreChild, start } from '../../../../fixtures/store/store-child.ts';

test('a run of a newly registered kind of work survives kill -9 at its checkpoints and while it waits', async () => {
  const bundle = bundledStoreChild('additional-work.ts');
  const file = join(storeFolder(), 'runs.db');
  const begin = (stay: string) => start(process.execPath, [bundle.script, file, stay]);
  const killAt = async (step: string) => {
    const { child, finished } = begin(step);
    child.stdout?.on('data', (text: string) => {
      if (text.split('\n').includes(step)) child.kill('SIGKILL');
    });
    const { signal, stderr, lines } = await finished;
    expect([signal, stderr, lines.at(-1)]).toEqual(['SIGKILL', '', step]);
    return lines;
  };
  expect(await killAt('asked')).toEqual(['asked']);
  // The question is not emitted twice.
  expect(await killAt('parked')).toEqual(['parked']);
  expect(await killAt('told')).toContain('told');
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
      ...['question', 'answer'].map((id) => expect.objectContaining({ id, state: 'queued' })),
    ]),
  );
  expect(records).toHaveLength(5);
  bundle.remove();
});
