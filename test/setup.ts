// Runs before every test file, also in a process that ran other files: closes fixtures and restores globals
// after the file.

import { afterAll, vi } from 'vitest';
import { closeFile } from './fixtures/end-of-file.ts';

afterAll(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  await closeFile();
});
