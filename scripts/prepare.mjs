// Builds for npm, which calls this before it packs the project and after it has installed it from git. An install that leaves
// out what building takes has nothing to build with, and is left as it is.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

if (existsSync(resolve(import.meta.dirname, '../node_modules/esbuild'))) await import('./build.mjs');
