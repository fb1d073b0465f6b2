// Parameters of commands that run a flow (a graph of steps). A command may declare its own parameters; a
// command without parameters gets the parameters of its flow. Menus of platforms and help texts show them.

import { contentHash } from '../content-hash.ts';
import { joinPath } from '../reader/field-path.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import type { Flow } from './flows/flow.ts';
import type { ReadResource } from './resource-context.ts';
import type { Binding } from './triggers/binding.ts';
import type { Trigger } from './triggers/trigger.ts';

/**
 * Returns the trigger with the flows' parameters for its commands. Reports own parameters of a command that
 * lack a required parameter of the flow, or that the flow does not have.
 */
export function withFlowParameters(
  { trigger, reader }: ReadResource,
  flows: ReadonlyMap<string, Flow>,
): Trigger | undefined {
  if (trigger === undefined) return undefined;
  const commands = trigger.commands.map((binding) => {
    const flow = binding.target.kind === 'flow' ? flows.get(binding.target.name) : undefined;
    if (flow === undefined) return binding;
    if (binding.parameters.length === 0) return { ...binding, parameters: flow.parameters };
    checkBinding(reader, binding, flow);
    return binding;
  });
  // Without changes the trigger keeps its hash, so that a reload does not restart it.
  if (commands.every((binding, index) => binding === trigger.commands[index])) return trigger;
  const parameters = commands.map((binding) => binding.parameters);
  return { ...trigger, commands, hash: contentHash({ trigger: trigger.hash, parameters }) };
}

function checkBinding(reader: SchemaReader, { command, parameters }: Binding, flow: Flow): void {
  const names = parameters.map(({ name }) => name);
  const missing = flow.parameters.find(({ name, required }) => required && !names.includes(name));
  // The key in `spec.commands` may have a slash, which `command` lacks.
  const path = [`/${command}`, command]
    .map((key) => joinPath(joinPath('spec.commands', key), 'parameters'))
    .find((each) => reader.has(each));
  if (path === undefined) return;
  if (missing !== undefined) reader.report(path, `flow ${flow.name} requires ${missing.name}; add it`);
  const declaredNames = flow.parameters.map(({ name }) => name);
  const unknown = names.find((name) => !declaredNames.includes(name));
  if (unknown !== undefined)
    reader.report(path, `flow ${flow.name} has no parameter ${unknown}; it is ignored`, 'warning');
}
