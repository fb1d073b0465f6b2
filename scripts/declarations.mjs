// Joins the declarations of the library into one file, in the order of their imports. TypeScript 7 has no API for such a tool.
//
// Every file that src/core.ts reaches by its types has to be about the library alone: an import of a package, or two
// declarations of one name, are errors.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const IMPORT = /^(?:import|export) [^;]*?from '([^']+)';\n/gm;
const DECLARATION =
  /^(?:export )?((?:declare )?(?:abstract )?(?:class|interface|type|const|function) (\w+))/gm;

/** Returns the declarations that `entry` exports, with those they refer to. `entry` has nothing but `export … from`. */
export function joinedDeclarations(entry) {
  const files = new Map();
  const visit = (file) => {
    if (files.has(file)) return;
    files.set(file, '');
    const text = readFileSync(file, 'utf8');
    for (const [, from] of text.matchAll(IMPORT)) {
      if (!from.startsWith('./') && !from.startsWith('../'))
        throw new Error(`${file} imports ${from}: the types of the library may not refer to a package`);
      visit(declarationsAt(file, from));
    }
    // At the end: after those that it refers to.
    files.delete(file);
    files.set(file, text.replace(IMPORT, '').replace(/^export \{\};\n/gm, ''));
  };
  visit(entry);
  if (files.get(entry).trim() !== '') throw new Error(`${entry} has to consist of exports from other files`);

  const exported = new Set();
  for (const [statement, from] of readFileSync(entry, 'utf8').matchAll(IMPORT)) {
    const named = /\{([^}]*)\}/
      .exec(statement)?.[1]
      .replace(/\btype\b/g, '')
      .split(',');
    const all = files.get(declarationsAt(entry, from)).matchAll(DECLARATION);
    for (const name of named ?? [...all].map(([, , each]) => each)) exported.add(name.trim());
  }
  const seen = new Set();
  const bodies = [...files.values()].map((text) =>
    text.replace(DECLARATION, (_, declaration, name) => {
      if (seen.has(name)) throw new Error(`the library has two declarations of ${name}`);
      seen.add(name);
      return exported.has(name) ? `export ${declaration}` : declaration;
    }),
  );
  return `${bodies.join('')}export {};\n`;
}

function declarationsAt(file, from) {
  return join(dirname(file), from.replace(/\.ts$/, '.d.ts'));
}
