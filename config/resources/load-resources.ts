// Loads triggers and agents from their files: read, parse, substitute, check, fill, and check against each other. What is
// wrong comes back as problems with positions, all of them at once; content never makes it throw.
//
// LR1  a resource with an error is not in the result; whether the others are used is the caller's decision.
// LR2  the same files and variables give the same result: the order is that of the files' names.

import { hasError, type Problem } from '../reader/problem.ts';
import { SchemaReader } from '../reader/schema-reader.ts';
import type { SecretValues } from '../reader/secret-values.ts';
import { readSourceFile, SourceFile } from '../reader/source-file.ts';
import type { Environment } from '../reader/substitute.ts';
import { suggest } from '../reader/suggest.ts';
import { memberOf, textOf } from '../reader/yaml-members.ts';
import { parseYamlDocuments, type YamlTree } from '../reader/yaml-tree.ts';
import type { Agent } from './agents/agent.ts';
import { checkModels, type GivenToAgents } from './agents/model-checks.ts';
import { readAgent } from './agents/read-agent.ts';
import { unsupportedKinds } from './aliases.ts';
import { checkApprovers } from './approver-checks.ts';
import { crossCheck } from './cross-checks.ts';
import type { Platforms, ReadResource, ResourceContext } from './resource-context.ts';
import { resourceFiles } from './resource-files.ts';
import { readTrigger } from './triggers/read-trigger.ts';
import type { Trigger } from './triggers/trigger.ts';
import type { ListenAddress } from './triggers/trigger-type.ts';

export interface LoadResourcesOptions {
  /** Folder of trigger files. */
  readonly triggers?: string | undefined;
  /** Folder of agent files. */
  readonly agents?: string | undefined;
  /** Further files and folders. Any kind of resource may be in any of them. */
  readonly files?: readonly string[] | undefined;
  readonly env: Environment;
  /** Collects what must never be shown (A9). */
  readonly secrets: SecretValues;
  /** Files are judged here and used elsewhere: variables that are not set, and agents of which none was given, are warnings. */
  readonly isLenient?: boolean | undefined;
  readonly defaultAgent?: string | undefined;
  readonly platforms?: Platforms | undefined;
  /** What the gateway has for agents with models; as far as it is not known, nothing is said of it. */
  readonly given?: GivenToAgents | undefined;
  /** Where the gateway listens; without it nothing is said of loopback. */
  readonly listen?: ListenAddress | undefined;
}

export interface LoadedResources {
  /** In the order of their files. */
  readonly triggers: readonly Trigger[];
  readonly agents: readonly Agent[];
  /** Errors and warnings, file by file. */
  readonly problems: readonly Problem[];
}

const MAX_DOCUMENTS = 1000;
const MAX_RESOURCES = 5000;
const NAMESPACE = 'metadata.namespace';
const kinds = ['Trigger', 'Agent', ...Object.keys(unsupportedKinds)];

/** Never rejects for what is in the files. */
export async function loadResources(options: LoadResourcesOptions): Promise<LoadedResources> {
  const { triggers, agents, files = [], defaultAgent, isLenient = false } = options;
  const context: ResourceContext = {
    platforms: options.platforms ?? {},
    listen: options.listen,
    defaultAgent,
  };
  const places = [triggers, agents, ...files].filter((place) => place !== undefined);
  const found = await resourceFiles(places);
  const problems: Problem[] = [...found.problems];
  const resources: ReadResource[] = [];
  for (const file of found.files) {
    const read = await readFile(file, options, context);
    problems.push(...read.problems);
    resources.push(...read.resources);
    if (resources.length > MAX_RESOURCES) {
      problems.push(new SourceFile(file, '').problem(0, `more than ${MAX_RESOURCES} resources`));
      break;
    }
  }
  crossCheck(resources, defaultAgent, isLenient && agents === undefined);
  checkApprovers(resources);
  checkModels(resources, { ...options.given, env: options.env, isLenient });
  problems.push(...resources.flatMap(({ reader }) => reader.problems));
  const good = resources.filter(({ reader }) => !hasError(reader.problems));
  return {
    triggers: good.flatMap(({ trigger }) => trigger ?? []),
    agents: good.flatMap(({ agent }) => agent ?? []),
    problems: inOrder(withoutValues(problems, options.secrets)),
  };
}

async function readFile(
  file: string,
  options: LoadResourcesOptions,
  context: ResourceContext,
): Promise<{ readonly resources: ReadResource[]; readonly problems: Problem[] }> {
  const source = await readSourceFile(file);
  if (!(source instanceof SourceFile))
    return { resources: [], problems: [new SourceFile(file, '').problem(0, source.reason)] };
  const { documents, problems } = parseYamlDocuments(source, MAX_DOCUMENTS);
  const resources: ReadResource[] = [];
  for (const { root, isBroken } of documents) {
    // What a broken syntax makes of the rest would only mislead.
    if (root === undefined || isEmpty(root) || isBroken) continue;
    const reader = new SchemaReader(source, options.env, options.secrets);
    if (options.isLenient === true) reader.unsetVariables = 'warning';
    resources.push(await readResource(reader, root, file, context, options.secrets));
    if (reader.has(NAMESPACE))
      reader.reportKey(NAMESPACE, 'has no effect: a gateway has one for all its resources', 'warning');
  }
  // A key that is there twice, say, belongs to no field, and yet what was read is not what was meant.
  const isWhole = !hasError(problems);
  if (problems.length === 0 && resources.length === 0)
    problems.push(source.problem(0, 'the file is empty; expected a Trigger or an Agent', 'warning'));
  const asFound = resources.map((each) =>
    isWhole ? each : { ...each, trigger: undefined, agent: undefined },
  );
  return { resources: asFound, problems };
}

/** Between two `---` nothing may stand. */
function isEmpty(root: YamlTree): boolean {
  return root.kind === 'scalar' && root.value === null;
}

async function readResource(
  reader: SchemaReader,
  root: YamlTree,
  file: string,
  context: ResourceContext,
  secrets: SecretValues,
): Promise<ReadResource> {
  const kindTree = memberOf(root, 'kind');
  const kind = textOf(kindTree);
  if (kind === 'Trigger') return readTrigger(reader, root, file, context);
  if (kind === 'Agent') return readAgent(reader, root, file, secrets);
  const offset = kindTree?.offset ?? root.offset;
  reader.place('kind', offset, offset);
  reader.report('kind', kindFault(root, kind));
  return { kind: undefined, name: undefined, reader };
}

function kindFault(root: YamlTree, kind: string | undefined): string {
  if (root.kind !== 'map') return 'expected a resource: a mapping with apiVersion, kind, metadata and spec';
  if (kind === undefined) return `required, but missing; ${missingKindAdvice(root)}`;
  if (kind === 'Daemon')
    return "is a gateway's own file, which --config FILE --check checks; expected Trigger or Agent";
  const unsupported = Object.hasOwn(unsupportedKinds, kind) ? unsupportedKinds[kind] : undefined;
  if (unsupported !== undefined)
    return `${unsupported} are not supported, so ${kind} resources cannot be used`;
  const near = suggest(kind, kinds);
  return near === undefined
    ? 'there is no kind of that name; expected Trigger or Agent'
    : `there is no kind of that name; did you mean ${near}?`;
}

/** Others write an agent without a head, or several in one mapping. */
function missingKindAdvice(root: YamlTree): string {
  const head = 'apiVersion: example.com/v1, kind: Agent, metadata: { name: NAME }, and under spec';
  if (memberOf(root, 'spec') !== undefined) return 'expected Trigger or Agent';
  if (memberOf(root, 'model') !== undefined) return `an agent is written as ${head} what stands here`;
  if (memberOf(root, 'agents') !== undefined)
    return `agents are documents of their own, each written as ${head} what stands here under its name`;
  return 'expected Trigger or Agent';
}

/** A message names events, agents and the like as they were written; one of them may have come from a variable (A9). */
function withoutValues(problems: readonly Problem[], secrets: SecretValues): readonly Problem[] {
  const values = secrets.list();
  return problems.map((problem) => {
    const message = values.reduce((text, value) => text.replaceAll(value, '***'), problem.message);
    return message === problem.message ? problem : { ...problem, message };
  });
}

function inOrder(problems: readonly Problem[]): Problem[] {
  const files = [...new Set(problems.map(({ file }) => file))];
  const place = new Map(files.map((file, index) => [file, index]));
  return [...problems].sort(
    (a, b) => (place.get(a.file) ?? 0) - (place.get(b.file) ?? 0) || a.line - b.line || a.column - b.column,
  );
}
