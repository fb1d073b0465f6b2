// Reads the alternative form of BusinessMessenger triggers. It has `spec.platform`, `spec.webhook.path` and
// `spec.routing` (rules for texts) instead of type, config and commands. The credentials are in the platform
// settings of the gateway file (gateway.yaml).

import { contentHash } from '../../content-hash.ts';
import { joinPath } from '../../reader/field-path.ts';
import { hasError } from '../../reader/problem.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, textOf } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { resolveType } from '../aliases.ts';
import type { ReadResource, ResourceContext } from '../resource-context.ts';
import type { TargetReference } from './bindings.ts';
import { agentTarget, optionalAgent } from './target.ts';
import type { Trigger } from './trigger.ts';
import { platformDefaultsOf, readConfig } from './trigger-config.ts';
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

/** Trigger in this form as written in the file, without invalid parts. */
type WrittenForm = Omit<WrittenTrigger, 'spec'> & {
  readonly spec?: WrittenTrigger['spec'] & {
    readonly platform?: string;
    readonly webhook?: { readonly path?: string };
    readonly routing?: WrittenRouting;
  };
};

/**
 * Reports problems to `reader`. If the file has no other field of this form and `spec.platform` is not a
 * text, the trigger is refused by untyped-trigger.ts.
 */
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
  const isBusinessMessenger = platform !== undefined && resolveType(platform) === TYPE;
  // The schema reports a non-text value.
  if (platform !== undefined && !isBusinessMessenger)
    reader.report(
      'spec.platform',
      'only supported for the business messenger; other triggers need spec.type',
    );
  const { rules, references } = readRouting(reader, routing);
  const default_target = optionalAgent(routing.default_agent ?? context.defaultAgent);
  if (rules.length === 0 && default_target === undefined && !reader.has('spec.routing.rules'))
    reader.report('spec', 'has no target: routing has no rules, and default_agent is not set', 'warning');
  const pathTree = memberOf(memberOf(spec, 'webhook'), 'path');
  const config = isBusinessMessenger
    ? readMessengerConfig(reader, webhook?.path, pathTree, context)
    : undefined;
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
  // The schema and rules of the type ensure that the config matches it.
  const trigger = { ...content, file, hash: contentHash(content) } as unknown as Trigger;
  return { ...read, trigger };
}

/** Returns the valid rules, and the agents that rules and default name. */
function readRouting(
  reader: SchemaReader,
  { rules = [], default_agent }: WrittenRouting,
): { readonly rules: readonly TextRule[]; readonly references: readonly TargetReference[] } {
  const references: TargetReference[] = [];
  const validRules = rules.flatMap((rule, index) => {
    const path = joinPath('spec.routing.rules', index);
    const { match, agent } = rule ?? {};
    const words = match?.text_contains?.filter((word) => word !== undefined) ?? [];
    if (agent === undefined) return [];
    const target = agentTarget(agent);
    references.push({ target, path: joinPath(path, target.kind) });
    if (words.length === 0 && !reader.isFaulty(path))
      reader.report(joinPath(path, 'match'), 'has no words, so the rule never matches', 'warning');
    return [{ contains: words.map((word) => word.toLowerCase()), target }];
  });
  if (default_agent !== undefined)
    references.push({ target: agentTarget(default_agent), path: 'spec.routing.default_agent' });
  return { rules: validRules, references };
}

/** Returns the config with the platform settings; undefined if a required setting is missing. */
function readMessengerConfig(
  reader: SchemaReader,
  path: string | undefined,
  pathTree: YamlTree | undefined,
  { platforms, listen }: ResourceContext,
): object | undefined {
  const type = triggerTypes[TYPE];
  const platformDefaults = platformDefaultsOf(platforms[platformOf(TYPE)] ?? {}, type);
  const missing = (type.config.required ?? []).filter(
    (key) =>
      platformDefaults[key] === undefined && !Object.hasOwn(type.config.properties[key] ?? {}, 'default'),
  );
  if (missing.length > 0) {
    // A warning if the files will be used on a different machine, which may have the settings.
    const severity = reader.unsetVariables;
    // In the platform settings, the usual name of the token is `access_token`.
    const names = missing.map((key) => (key === 'bot_token' ? 'access_token' : key)).join(', ');
    const message = `credentials are missing: set ${names} under platforms.${platformOf(TYPE)} in the gateway file, or as NAME_env`;
    reader.report('spec.platform', message, severity);
    return undefined;
  }
  if (pathTree !== undefined) reader.recordPosition('spec.config.path', pathTree.offset, pathTree.offset);
  return readConfig(reader, path === undefined ? {} : { path }, platformDefaults, type, listen);
}
