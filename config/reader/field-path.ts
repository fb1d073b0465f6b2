// Field paths for messages: `servers.files.args[0]`, or `servers["my.server"].command` for a key with special
// characters.

/** Appends a key or an index to a path; the root is ''. */
export function joinPath(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  if (!/^[A-Za-z0-9_-]+$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

/** Returns the path's last key, without list indexes. */
export function fieldName(path: string): string {
  const [, quoted, plain = ''] =
    /(?:\[("(?:[^"\\]|\\.)*")\]|(?<![\w-])([\w-]+))(?:\[\d+\])*$/.exec(path) ?? [];
  return quoted === undefined ? plain : JSON.parse(quoted);
}

/**
 * Returns the path within the file of a field in an inner document, such as an agent inside a fleet file.
 * `prefix` is the path of the inner document.
 */
export function prefixPath(prefix: string, path: string): string {
  return prefix === '' || path === '' ? prefix + path : `${prefix}.${path}`;
}

/** Returns `path: message`, or only the message for the root. */
export function atPath(path: string, message: string): string {
  return path === '' ? message : `${path}: ${message}`;
}

/** Maximum number of enclosing paths; limits the work for names with many dots. */
const MAX_AROUND = 80;

/** Returns all enclosing paths, outermost first. */
export function pathsAround(path: string): string[] {
  const ends = [...path.matchAll(/[.[]/g)].slice(0, MAX_AROUND);
  return ends.map(({ index }) => path.slice(0, index)).filter((each) => each !== '');
}
