// Path of the inspector, derived from the address of this script (`assets/page.js`): a proxy may add a
// prefix.

const folder = new URL('..', import.meta.url);

/**
 * Without a slash at the end: `/inspector`, or `/tools/inspector` with a proxy. In unit tests the script is
 * a file.
 */
export const HOME = folder.protocol === 'file:' ? '/inspector' : folder.pathname.replace(/\/$/, '');
