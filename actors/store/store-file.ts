// Path of the embedded store. A separate file, because the gateway checks the path without the engine.

import { join } from 'node:path';

export function storeFileIn(stateDir: string): string {
  return join(stateDir, 'store.sqlite');
}
