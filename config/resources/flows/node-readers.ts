// Reads the `config` of a flow's nodes, by node type: compiles its texts, and checks rules that the schemas
// (node-schemas.ts) cannot express.

import type { Template, ValueTemplate } from '../../expressions/template.ts';
import { joinPath } from '../../reader/field-path.ts';
import { memberOf } from '../../reader/yaml-members.ts';
import type { NodeType, NodeWork } from './flow.ts';
import { whileVariables } from './flow-names.ts';
import { readHttpNode } from './http-node-reader.ts';
import type { NodeToRead } from './node-to-read.ts';

/** Returns the work of a node; undefined if the config has errors, which are reported. */
type Read = (node: NodeToRead) => NodeWork | undefined;

const pathIn = ({ path }: NodeToRead, key: string) => joinPath(path, key);

const textField = ({ config }: NodeToRead, key: string) => config[key] as string | undefined;

/** Compiles a text field; undefined without the field, or if it has an error, which is reported. */
const template = (node: NodeToRead, key: string): Template | undefined =>
  node.compiler.template(textField(node, key), pathIn(node, key), node.id);

/** Compiles a field with any value; undefined like `template`. */
const value = (node: NodeToRead, key: string): ValueTemplate | undefined =>
  node.compiler.value(memberOf(node.tree, key), pathIn(node, key), node.id);

/** Returns the template of the input; by default the input of the flow. */
const inputOf = (node: NodeToRead): Template | undefined =>
  node.compiler.template(textField(node, 'input') ?? '{{ input }}', pathIn(node, 'input'), node.id);

/** Returns the name of the agent or fleet, or the one defined in the node's `spec`. */
function targetOf<T>(node: NodeToRead, key: 'agent' | 'fleet', inlineTargets: ReadonlyMap<string, T>) {
  const name = textField(node, key);
  const isNamed = node.reader.has(pathIn(node, key));
  const isInline = memberOf(node.tree, 'spec') !== undefined;
  if (isNamed && isInline)
    node.reader.reportKey(pathIn(node, key), `contradicts spec, which has ${anOf[key]} inline`);
  if (!isNamed && !isInline)
    node.reader.report(node.path, `needs ${key}: NAME, or spec with ${anOf[key]} inline`);
  return isInline ? inlineTargets.get(node.path) : name;
}

const anOf = { agent: 'an agent', fleet: 'a fleet' } as const;

/** Returns the reader of a node type whose work has no members. A Join's `strategy` belongs to the node. */
const emptyNode =
  (type: 'Conditional' | 'Parallel' | 'Join'): Read =>
  () => ({ type });

export const nodeReaders: Readonly<Record<NodeType, Read>> = {
  Agent: (node) => {
    const agent = targetOf(node, 'agent', node.inline.agents);
    const input = inputOf(node);
    return agent !== undefined && input !== undefined ? { type: 'Agent', agent, input } : undefined;
  },
  Fleet: (node) => {
    const fleet = targetOf(node, 'fleet', node.inline.fleets);
    const input = inputOf(node);
    return fleet !== undefined && input !== undefined ? { type: 'Fleet', fleet, input } : undefined;
  },
  Tool: (node) => {
    const [server, tool] = [textField(node, 'server'), textField(node, 'tool')];
    const hasArguments =
      node.reader.has(pathIn(node, 'arguments')) || memberOf(node.tree, 'arguments') !== undefined;
    const args = hasArguments ? value(node, 'arguments') : ({ kind: 'map', members: {} } as const);
    if (args !== undefined && args.kind !== 'map')
      node.reader.report(pathIn(node, 'arguments'), 'should be a mapping');
    if (server === undefined || tool === undefined || args?.kind !== 'map') return undefined;
    return {
      type: 'Tool',
      server,
      tool,
      arguments: args,
      timeout_seconds: node.config.timeout_seconds as number,
      interrupted_calls: node.config.interrupted_calls as 'fail' | 'repeat',
    };
  },
  HTTP: readHttpNode,
  Approval: (node) => {
    const { config } = node;
    const message = template(node, 'message');
    const approvers = ((config.approvers ?? []) as readonly (string | undefined)[]).filter(
      (each) => each !== undefined,
    );
    const channel = textField(node, 'approval_channel');
    if (message === undefined) return undefined;
    const rules = {
      approvers,
      approval_channel: channel,
      approval_timeout_seconds: config.timeout_seconds as number,
      self_approval: config.self_approval === true,
    };
    return { type: 'Approval', message, rules };
  },
  Response: (node) => {
    const text = template(node, 'text');
    const channel = template(node, 'channel');
    const isChannelValid = channel !== undefined || textField(node, 'channel') === undefined;
    return text !== undefined && isChannelValid ? { type: 'Response', text, channel } : undefined;
  },
  Conditional: emptyNode('Conditional'),
  Parallel: emptyNode('Parallel'),
  Join: emptyNode('Join'),
  Wait: (node) => {
    const keys = (['seconds', 'until'] as const).filter((key) => node.reader.has(pathIn(node, key)));
    const [key] = keys;
    if (keys.length !== 1 || key === undefined) {
      node.reader.report(node.path, 'needs either seconds or until');
      return undefined;
    }
    const end = value(node, key);
    return end && { type: 'Wait', for: key, value: end };
  },
  Transform: (node) => {
    const set = value(node, 'set');
    // The compiler has reported the error in `set`.
    if (set === undefined && memberOf(node.tree, 'set') !== undefined) return undefined;
    if (set?.kind === 'map') return { type: 'Transform', set: set.members };
    node.reader.report(pathIn(node, 'set'), 'should be a mapping of names to values');
    return undefined;
  },
  Loop: (node) => {
    const { compiler, config, reader, id } = node;
    const over = compiler.expression(textField(node, 'over'), pathIn(node, 'over'), {
      node: id,
      types: ['list'],
    });
    const condition = compiler.expression(textField(node, 'while'), pathIn(node, 'while'), {
      node: id,
      types: ['bool'],
      also: whileVariables,
    });
    const count = ['over', 'while'].filter((key) => reader.has(pathIn(node, key))).length;
    if (count !== 1) reader.report(node.path, 'needs either over or while');
    const body = node.body();
    if (body === undefined || (over === undefined && condition === undefined)) return undefined;
    return { type: 'Loop', over, while: condition, max: config.max as number, body };
  },
  End: (node) => {
    const output = value(node, 'output');
    // The compiler has reported the error in `output`.
    if (output === undefined && memberOf(node.tree, 'output') !== undefined) return undefined;
    return { type: 'End', status: node.config.status as 'done' | 'failed', output };
  },
};
