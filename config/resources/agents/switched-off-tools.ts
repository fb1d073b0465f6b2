// `tools: [{ name: rm, enabled: false }]`, as others write it: the agent does not have that tool, whichever of its servers offers it, and
// whatever else names it. That is `policy.deny`; left out of the list alone, it would be there again with all of its server.

import { memberOf, scalarLike, textOf } from '../../reader/yaml-members.ts';
import type { YamlMap, YamlPair, YamlTree } from '../../reader/yaml-tree.ts';

/** `spec` with such items under `policy.deny`. Who answers elsewhere has no policy here, and the items mean nothing. */
export function withoutSwitchedOff(spec: YamlMap): YamlMap {
  const tools = memberOf(spec, 'tools');
  if (tools?.kind !== 'list' || isRunElsewhere(spec)) return spec;
  const off = tools.items.filter(isSwitchedOff);
  if (off.length === 0) return spec;
  const others = tools.items.filter((item) => !off.includes(item));
  const pairs = spec.pairs.flatMap((pair): YamlPair[] => {
    if (pair.key !== 'tools') return [pair];
    // Nothing is left that narrows.
    return others.length === 0 ? [] : [{ ...pair, value: { ...tools, items: others } }];
  });
  const denied = off.flatMap((item) => {
    const name = toolNamed(item);
    return name === undefined ? [] : [name];
  });
  return denied.length === 0 ? { ...spec, pairs } : denying({ ...spec, pairs }, denied, tools.offset);
}

const isRunElsewhere = (spec: YamlMap) =>
  memberOf(spec, 'runtime') !== undefined ||
  textOf(memberOf(spec, 'model'))?.startsWith('scripted:') === true;

/** Whether an item of `tools` is switched off. */
export function isSwitchedOff(item: YamlTree): boolean {
  const enabled = memberOf(item, 'enabled');
  return enabled?.kind === 'scalar' && enabled.value === false;
}

/** TOOL or SERVER/TOOL; undefined of a whole server, which is then not there at all. */
export function toolNamed(item: YamlTree): YamlTree | undefined {
  const tree = memberOf(item, 'name');
  const [name, server] = [textOf(tree), textOf(memberOf(item, 'server'))];
  const isServer = memberOf(item, 'mcp') !== undefined || /^mcp/i.test(textOf(memberOf(item, 'type')) ?? '');
  if (tree === undefined || name === undefined || isServer) return undefined;
  return scalarLike(tree, server === undefined ? name : `${server}/${name}`);
}

function denying(spec: YamlMap, names: readonly YamlTree[], offset: number): YamlMap {
  const policy = spec.pairs.find(({ key }) => key === 'policy');
  if (policy !== undefined && policy.value.kind !== 'map') return spec;
  const rules = policy?.value.kind === 'map' ? policy.value.pairs : [];
  const deny = rules.find(({ key }) => key === 'deny');
  if (deny !== undefined && deny.value.kind !== 'list') return spec;
  const written = deny?.value.kind === 'list' ? deny.value.items : [];
  const list: YamlTree = {
    kind: 'list',
    offset: deny?.value.offset ?? offset,
    items: [...written, ...names],
  };
  const whole: YamlPair = { key: 'deny', keyOffset: deny?.keyOffset ?? offset, value: list };
  const value: YamlMap = {
    kind: 'map',
    offset: policy?.value.offset ?? offset,
    pairs: [...rules.filter((pair) => pair !== deny), whole],
  };
  const meant: YamlPair = { key: 'policy', keyOffset: policy?.keyOffset ?? offset, value };
  return { ...spec, pairs: [...spec.pairs.filter((pair) => pair !== policy), meant] };
}
