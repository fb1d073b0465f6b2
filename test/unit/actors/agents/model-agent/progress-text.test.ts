import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ProgressText } from '../../../../../actors/agents/model-agent/progress-text.ts';

test('the progress text of a run is updated at a limited rate, and not after its end', async () => {
  const texts: string[] = [];
  const progress = new ProgressText((text) => texts.push(text));
  for (let n = 1; n <= 1_000; n++) progress.setText('a'.repeat(n));
  expect(texts).toEqual(['a']);
  await sleep(80);
  expect(texts).toEqual(['a', 'a'.repeat(1_000)]);
  await sleep(60);
  progress.setText('b');
  progress.setText('bc');
  expect(texts.slice(2)).toEqual(['b']);
  progress.end();
  progress.setText('bcd');
  await sleep(60);
  expect(texts.slice(2)).toEqual(['b']);
});

test('the progress text lists running tools with their latest message below the answer', async () => {
  const texts: string[] = [];
  const progress = new ProgressText((text) => texts.push(text));
  progress.setText('I look.');
  for (let n = 0; n < 5; n++) progress.beginCall(`call_${n}`, `files/read_${n}`);
  for (let n = 0; n < 10_000; n++) progress.reportCall('call_4', 'files/read_4', `line ${n}\nof *10000*`);
  for (const n of [0, 1, 2]) progress.endCall(`call_${n}`);
  await sleep(80);
  expect(texts).toEqual([
    'I look.',
    'I look.\n\n_Using files/read_3…_\n_Using files/read_4: line 9999 of 10000…_',
  ]);
  progress.end();
});
