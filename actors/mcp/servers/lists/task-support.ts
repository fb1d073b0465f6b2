// Reads and removes `execution.taskSupport` of listed tools (2025-11-25, "Tasks"). Clients that cannot access a server's tasks
// receive tools without it, because the gateway does not declare the capability to them.

import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import { JsonScanner } from '../../jsonrpc/json-scanner.ts';
import { changeMembers, memberOf, membersOf } from '../../jsonrpc/members.ts';
import { whole } from '../../jsonrpc/span.ts';
import type { ServerDescription } from '../cache/server-description.ts';
import { itemJson, type ListItem, readItem } from './lists.ts';

const MEMBER = 'taskSupport';

/** Returns the names of tools that require a task; duplicate names are ignored. */
export function taskToolsIn(tools: readonly ListItem[]): ReadonlySet<string> {
  const support = new Map<string, unknown>();
  for (const tool of tools) if (!support.has(tool.key)) support.set(tool.key, taskSupportOf(tool));
  return new Set([...support].filter(([, value]) => value === 'required').map(([key]) => key));
}

/** Returns true if the server declares task calls of tools. */
export function takesTaskCalls(description: ServerDescription | undefined): boolean {
  const { tasks } = (description?.capabilities ?? {}) as {
    tasks?: { requests?: { tools?: { call?: unknown } } };
  };
  return tasks?.requests?.tools?.call !== undefined;
}

/** Returns the tool without `execution.taskSupport`; the same object if the member is absent. */
export function withoutTaskSupport(tool: ListItem): ListItem {
  if (!mayHaveIt(tool)) return tool;
  const bytes = Buffer.from(itemJson(tool), 'utf8');
  const all = { start: 0, end: bytes.length };
  const execution = memberOf(bytes, all, 'execution');
  const members = membersOf(bytes, execution);
  if (execution === undefined || !members.some(({ key }) => key === MEMBER)) return tool;
  const edits = members.every(({ key }) => key === MEMBER)
    ? changeMembers(bytes, all, { execution: undefined })
    : changeMembers(bytes, execution, { [MEMBER]: undefined });
  return readItem(new JsonScanner(whole(applyEdits(bytes, edits))), 'tools') ?? tool;
}

function taskSupportOf(tool: ListItem): unknown {
  if (!mayHaveIt(tool)) return undefined;
  const { execution } = JSON.parse(itemJson(tool)) as { execution?: { taskSupport?: unknown } | null };
  return execution?.taskSupport;
}

/** Avoids parsing most tools. Keys may contain escapes. */
function mayHaveIt({ before, after }: ListItem): boolean {
  return [before, after].some((text) => text.includes(MEMBER) || text.includes('\\u'));
}
