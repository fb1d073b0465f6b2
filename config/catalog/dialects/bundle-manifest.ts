// Reads the manifest of an MCP bundle, a ZIP archive with the files of one server, as an entry with the
// catalog's fields. The manifest is `manifest.json` in the archive or in the unpacked folder. Format:
// github.com/modelcontextprotocol/mcpb, MANIFEST.md.

import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { isBundlePath } from '../../reader/bundle-path.ts';
import { memberOf, plainValue, scalarLike, textOf, withMember } from '../../reader/yaml-members.ts';
import type { YamlPair, YamlTree } from '../../reader/yaml-tree.ts';

export function isManifest(root: YamlTree): boolean {
  const hasVersion = ['manifest_version', 'dxt_version'].some((key) => memberOf(root, key) !== undefined);
  return hasVersion && memberOf(root, 'server')?.kind === 'map';
}

/** Returns a mapping with the server of the manifest. */
export function serversOfManifest(root: YamlTree): { readonly pair: YamlPair } {
  const server = memberOf(root, 'server') ?? root;
  const nameTree = memberOf(root, 'name');
  const config = memberOf(server, 'mcp_config') ?? configOf(server);
  const overrides = memberOf(memberOf(config, 'platform_overrides'), process.platform);
  const entry = expandLists(mergeMaps(config, overrides), memberOf(root, 'user_config'));
  const { offset } = server;
  const pair = { key: textOf(nameTree) ?? 'bundle', keyOffset: nameTree?.offset ?? offset, value: entry };
  return { pair: { key: 'server', keyOffset: offset, value: { kind: 'map', offset, pairs: [pair] } } };
}

/** Programs for bundles without `mcp_config`, by type of server. A `binary` is itself the program. */
const launchers: Readonly<Record<string, readonly string[]>> = {
  node: ['node'],
  python: ['python'],
  uv: ['uv', 'run', '--directory', `\${__dirname}`],
  binary: [],
};

/** Returns the entry of a bundle without `mcp_config`. */
function configOf(server: YamlTree): YamlTree {
  const entryPoint = memberOf(server, 'entry_point') ?? server;
  const launcher = launchers[textOf(memberOf(server, 'type')) ?? ''] ?? [];
  const [command = '', ...items] = [...launcher, `\${__dirname}/${textOf(entryPoint) ?? ''}`].map((text) =>
    scalarLike(entryPoint, text),
  );
  const { offset } = entryPoint;
  const member = (key: string, value: YamlTree) => ({ key, keyOffset: offset, value });
  const pairs = [member('args', { kind: 'list', offset, items })];
  return { kind: 'map', offset, pairs: command === '' ? pairs : [member('command', command), ...pairs] };
}

/** Merges two mappings: members of `over` replace members of `base`, and `env` is merged. */
function mergeMaps(base: YamlTree, over: YamlTree | undefined): YamlTree {
  if (base.kind !== 'map') return base;
  const overPairs = over?.kind === 'map' ? over.pairs : [];
  const kept = base.pairs.filter(({ key }) => key !== 'platform_overrides');
  const merged = overPairs.map((pair) =>
    pair.key === 'env'
      ? { ...pair, value: mergeMaps(memberOf(base, 'env') ?? pair.value, pair.value) }
      : pair,
  );
  return {
    ...base,
    pairs: [...kept.filter(({ key }) => !overPairs.some((pair) => pair.key === key)), ...merged],
  };
}

/** Replaces an argument that refers to a setting with several values by the default values of the setting. */
function expandLists(entry: YamlTree, settings: YamlTree | undefined): YamlTree {
  return withMember(entry, 'args', (args) => {
    if (args.kind !== 'list') return args;
    const items = args.items.flatMap((item) => {
      const [, name] = /^\$\{user_config\.([^}]+)\}$/.exec(textOf(item) ?? '') ?? [];
      const values = name && memberOf(memberOf(settings, name), 'default');
      return values && values.kind === 'list' ? values.items : [item];
    });
    return { ...args, items };
  });
}

/** Returns the settings' defaults by name; undefined for a secret, or a required setting without one. */
export function settingsOf(root: YamlTree): ReadonlyMap<string, string | undefined> {
  const settings = memberOf(root, 'user_config');
  const members = settings?.kind === 'map' ? settings.pairs : [];
  return new Map(
    members.map(({ key, value }) => {
      const isSet = (field: string) =>
        memberOf(value, field)?.kind === 'scalar' && plainOf(value, field) === true;
      const preset = plainOf(value, 'default');
      if (isSet('sensitive')) return [key, undefined];
      if (preset === undefined) return [key, isSet('required') ? undefined : ''];
      return [key, Array.isArray(preset) ? preset.join(' ') : String(preset)];
    }),
  );
}

function plainOf(tree: YamlTree, key: string): unknown {
  const value = memberOf(tree, key);
  return value && plainValue(value);
}

/** Returns the folder with the bundle's files; for `notes.mcpb`, the folder `notes`. */
export function bundleFolder(path: string): string {
  return isBundlePath(path) ? path.replace(/\.\w+$/, '') : dirname(path);
}

/**
 * Returns the value of a folder variable such as `__dirname`, or the reason why it is not available. Returns
 * undefined for another name.
 */
export function bundleVariable(
  name: string,
  path: string,
): { readonly text: string; readonly fault?: string } | undefined {
  const folder = bundleFolder(path);
  if (name === '__dirname')
    return existsSync(join(folder, 'manifest.json'))
      ? { text: folder }
      : { text: '', fault: `unpack the bundle first (unzip FILE -d FOLDER): ${folder} has no manifest.json` };
  const [, userFolder] = /^(DESKTOP|DOCUMENTS|DOWNLOADS)$/.exec(name) ?? [];
  if (userFolder === undefined) return undefined;
  return { text: join(homedir(), `${userFolder[0]}${userFolder.slice(1).toLowerCase()}`) };
}
