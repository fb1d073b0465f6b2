// Size of the code that the gateway reads at startup: dist/main.js and its static imports.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Returns the size in bytes of the code in the folder `dist`. */
export function loadedCodeBytes(dist) {
  const sizes = new Map();
  const measure = (file) => {
    if (sizes.has(file)) return;
    const text = readFileSync(file, 'utf8');
    sizes.set(file, Buffer.byteLength(text));
    // Static imports and re-exports of relative files.
    for (const [, name] of text.matchAll(/^(?:import|export)\s(?:[^;"']*?\bfrom\s*)?["'](\.[^"']+)["']/gm))
      measure(join(dirname(file), name));
  };
  measure(join(dist, 'main.js'));
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
}
