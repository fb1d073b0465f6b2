// What an agent may do with a tool: deny, then ask, then allow. It is judged once, when a run begins, by the name and the hints that
// the tool has then; nothing that a model, a tool or an event says changes it afterwards.
//
// PY1  what is denied is denied, whatever else names it; what asks is never called without having been asked about.

import type { ToolHints } from './journal.ts';

/** One list of a policy, made ready. */
export interface PolicyRule {
  /** A pattern of the list means that tool. */
  matches(server: string, tool: string): boolean;
  /** The list says `destructive`, or `readonly`: the hints of a server. */
  readonly hasDestructive: boolean;
  readonly hasReadonly: boolean;
}

interface JudgedTool {
  readonly server: string;
  readonly tool: string;
  readonly hints: ToolHints;
}

export function verdictOn(
  tool: JudgedTool,
  { deny, ask }: { readonly deny: PolicyRule; readonly ask: PolicyRule },
): 'deny' | 'ask' | 'allow' {
  if (isMeant(deny, tool)) return 'deny';
  return isMeant(ask, tool) ? 'ask' : 'allow';
}

function isMeant({ matches, hasDestructive, hasReadonly }: PolicyRule, { server, tool, hints }: JudgedTool) {
  const { isDestructive, isReadOnly } = hints;
  return (hasDestructive && isDestructive) || (hasReadonly && isReadOnly) || matches(server, tool);
}
