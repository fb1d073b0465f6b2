// Reads the error classes with a stable code from the source, for docs/errors.md. The first paragraph of the
// doc comment is the meaning, the text after `@remedy` the remedy.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';

/**
 * Returns meaning, remedy, HTTP status and JSON-RPC code by error code, sorted. The status is undefined if no
 * HTTP response has the code; the JSON-RPC code is undefined if it is the default.
 */
export function errorCodes(root) {
  const found = { classes: new Map(), statuses: new Map() };
  for (const folder of ['actors', 'config', 'libs', 'machines', 'src'])
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }))
      if (name.endsWith('.ts')) readFile(root, `${folder}/${name}`, found);
  for (const [code, { path, status }] of found.statuses) {
    const error = found.classes.get(code);
    if (error === undefined)
      throw new Error(`${path}: no error class has the code ${code}; remove its status`);
    error.status = status;
  }
  return new Map([...found.classes].sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Adds a file's error classes and statuses (members such as `ERR_TIMEOUT: 504`). */
function readFile(root, path, { classes, statuses }) {
  const text = readFileSync(join(root, path), 'utf8');
  if (!text.includes('ERR_')) return;
  const { program, comments } = parseSync(path, text);

  function readClass({ start, body }) {
    const members = new Map(body.body.map(({ key, value }) => [key?.name, value]));
    const code = members.get('code')?.value;
    if (typeof code !== 'string' || !code.startsWith('ERR_')) return;
    if (classes.has(code)) throw new Error(`${path}: a second class has the code ${code}`);
    // Only keywords, such as `export`, may be between the comment and the class.
    const comment = comments.findLast(({ end }) => end <= start && /^[\sa-z]*$/.test(text.slice(end, start)));
    const [meaning, remedy] = textsOf(comment?.value ?? '');
    if (!meaning || !remedy)
      throw new Error(
        `${path}: describe ${code} in the doc comment of its class: MEANING @remedy REMEDY, as in actors/base/errors/errors.ts`,
      );
    const number = members.get('rpcCode');
    const rpcCode = number && Number(text.slice(number.start, number.end));
    classes.set(code, { meaning, remedy, rpcCode });
  }

  new Visitor({
    ClassDeclaration: readClass,
    ClassExpression: readClass,
    Property({ key, value }) {
      if (key.name?.startsWith('ERR_') && typeof value.value === 'number')
        statuses.set(key.name, { path, status: value.value });
    },
  }).visit(program);
}

/** Returns the first paragraph and the remedy in a doc comment. */
function textsOf(comment) {
  const text = comment.replace(/^[ \t]*\*[ \t]?/gm, '').trim();
  const [description, remedy = ''] = text.split(/(?:^|\s)@remedy\s/);
  return [description.split(/\n\s*\n/)[0], remedy].map((part) => part.replace(/\s+/g, ' ').trim());
}
