// Keeps V8's young generation at its initial size of 2 MB per half; by default it grows to 16 MB. Tool calls
// leave few live objects, so a larger young generation would only cost memory and longer pauses. Must be
// called before the configuration is read.

import { setFlagsFromString } from 'node:v8';

/** Has no effect if the operator sets the size in NODE_OPTIONS or on the command line. */
export function stopYoungGenerationGrowth(): void {
  const options = [...process.execArgv, process.env.NODE_OPTIONS ?? ''];
  if (options.some((option) => option.includes('semi-space') || option.includes('semi_space'))) return;
  setFlagsFromString('--semi-space-growth-factor=1');
}
