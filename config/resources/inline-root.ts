// Wraps the `spec` of an inline agent or fleet (defined within another file) in a document, so that it is
// read like a separate file.

import { scalarLike } from '../reader/yaml-members.ts';
import type { YamlMap, YamlPair, YamlTree } from '../reader/yaml-tree.ts';

/** Every added node has the offset of `spec`, so that a problem of the node is reported there. */
export function inlineRoot(kind: string, spec: YamlTree): YamlMap {
  const pair = (key: string, value: YamlTree): YamlPair => ({ key, keyOffset: spec.offset, value });
  const map = (...pairs: readonly YamlPair[]): YamlMap => ({ kind: 'map', offset: spec.offset, pairs });
  const text = (value: string) => scalarLike(spec, value);
  return map(
    // Placeholder values: the schema of a file requires these fields.
    pair('apiVersion', text('inline/v1')),
    pair('kind', text(kind)),
    pair('metadata', map(pair('name', text('inline')))),
    pair('spec', spec),
  );
}
