// Detects writes that the host refused because the branch is protected. The host sends only texts, without an
// error code. Other refusals with the same status mean a concurrent change; models would retry endlessly if
// protection was reported as such a change.

import { ToolError } from '../tool-error.ts';
import type { HostRefusal } from './host-error.ts';

/**
 * Other refusals. Checked first, because their texts contain names that may include a word of
 * PROTECTION_WORDS.
 */
const OTHER_CAUSES = /does not match|wasn't supplied|fast.?forward|does not exist|is at .* but expected/i;
const PROTECTION_WORDS = /status check|protected|rule violation|pull request|review|update failed/i;

/** Returns an error if the refusal concerns branch protection; otherwise undefined. */
export function protectedBranchError(refusal: HostRefusal): ToolError | undefined {
  const { status, reason } = refusal;
  if (status !== 409 && status !== 422) return undefined;
  if (OTHER_CAUSES.test(reason) || !PROTECTION_WORDS.test(reason)) return undefined;
  return new ToolError(
    `Nothing was written: the branch is protected (${reason}). Write to another branch and use create_pull_request.`,
  );
}
