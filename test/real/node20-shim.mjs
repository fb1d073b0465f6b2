// Preloaded (--import) into the conformance tool on Node 20. The tool imports `globSync` from node:fs, which
// exists since Node 22, for a command that the tests do not use.

import { register } from 'node:module';

const asUrl = (code) => `data:text/javascript,${encodeURIComponent(code)}`;

const fs = asUrl(`
export * from 'node:fs';
export { default } from 'node:fs';
export const globSync = () => { throw new Error('globSync needs Node 22'); };
`);

const hooks = asUrl(`
export async function resolve(specifier, context, next) {
  const isFs = specifier === 'fs' || specifier === 'node:fs';
  const isConformance = /[/]conformance[^/]*[/]dist[/]/.test(context.parentURL ?? '');
  return isFs && isConformance ? { url: ${JSON.stringify(fs)}, shortCircuit: true } : next(specifier, context);
}
`);

register(hooks, import.meta.url);
