// What a start of the gateway reads of its own code: dist/main.js and what that imports, whatever happens later.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Bytes of it. */
export function loadedCodeBytes(dist) {
  const read = new Map();
  const open = (file) => {
    if (read.has(file)) return;
    const text = readFileSync(file, 'utf8');
    read.set(file, Buffer.byteLength(text));
    for (const [, name] of text.matchAll(/^(?:import|export)\s(?:[^;"']*?\bfrom\s*)?["'](\.[^"']+)["']/gm))
      open(join(dirname(file), name));
  };
  open(join(dist, 'main.js'));
  return [...read.values()].reduce((sum, bytes) => sum + bytes, 0);
}
