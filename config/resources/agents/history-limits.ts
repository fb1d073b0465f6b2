// Limits for stored conversations (actors/automation/conversations/job.ts). Each turn reads and writes the
// whole history, so the limits also apply to an agent's memory settings.

/** Maximum messages. */
export const MAX_HISTORY_MESSAGES = 40;
/** Maximum total length, in UTF-16 units. */
export const MAX_HISTORY_CHARACTERS = 32_768;
