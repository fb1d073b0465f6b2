// An address that was given beside the gateway file: the file is read as if it said that, so that its other rules (a key
// beyond loopback, the inspector) are held against where the gateway really listens.

import { memberOf, scalarLike, withMember, withoutMembers } from '../reader/yaml-members.ts';
import type { YamlTree } from '../reader/yaml-tree.ts';
import { parseListenAddr } from './listen-addr.ts';

/** The tree of a gateway file that listens at `listen`, which must be a good address. */
export function listeningAt(root: YamlTree, listen: string): YamlTree {
  const { port } = parseListenAddr(listen);
  // `http_port` stays, since it alone makes a file one of the form that needs no catalog.
  const others = withMember(withoutMembers(root, ['listen_addr']), 'http_port', (value) =>
    scalarLike(value, port),
  );
  const rest = withMember(others, 'spec', (spec) => withoutMembers(spec, ['server']));
  if (rest.kind !== 'map') return rest;
  // What is told of the address is told where the file says another one.
  const place = memberOf(root, 'listen_addr') ?? root;
  const pair = { key: 'listen_addr', keyOffset: place.offset, value: scalarLike(place, listen) };
  return { ...rest, pairs: [...rest.pairs, pair] };
}
