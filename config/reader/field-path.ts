// How a field is named in a message: `servers.files.args[0]`, or `servers["my.server"].command` where the key
// itself would read like a path.

/** Adds a key or an index to a path; the root is ''. */
export function joinPath(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  if (!/^[A-Za-z0-9_-]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** Returns the last key of a path, without list indexes. */
export function fieldName(path: string): string {
  const [, quoted, plain = ''] =
    /(?:\[("(?:[^"\\]|\\.)*")\]|(?<![\w-])([\w-]+))(?:\[\d+\])*$/.exec(path) ?? [];
  return quoted === undefined ? plain : JSON.parse(quoted);
}

/** `path: message`, or the message alone for the root. */
export function atPath(path: string, message: string): string {
  return path === '' ? message : `${path}: ${message}`;
}

/** Maximum number of enclosing paths; bounds the work for a name full of dots. */
const MAX_AROUND = 80;

/** Returns all enclosing paths, the outermost first. */
export function pathsAround(path: string): string[] {
  const ends = [...path.matchAll(/[.[]/g)].slice(0, MAX_AROUND);
  return ends.map(({ index }) => path.slice(0, index)).filter((each) => each !== '');
}
