// Resolves references within a schema: JSON pointers, and anchors or ids of definitions.

import { isMembers } from './read-limits.ts';

/** Returns the target; undefined for other documents and missing targets. */
export function resolveReference(root: unknown, ref: string): unknown {
  const [document = '', fragment = ''] = splitOnce(ref, '#');
  if (document !== '' && !isIdOf(root, document)) return definitionWithId(root, ref);
  if (fragment === '') return root;
  return fragment.startsWith('/') ? atPointer(root, fragment) : definitionWithId(root, fragment);
}

function splitOnce(text: string, mark: string): readonly string[] {
  const at = text.indexOf(mark);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

const isIdOf = (root: unknown, document: string) =>
  isMembers(root) &&
  [root.$id, root.id].some((id) => typeof id === 'string' && splitOnce(id, '#')[0] === document);

function atPointer(root: unknown, pointer: string): unknown {
  let value = root;
  for (const part of pointer.split('/').slice(1)) {
    const name = decode(part).replace(/~1/g, '/').replace(/~0/g, '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function definitionWithId(root: unknown, name: string): unknown {
  if (!isMembers(root)) return undefined;
  const definitions = [root.$defs, root.definitions].flatMap((each) =>
    isMembers(each) ? Object.values(each) : [],
  );
  return definitions.find(
    (each) =>
      isMembers(each) &&
      [each.$anchor, each.$dynamicAnchor, each.$id, each.id].some((id) => id === name || id === `#${name}`),
  );
}
