// A branch that may not be written to as it is done here. The host has no code for it, only words, and other refusals of the
// same status mean a race: whoever took this for one would call again and again.

import { ToolError } from '../tool-error.ts';
import type { HostRefusal } from './host-fault.ts';

/** These repeat names, which may hold any word. */
const OTHERS = /does not match|wasn't supplied|fast.?forward|does not exist|is at .* but expected/i;
const WORDS = /status check|protected|rule violation|pull request|review|update failed/i;

/** What the caller is told where the words of a refusal are about protection; undefined where they are not. */
export function protectedBranch(refusal: HostRefusal): ToolError | undefined {
  const { status, reason } = refusal;
  if (status !== 409 && status !== 422) return undefined;
  if (OTHERS.test(reason) || !WORDS.test(reason)) return undefined;
  return new ToolError(
    `Nothing was written: the branch is protected (${reason}). Write to another branch and use create_pull_request.`,
  );
}
