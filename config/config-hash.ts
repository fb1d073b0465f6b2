// A short name for the configuration that a gateway runs with, so that nodes of a cluster can be compared: made of what its files say, as
// far as that is meant for all nodes alike.
//
// CFH1  the order of keys, the names of files, what is each node's own and secrets make no difference; every other setting does.
// CFH2  it is of what is in use: a part that a reload has not taken over counts as it was.

import { createHash } from 'node:crypto';
import { type IsSecret, treePrint } from './reader/tree-print.ts';
import { memberOf, withMember, withoutMembers } from './reader/yaml-members.ts';
import type { YamlTree } from './reader/yaml-tree.ts';

/** The parts that are taken over apart from each other, each as digests. */
export interface ConfigPrints {
  /** The gateway file but for its profiles: settings that a start takes over. */
  readonly gateway: string;
  readonly profiles: string;
  readonly catalog: string;
  /** Triggers, agents, fleets and flows: digests of all their documents. */
  readonly resources: string;
}

/** Where a node is, what it is called, where its files lie, and what it writes into its log. */
const ownSettings = [
  ...['node', 'listen_addr', 'http_port', 'allowed_hosts', 'state_dir', 'log_level', 'catalog_path'],
  // Without effect.
  ...['apiVersion', 'kind', 'metadata'],
];

const HASH_DIGITS = 12;
const folders = ['triggers', 'agents', 'fleets', 'flows'];

export function gatewayPrints(
  root: YamlTree,
  isSecret: IsSecret,
): Pick<ConfigPrints, 'gateway' | 'profiles'> {
  const profiles = memberOf(root, 'profiles');
  const common = withMember(withoutMembers(root, [...ownSettings, 'profiles']), 'spec', (spec) =>
    withoutEmpty(
      folders.reduce(
        (rest, kind) => withMember(rest, kind, (each) => withoutMembers(each, ['directory'])),
        withoutMembers(spec, ['server']),
      ),
    ),
  );
  return {
    gateway: treeDigest(withoutEmpty(common), isSecret),
    profiles: profiles === undefined ? '' : treeDigest(profiles, isSecret),
  };
}

export function treeDigest(tree: YamlTree, isSecret: IsSecret): string {
  return digest(treePrint(tree, isSecret));
}

/** In whatever order and files they stand. */
export function resourcesPrint(byFile: ReadonlyMap<string, readonly string[]> | undefined): string {
  return [...(byFile?.values() ?? [])].flat().sort().join(' ');
}

/** Returns the hash of the configuration in use. Missing parts count as empty. */
export function configHash(prints: Partial<ConfigPrints>): string {
  const { gateway = '', profiles = '', catalog = '', resources = '' } = prints;
  return digest([gateway, profiles, catalog, resources].join('\n')).slice(0, HASH_DIGITS);
}

/** What is left of a mapping whose members were all taken out says nothing. */
function withoutEmpty(tree: YamlTree): YamlTree {
  if (tree.kind !== 'map') return tree;
  const isEmpty = ({ value }: { readonly value: YamlTree }) =>
    value.kind === 'map' && value.pairs.length === 0;
  return { ...tree, pairs: tree.pairs.filter((pair) => !isEmpty(pair)) };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
