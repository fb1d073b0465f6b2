// The second form in which triggers of the business messenger occur: `spec.platform`, `spec.webhook.path` and
// `spec.routing`. It has no credentials of its own: they are those of the platform in the daemon's configuration.

import { contentHash } from '../../content-hash.ts';
import { joinPath } from '../../reader/field-path.ts';
import { hasError } from '../../reader/problem.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, textOf } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { typeMeant } from '../aliases.ts';
import type { ReadResource, ResourceContext } from '../resource-context.ts';
import type { TargetReference } from './bindings.ts';
import { agentTarget, optionalAgent } from './target.ts';
import type { Trigger } from './trigger.ts';
import { givenBy, readConfig } from './trigger-config.ts';
import type { TextRule } from './trigger-of.ts';
import { readOptions } from './trigger-options.ts';
import { messengerFormSchema, type WrittenTrigger } from './trigger-schema.ts';
import { platformOf, triggerTypes } from './trigger-types.ts';
import { readWithoutType } from './untyped-trigger.ts';

const TYPE = 'BusinessMessenger';

interface WrittenRouting {
  readonly rules?: readonly (WrittenRule | undefined)[];
  readonly default_agent?: string;
}

interface WrittenRule {
  readonly match?: { readonly text_contains?: readonly (string | undefined)[] };
  readonly agent?: string;
}

type WrittenForm = Omit<WrittenTrigger, 'spec'> & {
  readonly spec?: WrittenTrigger['spec'] & {
    readonly platform?: string;
    readonly webhook?: { readonly path?: string };
    readonly routing?: WrittenRouting;
  };
};

/** Reports to `reader`. What says `spec.platform` and nothing else of this form may be meant otherwise. */
export function readMessengerForm(
  reader: SchemaReader,
  root: YamlTree,
  file: string,
  context: ResourceContext,
): ReadResource {
  const spec = memberOf(root, 'spec');
  const isOfForm = ['webhook', 'routing'].some((key) => memberOf(spec, key) !== undefined);
  if (!isOfForm && textOf(memberOf(spec, 'platform')) === undefined)
    return readWithoutType(reader, root, undefined);
  const written = reader.read(messengerFormSchema, root, '') as WrittenForm | undefined;
  const { platform, webhook, routing = {}, ...rest } = written?.spec ?? {};
  const isMeant = platform !== undefined && typeMeant(platform) === TYPE;
  // One that is no text has been reported.
  if (platform !== undefined && !isMeant)
    reader.report(
      'spec.platform',
      'only triggers of the business messenger have this form; others say spec.type',
    );
  const { rules, references } = readRouting(reader, routing);
  const default_target = optionalAgent(routing.default_agent ?? context.defaultAgent);
  if (rules.length === 0 && default_target === undefined && !reader.has('spec.routing.rules'))
    reader.report(
      'spec',
      'leads nowhere: its routing has no rules, and there is no default_agent',
      'warning',
    );
  const pathTree = memberOf(memberOf(spec, 'webhook'), 'path');
  const config = isMeant ? readMessengerConfig(reader, webhook?.path, pathTree, context) : undefined;
  const { enabled, ...options } = readOptions(reader, rest, triggerTypes[TYPE]);
  const name = written?.metadata?.name;
  const read = { kind: 'Trigger', name, reader, references };
  if (name === undefined || config === undefined || hasError(reader.problems)) return read;
  const content = {
    name,
    type: TYPE,
    config,
    commands: [],
    rules,
    default_target,
    enabled: enabled && context.platforms[platformOf(TYPE)]?.enabled !== false,
    labels: written?.metadata?.labels ?? {},
    annotations: written?.metadata?.annotations ?? {},
    ...options,
  };
  // That the config is the one of the type is what its schema and its rules are for.
  const trigger = { ...content, file, hash: contentHash(content) } as unknown as Trigger;
  return { ...read, trigger };
}

function readRouting(
  reader: SchemaReader,
  { rules = [], default_agent }: WrittenRouting,
): { readonly rules: readonly TextRule[]; readonly references: readonly TargetReference[] } {
  const references: TargetReference[] = [];
  const good = rules.flatMap((rule, index) => {
    const path = joinPath('spec.routing.rules', index);
    const { match, agent } = rule ?? {};
    const words = match?.text_contains?.filter((word) => word !== undefined) ?? [];
    if (agent === undefined) return [];
    const target = agentTarget(agent);
    references.push({ target, path: joinPath(path, target.kind) });
    if (words.length === 0 && !reader.isFaulty(path))
      reader.report(joinPath(path, 'match'), 'has no words, so the rule never holds', 'warning');
    return [{ contains: words.map((word) => word.toLowerCase()), target }];
  });
  if (default_agent !== undefined)
    references.push({ target: agentTarget(default_agent), path: 'spec.routing.default_agent' });
  return { rules: good, references };
}

/** Undefined where something that it needs is not there. */
function readMessengerConfig(
  reader: SchemaReader,
  path: string | undefined,
  pathTree: YamlTree | undefined,
  { platforms, listen }: ResourceContext,
): object | undefined {
  const type = triggerTypes[TYPE];
  const given = givenBy(platforms[platformOf(TYPE)] ?? {}, type);
  const missing = (type.config.required ?? []).filter(
    (key) => given[key] === undefined && !Object.hasOwn(type.config.properties[key] ?? {}, 'default'),
  );
  if (missing.length > 0) {
    // Files that are judged here may be used beside a configuration that has them.
    const severity = reader.unsetVariables;
    const names = missing.map((key) => (key === 'bot_token' ? 'access_token' : key)).join(', ');
    const message = `this form has no credentials of its own: ${names} must stand under platforms.${platformOf(TYPE)} in the gateway file, or as NAME_env`;
    reader.report('spec.platform', message, severity);
    return undefined;
  }
  if (pathTree !== undefined) reader.place('spec.config.path', pathTree.offset, pathTree.offset);
  return readConfig(reader, path === undefined ? {} : { path }, given, type, listen);
}
