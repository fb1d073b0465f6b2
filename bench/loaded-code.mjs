// Size of the code that the gateway reads at startup: dist/main.js and its static imports.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Returns the size in bytes of the code in the folder `dist`. */
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
