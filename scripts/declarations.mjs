// Joins the type declarations of the library into a single file, in the order of imports. TypeScript 7 has no
// API for this.
//
// The build fails if a type reachable from src/core.ts refers to a package, or if two types have the same
// name.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** An import, or an export from another file. Group 1 is the path. */
const IMPORT = /^(?:import|export) [^;]*?from '([^']+)';\n/gm;
/** The start of a declaration. Group 1 is the text without `export`, group 2 the name. */
const DECLARATION =
  /^(?:export )?((?:declare )?(?:abstract )?(?:class|interface|type|const|function) (\w+))/gm;

/**
 * Returns the declarations that `entry` exports, and all declarations that they refer to. `entry` must
 * contain only `export … from`.
 */
export function joinedDeclarations(entry) {
  const files = new Map();
  const visit = (file) => {
    if (files.has(file)) return;
    files.set(file, '');
    const text = readFileSync(file, 'utf8');
    for (const [, from] of text.matchAll(IMPORT)) {
      if (!from.startsWith('./') && !from.startsWith('../'))
        throw new Error(`${file} imports ${from}: the types of the library must not refer to a package`);
      visit(declarationsAt(file, from));
    }
    // Makes the file the last one, after its dependencies.
    files.delete(file);
    files.set(file, text.replace(IMPORT, '').replace(/^export \{\};\n/gm, ''));
  };
  visit(entry);
  if (/\bas \w+\s*[,}]/.test(readFileSync(entry, 'utf8')))
    throw new Error(`${entry} must not rename exports`);
  if (files.get(entry).trim() !== '') throw new Error(`${entry} must contain only exports from other files`);

  const exported = new Set();
  for (const [statement, from] of readFileSync(entry, 'utf8').matchAll(IMPORT)) {
    const exportedNames = /\{([^}]*)\}/
      .exec(statement)?.[1]
      .replace(/\btype\b/g, '')
      .split(',');
    const declared = [...files.get(declarationsAt(entry, from)).matchAll(DECLARATION)].map(
      ([, , name]) => name,
    );
    // `export *` has no list of names.
    for (const name of exportedNames ?? declared) exported.add(name.trim());
  }
  const joinedNames = new Set();
  const bodies = [...files.values()].map((text) =>
    text.replace(DECLARATION, (_, declaration, name) => {
      if (joinedNames.has(name)) throw new Error(`the library has two declarations of ${name}`);
      joinedNames.add(name);
      return exported.has(name) ? `export ${declaration}` : declaration;
    }),
  );
  return `${bodies.join('')}export {};\n`;
}

/** Returns the declaration file that `file` imports as `from`. */
function declarationsAt(file, from) {
  return join(dirname(file), from.replace(/\.ts$/, '.d.ts'));
}
