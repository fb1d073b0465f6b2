// Reads a trigger's bindings: each command in `spec.commands` with its target (agent, fleet or flow).

import { joinPath } from '../../reader/field-path.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { Binding, Parameter } from './binding.ts';
import { readApproval } from './binding-approval.ts';
import type { WrittenBinding, WrittenParameter } from './binding-schema.ts';
import { type Target, targetKinds } from './target.ts';
import type { TriggerType } from './trigger-type.ts';

const commandsPath = 'spec.commands';

/** Agent, fleet or flow that a trigger names, with the path of the name in the file. */
export interface TargetReference {
  readonly target: Target;
  readonly path: string;
}

/** Returns the valid commands and reports problems. `approvers` are the trigger's approvers. */
export function readBindings(
  reader: SchemaReader,
  written: Readonly<Record<string, WrittenBinding>>,
  type: TriggerType,
  approvers: readonly string[],
): { readonly bindings: readonly Binding[]; readonly references: readonly TargetReference[] } {
  /** Keys in the file by normalised command, to detect two notations of a command. */
  const earlier = new Map<string, string>();
  const bindings: Binding[] = [];
  const references: TargetReference[] = [];
  for (const [key, binding] of Object.entries(written)) {
    const path = joinPath(commandsPath, key);
    // For types whose keys are names of events, the slash distinguishes a command in a comment, and is kept.
    const isWholeKey = !key.startsWith('/') || type.hasEventNames === true;
    const command = isWholeKey ? key : key.slice(1);
    const plainCommand = type.plainCommand?.(command) ?? command;
    const earlierKey = earlier.get(plainCommand);
    if (earlierKey !== undefined) reader.reportKey(path, `is the same command as ${earlierKey}`);
    earlier.set(plainCommand, key);
    const fault = type.commandFault?.(key);
    if (fault !== undefined) reader.reportKey(path, fault);
    checkTarget(reader, path);
    checkMenu(reader, binding, path, earlier.size, type);
    const parameters = readParameters(reader, binding, path);
    const approval = readApproval(reader, binding, path, approvers);
    const { description } = binding;
    const [target] = targetsOf(binding);
    if (target === undefined) continue;
    bindings.push({ command, target, description, parameters, ...(approval && { approval }) });
    references.push({ target, path: joinPath(path, target.kind) });
  }
  return { bindings, references };
}

/** Reports a command that does not fit the platform's menu. `count` includes this command. */
function checkMenu(
  reader: SchemaReader,
  { description = '' }: WrittenBinding,
  path: string,
  count: number,
  { menu }: TriggerType,
): void {
  if (menu === undefined) return;
  const { maxCommands, maxDescription } = menu;
  if (description.length > maxDescription)
    reader.report(
      joinPath(path, 'description'),
      `has ${description.length} characters; the platform's menu allows ${maxDescription}`,
    );
  if (count === maxCommands + 1)
    reader.reportKey(path, `exceeds the platform's menu, which allows ${maxCommands} commands`);
}

function targetsOf(binding: WrittenBinding): readonly Target[] {
  return targetKinds.flatMap((kind) => {
    const name = binding[kind];
    return name === undefined ? [] : [{ kind, name }];
  });
}

/** Reports a command without a target, or with several. */
function checkTarget(reader: SchemaReader, path: string): void {
  const targets = targetKinds.filter((key) => reader.has(joinPath(path, key)));
  if (targets.length === 0) reader.reportKey(path, 'has no target: set an agent, a fleet or a flow');
  if (targets.length > 1)
    reader.reportKey(
      path,
      `has several targets: ${targets.join(' and ')}; only one of agent, fleet and flow is allowed`,
    );
}

function readParameters(
  reader: SchemaReader,
  { parameters = [] }: WrittenBinding,
  path: string,
): readonly Parameter[] {
  const names = new Set<string>();
  const list = joinPath(path, 'parameters');
  return parameters.flatMap((parameter: WrittenParameter | undefined, index) => {
    if (parameter === undefined) return [];
    const { name = '', required = false, description, default: byDefault } = parameter;
    const parameterPath = joinPath(list, index);
    if (names.has(name)) reader.report(joinPath(parameterPath, 'name'), `is a duplicate: ${name}`);
    if (name !== '') names.add(name);
    if (required && byDefault !== undefined)
      reader.report(joinPath(parameterPath, 'required'), 'has no effect together with default', 'warning');
    return [{ name, required, description, default: byDefault }];
  });
}
