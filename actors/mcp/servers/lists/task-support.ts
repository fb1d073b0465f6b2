// Reads and removes `execution.taskSupport` of listed tools (2025-11-25, "Tasks"). A client without access to
// the server's tasks receives tools without it, because the gateway does not declare the capability to that
// client.

import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import { JsonScanner } from '../../jsonrpc/json-scanner.ts';
import { changeMembers, memberOf, membersOf } from '../../jsonrpc/members.ts';
import { toBuffer } from '../../jsonrpc/span.ts';
import type { ServerDescription } from '../cache/introduction.ts';
import { itemJson, type ListItem, readItem } from './lists.ts';

const MEMBER = 'taskSupport';

/** Returns the names of tools that require a task. If several tools have the same name, the first counts. */
export function taskToolsIn(tools: readonly ListItem[]): ReadonlySet<string> {
  const support = new Map<string, unknown>();
  for (const tool of tools) if (!support.has(tool.key)) support.set(tool.key, taskSupportOf(tool));
  return new Set([...support].filter(([, value]) => value === 'required').map(([key]) => key));
}

/** Returns true if the server declares task calls of tools. */
export function supportsTaskCalls(description: ServerDescription | undefined): boolean {
  const { tasks } = (description?.capabilities ?? {}) as {
    tasks?: { requests?: { tools?: { call?: unknown } } };
  };
  return tasks?.requests?.tools?.call !== undefined;
}

/** Returns the tool without `execution.taskSupport`; the same object if the member is absent. */
export function withoutTaskSupport(tool: ListItem): ListItem {
  if (!mayHaveTaskSupport(tool)) return tool;
  const bytes = Buffer.from(itemJson(tool), 'utf8');
  const all = { start: 0, end: bytes.length };
  const execution = memberOf(bytes, all, 'execution');
  const members = membersOf(bytes, execution);
  if (execution === undefined || !members.some(({ key }) => key === MEMBER)) return tool;
  const edits = members.every(({ key }) => key === MEMBER)
    ? changeMembers(bytes, all, { execution: undefined })
    : changeMembers(bytes, execution, { [MEMBER]: undefined });
  return readItem(new JsonScanner(toBuffer(applyEdits(bytes, edits))), 'tools') ?? tool;
}

function taskSupportOf(tool: ListItem): unknown {
  if (!mayHaveTaskSupport(tool)) return undefined;
  const { execution } = JSON.parse(itemJson(tool)) as { execution?: { taskSupport?: unknown } | null };
  return execution?.taskSupport;
}

/**
 * Returns false for most tools, which then need no parsing. `before` and `after` are the JSON of the tool
 * around its name. The member name may contain escapes.
 */
function mayHaveTaskSupport({ before, after }: ListItem): boolean {
  return [before, after].some((text) => text.includes(MEMBER) || text.includes('\\u'));
}
