import { EventEmitter } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { firstMessageOf } from '../../../../../actors/store/worker/worker-start.ts';

test('the error of a worker is reported even if its exit arrives at the same time', async () => {
  const worker = new EventEmitter();
  const first = firstMessageOf(worker as unknown as Worker, 10_000);
  worker.emit('error', Object.assign(new Error('Cannot find module'), { code: 'MODULE_NOT_FOUND' }));
  worker.emit('exit', 1);
  await expect(first).rejects.toThrow(/^Cannot find module; run npm ci .*\(MODULE_NOT_FOUND\)$/);
});

test('a worker that ends without an error is reported with its exit code', async () => {
  const worker = new EventEmitter();
  const first = firstMessageOf(worker as unknown as Worker, 10_000);
  worker.emit('exit', 7);
  await expect(first).rejects.toThrow('the worker exited with code 7');
});
