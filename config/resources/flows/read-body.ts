// Reads the body of a flow or loop, its nodes and connections: validates each node by its type, compiles
// expressions, and checks nodes and connections against each other.

import type * as Type from 'typebox';
import { joinPath } from '../../reader/field-path.ts';
import { fillDefaults, type Written } from '../../reader/fill-defaults.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, withoutMembers } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { Compiler } from './compiler.ts';
import type { FlowBody, FlowConnection, FlowNode, NodeType, When } from './flow.ts';
import { MAX_CONNECTIONS, MAX_DEPTH, MAX_NODES } from './flow-bounds.ts';
import { checkGraph } from './flow-graph.ts';
import { checkNames, flowVariables, loopVariables } from './flow-names.ts';
import { connectionSchema, nodeSchema } from './flow-schema.ts';
import type { InlineHandlers } from './inline-handlers.ts';
import { nodeAdvice } from './node-advice.ts';
import { resolveNodeType } from './node-aliases.ts';
import { nodeReaders } from './node-readers.ts';
import { nodeSchemas, untypedMembers } from './node-schemas.ts';

export interface BodyToRead {
  readonly reader: SchemaReader;
  /** Mapping with `nodes` and `connections`. */
  readonly tree: YamlTree | undefined;
  readonly path: string;
  /** Names of the flow's parameters. */
  readonly parameters: readonly string[];
  /** Agents and fleets that the flow defines itself. */
  readonly inline: InlineHandlers;
  /** For a loop: the nodes before it, and the nesting depth. */
  readonly loop?: { readonly before: ReadonlySet<string>; readonly depth: number } | undefined;
}

type WrittenNode = Written<Type.Static<typeof nodeSchema>>;
type WrittenConnection = Partial<Type.Static<typeof connectionSchema>>;

/** Node before its `config` is read, with the members that all types of nodes have. */
interface NodeHead {
  readonly id: string;
  readonly on_error: string | undefined;
  readonly type: NodeType | undefined;
  readonly path: string;
  readonly tree: YamlTree;
  readonly written: WrittenNode;
}

/** Returns the body of the flow or loop; undefined if it has errors, which are reported. */
export function readBody(body: BodyToRead): FlowBody | undefined {
  const { reader, path, loop, parameters } = body;
  const problemsBefore = reader.problems.length;
  const heads = readHeads(body);
  const connections = readConnections(body);
  const graph = checkGraph(reader, path, heads, connections);
  checkIsolated(reader, path, heads, connections);
  const compiler = new Compiler(reader, loop === undefined ? flowVariables : loopVariables);
  // In a loop, the nodes before the loop are available too.
  const outer = loop?.before ?? new Set<string>();
  const nodes = heads.flatMap((head) => {
    if (head?.type === undefined) return [];
    const read = readNode(body, head, compiler, new Set([...outer, ...graph.before(head.id)]));
    return read === undefined ? [] : [read];
  });
  const validConnections = connections.flatMap((connection, index) => {
    const from = heads.find((head) => head?.id === connection?.from);
    const conditionPath = joinPath(joinPath(joinPath(path, 'connections'), index), 'when');
    return connection === undefined
      ? []
      : (compileConnection(reader, compiler, connection, from, conditionPath) ?? []);
  });
  checkElse(reader, path, connections);
  const ids = heads.flatMap((head) => head?.id ?? []);
  checkNames(reader, compiler.uses, {
    parameters,
    nodes: [...new Set([...ids, ...outer])],
    before: (id) => new Set([...outer, ...graph.before(id)]),
  });
  return reader.problems.slice(problemsBefore).some(({ severity }) => severity === 'error')
    ? undefined
    : { nodes, connections: validConnections };
}

function readHeads({ reader, tree, path }: BodyToRead): readonly (NodeHead | undefined)[] {
  const list = memberOf(tree, 'nodes');
  const listPath = joinPath(path, 'nodes');
  if (list !== undefined) reader.recordPosition(listPath, list.offset, list.offset);
  if (list?.kind !== 'list' || list.items.length === 0 || list.items.length > MAX_NODES) {
    reader.report(listPath, `should be a list of 1 to ${MAX_NODES} nodes`);
    return [];
  }
  return list.items.map((item, index) => readHead(reader, item, joinPath(listPath, index)));
}

/** Returns undefined for a node without a valid id, which is reported. */
function readHead(reader: SchemaReader, tree: YamlTree, path: string): NodeHead | undefined {
  reader.registerAdvice(path, nodeAdvice);
  const written = reader.read(nodeSchema, withoutMembers(tree, ['config']), path) as WrittenNode | undefined;
  const { id, type: word, on_error } = written ?? {};
  if (written === undefined || id === undefined) return undefined;
  const nodeType = word === undefined ? undefined : resolveNodeType(word);
  if (nodeType !== undefined && 'fault' in nodeType) reader.report(joinPath(path, 'type'), nodeType.fault);
  const type = nodeType !== undefined && 'type' in nodeType ? nodeType.type : undefined;
  if (type === 'End' && on_error !== undefined)
    reader.reportKey(joinPath(path, 'on_error'), 'has no effect at an End, which cannot fail', 'warning');
  return { id, on_error, type, path, tree, written };
}

function readConnections({ reader, tree, path }: BodyToRead): readonly (WrittenConnection | undefined)[] {
  const list = memberOf(tree, 'connections');
  if (list === undefined) return [];
  const listPath = joinPath(path, 'connections');
  reader.recordPosition(listPath, list.offset, list.offset);
  if (list.kind !== 'list' || list.items.length > MAX_CONNECTIONS) {
    reader.report(listPath, `should be a list of at most ${MAX_CONNECTIONS} connections`);
    return [];
  }
  return list.items.map(
    (item, index) =>
      reader.read(connectionSchema, item, joinPath(listPath, index)) as WrittenConnection | undefined,
  );
}

/** Reports nodes without connections, which were probably forgotten, and connections from an End. */
function checkIsolated(
  reader: SchemaReader,
  path: string,
  heads: readonly (NodeHead | undefined)[],
  connections: readonly (WrittenConnection | undefined)[],
): void {
  if (heads.length < 2) return;
  const connectedIds = new Set(connections.flatMap((each) => [each?.from, each?.to]));
  const errorTargets = new Set(heads.map((head) => head?.on_error));
  for (const head of heads)
    if (
      head !== undefined &&
      !connectedIds.has(head.id) &&
      !errorTargets.has(head.id) &&
      head.on_error === undefined
    )
      reader.report(joinPath(head.path, 'id'), `${head.id} has no connections`);
  for (const [index, connection] of connections.entries()) {
    const from = heads.find((head) => head?.id === connection?.from);
    if (from?.type === 'End')
      reader.report(
        joinPath(joinPath(joinPath(path, 'connections'), index), 'from'),
        `${from.id} is an End, which cannot lead to another node`,
      );
  }
}

function readNode(
  body: BodyToRead,
  { id, type, path: nodePath, tree, written }: NodeHead,
  compiler: Compiler,
  before: ReadonlySet<string>,
): FlowNode | undefined {
  if (type === undefined) return undefined;
  const { reader, parameters, inline, loop } = body;
  const path = joinPath(nodePath, 'config');
  const config = memberOf(tree, 'config') ?? { kind: 'map' as const, offset: tree.offset, pairs: [] };
  const untypedKeys = untypedMembers[type] ?? [];
  for (const key of untypedKeys) {
    const member = memberOf(config, key);
    if (member !== undefined) reader.recordPosition(joinPath(path, key), member.offset, member.offset);
  }
  const schema = nodeSchemas[type];
  // The schema lacks these members. They are registered, so that a misspelt key gets a suggestion.
  reader.registerAliases(path, untypedKeys);
  const validConfig = reader.read(schema, withoutMembers(config, untypedKeys), path);
  const depth = (loop?.depth ?? 0) + 1;
  const work = nodeReaders[type]({
    ...{ reader, compiler, inline, id, path, tree: config },
    config: fillDefaults(schema, (validConfig ?? {}) as never) as Readonly<Record<string, unknown>>,
    body: () => {
      if (depth > MAX_DEPTH) reader.report(path, `loops can be nested at most ${MAX_DEPTH} levels deep`);
      return readBody({ reader, tree: config, path, parameters, inline, loop: { before, depth } });
    },
  });
  if (work === undefined) return undefined;
  const { retry } = fillDefaults(nodeSchema, written as never);
  const strategy =
    type === 'Join'
      ? ((validConfig as { readonly strategy?: FlowNode['strategy'] })?.strategy ?? 'all')
      : 'all';
  return { id, description: written.description, work, retry, on_error: written.on_error, strategy };
}

const decisions = ['approved', 'denied', 'expired'] as const;
type Decision = (typeof decisions)[number];

const isDecision = (word: string): word is Decision => (decisions as readonly string[]).includes(word);

/** Returns the connection; undefined if it has errors. `node` is the node that the connection leaves. */
function compileConnection(
  reader: SchemaReader,
  compiler: Compiler,
  { from, to, when }: WrittenConnection,
  node: NodeHead | undefined,
  conditionPath: string,
): FlowConnection | undefined {
  if (from === undefined || to === undefined) return undefined;
  // A `when` that is in the file but undefined is invalid, and was reported.
  if (when === undefined)
    return reader.has(conditionPath) ? undefined : { from, to, when: { kind: 'always' } };
  if (when === 'else') return { from, to, when: { kind: 'else' } };
  if (isDecision(when)) {
    if (node?.type !== undefined && node.type !== 'Approval')
      reader.report(conditionPath, `${when} requires an Approval, and ${from} is not an Approval`);
    return { from, to, when: { kind: when } };
  }
  const expression = compiler.expression(when, conditionPath, {
    node: from,
    isAfterNode: true,
    types: ['bool'],
  });
  const read: When | undefined = expression && { kind: 'expression', expression };
  return read && { from, to, when: read };
}

/** Reports connections after an `else`, which must be a node's last connection. */
function checkElse(
  reader: SchemaReader,
  path: string,
  connections: readonly (WrittenConnection | undefined)[],
): void {
  const withElse = new Set<string>();
  for (const [index, connection] of connections.entries()) {
    const { from, when } = connection ?? {};
    if (from === undefined) continue;
    if (withElse.has(from))
      reader.report(
        joinPath(joinPath(path, 'connections'), index),
        `follows the else of ${from}, which must be the last connection`,
      );
    if (when === 'else') withElse.add(from);
  }
}
