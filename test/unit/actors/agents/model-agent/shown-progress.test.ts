import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ShownProgress } from '../../../../../actors/agents/model-agent/shown-progress.ts';

test('however small the pieces, the newest text is shown at a pace, and nothing after the end (SPG1)', async () => {
  const texts: string[] = [];
  const shown = new ShownProgress((text) => texts.push(text));
  for (let n = 1; n <= 1_000; n++) shown.text('a'.repeat(n));
  expect(texts).toEqual(['a']);
  await sleep(80);
  expect(texts).toEqual(['a', 'a'.repeat(1_000)]);
  await sleep(60);
  shown.text('b');
  shown.text('bc');
  expect(texts.slice(2)).toEqual(['b']);
  shown.end();
  shown.text('bcd');
  await sleep(60);
  expect(texts.slice(2)).toEqual(['b']);
});

test('tools at work are named below the text, with what they say, as it is when it is shown', async () => {
  const texts: string[] = [];
  const shown = new ShownProgress((text) => texts.push(text));
  shown.text('I look.');
  for (let n = 0; n < 5; n++) shown.begun(`call_${n}`, `files/read_${n}`);
  for (let n = 0; n < 10_000; n++) shown.says('call_4', 'files/read_4', `line ${n}\nof *10000*`);
  for (const n of [0, 1, 2]) shown.ended(`call_${n}`);
  await sleep(80);
  expect(texts).toEqual([
    'I look.',
    'I look.\n\n_Using files/read_3…_\n_Using files/read_4: line 9999 of 10000…_',
  ]);
  shown.end();
});
