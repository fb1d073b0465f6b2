// `execution.taskSupport` of a listed tool (2025-11-25, "Tasks"): whether it is called as a task. Clients that cannot use the
// tasks of a server get the tool without it, since it refers to a capability that they were not offered.

import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import { JsonScanner } from '../../jsonrpc/json-scanner.ts';
import { changeMembers, memberOf, membersOf } from '../../jsonrpc/members.ts';
import { whole } from '../../jsonrpc/span.ts';
import type { ServerDescription } from '../cache/server-description.ts';
import { itemJson, type ListItem, readItem } from './lists.ts';

const MEMBER = 'taskSupport';

/** Names of the tools that can be called as a task only; of several with one name the first counts. */
export function taskToolsIn(tools: readonly ListItem[]): ReadonlySet<string> {
  const support = new Map<string, unknown>();
  for (const tool of tools) if (!support.has(tool.key)) support.set(tool.key, taskSupportOf(tool));
  return new Set([...support].filter(([, value]) => value === 'required').map(([key]) => key));
}

/** Whether the server declares that tools can be called as tasks. */
export function takesTaskCalls(description: ServerDescription | undefined): boolean {
  const { tasks } = (description?.capabilities ?? {}) as {
    tasks?: { requests?: { tools?: { call?: unknown } } };
  };
  return tasks?.requests?.tools?.call !== undefined;
}

/** Returns the tool without `execution.taskSupport`; the same object where it has none. */
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

/** Few tools have it; only those are worth parsing. A key may be spelled with escapes. */
function mayHaveIt({ before, after }: ListItem): boolean {
  return [before, after].some((text) => text.includes(MEMBER) || text.includes('\\u'));
}
