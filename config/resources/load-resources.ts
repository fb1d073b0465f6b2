// Loads triggers, agents, fleets and flows: parses the files, substitutes variables, validates, applies
// defaults, and checks the resources against each other. Problems are returned with positions; file contents
// never cause an exception. Resources with errors are omitted; the caller decides whether to use the valid
// resources. The result is deterministic: resources are sorted by file name.

import { clientKeys } from '../catalog/dialects/dialect.ts';
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
import { type AgentContext, checkModels } from './agents/model-checks.ts';
import { readAgent } from './agents/read-agent.ts';
import { resolveKind, resourceKinds } from './aliases.ts';
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
  /** Folder with trigger files. */
  readonly triggers?: string | undefined;
  /** Folder with agent files. */
  readonly agents?: string | undefined;
  /** Folder with fleet files. */
  readonly fleets?: string | undefined;
  /** Folder with flow files. */
  readonly flows?: string | undefined;
  /** Further files and folders. Each may contain all kinds of resources. */
  readonly files?: readonly string[] | undefined;
  readonly env: Environment;
  /** Collects values that must never be shown (A9, ARCHITECTURE.md). */
  readonly secrets: SecretValues;
  /**
   * True if the files are for a different machine. Then unset variables, and unknown targets of a kind that
   * was not loaded, are warnings.
   */
  readonly isLenient?: boolean | undefined;
  /** Severity of unsafe URLs in flows. With `warning`, only the node with the URL fails. @default 'error' */
  readonly unsafeUrls?: Problem['severity'] | undefined;
  /** Default agent in the gateway file (gateway.yaml), for triggers that name none. */
  readonly defaultAgent?: string | undefined;
  /** Platform settings in the gateway file: defaults for the triggers of a platform. */
  readonly platforms?: Platforms | undefined;
  /** Model providers, prices and tool servers that agents may name. Undefined members are not checked. */
  readonly agentContext?: AgentContext | undefined;
  /** True if the gateway has an API key; undefined during validation only. */
  readonly hasKey?: boolean | undefined;
  /**
   * Listen address of the gateway. Some triggers are allowed on loopback only; without the address, this is
   * not checked.
   */
  readonly listen?: ListenAddress | undefined;
}

export interface LoadedResources {
  /** Valid triggers, in file order. */
  readonly triggers: readonly Trigger[];
  readonly agents: readonly Agent[];
  readonly fleets: readonly Fleet[];
  readonly flows: readonly Flow[];
  /** Errors and warnings, in file order. */
  readonly problems: readonly Problem[];
  /** Credentials to redact in all output once the resources are in use (A9). */
  readonly secrets: readonly string[];
  /** Digests of the documents, by file; see config-hash.ts. */
  readonly digests?: ReadonlyMap<string, readonly string[]> | undefined;
}

/** Maximum documents per file. */
const MAX_DOCUMENTS = 1000;
const MAX_RESOURCES = 5000;
const NAMESPACE = 'metadata.namespace';
const anyKind = 'a Trigger, an Agent, a Fleet or a Flow';

/** Loads the resources. Never rejects because of file contents. */
export async function loadResources(options: LoadResourcesOptions): Promise<LoadedResources> {
  const { triggers, agents, fleets, flows, files = [], defaultAgent, isLenient = false } = options;
  const context: ResourceContext = {
    platforms: options.platforms ?? {},
    listen: options.listen,
    defaultAgent,
  };
  const paths = [triggers, agents, fleets, flows, ...files].filter((path) => path !== undefined);
  const found = await resourceFiles(paths);
  const problems: Problem[] = [...found.problems];
  const resources: ReadResource[] = [];
  const digests = new Map<string, readonly string[]>();
  for (const file of found.files) {
    const read = await readFile(file, options, context);
    problems.push(...read.problems);
    resources.push(...read.resources);
    digests.set(file, read.digests);
    if (resources.length > MAX_RESOURCES) {
      problems.push(new SourceFile(file, '').problem(0, `more than ${MAX_RESOURCES} resources`));
      break;
    }
  }
  // Files for a different machine may refer to agents, fleets and flows that exist only there.
  const isPartial = isLenient && agents === undefined;
  crossCheck(resources, { defaultAgent, isPartial, servers: options.agentContext?.servers });
  const flowsByName = new Map(
    resources.flatMap(({ flow }) => (flow === undefined ? [] : [[flow.name, flow]])),
  );
  const triggersRead = new Map(resources.map((each) => [each, withFlowParameters(each, flowsByName)]));
  const all = resources.flatMap((each) => [each, ...(each.inline ?? [])]);
  checkApprovers(all);
  checkEnforceable(resources);
  if (options.hasKey === false) warnOfAnonymousClients(resources);
  checkModels(all, { ...options.agentContext, env: options.env, isLenient });
  problems.push(...all.flatMap(({ reader }) => reader.problems));
  const validResources = resources.filter(({ reader, inline = [] }) =>
    [reader, ...inline.map((each) => each.reader)].every((each) => !hasError(each.problems)),
  );
  return {
    triggers: validResources.flatMap((each) => triggersRead.get(each) ?? []),
    agents: validResources.flatMap(({ agent }) => agent ?? []),
    fleets: validResources.flatMap(({ fleet }) => fleet ?? []),
    flows: validResources.flatMap(({ flow }) => flow ?? []),
    problems: sortByPosition(redactValues(problems, options.secrets)),
    secrets: options.secrets.list(),
    digests,
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
    // With broken syntax, further problems would be misleading.
    if (root === undefined || isEmpty(root) || isBroken) continue;
    const reader = new SchemaReader(source, options.env, options.secrets);
    if (options.isLenient === true) reader.unsetVariables = 'warning';
    reader.unsafeUrls = options.unsafeUrls ?? 'error';
    resources.push(await readResource(reader, root, file, context));
    digests.push(treeDigest(root, options.secrets.isSecretScalar));
    if (reader.has(NAMESPACE))
      reader.reportKey(NAMESPACE, 'has no effect: a gateway has a single namespace', 'warning');
  }
  // A syntax problem such as a duplicate key belongs to no field, but invalidates the whole file.
  const isFileInvalid = hasError(problems);
  if (problems.length === 0 && resources.length === 0)
    problems.push(source.problem(0, `the file is empty; expected ${anyKind}`, 'warning'));
  const usableResources = resources.map((each) =>
    isFileInvalid
      ? { ...each, trigger: undefined, agent: undefined, fleet: undefined, flow: undefined }
      : each,
  );
  return { resources: usableResources, problems, digests };
}

/** Returns true for an empty document, for example between two lines `---`. */
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
  switch (resolveKind(kind ?? '')) {
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
  reader.recordPosition('kind', offset, offset);
  reader.report('kind', kindFault(root, kind));
  return { kind: undefined, name: undefined, reader };
}

const nameIn = (root: YamlTree) => textOf(memberOf(memberOf(root, 'metadata'), 'name'));

function kindFault(root: YamlTree, kind: string | undefined): string {
  if (root.kind !== 'map') return 'expected a resource: a mapping with apiVersion, kind, metadata and spec';
  if (kind === undefined) return `required, but missing; ${missingKindAdvice(root)}`;
  if (kind === 'Daemon')
    return `is a gateway file, checked with --config FILE --check; expected ${resourceKinds.join(', ')}`;
  const near = suggest(kind, resourceKinds);
  return near === undefined
    ? `unknown kind; expected ${resourceKinds.join(', ')}`
    : `unknown kind; did you mean ${near}?`;
}

/** Keys that identify a catalog (file of tool servers). */
const catalogKeys = ['servers', ...clientKeys];
/** Keys that identify a gateway file (gateway.yaml). */
const gatewayKeys = ['listen_addr', 'catalog_path', 'http_port', 'platforms', 'providers'];

/**
 * Returns the advice for a document without `kind`. It may be a catalog or a gateway file, an agent in the
 * format of another program without a header, or a mapping of several agents.
 */
function missingKindAdvice(root: YamlTree): string {
  const hasAny = (keys: readonly string[]) => keys.some((key) => memberOf(root, key) !== undefined);
  if (hasAny(catalogKeys)) return 'this is a catalog, checked with --catalog FILE --check';
  if (hasAny(gatewayKeys)) return 'this is a gateway file, checked with --config FILE --check';
  const header = 'apiVersion: example.com/v1, kind: Agent, metadata: { name: NAME }, and under spec';
  if (memberOf(root, 'spec') !== undefined) return `expected ${resourceKinds.join(', ')}`;
  if (memberOf(root, 'model') !== undefined)
    return `write an agent as ${header} the content of this document`;
  if (memberOf(root, 'agents') !== undefined)
    return `write each agent as a separate document: ${header} the content below its name`;
  return `expected ${resourceKinds.join(', ')}`;
}

/** Masks secrets in messages: a name in a message may be the value of a variable (A9). */
function redactValues(problems: readonly Problem[], secrets: SecretValues): readonly Problem[] {
  const values = secrets.list();
  return problems.map((problem) => {
    const message = values.reduce((text, value) => text.replaceAll(value, '***'), problem.message);
    return message === problem.message ? problem : { ...problem, message };
  });
}

/** Sorts by line and column. The files keep the order in which they first occur. */
function sortByPosition(problems: readonly Problem[]): Problem[] {
  const files = [...new Set(problems.map(({ file }) => file))];
  const ranks = new Map(files.map((file, index) => [file, index]));
  return [...problems].sort(
    (a, b) => (ranks.get(a.file) ?? 0) - (ranks.get(b.file) ?? 0) || a.line - b.line || a.column - b.column,
  );
}
