// Replaces the listen address of the gateway file (gateway.yaml) with a command-line option before
// validation. Other rules (keys for public addresses, the inspector) then check the actual address.

import { memberOf, scalarLike, withMember, withoutMembers } from '../reader/yaml-members.ts';
import type { YamlTree } from '../reader/yaml-tree.ts';
import { parseListenAddr } from './listen-addr.ts';

/** Returns the tree with the listen address `listen`, which must be valid. */
export function withListenAddr(root: YamlTree, listen: string): YamlTree {
  const { port } = parseListenAddr(listen);
  // `http_port` stays, because it may be the only key that marks the resource form.
  const others = withMember(withoutMembers(root, ['listen_addr']), 'http_port', (value) =>
    scalarLike(value, port),
  );
  const rest = withMember(others, 'spec', (spec) => withoutMembers(spec, ['server']));
  if (rest.kind !== 'map') return rest;
  // Problems with the address are reported at the position of the replaced address.
  const replaced = memberOf(root, 'listen_addr') ?? root;
  const pair = { key: 'listen_addr', keyOffset: replaced.offset, value: scalarLike(replaced, listen) };
  return { ...rest, pairs: [...rest.pairs, pair] };
}
