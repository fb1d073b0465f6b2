// Loads triggers, agents, fleets and flows from their files: read, parse, substitute, check, fill, and check against each other. What is
// wrong comes back as problems with positions, all of them at once; content never makes it throw.
//
// LR1  a resource with an error is not in the result; whether the others are used is the caller's decision.
// LR2  the same files and variables give the same result: the order is that of the files' names.

import { treeDigest } from '../config-hash.ts';
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
import { kindMeant, resourceKinds } from './aliases.ts';
import { checkApprovers } from './approver-checks.ts';
import { crossCheck } from './cross-checks.ts';
import { checkEnforceable, warnOfAnonymousClients } from './enforceable-approvals.ts';
import type { Fleet } from './fleets/fleet.ts';
import { readFleet } from './fleets/read-fleet.ts';
import { withFlowParameters } from './flow-parameters.ts';
import type { Flow } from './flows/flow.ts';
import { readFlow } from './flows/read-flow.ts';
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
  /** Folders of files of fleets and of flows. */
  readonly fleets?: string | undefined;
  readonly flows?: string | undefined;
  /** Further files and folders. Any kind of resource may be in any of them. */
  readonly files?: readonly string[] | undefined;
  readonly env: Environment;
  /** Collects what must never be shown (A9). */
  readonly secrets: SecretValues;
  /** Files are judged here and used elsewhere: variables that are not set, and agents, fleets and flows of which none was given, are warnings. */
  readonly isLenient?: boolean | undefined;
  /** See `SchemaReader.unsafeUrls`. @default 'error' */
  readonly unsafeUrls?: Problem['severity'] | undefined;
  readonly defaultAgent?: string | undefined;
  readonly platforms?: Platforms | undefined;
  /** What the gateway has for agents with models; as far as it is not known, nothing is said of it. */
  readonly given?: GivenToAgents | undefined;
  /** True if the gateway has an API key; undefined if the files are only validated. */
  readonly hasKey?: boolean | undefined;
  /** Where the gateway listens; without it nothing is said of loopback. */
  readonly listen?: ListenAddress | undefined;
}

export interface LoadedResources {
  /** In the order of their files. */
  readonly triggers: readonly Trigger[];
  readonly agents: readonly Agent[];
  readonly fleets: readonly Fleet[];
  readonly flows: readonly Flow[];
  /** Errors and warnings, file by file. */
  readonly problems: readonly Problem[];
  /** Credentials to redact in all output once the resources are in use (A9). */
  readonly secrets: readonly string[];
  /** By file, of each of its documents, as config-hash.ts has them. */
  readonly prints?: ReadonlyMap<string, readonly string[]> | undefined;
}

const MAX_DOCUMENTS = 1000;
const MAX_RESOURCES = 5000;
const NAMESPACE = 'metadata.namespace';
const anyKind = 'a Trigger, an Agent, a Fleet or a Flow';

/** Never rejects for what is in the files. */
export async function loadResources(options: LoadResourcesOptions): Promise<LoadedResources> {
  const { triggers, agents, fleets, flows, files = [], defaultAgent, isLenient = false } = options;
  const context: ResourceContext = {
    platforms: options.platforms ?? {},
    listen: options.listen,
    defaultAgent,
  };
  const places = [triggers, agents, fleets, flows, ...files].filter((place) => place !== undefined);
  const found = await resourceFiles(places);
  const problems: Problem[] = [...found.problems];
  const resources: ReadResource[] = [];
  const prints = new Map<string, readonly string[]>();
  for (const file of found.files) {
    const read = await readFile(file, options, context);
    problems.push(...read.problems);
    resources.push(...read.resources);
    prints.set(file, read.digests);
    if (resources.length > MAX_RESOURCES) {
      problems.push(new SourceFile(file, '').problem(0, `more than ${MAX_RESOURCES} resources`));
      break;
    }
  }
  const isPartial = isLenient && agents === undefined;
  crossCheck(resources, { defaultAgent, isPartial, servers: options.given?.servers });
  const flowsByName = new Map(
    resources.flatMap(({ flow }) => (flow === undefined ? [] : [[flow.name, flow]])),
  );
  const triggersRead = new Map(resources.map((each) => [each, withFlowParameters(each, flowsByName)]));
  const all = resources.flatMap((each) => [each, ...(each.inline ?? [])]);
  checkApprovers(all);
  checkEnforceable(resources);
  if (options.hasKey === false) warnOfAnonymousClients(resources);
  checkModels(all, { ...options.given, env: options.env, isLenient });
  problems.push(...all.flatMap(({ reader }) => reader.problems));
  const good = resources.filter(({ reader, inline = [] }) =>
    [reader, ...inline.map((each) => each.reader)].every((each) => !hasError(each.problems)),
  );
  return {
    triggers: good.flatMap((each) => triggersRead.get(each) ?? []),
    agents: good.flatMap(({ agent }) => agent ?? []),
    fleets: good.flatMap(({ fleet }) => fleet ?? []),
    flows: good.flatMap(({ flow }) => flow ?? []),
    problems: inOrder(withoutValues(problems, options.secrets)),
    secrets: options.secrets.list(),
    prints,
  };
}

async function readFile(
  file: string,
  options: LoadResourcesOptions,
  context: ResourceContext,
): Promise<{
  readonly resources: ReadResource[];
  readonly problems: Problem[];
  readonly digests: readonly string[];
}> {
  const source = await readSourceFile(file);
  if (!(source instanceof SourceFile))
    return { resources: [], problems: [new SourceFile(file, '').problem(0, source.reason)], digests: [] };
  const { documents, problems } = parseYamlDocuments(source, MAX_DOCUMENTS);
  const resources: ReadResource[] = [];
  const digests: string[] = [];
  for (const { root, isBroken } of documents) {
    // What a broken syntax makes of the rest would only mislead.
    if (root === undefined || isEmpty(root) || isBroken) continue;
    const reader = new SchemaReader(source, options.env, options.secrets);
    if (options.isLenient === true) reader.unsetVariables = 'warning';
    reader.unsafeUrls = options.unsafeUrls ?? 'error';
    resources.push(await readResource(reader, root, file, context));
    digests.push(treeDigest(root, options.secrets.isPlace));
    if (reader.has(NAMESPACE))
      reader.reportKey(NAMESPACE, 'has no effect: a gateway has one for all its resources', 'warning');
  }
  // A key that is there twice, say, belongs to no field, and yet what was read is not what was meant.
  const isWhole = !hasError(problems);
  if (problems.length === 0 && resources.length === 0)
    problems.push(source.problem(0, `the file is empty; expected ${anyKind}`, 'warning'));
  const asFound = resources.map((each) =>
    isWhole ? each : { ...each, trigger: undefined, agent: undefined, fleet: undefined, flow: undefined },
  );
  return { resources: asFound, problems, digests };
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
): Promise<ReadResource> {
  const kindTree = memberOf(root, 'kind');
  const kind = textOf(kindTree);
  switch (kindMeant(kind ?? '')) {
    case 'Trigger':
      return readTrigger(reader, root, file, context);
    case 'Agent':
      return readAgent(reader, root, file);
    case 'Fleet':
      return { kind: 'Fleet', name: nameIn(root), reader, ...(await readFleet(reader, root, file)) };
    case 'Flow':
      return { kind: 'Flow', name: nameIn(root), reader, ...(await readFlow(reader, root, file)) };
    default:
  }
  const offset = kindTree?.offset ?? root.offset;
  reader.place('kind', offset, offset);
  reader.report('kind', kindFault(root, kind));
  return { kind: undefined, name: undefined, reader };
}

const nameIn = (root: YamlTree) => textOf(memberOf(memberOf(root, 'metadata'), 'name'));

function kindFault(root: YamlTree, kind: string | undefined): string {
  if (root.kind !== 'map') return 'expected a resource: a mapping with apiVersion, kind, metadata and spec';
  if (kind === undefined) return `required, but missing; ${missingKindAdvice(root)}`;
  if (kind === 'Daemon')
    return `is a gateway's own file, which --config FILE --check checks; expected ${resourceKinds.join(', ')}`;
  const near = suggest(kind, resourceKinds);
  return near === undefined
    ? `there is no kind of that name; expected ${resourceKinds.join(', ')}`
    : `there is no kind of that name; did you mean ${near}?`;
}

/** Others write an agent without a head, or several in one mapping. */
function missingKindAdvice(root: YamlTree): string {
  const head = 'apiVersion: example.com/v1, kind: Agent, metadata: { name: NAME }, and under spec';
  if (memberOf(root, 'spec') !== undefined) return `expected ${resourceKinds.join(', ')}`;
  if (memberOf(root, 'model') !== undefined) return `an agent is written as ${head} what stands here`;
  if (memberOf(root, 'agents') !== undefined)
    return `agents are documents of their own, each written as ${head} what stands here under its name`;
  return `expected ${resourceKinds.join(', ')}`;
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
