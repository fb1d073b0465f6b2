// Short hash of the active configuration, for comparing cluster nodes. Key order, file names, node settings
// and secrets do not affect the hash; all other settings do. If a reload could not apply a part of the
// configuration, the previous content of this part counts.

import { createHash } from 'node:crypto';
import { type IsSecret, treePrint } from './reader/tree-print.ts';
import { memberOf, withMember, withoutMembers } from './reader/yaml-members.ts';
import type { YamlTree } from './reader/yaml-tree.ts';

/** Digests of the parts that are applied independently. */
export interface ConfigDigests {
  /** Gateway file (gateway.yaml) without profiles: settings that need a restart. */
  readonly gateway: string;
  /** Profiles (named subsets of servers) in the gateway file, which a reload applies. */
  readonly profiles: string;
  readonly catalog: string;
  /** Digests of all triggers, agents, fleets and flows. */
  readonly resources: string;
}

/** Settings that may differ per cluster node: name, addresses, paths and logging. */
const nodeSettings = [
  ...['node', 'listen_addr', 'http_port', 'allowed_hosts', 'state_dir', 'log_level', 'catalog_path', 'audit'],
  // These fields have no effect on the gateway.
  ...['apiVersion', 'kind', 'metadata'],
];

const HASH_DIGITS = 12;
const folders = ['triggers', 'agents', 'fleets', 'flows'];

export function gatewayDigests(
  root: YamlTree,
  isSecret: IsSecret,
): Pick<ConfigDigests, 'gateway' | 'profiles'> {
  const profiles = memberOf(root, 'profiles');
  // In `spec`, the listen address and the paths of folders may differ per node.
  const common = withMember(withoutMembers(root, [...nodeSettings, 'profiles']), 'spec', (spec) =>
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

/** Combines the digests of each file's triggers, agents, fleets and flows, independent of files and order. */
export function resourcesDigest(byFile: ReadonlyMap<string, readonly string[]> | undefined): string {
  return [...(byFile?.values() ?? [])].flat().sort().join(' ');
}

/** Returns the hash of the configuration in use. Missing parts count as empty. */
export function configHash(digests: Partial<ConfigDigests>): string {
  const { gateway = '', profiles = '', catalog = '', resources = '' } = digests;
  return digest([gateway, profiles, catalog, resources].join('\n')).slice(0, HASH_DIGITS);
}

/** Removes mappings that are empty after the removal of members. */
function withoutEmpty(tree: YamlTree): YamlTree {
  if (tree.kind !== 'map') return tree;
  const isEmpty = ({ value }: { readonly value: YamlTree }) =>
    value.kind === 'map' && value.pairs.length === 0;
  return { ...tree, pairs: tree.pairs.filter((pair) => !isEmpty(pair)) };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
